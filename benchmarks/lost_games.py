"""How a player loses: the plies of lost games, and what it believed before the end.

    python benchmarks/lost_games.py othello:64 --against uct:1000 --json lost.json

Both games of a pair open with the same random plies, and the players change seats.
"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro

from azjax.evaluation.batch_evaluation import choose, find_values
from azjax.players.load import load_player
from azjax.players.network_players import SearchPlayer
from azjax.rollouts import random_openings


@dataclasses.dataclass(frozen=True)
class Arguments:
    player: tyro.conf.Positional[str]
    """A player with search, named as in `azjax eval`."""
    against: str = "uct:1000"
    """The opponent."""
    games: int = 100
    """Number of games, half from each seat."""
    opening_plies: int = 4
    """Random plies before the players start."""
    seed: int = 0
    """Seed of the openings and the players."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


def main(options: Arguments) -> None:
    player = load_player(options.player)
    if not isinstance(player, SearchPlayer):
        raise SystemExit(f"{options.player} must be a player with a network and a search")
    game = player.game
    opponent = load_player(options.against, game=game)
    step, over = jax.jit(jax.vmap(game.step)), jax.jit(jax.vmap(game.is_terminal))
    mover = jax.jit(jax.vmap(game.current_player))
    key = jax.random.key(options.seed)
    pairs = options.games // 2
    opened = random_openings(game, key, pairs, options.opening_plies)
    states, moves = jax.tree.map(lambda x: jnp.concatenate([x, x]), opened)
    plies = np.array(moves)
    seats = np.repeat([0, 1], pairs)
    believed = np.zeros(2 * pairs)  # the player's last value of its own positions
    while not (ended := np.asarray(over(states))).all():
        key, one, other, third = jax.random.split(key, 4)
        turn = np.asarray(mover(states)) == seats
        values = find_values(player, third, states, 2 * pairs)
        believed = np.where(turn & ~ended, values, believed)
        theirs = choose(opponent, other, states, 2 * pairs)
        actions = np.where(turn, choose(player, one, states, 2 * pairs), theirs)
        plies += ~ended
        # A finished game does not change, whatever is played.
        states = step(states, jnp.asarray(actions))
    points = np.asarray(jax.vmap(game.returns)(states))[np.arange(2 * pairs), seats]
    lost = np.flatnonzero(points < 0)
    result: dict[str, Any] = {
        "player": options.player,
        "against": options.against,
        "opening_plies": options.opening_plies,
        "seed": options.seed,
        "wins": int((points > 0).sum()),
        "draws": int((points == 0).sum()),
        "losses": len(lost),
        "plies of won games": [int(x) for x in np.sort(plies[points > 0])],
        "plies of lost games": [int(x) for x in plies[lost]],
        "last values of lost games": [round(float(x), 2) for x in believed[lost]],
    }
    print(json.dumps(result))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
