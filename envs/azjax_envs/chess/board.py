"""Boards of bits for chess on 5x5 and 8x8: steps in the eight directions, and conversions.

A set of squares is one number, uint32 on 5x5 and uint64 on 8x8. Bit i is square i, row by row from
the top. Sets [n] are numbers [n]. Beyond the board, a complement has bits that mean nothing.

JAX has numbers of 64 bits only within `wide_sets`. With pairs of 32 bits, and carries from one to
the other, the rules of chess took XLA twice as long to compile.
"""

import contextlib
import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

# (rows down, columns to the right), clockwise from north. Own pawns move north.
DIRECTIONS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
JUMPS = ((-2, 1), (-1, 2), (1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1))
NORTH, EAST, WEST = 0, 2, 6
ADVANCES = (7, 0, 1)  # the directions of pawns: capture to the left, push, capture to the right


@contextlib.contextmanager
def wide_sets() -> Iterator[None]:
    """Lets a function, which it decorates, compute with sets; its results must not be any."""
    with jax.enable_x64(True):
        yield


def word_type(size: int) -> type[np.uint32] | type[np.uint64]:
    return np.uint32 if size**2 <= 32 else np.uint64


def each_way(sets: Any, ways: Sequence[tuple[int, int]], size: int) -> Array:
    """Moves each of n sets in its own way, and drops squares that leave the board.

    The numbers are rotated, and what comes round is beyond the board.

    Args:
      sets: [n], or [] to move one set in all n ways.
      ways: n pairs (rows down, columns to the right).
    """
    kind, moves = word_type(size), np.array(ways)
    bits = np.iinfo(kind).bits
    up = (moves @ (size, 1) % bits).astype(kind)
    starts = np.moveaxis(np.indices((size, size)), 0, -1) - moves[:, None, None]
    landings = squares(((starts >= 0) & (starts < size)).all(axis=-1))
    return (sets << up | sets >> (kind(bits) - up)) & landings


def flip(sets: Array, size: int) -> Array:
    """Returns boards upside down, from the perspective of the other side."""
    parts = [sets & row(size, size // 2)] if size % 2 else []
    for top in range(size // 2):
        by = word_type(size)((size - 1 - 2 * top) * size)
        parts += [(sets & row(size, top)) << by, sets >> by & row(size, top)]
    return functools.reduce(operator.or_, parts)


def rows(sets: Array, size: int) -> Array:
    """Returns the rows from the top of sets [n] as uint8 [size, n]; bit c is column c."""
    shifted = sets[None] >> (np.arange(size)[:, None] * size).astype(word_type(size))
    return (shifted & word_type(size)(2**size - 1)).astype(jnp.uint8)


def square(index: Array, size: int) -> Array:
    """Returns the set of one square; on 8x8 the empty set if the index is 64."""
    return jnp.ones((), word_type(size)) << index.astype(word_type(size))


def squares(cells: Any) -> Any:
    """Returns the sets [...] of bool [..., size, size], in numpy if they are."""
    size = cells.shape[-1]
    bits = word_type(size)(1) << np.arange(size**2, dtype=word_type(size))
    bits = bits.reshape(*[1] * (cells.ndim - 2), size, size)
    return (cells.astype(word_type(size)) * bits).sum(axis=(-2, -1), dtype=word_type(size))


def every(size: int) -> Any:
    return squares(np.ones((size, size), bool))


def row(size: int, index: int) -> Any:
    """Returns the squares of one row, counted from the top."""
    return squares(np.repeat(np.arange(size)[:, None] == index, size, axis=1))


def from_words(words: Array, size: int) -> Array:
    """Returns sets [...] from words of 32 bits, uint32 [..., W]."""
    parts = [words[..., i].astype(word_type(size)) for i in range(words.shape[-1])]
    return parts[0] | parts[1] << word_type(size)(32) if len(parts) == 2 else parts[0]


def to_words(sets: Array, size: int) -> Array:
    """Returns the words of sets [...], uint32 [..., W]."""
    return _shifted(sets, np.arange(0, size**2, 32), size).astype(jnp.uint32)


def unpack(sets: Array, size: int) -> Array:
    """Unpacks sets [...] into bool [..., size, size]."""
    bits = _shifted(sets, np.arange(size**2), size) & word_type(size)(1)
    return (bits != 0).reshape(*sets.shape, size, size)


def _shifted(sets: Array, places: np.ndarray, size: int) -> Array:
    """Returns sets [...] moved down by each of n places, [..., n]."""
    return sets[..., None] >> places.astype(word_type(size)).reshape(*[1] * sets.ndim, -1)
