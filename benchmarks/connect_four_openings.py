"""Connect four: how many won openings a player wins against exact play.

    pip install bitbully
    python benchmarks/connect_four_openings.py connect_four:100 --json openings.json

The openings are all positions of up to four plies, each once, that one side can win. The player
takes that side. The opponent is BitBully, a perfect solver with an opening book (AGPL; azjax itself
does not use it). It plays a random one of the moves that put off its loss longest.

Whole games take up to half an hour, most of it for the solver after its book ends. With `--until
12` they stop there, and a win counts if it has not been given away by then.
"""

import dataclasses
import functools
import json
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from azjax_envs import make
from bitbully import BitBully, Board

from azjax.evaluation.batch_evaluation import choose
from azjax.players.base import Player
from azjax.players.load import load_player
from azjax.pytrees import where
from azjax.types import Array, State

GAME = make("connect_four")
LONGEST = 42  # plies


@dataclasses.dataclass(frozen=True)
class Arguments:
    player: tyro.conf.Positional[str]
    """The player, named as in `azjax eval`: connect_four:100, RUN:64, RUN:policy and so on."""
    plies: int = 4
    """Openings have at most this many plies."""
    until: int = LONGEST
    """Games stop after this ply."""
    seed: int = 0
    """Seed of the player and of the solver's choices."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


def main(options: Arguments) -> None:
    began = time.perf_counter()
    player = load_player(options.player, game=GAME)
    solver, rng = BitBully(), np.random.default_rng(options.seed)
    openings = [moves for moves in all_openings(options.plies) if value(solver, moves) != 0]
    plies = np.array([len(moves) for moves in openings])
    # The side that wins: 0 moves first in the game.
    winners = np.array([(len(m) + (value(solver, m) < 0)) % 2 for m in openings])
    key = jax.random.key(options.seed)
    returns, first = play(player, solver, openings, winners, rng, key, options.until)
    results = np.where(winners == 0, returns, -returns)
    won = np.array([game not in first for game in range(len(openings))])
    whole = options.until >= LONGEST
    result = {
        "player": options.player,
        "seed": options.seed,
        "until": options.until,
        "openings": len(openings),
        "won": int(won.sum()),
        "drawn": int((results == 0).sum()) if whole else None,
        "lost": int((results < 0).sum()) if whole else None,
        "won_share": round(float(won.mean()), 4),
        "won_from_the_empty_board": bool(won[plies == 0][0]),
        "by_side": {
            name: {
                "openings": int((winners == side).sum()),
                "won": int(won[winners == side].sum()),
            }
            for side, name in enumerate(("first", "second"))
        },
        # The moves that gave the win away: by ply, and by how many others would have kept it.
        "first_mistakes_by_ply": counts_of(ply for ply, _ in first.values()),
        "first_mistakes_by_winning_moves": counts_of(winning for _, winning in first.values()),
        "not_won": [
            "".join(str(column + 1) for column in openings[game]) for game in sorted(first)
        ],
        "seconds": round(time.perf_counter() - began),
    }
    print(json.dumps(result, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")


def all_openings(plies: int) -> list[list[int]]:
    """Returns moves that lead to each position of up to `plies` plies, one way for each."""
    layer, found = [[]], [[]]
    for _ in range(plies):
        ways = {Board([*moves, a]).uid(): [*moves, a] for moves in layer for a in range(7)}
        layer = list(ways.values())
        found += layer
    return found


def value(solver: BitBully, moves: list[int]) -> int:
    """Returns the score of a position for its mover: positive if he wins, 0 if it is a draw."""
    return max(solver.score_all_moves(Board(moves)).values())


def play(
    player: Player,
    solver: BitBully,
    openings: list[list[int]],
    winners: np.ndarray,
    rng: np.random.Generator,
    key: Array,
    until: int,
) -> tuple[np.ndarray, dict[int, tuple[int, int]]]:
    """Plays all openings to the end, or to ply `until`.

    Returns:
      The first player's results, 0 of a game that is not over, and for each game whose win was
      given away the ply of it and the number of moves that would have kept it.
    """
    step, over = jax.jit(jax.vmap(GAME.step)), jax.jit(jax.vmap(GAME.is_terminal))
    games = [list(moves) for moves in openings]
    states = replay(games)
    first: dict[int, tuple[int, int]] = {}
    while not (done := np.asarray(over(states)) | [len(x) >= until for x in games]).all():
        key, move_key = jax.random.split(key)
        ours = winners == [len(moves) % 2 for moves in games]
        actions = np.zeros(len(games), np.int32)
        if rows := np.flatnonzero(ours & ~done).tolist():
            # The player sees all games, so that it is compiled once.
            actions[rows] = choose(player, move_key, states, len(games))[rows]
        for row in np.flatnonzero(~done).tolist():
            if row in first and ours[row]:
                continue
            scores = solver.score_all_moves(Board(games[row]))
            highest = max(scores.values())
            if not ours[row]:
                actions[row] = rng.choice([a for a, score in scores.items() if score == highest])
            elif scores[int(actions[row])] <= 0:
                first[row] = len(games[row]), sum(score > 0 for score in scores.values())
        for row in np.flatnonzero(~done):
            games[row].append(int(actions[row]))
        states = where(jnp.asarray(done), states, step(states, jnp.asarray(actions)))
    return np.asarray(jax.vmap(GAME.returns)(states))[:, 0], first


def counts_of(numbers: Iterable[int]) -> dict[str, int]:
    """Returns how often each number occurs, in ascending order."""
    return {str(number): count for number, count in sorted(Counter(numbers).items())}


def replay(games: list[list[int]]) -> State:
    """Returns the states, stacked, that the moves lead to."""
    step, states = jax.jit(GAME.step), []
    for moves in games:
        states.append(functools.reduce(step, moves, GAME.init()))
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
