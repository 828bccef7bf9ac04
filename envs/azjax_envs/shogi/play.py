"""Playing a move on a position."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Words
from azjax_envs.shogi import rays
from azjax_envs.shogi.board import IN_HAND, LANES, NUM_PLANES, occupied, unit
from azjax_envs.shogi.moves import NUM_MOVES

# The shortest move of each plane. A slide moves a multiple of it. Drops have no start.
_PLACES = np.array([9 * row + column for row, column in rays.STEPS] * 2, np.int32)


def play(planes: Array, hand: Array, target: Array, plane: Array) -> tuple[Array, Array]:
    """Returns the board and the hand of the player to move after a legal move.

    Args:
      planes: uint32 [5, 3], the board before the move.
      hand: uint32 [], the hand of the player to move before the move.
      target: int32 [], the cell to which a piece goes.
      plane: int32 [], the way to move; see `azjax_envs.shogi.moves`.

    Returns:
      The board uint32 [5, 3], not yet turned to the other player, and the hand uint32 [].
    """
    drops = plane >= 2 * NUM_MOVES
    dropped = jnp.where(drops, plane - 2 * NUM_MOVES + IN_HAND.start, 0)
    start = jnp.where(drops, -1, _start(planes, target, plane))
    cells = jnp.stack([start, target])
    start, end = jnp.stack(LANES.one(cells // 9, cells % 9), axis=1)  # uint32 [3] each

    bits = np.arange(NUM_PLANES)
    moved = jnp.any(planes & start[None] != 0, axis=1)
    promotes = (plane >= NUM_MOVES) & ~drops & (bits == NUM_PLANES - 2)
    moved = moved | (dropped >> bits & 1 == 1) | promotes
    taken = jnp.any(planes & end[None] != 0, axis=1)
    taken = jnp.sum(jnp.where(taken, np.int32(1) << bits, 0)[:-1])
    board = planes & ~(start | end)[None] | jnp.where(moved[:, None], end[None], np.uint32(0))
    return board, hand + unit(taken) - unit(dropped)


def _start(planes: Array, target: Array, plane: Array) -> Array:
    """Returns the cell of the first piece on the way back from the target, int32 []."""
    places = jnp.sum(jnp.where(np.arange(2 * NUM_MOVES) == plane, _PLACES, 0), dtype=jnp.int32)
    distances = np.arange(1, 9, dtype=np.int32)
    taken = _is_set(occupied(planes), target - places * distances)
    return target - places * jnp.min(jnp.where(taken, distances, 9))


def _is_set(words: Words, cells: Array) -> Array:
    """Returns whether each cell is on the board and set, bool [n]."""
    low, middle, high = words
    word = jnp.where(cells < 27, low, jnp.where(cells < 54, middle, high))
    bit = word >> (cells % 27).astype(jnp.uint32) & np.uint32(1)
    return (bit != 0) & (cells >= 0) & (cells < 81)
