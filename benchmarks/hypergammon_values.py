"""Hypergammon with few checkers: its exact values next to those of GNU Backgammon's `makehyper`.

    python benchmarks/hypergammon_values.py --checkers 1

Both solve the game. The values are expected points without the doubling cube, gammons and
backgammons included. Those of all positions before a roll are compared that a game can reach.
"""

import dataclasses
import json
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from azjax_envs.backgammon.game import BackgammonState, Hypergammon

from azjax.exact.chance_solver import ChanceSolution, chance_keys, solve_chance
from azjax.exact.codec import join
from azjax.exact.hypergammon import Boards, before_roll

_POINTS = 25  # with the bar
_HEADER, _ROW = 40, 28  # bytes of the file, and of each of its positions
_OUTPUTS = 5  # chances of winning, of a gammon and a backgammon, and of losing the latter two


@dataclasses.dataclass(frozen=True)
class FewCheckers(Hypergammon):
    """Hypergammon with 1 or 2 checkers of each player, on points 24 and 23 at the start."""

    number: int = 1

    @property
    def name(self) -> str:
        return f"hypergammon with {self.number} checkers"

    @property
    def start(self) -> dict[int, int]:
        return {24 - i: 1 for i in range(self.number)}

    def init(self, key: jax.Array | None = None) -> BackgammonState:
        state = super().init(key)
        # Two words even of one checker, because the rules look for two on a point.
        words = (state.own[0], jnp.zeros_like(state.own[0]))
        return dataclasses.replace(state, own=words, other=words)


@dataclasses.dataclass(frozen=True)
class Arguments:
    checkers: int = 1
    """Checkers of each player, 1 or 2. Two take makehyper hours."""
    max_states: int = 20_000_000
    """States that may be found, of positions before a roll and within it."""


def numbers_of(boards: np.ndarray) -> np.ndarray:
    """Returns the number that GNU Backgammon gives each board, int [M], of checkers [M, 26].

    It is that of the combinatorial number system. Consider each point from the bar on: the r-th one
    with n checkers on it and on those before it counts C(r - 1 + n, r).
    """
    behind = np.cumsum(boards[:, :0:-1], axis=1)
    counts = [[math.comb(r + n, r + 1) for r, n in enumerate(row)] for row in behind.tolist()]
    return np.sum(counts, axis=1)


def read_database(path: Path, checkers: int) -> np.ndarray:
    """Returns the expected points of all pairs of boards by their numbers, float64 [M, M]."""
    rows = np.fromfile(path, np.uint8)[_HEADER:].reshape(-1, _ROW)
    parts = rows[:, : 3 * _OUTPUTS].reshape(-1, _OUTPUTS, 3).astype(np.int64)
    chances = (parts << np.array([0, 8, 16])).sum(-1) / (2**24 - 1)
    win, gammon, backgammon, gammon_lost, backgammon_lost = chances.T
    points = 2 * win - 1 + gammon + backgammon - gammon_lost - backgammon_lost
    size = math.comb(_POINTS + checkers, checkers)
    return points.reshape(size, size)


def program() -> str | None:
    """Returns the path of makehyper, which Debian installs with GNU Backgammon among the games."""
    return shutil.which("makehyper") or shutil.which("makehyper", path="/usr/games")


def make_database(checkers: int) -> np.ndarray:
    """Returns what makehyper finds, as `read_database` does."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hyper.bd"
        command = [program(), "-c", str(checkers), "-n", "-t", "1e-7", "-f", str(path)]
        subprocess.run(list(map(str, command)), check=True, capture_output=True, cwd=folder)
        return read_database(path, checkers)


def differences(solution: ChanceSolution, database: np.ndarray) -> np.ndarray:
    """Returns how far the expected points of all reachable positions are apart, float64 [M]."""
    game = solution.game
    boards = Boards(game.checkers)
    going_on = np.flatnonzero(boards.places[:, -1] > 0)
    own, other = (going_on[x.ravel()] for x in np.indices((len(going_on),) * 2))
    states = before_roll(game, boards.words(own), boards.words(other))
    found = np.isin(join(chance_keys(game, states)), solution.keys)
    numbers = numbers_of(boards.counts(np.arange(len(boards))))
    theirs = database[numbers[own], numbers[other]][found]
    ours = solution.state_values(jax.tree.map(lambda x: x[np.flatnonzero(found)], states))
    return np.abs(game.results[0] * ours - theirs)


def main(options: Arguments) -> None:
    if program() is None:
        raise SystemExit("makehyper is missing: apt install gnubg")
    game = FewCheckers(number=options.checkers)
    found = differences(
        solve_chance(game, max_states=options.max_states), make_database(options.checkers)
    )
    result = {"positions": len(found), "largest": found.max(), "mean": found.mean()}
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
