"""Measures how fast recorded games become examples to learn from.

    taskset --cpu-list 0 python benchmarks/read_games.py --json read_games.json
    taskset --cpu-list 0 python benchmarks/read_games.py --files games.pgn

Games of go of one length, played at random, are written as files in SGF, a game a file, and read
back: `azjax.read_games` first, then `azjax.dataset`, after a run that compiles. Or files of any
game are read. The records, whose
positions nobody looks at, are kept meanwhile. Numbers are positions a second of the process's
processor time, the median and all of several repeats.
"""

import dataclasses
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

import azjax_envs
import jax
import numpy as np
import tyro
from azjax_envs import Game
from azjax_envs.go import Go
from azjax_envs.sampling import random_action

import azjax
from azjax.files.game_record import start_game
from azjax.files.sgf import format_sgf


@dataclasses.dataclass(frozen=True)
class Arguments:
    files: tuple[Path, ...] = ()
    """Games that are read in place of random ones."""
    size: int = 9
    """Of the board."""
    games: int = 500
    plies: int = 80
    """Of each game."""
    repeats: int = 5
    json: Path | None = None
    """Where the result is written."""


def main(arguments: Arguments) -> None:
    if arguments.files:
        first = next(azjax.read_games(arguments.files))
        assert first.record is not None, first.error
        times = _repeated(first.record.game, arguments.files, arguments.repeats)
    else:
        times = _of_random_games(arguments)
    count = times[0].positions
    result = {
        "command": "python benchmarks/read_games.py",
        "unit": "positions a second of processor time",
        "positions": count,
    }
    for name in ("read_games", "dataset", "both"):
        rates = [count / getattr(each, name) for each in times]
        result[name] = {"median": round(statistics.median(rates)), "all": [*map(round, rates)]}
    print(json.dumps(result, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


def _of_random_games(arguments: Arguments) -> "list[Times]":
    game = cast(Go, azjax_envs.make(f"go_{arguments.size}x{arguments.size}"))
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.sgf" for i in range(arguments.games)]
        for path, actions in zip(paths, _play(game, arguments), strict=True):
            record = start_game(game).play_all(actions, [""] * len(actions))
            path.write_text(format_sgf(game, record.positions[1:], "B+R"))
        return _repeated(game, paths, arguments.repeats)


def _play(game: Go, arguments: Arguments) -> list[list[int]]:
    """Returns the actions of games without passes."""

    def ply(state: object, key: jax.Array) -> tuple[object, jax.Array]:
        mask = game.legal_action_mask(state).at[-1].set(False)
        action = random_action(key, mask)
        return game.step(state, action), action

    def play(key: jax.Array) -> jax.Array:
        return jax.lax.scan(ply, game.init(), jax.random.split(key, arguments.plies))[1]

    keys = jax.random.split(jax.random.key(0), arguments.games)
    return np.asarray(jax.jit(jax.vmap(play))(keys)).tolist()


class Times(NamedTuple):
    """Seconds of processor time."""

    positions: int
    read_games: float
    dataset: float

    @property
    def both(self) -> float:
        """The sum."""
        return self.read_games + self.dataset


def _repeated(game: Game, paths: Sequence[Path], repeats: int) -> list[Times]:
    return [_times(game, paths) for _ in range(1 + repeats)][1:]


def _times(game: Game, paths: Sequence[Path]) -> Times:
    began = time.process_time()
    games = list(azjax.read_games(paths))
    read = time.process_time()
    examples = azjax.dataset(game, games)
    ended = time.process_time()
    assert len(examples) == sum(played.record.num_moves for played in games if played.record)
    return Times(len(examples), read - began, ended - read)


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
