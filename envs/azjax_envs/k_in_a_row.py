"""Rows of stones: a board with one word for each of its rows, and so many in a row on it.

A board is a tuple of `height` unsigned words, from the top; bit c of a word is the cell in column
c. So looking up or down costs nothing, and a batch of such boards is plain vector code.
"""

import functools
import operator

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Words, each


def word_type(width: int) -> np.dtype:
    """Returns the smallest word type that holds a row of `width` cells."""
    return np.dtype(next(t for t in (np.uint8, np.uint16, np.uint32) if width <= np.iinfo(t).bits))


def cell(index: Array, height: int, width: int) -> Words:
    """Returns the board with that one cell set; empty if `index` is not on the board."""
    row, column = index // width, index % width
    bit = (jnp.uint32(1) << column.astype(jnp.uint32)).astype(word_type(width))
    return tuple(jnp.where(row == r, bit, jnp.zeros_like(bit)) for r in range(height))


def unpack(board: Words, width: int) -> Array:
    """Returns the cells of a board row by row, bool [height * width]."""
    # Row by row, because that is faster on a CPU than one shift of [height, width].
    bits = (1 << np.arange(width)).astype(word_type(width))
    return jnp.concatenate([row & bits != 0 for row in board])


def has_line(board: Words, *, length: int, exactly: bool) -> Array:
    """Returns whether `length` cells in a row are set, in any of four directions, bool [].

    Args:
      board: the board.
      length: at least 1.
      exactly: whether a longer line does not count.
    """
    directions = ((0, 1), (1, 0), (1, 1), (1, -1))
    lines = [_lines(board, down, right, length, exactly) for down, right in directions]
    return functools.reduce(operator.or_, lines) != 0


def _lines(board: Words, down: int, right: int, length: int, exactly: bool) -> Array:
    """Returns a word [] that is not 0 if there is a line in that direction."""
    starts, have = board, 1
    while have < length:
        hop = min(have, length - have)
        starts = each(operator.and_, starts, _look(starts, hop * down, hop * right))
        have += hop
    if exactly:
        before, after = _look(board, -down, -right), _look(board, length * down, length * right)
        starts = each(lambda line, *beyond: line & ~(beyond[0] | beyond[1]), starts, before, after)
    return functools.reduce(operator.or_, starts)


def _look(board: Words, down: int, right: int) -> Words:
    """What each cell sees so many rows below and columns to its right; beyond the board, nothing.

    Cells may see bits beyond the last column, none of which is ever set on a board.
    """
    blank = jnp.zeros_like(board[0])
    rows = range(down, down + len(board))
    seen = [board[row] if 0 <= row < len(board) else blank for row in rows]
    shift = operator.rshift if right > 0 else operator.lshift
    return tuple(shift(row, abs(right)) for row in seen)
