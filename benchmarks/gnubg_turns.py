"""Judges turns of backgammon by GNU Backgammon at 1 ply, which needs fewer of them than matches.

    python -m benchmarks.gnubg_turns backgammon --positions 1500 --json FILE

The positions are those of games that GNU Backgammon at 0 ply plays against itself, where a roll can
be played. Each player plays the whole turn. What it gives up is the best value of a position that
the roll can lead to, less that of its own. Values are expected points before the other's roll,
without a cube. Of all these positions, the best at 0 ply are looked at (`CANDIDATES`).
"""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any, Protocol

import jax
import numpy as np
import tyro
from azjax_envs import draw_chance, init_batch
from azjax_envs.backgammon import Backgammon, BackgammonState

from azjax.evaluation.batch_evaluation import choose
from azjax.evaluation.host_match import results_of_seats, status, step
from azjax.players.load import load_player
from azjax.pytrees import take
from benchmarks.gnubg_matches import ENGINES, GnuBackgammon, Position, look

GAMES = 128
CANDIDATES = 6
BATCH = 256


class GnubgNn(Protocol):
    """The package gnubg-nn. The last checkers of a board are those of the side that is to roll."""

    def probabilities(self, board: Any, plies: int) -> tuple[float, ...]: ...
    def moves(self, board: Any, die: int, other_die: int) -> tuple[str, ...]: ...
    def board_from_position_key(self, key: str) -> Any: ...
    def key_of_board(self, board: Any) -> str: ...


@dataclasses.dataclass(frozen=True)
class Arguments:
    player: tyro.conf.Positional[str]
    """A run, or a player that comes with azjax."""
    how: tuple[str, ...] = ("64", "policy", "gnubg")
    """Simulations, the network's policy, or GNU Backgammon itself at 0 ply."""
    positions: int = 1500
    seed: int = 0
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the results there."""


class Judge:
    """The values of GNU Backgammon at 1 ply, which it keeps."""

    def __init__(self, gnubg: GnubgNn) -> None:
        self._gnubg, self._known = gnubg, dict[str, float]()

    def value(self, board: Any) -> float:
        """Returns the expected points of the side that is not to roll."""
        key = self._gnubg.key_of_board(board)
        if key not in self._known:
            self._known[key] = -points(self._gnubg.probabilities(board, 1))
        return self._known[key]

    def best(self, position: Position) -> float:
        """Returns the best value that a turn can lead to."""
        own, other = position.boards.tolist()
        faces = [die for die in range(1, 7) if position.dice >> die & 1]
        keys = self._gnubg.moves([other, own], faces[0], faces[-1])
        # They have the side that has moved last, as if it were to roll again.
        boards = [self._gnubg.board_from_position_key(key)[::-1] for key in keys]
        boards.sort(key=lambda board: points(self._gnubg.probabilities(board, 0)))
        return max(self.value(board) for board in boards[:CANDIDATES])


def points(chances: tuple[float, ...]) -> float:
    """Returns the expected points of the chances to win, and to win and lose more than one."""
    win, gammon, backgammon, gammon_lost, backgammon_lost = chances
    return 2 * win - 1 + gammon + backgammon - gammon_lost - backgammon_lost


def positions_of_games(game: Backgammon, engine: GnuBackgammon, seed: int) -> BackgammonState:
    """Returns the positions of games after a roll that can be played, [N, ...]."""
    key, found = jax.random.key(seed), []
    states = init_batch(game, key, GAMES)
    while not (over := np.asarray(status(game, states)[0])).all():
        fresh = (np.bitwise_count(np.asarray(states.dice)) == 2) | (np.asarray(states.left) == 4)
        can = ~np.asarray(look(game, states).legal)[:, -1]
        found.append(take(jax.device_get(states), np.flatnonzero(fresh & can & ~over)))
        key, roll_key = jax.random.split(key)
        states = draw_chance(game, roll_key, step(game, states, engine(key, states)))
    return jax.tree.map(lambda *x: np.concatenate(x), *found)


def after_turns(game: Backgammon, player: Any, states: BackgammonState) -> BackgammonState:
    """Returns the positions [N, ...] where a player's turns end, before the dice."""
    key = jax.random.key(0)
    while len(rows := np.flatnonzero(np.asarray(states.dice))):
        key, move_key = jax.random.split(key)
        some = take(states, rows)
        actions = choose(player, move_key, some, BATCH)
        after = jax.device_get(step(game, some, actions))
        states = jax.tree.map(lambda x, y: _with_rows(x, rows, y), states, after)
    return states


def given_up(
    game: Backgammon, judge: Judge, before: BackgammonState, after: BackgammonState
) -> np.ndarray:
    """Returns the points that each turn gives up, float64 [N]."""
    count = len(before.left)
    starts, ends = (jax.device_get(look(game, states)) for states in (before, after))
    results = game.results[0] * results_of_seats(game, after, starts.player)
    lost = np.zeros(count)
    for i in range(count):
        own, other = ends.boards[i].tolist()
        value = results[i] if ends.over[i] else judge.value([other, own])
        lost[i] = max(0.0, judge.best(take(starts, i)) - value)
    return lost


def _with_rows(x: Any, rows: np.ndarray, new: Any) -> np.ndarray:
    x = np.array(x)
    x[rows] = new
    return x


def main(options: Arguments) -> None:
    import gnubg_nn  # which has no release for Python 3.14

    game = load_player(f"{options.player}:policy").game
    if not isinstance(game, Backgammon):
        raise SystemExit(f"{options.player} plays {game.name}, and not backgammon")
    engine, judge = GnuBackgammon(game, ENGINES[0]), Judge(gnubg_nn)
    states = positions_of_games(game, engine, options.seed)
    count = len(states.left)
    if count < options.positions:
        raise SystemExit(f"{GAMES} games have {count} positions")
    rng = np.random.default_rng(options.seed)
    states = take(states, np.sort(rng.choice(count, options.positions, replace=False)))
    found = {}
    for how in options.how:
        name = "gnubg" if how == "gnubg" else f"{options.player}:{how}"
        player = engine if how == "gnubg" else load_player(name)
        lost = given_up(game, judge, states, after_turns(game, player, states))
        error = lost.std() / len(lost) ** 0.5
        found[name] = {
            "points given up a turn": round(lost.mean(), 5),
            "standard error": round(error, 5),
        }
        print(f"{name}: {lost.mean():.4f} (standard error {error:.4f}) points a turn", flush=True)
        if options.json:
            kept = {"positions": options.positions, "seed": options.seed, "players": found}
            options.json.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
