"""Dots and boxes solved: the value of every set of drawn edges, or of those late in a game."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs.dots_and_boxes import DotsAndBoxes, DotsAndBoxesState

from azjax.types import Array, static

MOST_EDGES = 24  # 2**24 sets; 3x3 boxes need a table of 16 MB
MOST_FREE_EDGES = 16  # of an endgame, which takes 20 ms


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True, eq=False)
class DotsAndBoxesTable:
    """The best margin of open boxes that the player to move can make, for each set of edges.

    This margin determines all values, because the owners of closed boxes do not affect the rest of
    the game. The result is the sign of the margin of all boxes. The sign never falls when the
    margin rises, so the sign of the best margin is the best result.
    """

    game: DotsAndBoxes = static()
    margins: Array  # int8 [2 ** edges]; bit a of the index is the edge of action a

    def action_scores(self, states: DotsAndBoxesState) -> Array:
        """Returns the final margin of boxes after each action, see `Scorer`."""
        return jax.vmap(self._of_one)(states)

    def _of_one(self, state: DotsAndBoxesState) -> Array:
        bits = jnp.asarray(1 << np.arange(self.game.num_actions), jnp.int32)
        free = self.game.legal_action_mask(state)
        before = jnp.sum(jnp.where(free, 0, bits))
        after = before | bits
        boxes = jnp.asarray(_boxes(self.game), jnp.int32)
        closed = jnp.sum((after[:, None] & boxes[None]) == boxes[None], -1)
        gain = closed - jnp.sum((before & boxes) == boxes)
        margin = self.margins[after].astype(jnp.int32)
        score = self.game.score(state)
        owned = (score[0] - score[1]) * (1 - 2 * self.game.current_player(state))
        total = owned + jnp.where(gain > 0, gain + margin, -margin)
        return jnp.where(free, total.astype(jnp.float32), -jnp.inf)


def dots_and_boxes_table(game: DotsAndBoxes) -> DotsAndBoxesTable:
    """Solves a board of at most 24 edges, in seconds."""
    return DotsAndBoxesTable(game, jnp.asarray(best_margins(game)))


@dataclasses.dataclass(frozen=True)
class DotsAndBoxesEndgames:
    """Exact values of positions with at most `MOST_FREE_EDGES` free edges, on a board of any size.

    The sets of free edges that can be drawn are solved for each position.
    """

    game: DotsAndBoxes

    def action_scores(self, states: DotsAndBoxesState) -> np.ndarray:
        """Returns the final margin of boxes after each action, see `Scorer`."""
        game = self.game
        free = np.asarray(jax.vmap(game.legal_action_mask)(states))
        score = np.asarray(jax.vmap(game.score)(states)).astype(np.int32)
        second = np.asarray(jax.vmap(game.current_player)(states)) == 1
        owned = np.where(second, score[:, 1] - score[:, 0], score[:, 0] - score[:, 1])
        scores = np.full(free.shape, -np.inf, np.float32)
        for row, legal in enumerate(free):
            edges = np.flatnonzero(legal)
            bits = np.zeros(game.num_actions, np.int64)
            bits[edges] = 1 << np.arange(len(edges))
            boxes = bits[_box_edges(game)].sum(1)  # the edges that each box lacks
            boxes = boxes[boxes > 0]
            margins = _margins_of(len(edges), boxes)
            for bit, edge in enumerate(edges):
                gain, margin = int((boxes == 1 << bit).sum()), int(margins[1 << bit])
                scores[row, edge] = owned[row] + (gain + margin if gain else -margin)
        return scores


def best_margins(game: DotsAndBoxes) -> np.ndarray:
    """Returns the best margin for each set of drawn edges, int8 [2 ** edges]."""
    edges = game.num_actions
    if edges > MOST_EDGES:
        raise ValueError(f"{game.name} has {edges} edges, at most {MOST_EDGES} can be solved")
    return _margins_of(edges, _boxes(game))


def _margins_of(edges: int, boxes: np.ndarray) -> np.ndarray:
    """Returns the best margin for each set of drawn edges, int8 [2 ** edges].

    It works from the full board to the empty one. All sets of one size are computed at once, from
    those with one edge more. `boxes` has the edges of each box as bits, int64 [boxes].
    """
    sets = np.arange(1 << edges, dtype=np.uint32)
    sizes = np.bitwise_count(sets)
    closed = np.zeros(1 << edges, np.int8)
    for box in boxes:
        closed += (sets & np.uint32(box)) == box
    margins = np.zeros(1 << edges, np.int8)
    for size in reversed(range(edges)):
        level = np.flatnonzero(sizes == size).astype(np.uint32)
        for part in np.array_split(level, -(-len(level) // _CHUNK)):
            margins[part] = _best(part, edges, margins, closed)
    return margins


_CHUNK = 1 << 16  # results for this many sets stay in a core's cache


def _best(sets: np.ndarray, edges: int, margins: np.ndarray, closed: np.ndarray) -> np.ndarray:
    """Returns the best margin over all edges that can be drawn, int8 [sets]."""
    best = np.full(len(sets), -100, np.int8)
    closed_before = closed[sets]
    for edge in range(edges):
        after = sets | np.uint32(1 << edge)
        gain = closed[after] - closed_before
        margin = margins[after]
        # Closing a box keeps the turn.
        margin = np.where(gain > 0, gain + margin, -margin)
        np.maximum(best, margin, out=best, where=after != sets)
    return best


def _boxes(game: DotsAndBoxes) -> np.ndarray:
    """Returns the four edges of each box as bits, int64 [rows * columns]."""
    return (1 << _box_edges(game)).sum(1)


def _box_edges(game: DotsAndBoxes) -> np.ndarray:
    """Returns the actions that draw the four edges of each box, int64 [rows * columns, 4]."""
    rows, columns = game.rows, game.columns
    row, column = np.divmod(np.arange(rows * columns), columns)
    top = row * columns + column
    left = (rows + 1) * columns + row * (columns + 1) + column
    return np.stack([top, top + columns, left, left + 1], axis=1)
