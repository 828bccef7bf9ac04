"""Boards of bits for chess on any size: set-wise operations, and steps in the eight directions."""

import dataclasses
import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from azjax_envs.bitboard import Lanes, any_bit, count_bits, each

# (rows down, columns to the right), clockwise from north. Own pawns move north.
DIRECTIONS = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
JUMPS = ((-2, 1), (-1, 2), (1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1))
NORTH, EAST, WEST = 0, 2, 6
ADVANCES = (7, 0, 1)  # the directions of pawns: capture to the left, push, capture to the right


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Bits:
    """A set of squares of a size x size board, as words that hold the rows from the top.

    All words are uint32 of the same shape: [] for one set, [8] for a set in each direction.
    """

    words: tuple[Any, ...]  # uint32 [...] each; numpy arrays in constants
    size: int = dataclasses.field(metadata={"static": True})

    def __and__(self, other: "Bits") -> "Bits":
        return Bits(each(operator.and_, self.words, other.words), self.size)

    def __or__(self, other: "Bits") -> "Bits":
        return Bits(each(operator.or_, self.words, other.words), self.size)

    def __invert__(self) -> "Bits":
        """Returns all other squares. Unlike in sets of pieces, bits beyond the board may be set."""
        return Bits(tuple(~word for word in self.words), self.size)

    def where(self, condition: ArrayLike) -> "Bits":
        """Returns these squares where `condition`, a bool, holds, and none elsewhere."""
        return Bits(tuple(jnp.where(condition, w, np.uint32(0)) for w in self.words), self.size)

    def move(self, down: int, right: int) -> "Bits":
        """Moves all squares `down` rows and `right` columns; drops those that leave the board."""
        lanes = Lanes(self.size, self.size)
        moved = lanes.move(self.words, -(down * self.size + right))
        return Bits(moved, self.size) & _landing(self.size, down, right)

    def each_way(self, ways: Sequence[tuple[int, int]]) -> "Bits":
        """Moves each of n sets in its own way, and drops squares that leave the board.

        Args:
          ways: n pairs (rows down, columns to the right). Each distance must be less than the
            number of bits in a word.

        Returns:
          Sets [..., n]. The words must be [..., n], or [..., 1] to move one set in all n ways.
        """
        lanes = Lanes(self.size, self.size)
        bits = lanes.lanes_per_word * self.size
        distances = np.array([down * self.size + right for down, right in ways])
        higher, by = distances > 0, np.abs(distances).astype(np.uint32)
        rest = np.uint32(bits) - by
        none = jnp.zeros_like(self.words[0])
        around = [none, *self.words, none]
        moved = []
        for below, word, above in zip(around, self.words, around[2:], strict=False):
            up, down = word << by | below >> rest, word >> by | above << rest
            moved.append(jnp.where(higher, up, down))
        landings = [_landing(self.size, *way).words for way in ways]
        landings = tuple(np.array(words) for words in zip(*landings, strict=True))
        return Bits(tuple(moved), self.size) & Bits(landings, self.size)

    def union(self) -> "Bits":
        """Returns the union of sets [..., n], as [...]."""
        return Bits(tuple(jnp.bitwise_or.reduce(w, axis=-1) for w in self.words), self.size)

    def flip(self) -> "Bits":
        """Returns the board upside down, from the perspective of the other side."""
        return Bits(Lanes(self.size, self.size).flip(self.words), self.size)

    def any(self) -> Array:
        """Returns whether any square is set, bool of the shape of the words."""
        return any_bit(self.words)

    def count(self) -> Array:
        """Returns the number of squares set, int32 of the shape of the words."""
        return count_bits(self.words)

    def rows(self) -> Array:
        """Returns the rows from the top of sets [n] as uint8 [size, n]; bit c is column c."""
        per_word = Lanes(self.size, self.size).lanes_per_word
        bits = np.arange(per_word, dtype=np.uint32)[None, :, None] * np.uint32(self.size)
        rows = self.stack()[:, None] >> bits & np.uint32(2**self.size - 1)
        return rows.astype(jnp.uint8).reshape(-1, rows.shape[-1])[: self.size]

    def stack(self) -> Array:
        """Returns the words as one array, uint32 [W, ...]."""
        return jnp.stack(self.words)


def unstack(words: Array, size: int) -> Bits:
    """Returns the board with the given words, uint32 [W]."""
    return Bits(tuple(words[i] for i in range(words.shape[0])), size)


def square(index: Array | int, size: int) -> Bits:
    """Returns the set of one square, or the empty set if `index` is not on the board."""
    lane = jnp.where(index < 0, -1, index // size)
    return Bits(Lanes(size, size).one(lane, index % size), size)


def squares(size: int, cells: np.ndarray) -> Bits:
    """Makes a constant board from bool [size, size]."""
    return Bits(Lanes(size, size).constant(cells), size)


def every(size: int) -> Bits:
    return squares(size, np.ones((size, size), bool))


def row(size: int, index: int) -> Bits:
    """Returns the squares of one row, counted from the top."""
    return squares(size, np.arange(size)[:, None] == np.full((1, size), index))


def union(boards: Iterable[Bits]) -> Bits:
    return functools.reduce(operator.or_, boards)


def stacked(boards: Sequence[Bits]) -> Bits:
    """Stacks sets [...] into sets [..., n]."""
    words = zip(*(board.words for board in boards), strict=True)
    return Bits(tuple(jnp.stack(word, axis=-1) for word in words), boards[0].size)


def unpack(sets: Bits) -> Array:
    """Unpacks sets [...] into bool [..., size, size]."""
    rows = []
    for index in range(sets.size**2):
        word, bit = Lanes(sets.size, sets.size).place(index)
        rows.append(sets.words[word] >> bit & np.uint32(1) != 0)
    return jnp.stack(rows, axis=-1).reshape(*rows[0].shape, sets.size, sets.size)


def _landing(size: int, down: int, right: int) -> Bits:
    """Returns the squares that a move by these rows and columns can end on."""
    rows, columns = np.arange(size)[:, None] - down, np.arange(size)[None, :] - right
    inside = (rows >= 0) & (rows < size) & (columns >= 0) & (columns < size)
    return squares(size, inside)
