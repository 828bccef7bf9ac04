"""Openings in which a player meets others that play otherwise, for `selfplay.openings`.

    python benchmarks/mixed_openings.py runs/othello:policy --out openings.txt

Self-play alone never sees what weaker players do. Half of the openings are games of the player
against each opponent, cut off after a random number of plies. The others are random play. None
reaches the end of a game.
"""

import dataclasses
from pathlib import Path
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from azjax_envs import init_batch

from azjax.evaluation.batch_evaluation import choose
from azjax.players.base import Player
from azjax.players.load import load_player
from azjax.pytrees import take, where


@dataclasses.dataclass(frozen=True)
class Arguments:
    player: tyro.conf.Positional[str]
    """The player, named as in `azjax eval`: RUN:policy, RUN:64 and so on."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE")]
    """Write the openings there."""
    opponents: tuple[str, ...] = ("random", "uct:20", "mc:20")
    """The opponents."""
    games: int = 1024
    """Games against each opponent, and as many of random play for each."""
    plies: int = 30
    """Openings have at most this many plies."""
    random_plies: int = 4
    """Games of the player begin with at most this many random plies."""
    seed: int = 0
    """Seed of the openings."""


def main(options: Arguments) -> None:
    if options.out.exists():
        raise SystemExit(f"{options.out} exists; choose another name")
    player = load_player(options.player)
    chance = load_player("random", game=player.game)
    key = jax.random.key(options.seed)
    lines: list[str] = []
    for number, name in enumerate(options.opponents):
        opponent = load_player(name, game=player.game)
        for kind, first in enumerate((player, chance)):
            second = opponent if first is player else chance
            one = jax.random.fold_in(key, 2 * number + kind)
            lines += _openings(one, first, second, chance, options)
        print(f"{len(lines):,} openings", flush=True)
    options.out.write_text("".join(f"{line}\n" for line in lines))


def _openings(
    key: jax.Array, first: Player, second: Player, chance: Player, options: Arguments
) -> list[str]:
    """Returns the moves of openings of `first`, which sits in a random seat, against `second`."""
    game, games = chance.game, options.games
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    seats = rng.integers(0, 2, games)
    lengths = rng.integers(0, options.plies + 1, games)
    random_plies = rng.integers(0, options.random_plies + 1, games)
    step, over = jax.jit(jax.vmap(game.step)), jax.jit(jax.vmap(game.is_terminal))
    mover = jax.jit(jax.vmap(game.current_player))
    states = init_batch(game, key, games)
    moves: list[list[str]] = [[] for _ in range(games)]
    goes_on = np.ones(games, bool)
    for ply in range(options.plies):
        keys = jax.random.split(jax.random.fold_in(key, ply), 3)
        by_first, by_second, by_chance = (
            choose(one, k, states, games)
            for one, k in zip((first, second, chance), keys, strict=True)
        )
        actions = np.where(np.asarray(mover(states)) == seats, by_first, by_second)
        actions = np.where(ply < random_plies, by_chance, actions)
        after = step(states, jnp.asarray(actions))
        goes_on &= (ply < lengths) & ~np.asarray(over(after))
        rows = jax.device_get(states)
        for i in np.flatnonzero(goes_on):
            moves[i].append(game.action_to_string(take(rows, i), int(actions[i])))
        states = where(jnp.asarray(goes_on), after, states)
    return [" ".join(each) or "-" for each in moves]


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
