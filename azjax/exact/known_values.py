"""Games whose exact values are computed without enumerating all their states."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.dots_and_boxes import DotsAndBoxes
from azjax_envs.hex import Hex
from azjax_envs.mancala import Mancala
from azjax_envs.othello import Othello

from azjax.exact.dots_and_boxes import MOST_EDGES, dots_and_boxes_table
from azjax.exact.endgames import Endgames
from azjax.exact.kalah import kalah_table, seeds_known, seeds_left
from azjax.pytrees import batch_size
from azjax.types import Array, State

GameT = TypeVar("GameT")


class Scorer(Protocol):
    """Exact values of all actions in some positions of a game."""

    def action_scores(self, states: State) -> Array | np.ndarray:
        """Returns the values of all actions, under best play afterwards.

        The sign is the result for the mover: a win, a draw or a loss. The size may distinguish good
        wins from better ones.

        Args:
          states: positions [P, ...] that are not over.

        Returns:
          float32 [P, num_actions] from the mover's perspective, -inf if illegal.
        """


@dataclasses.dataclass(frozen=True)
class ExactValues:
    """A game's exact values, which `load` computes."""

    positions: str  # which ones are known: "positions" for all of them, or a kind of endgames
    known: Callable[[State], np.ndarray]  # states [P, ...] -> bool [P]
    load: Callable[[], Scorer]  # keep the result: it is freed when nothing refers to it
    complete: bool  # all positions are known; the scorer is a pytree with a pure method


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


def _dots_and_boxes(game: DotsAndBoxes) -> ExactValues | None:
    if game.num_actions > MOST_EDGES:
        return None
    return ExactValues("positions", _all_known, _shared(game, dots_and_boxes_table), complete=True)


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
    DotsAndBoxes: _dots_and_boxes,
    Hex: _hex,
    Mancala: _kalah,
    Othello: _othello,
}
