"""Games whose exact values are computed without enumerating all their states."""

import dataclasses
import functools
import importlib.util
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.chess import Chess
from azjax_envs.connect_four import ConnectFour
from azjax_envs.dots_and_boxes import DotsAndBoxes
from azjax_envs.hex import Hex
from azjax_envs.mancala import Mancala
from azjax_envs.othello import Othello

from azjax.exact.chess_endings import ENDINGS, ChessEndings, chess_endings, ending_index
from azjax.exact.dots_and_boxes import (
    MOST_EDGES,
    MOST_FREE_EDGES,
    DotsAndBoxesEndgames,
    dots_and_boxes_table,
)
from azjax.exact.kalah import kalah_table, seeds_known, seeds_left
from azjax.exact.solver import solve
from azjax.pytrees import batch_size, take
from azjax.types import Array, State

GameT = TypeVar("GameT")


class Scorer(Protocol):
    """Exact values of all actions in some positions of a game."""

    def action_scores(self, states: State) -> Array | np.ndarray:
        """Returns the values of all actions in positions [P, ...] that are not over.

        They hold under best play afterwards, and are float32 [P, num_actions] from the mover's
        perspective, -inf if illegal. The sign is the result: a win, a draw or a loss. The size may
        distinguish good wins from better ones.
        """


Draw = Callable[[Any, np.random.Generator, int], tuple[State, list[str]]]
"""(scorer, generator, count) -> positions [count, ...] that are not over, and the class of each."""


@dataclasses.dataclass(frozen=True)
class ExactValues:
    """A game's exact values, which `load` computes."""

    positions: str  # which ones are found quickly: "positions" for all, or a kind of endgames
    known: Callable[[State], np.ndarray]  # whether they are these, states [P, ...] -> bool [P]
    load: Callable[[], Scorer]  # keep the result: it is freed when nothing refers to it
    complete: bool  # the scorer knows all positions
    pure: bool = True  # a complete scorer is a pytree with a pure method
    missing: str = ""  # what to install first; until then no position is known
    draw: Draw | None = None  # draws such positions, where random games do not lead to them


def exact_values(game: Game) -> ExactValues | None:
    """Returns the exact values of a game, or None if they are unknown.

    This is cheap, because nothing is computed before `load`. To add a game, add an entry to
    `_KNOWN`.
    """
    find = _KNOWN.get(type(game))
    return None if find is None else find(game)


# The tables in use, at most one for each game. A table that nothing else refers to is freed.
_TABLES: weakref.WeakValueDictionary[Any, Scorer] = weakref.WeakValueDictionary()


def _shared(game: GameT, make_table: Callable[[GameT], Scorer]) -> Callable[[], Scorer]:
    """Returns a function that returns the game's table: the one in use, or else a new one."""

    def load() -> Scorer:
        table = _TABLES.get(game)
        if table is None:
            table = _TABLES[game] = make_table(game)
        return table

    return load


def _all_known(states: State) -> np.ndarray:
    return np.ones(batch_size(states, name="states"), bool)


def _dots_and_boxes(game: DotsAndBoxes) -> ExactValues:
    if game.num_actions <= MOST_EDGES:
        return ExactValues(
            "positions", _all_known, _shared(game, dots_and_boxes_table), complete=True
        )

    def known(states: State) -> np.ndarray:
        return np.asarray(jax.vmap(game.legal_action_mask)(states)).sum(-1) <= MOST_FREE_EDGES

    return ExactValues(
        positions=f"endgames (at most {MOST_FREE_EDGES} free edges)",
        known=known,
        load=lambda: DotsAndBoxesEndgames(game),
        complete=False,
    )


def _kalah(game: Mancala) -> ExactValues:
    known = seeds_known(game)
    if known == 2 * game.pits * game.seeds:
        return ExactValues("positions", _all_known, _shared(game, kalah_table), complete=True)
    return ExactValues(
        positions=f"endgames (at most {known} seeds in the pits)",
        known=lambda states: np.asarray(seeds_left(states)) <= known,
        load=_shared(game, kalah_table),
        complete=False,
    )


_CONNECT_FOUR_CELLS = 26  # with this many free, all moves take about 10 ms


def _connect_four(game: ConnectFour) -> ExactValues | None:
    if game != ConnectFour():
        return None
    installed = importlib.util.find_spec("numba") is not None

    def known(states: State) -> np.ndarray:
        discs = np.asarray(jax.vmap(game.observe)(states)).sum((1, 2, 3))
        return (game.max_steps - discs <= _CONNECT_FOUR_CELLS) & installed

    def load(game: ConnectFour) -> Scorer:
        from azjax.exact.connect_four import ConnectFourSolver

        return ConnectFourSolver(game)

    return ExactValues(
        positions=f"positions (at most {_CONNECT_FOUR_CELLS} free cells)",
        known=known,
        load=_shared(game, load),
        complete=installed,
        pure=False,
        missing="" if installed else 'pip install "azjax[exact]"',
    )


def _chess(game: Chess) -> ExactValues:
    def known(states: State) -> np.ndarray:
        index = jax.vmap(functools.partial(ending_index, game))(states)
        return np.asarray((index >= 0) & ~jax.vmap(game.is_terminal)(states))

    return ExactValues(
        positions=f"endings {', '.join(ENDINGS)}",
        known=known,
        load=_shared(game, chess_endings),
        complete=False,
        draw=ChessEndings.draw_positions,
    )


_CHUNK = 256  # positions solved at once, which share their descendants and the memory


@dataclasses.dataclass(frozen=True)
class Endgames:
    """Exact values of positions, found by solving everything that they can reach."""

    game: Game
    payoff: str  # as in `solve`; the sign of a value is the result

    def action_scores(self, states: State) -> np.ndarray:
        """Returns the values of all actions, see `Scorer`.

        Raises:
          UserError: more positions can be reached than fit into memory.
        """
        scores = []
        for first in range(0, batch_size(states, name="states"), _CHUNK):
            start = take(states, slice(first, first + _CHUNK))
            solution = solve(self.game, start=start, payoff=self.payoff, max_states=20_000_000)
            scores.append(solution.action_values(solution.lookup(start)))
        return np.concatenate(scores)


# From each of these positions a few hundred or thousand others can be reached.
_OTHELLO_SQUARES = 8
_HEX_CELLS = 10


def _othello(game: Othello) -> ExactValues:
    def known(states: State) -> np.ndarray:
        discs = np.asarray(jax.vmap(game.score)(states)).sum(-1)
        return game.size**2 - discs <= _OTHELLO_SQUARES

    return ExactValues(
        positions=f"endgames (at most {_OTHELLO_SQUARES} empty squares)",
        known=known,
        load=lambda: Endgames(game, "margin"),
        complete=False,
    )


def _hex(game: Hex) -> ExactValues:
    return ExactValues(
        positions=f"endgames (at most {_HEX_CELLS} free cells)",
        known=lambda states: (np.asarray(states.chains) == 0).sum(-1) <= _HEX_CELLS,
        load=lambda: Endgames(game, "returns"),
        complete=False,
    )


_KNOWN: dict[type, Callable[[Any], ExactValues | None]] = {
    Chess: _chess,
    ConnectFour: _connect_four,
    DotsAndBoxes: _dots_and_boxes,
    Hex: _hex,
    Mancala: _kalah,
    Othello: _othello,
}
