"""Which games have their exact values computed other than by walking through all their states."""

import dataclasses
from collections.abc import Callable
from typing import Protocol

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


class Scorer(Protocol):
    """Knows what every action is worth."""

    def action_scores(self, states) -> jax.Array:
        """float32 [P, num_actions] for batched states [P, ...] with somebody to move.

        Seen by the mover, under best play afterwards; -inf where illegal. The sign is the result, a
        win, a draw or a loss; the size may tell good wins from better ones.
        """


@dataclasses.dataclass(frozen=True)
class ExactValues:
    """A game's exact values, at hand after `load`."""

    what: str  # which positions are known: "positions" for all, or say which endgames
    known: Callable[[object], np.ndarray]  # batched states [P, ...] -> bool [P]
    load: Callable[[], Scorer]
    complete: bool  # every position is known; the scorer is then a pytree, its method a pure one


def exact_values(game: Game) -> ExactValues | None:
    """What is known of `game`, or None. Cheap: nothing is computed before `load`.

    A game gets its values known by an entry in `_KNOWN`.
    """
    find = _KNOWN.get(type(game))
    return None if find is None else find(game)


def _all_known(states) -> np.ndarray:
    return np.ones(jax.tree.leaves(states)[0].shape[0], bool)


def _dots_and_boxes(game: DotsAndBoxes) -> ExactValues | None:
    if game.num_actions > MOST_EDGES:
        return None
    return ExactValues("positions", _all_known, lambda: dots_and_boxes_table(game), complete=True)


def _kalah(game: Mancala) -> ExactValues:
    known = seeds_known(game)
    if known == 2 * game.pits * game.seeds:
        return ExactValues("positions", _all_known, lambda: kalah_table(game), complete=True)
    return ExactValues(
        what=f"endgames (at most {known} seeds in the pits)",
        known=lambda states: np.asarray(seeds_left(states)) <= known,
        load=lambda: kalah_table(game),
        complete=False,
    )


# From each of these positions some hundreds of others can be reached, or a few thousand.
_OTHELLO_SQUARES = 8
_HEX_CELLS = 10


def _othello(game: Othello) -> ExactValues:
    def known(states) -> np.ndarray:
        discs = np.asarray(jax.vmap(game.score)(states)).sum(-1)
        return game.size**2 - discs <= _OTHELLO_SQUARES

    return ExactValues(
        what=f"endgames (at most {_OTHELLO_SQUARES} empty squares)",
        known=known,
        load=lambda: Endgames(game, "margin"),
        complete=False,
    )


def _hex(game: Hex) -> ExactValues:
    return ExactValues(
        what=f"endgames (at most {_HEX_CELLS} free cells)",
        known=lambda states: (np.asarray(states.chains) == 0).sum(-1) <= _HEX_CELLS,
        load=lambda: Endgames(game, "returns"),
        complete=False,
    )


_KNOWN: dict[type, Callable[[Game], ExactValues | None]] = {
    DotsAndBoxes: _dots_and_boxes,
    Hex: _hex,
    Mancala: _kalah,
    Othello: _othello,
}
