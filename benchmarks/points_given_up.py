"""What a player of a small game of chance gives up in games against perfect play.

    python benchmarks/points_given_up.py runs/ur_3 --games 1024 --json FILE
    python benchmarks/points_given_up.py runs/hypergammon --table hypergammon.npy
    python benchmarks/points_given_up.py runs/ur --table ur.npy

A move gives up the difference between the best expected result and its own, by exact values. The
sum of these in a game tells how far below one half the player scores in the mean, without the luck
of the dice: 1,000 games tell it more exactly than 1,000,000 results. A game has one point; in
hypergammon it has one to three, as many as are won. `hypergammon_table.py` and `ur_table.py` make
the tables.
"""

import dataclasses
import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import tyro
from azjax_envs import Game, HasResults, draw_chance
from azjax_envs.backgammon import Hypergammon
from azjax_envs.ur import Ur

from azjax.evaluation.batch_evaluation import choose
from azjax.evaluation.host_match import status, step
from azjax.exact import hypergammon, ur
from azjax.exact.chance_solver import solve_chance
from azjax.players import Player
from azjax.players.exact import exact_chance_player
from azjax.players.load import load_player
from azjax.players.network_players import PolicyPlayer, SearchPlayer
from azjax.rollouts import starts

Values = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True)
class Arguments:
    run: tyro.conf.Positional[str]
    """A run or a file of a player."""
    games: int = 1024
    """Half with each seat."""
    simulations: int = 64
    table: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Exact values, where the game has more positions than the solver takes."""
    value_scales: tuple[float, ...] = ()
    """Other values of `search.gumbel.value_scale`, besides the player's own."""
    seed: int = 0
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


def main(options: Arguments) -> None:
    player = load_player(options.run, simulations=options.simulations)
    assert isinstance(player, SearchPlayer)
    values = exact_values(player.game, options.table)
    policy = PolicyPlayer(player.game, player.network, player.variables)
    players: dict[str, Player] = {"policy": policy, player.name: player}
    for scale in options.value_scales:
        gumbel = dataclasses.replace(player.config.gumbel, value_scale=scale)
        config = dataclasses.replace(player.config, gumbel=gumbel)
        name = f"{player.name}, value_scale {scale:g}"
        players[name] = dataclasses.replace(player, config=config)
    found = {}
    for name, each in players.items():
        lost, choices, rolls = given_up(player.game, each, values, options.games, options.seed)
        found[name] = {
            "given up a game": round(float(lost.mean()), 5),
            "standard error": round(float(lost.std() / len(lost) ** 0.5), 5),
            "given up a choice": round(float(lost.sum() / choices.sum()), 6),
            "choices a game": round(float(choices.mean()), 2),
            "given up a roll with a choice": round(float(lost.sum() / rolls.sum()), 6),
            "rolls with a choice a game": round(float(rolls.mean()), 2),
        }
        print(name, found[name], flush=True)
        if options.json:
            kept = {"run": options.run, "games": options.games, "seed": options.seed}
            options.json.write_text(json.dumps(kept | {"players": found}, indent=1) + "\n")


def exact_values(game: Game, table: Path | None) -> Values:
    """Returns a function that gives the exact value of each move in states [B, ...], [B, A]."""
    if isinstance(game, Hypergammon):
        points = load_table(table, "hypergammon_table.py")
        return hypergammon.TablePlayer(game, hypergammon.Boards(game.checkers), points).move_values
    if isinstance(game, Ur) and game.pieces > 3:
        return ur.TablePlayer(game, load_table(table, "ur_table.py")).move_values
    return jax.jit(exact_chance_player(solve_chance(game, max_states=3_000_000)).move_values)


def load_table(file: Path | None, script: str) -> np.ndarray:
    if file is None:
        raise SystemExit(f"--table is missing: benchmarks/{script} makes it")
    return np.load(file, mmap_mode="r")


def given_up(
    game: Game, player: Player, values: Values, games: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Plays games against perfect play, and returns what the player gave up in each, float64 [G].

    The other results are the numbers of its positions and of its rolls with several moves, [G].
    """
    points = game.results[0] if isinstance(game, HasResults) else 0.5
    key = jax.random.key(seed)
    states = starts(game, key, games)
    seats = np.arange(games) % 2
    mover = jax.jit(jax.vmap(game.current_player))
    legal = jax.jit(jax.vmap(game.legal_action_mask))
    chance = jax.jit(jax.vmap(game.is_chance))
    lost, choices = np.zeros(games), np.zeros(games, np.int64)
    rolls, fresh = np.zeros(games, np.int64), np.ones(games, bool)
    for ply in range(game.max_steps):
        running = ~np.asarray(status(game, states)[0])
        if not running.any():
            break
        ply_key = jax.random.fold_in(key, ply)
        worth = np.asarray(values(states))
        own = running & (np.asarray(mover(states)) == seats)
        own &= np.asarray(legal(states)).sum(-1) > 1
        actions = worth.argmax(-1)
        if own.any():
            chosen = choose(player, ply_key, states, games)
            chosen = np.where(own, chosen, actions)
            best, got = worth.max(-1), worth[np.arange(games), chosen]
            lost += np.where(own, points * (best - np.maximum(got, -1)), 0)
            choices += own
            rolls += own & fresh
            fresh &= ~own
            actions = chosen
        dice = functools.partial(draw_chance, game, jax.random.fold_in(ply_key, 1))
        states = step(game, states, actions.astype(np.int32))
        fresh |= np.asarray(chance(states))
        states = dice(states)
    return lost, choices, rolls


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
