"""Bitboards of any size: lanes of equal width, each packed whole into a 32-bit word."""

import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

Words = tuple[Array, ...]  # num_words scalars, each uint32 []


@dataclasses.dataclass(frozen=True)
class Lanes:
    """The layout of a [lanes, width] board of bits in as few words as possible; `width` <= 32.

    A lane never straddles two words, so an addition within a lane carries into no other word. Bit
    `lane * width + offset` is the cell at `offset` in `lane`. `move` moves bits along that order,
    across words.

    A board is a tuple of scalars, and states keep it that way. Over a batch, XLA fuses such scalars
    into one vector loop. Stacked words would be copied at every step, which was measured to be ten
    times slower.
    """

    lanes: int
    width: int

    @property
    def lanes_per_word(self) -> int:
        return 32 // self.width

    @property
    def num_words(self) -> int:
        return -(-self.lanes // self.lanes_per_word)

    def empty(self) -> Words:
        return (jnp.zeros((), jnp.uint32),) * self.num_words

    def constant(self, cells: np.ndarray) -> tuple[np.uint32, ...]:
        """Packs cells, bool [lanes, width], into words of numpy."""
        return tuple(self.pack(np.broadcast_to(cells, (self.lanes, self.width))))

    def pack(self, cells: Any) -> Any:
        """Packs bool [..., lanes, width] into uint32 [..., num_words], in numpy if they are."""
        lanes, offsets = np.divmod(np.arange(self.lanes * self.width), self.width)
        bits = np.uint32(1) << self._place(lanes, offsets).astype(np.uint32)
        words = np.arange(self.num_words).reshape(*[1] * (cells.ndim - 2), -1, 1)
        bits = np.where(lanes // self.lanes_per_word == words, bits, np.uint32(0))
        cells = cells.reshape(*cells.shape[:-2], 1, -1).astype(np.uint32)
        return (cells * bits).sum(axis=-1, dtype=np.uint32)

    def one(self, lane: Array, offset: Array | int = 0) -> Words:
        """Returns the board with that one bit set; an empty one unless `lane` is in 0..lanes-1."""
        lane = jnp.where((lane >= 0) & (lane < self.lanes), lane, -1)
        bit = jnp.uint32(1) << self._place(lane, offset).astype(jnp.uint32)
        word = lane // self.lanes_per_word
        return tuple(jnp.where(word == i, bit, np.uint32(0)) for i in range(self.num_words))

    def move(self, words: Sequence[Array], distance: int) -> Words:
        """Moves every bit down by `distance` places, or up by -`distance` if it is negative.

        Bits below place 0 are dropped. A move upwards may leave bits set beyond the last lane.
        """
        size = self.lanes_per_word * self.width
        whole, part = divmod(distance, size)
        zero, places = jnp.zeros_like(words[0]), range(whole, whole + self.num_words + 1)
        words = [words[i] if 0 <= i < len(words) else zero for i in places]
        if part == 0:
            return tuple(words[:-1])
        full, down, up = (np.uint32(n) for n in (2**size - 1, part, size - part))
        return tuple(low >> down | high << up & full for low, high in itertools.pairwise(words))

    def has_run(self, words: Sequence[Array], *, step: int, length: int) -> Array:
        """Returns whether `length` bits are set, each `step` places after the one before: bool [].

        Every lane must end with a clear bit, or runs would continue into the next lane.
        """
        have = 1
        while have < length:
            hop = min(have, length - have)
            words = both(words, self.move(words, hop * step))
            have += hop
        return any_bit(words)

    def unpack(self, words: Words | np.ndarray) -> Any:
        """Unpacks words into bool [lanes, width], in numpy if they are one array of numpy."""
        size = self.lanes_per_word * self.width
        stacked = words if isinstance(words, np.ndarray) else jnp.stack(words)
        bits = stacked[:, None] >> np.arange(size, dtype=np.uint32)[None, :]
        return (bits & np.uint32(1)).reshape(-1, self.width)[: self.lanes] != 0

    def column(self, words: Words, offset: int) -> Array:
        """Returns the bit at `offset` of each lane, bool [lanes]."""
        bits = [
            words[lane // self.lanes_per_word] >> np.uint32(self._place(lane, offset))
            for lane in range(self.lanes)
        ]
        return jnp.stack(bits) & np.uint32(1) != 0

    def _place(self, lane, offset):
        return lane % self.lanes_per_word * self.width + offset


def each(operation: Callable[..., Array], *boards: Sequence[ArrayLike]) -> Words:
    """Applies `operation` word by word; boards may be numpy constants."""
    return tuple(operation(*words) for words in zip(*boards, strict=True))


both = functools.partial(each, operator.and_)
either = functools.partial(each, operator.or_)
without = functools.partial(each, lambda a, b: a & ~b)


def only_if(condition: Array, words: Words) -> Words:
    """Returns `words`, or an empty board where the condition is false."""
    return tuple(jnp.where(condition, word, np.uint32(0)) for word in words)


def any_bit(words: Sequence[Array]) -> Array:
    """Returns whether any bit is set, bool []."""
    union = words[0]
    for word in words[1:]:
        union = union | word
    return union != 0


def count_bits(words: Sequence[Array]) -> Array:
    """Returns the number of bits set, int32 []."""
    total = jnp.bitwise_count(words[0]).astype(jnp.int32)
    for word in words[1:]:
        total += jnp.bitwise_count(word).astype(jnp.int32)
    return total
