"""Boards of stones with one word for each row, and the search for k stones in a row.

A board is a tuple of `height` unsigned words, from the top; bit c of a word is the cell in column
c. Cells above and below then need no shift, and a batch of boards compiles to plain vector code.
"""

import functools
import operator

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Words, both, each

_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # rows down, columns to the right


def word_type(width: int) -> np.dtype:
    """Returns the smallest word type that holds a row of `width` cells."""
    return np.dtype(next(t for t in (np.uint8, np.uint16, np.uint32) if width <= np.iinfo(t).bits))


def cell(index: Array, height: int, width: int) -> Words:
    """Returns the board with one cell set; an empty one if `index` is not on the board."""
    row, column = index // width, index % width
    bit = (jnp.uint32(1) << column.astype(jnp.uint32)).astype(word_type(width))
    return tuple(jnp.where(row == r, bit, jnp.zeros_like(bit)) for r in range(height))


def unpack(board: Words, width: int) -> Array:
    """Returns the cells of a board row by row, bool [height * width]."""
    # Row by row, because that is faster on a CPU than one shift of [height, width].
    bits = (1 << np.arange(width)).astype(word_type(width))
    return jnp.concatenate([row & bits != 0 for row in board])


def has_line(board: Words, *, length: int, exactly: bool) -> Array:
    """Returns whether `length` cells in a row are set, in any of the four directions: bool [].

    With `exactly`, longer lines do not count.
    """
    lines = [_lines(board, down, right, length, exactly) for down, right in _DIRECTIONS]
    return functools.reduce(operator.or_, lines) != 0


def line_cells(cells: Array, *, length: int, exactly: bool = False) -> Array:
    """Returns which of the set cells, bool [height, width], belong to a line of `length`.

    With `exactly`, longer lines do not count.
    """
    found = jnp.zeros_like(cells)
    for down, right in _DIRECTIONS:
        lines = cells  # the cells at which a line begins
        for hop in _hops(length):
            lines &= _shifted(lines, hop * down, hop * right)
        if exactly:
            lines &= ~_shifted(cells, -down, -right)
            lines &= ~_shifted(cells, length * down, length * right)
        for hop in _hops(length):
            lines |= _shifted(lines, -hop * down, -hop * right)
        found |= lines
    return found


def _hops(length: int) -> list[int]:
    """Returns the distances that extend a line from one cell to `length`, by doubling."""
    hops, have = [], 1
    while have < length:
        hops.append(min(have, length - have))
        have += hops[-1]
    return hops


def _shifted(cells: Array, down: int, right: int) -> Array:
    """Returns, for each cell, the one `down` rows below and `right` columns to its right."""
    height, width = cells.shape
    padding = [(max(-by, 0), max(by, 0)) for by in (down, right)]
    top, left = max(down, 0), max(right, 0)
    return jnp.pad(cells, padding)[top : top + height, left : left + width]


def _lines(board: Words, down: int, right: int, length: int, exactly: bool) -> Array:
    """Returns a word [] that is not 0 if there is a line in that direction."""
    starts = board
    for hop in _hops(length):
        starts = both(starts, _look(starts, hop * down, hop * right))
    if exactly:
        before, after = _look(board, -down, -right), _look(board, length * down, length * right)
        starts = each(lambda line, *beyond: line & ~(beyond[0] | beyond[1]), starts, before, after)
    return functools.reduce(operator.or_, starts)


def _look(board: Words, down: int, right: int) -> Words:
    """Returns, for each cell, the cell `down` rows below it and `right` columns to its right.

    Rows beyond the board are empty. Bits beyond the last column may be read; a board never sets
    them.
    """
    blank = jnp.zeros_like(board[0])
    rows = range(down, down + len(board))
    seen = [board[row] if 0 <= row < len(board) else blank for row in rows]
    shift = operator.rshift if right > 0 else operator.lshift
    return tuple(shift(row, abs(right)) for row in seen)
