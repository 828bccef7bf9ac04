"""Checkers of one player as numbers of few bits for each point, which are bits of words.

Bit i of word k, uint32, is bit k of the number of checkers on point i. Points are those of the
player who owns the checkers: 1 to 24, from the last to the first of their way. Point 25 is the bar,
and point 0 has the checkers borne off.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Words = tuple[Array, ...]  # uint32 [] each

OFF, BAR = np.uint32(1), np.uint32(1 << 25)
POINTS = np.uint32(0x1FFFFFE)  # points 1 to 24
HOME = np.uint32(0x7E)  # points 1 to 6
LAST_QUARTER = np.uint32(0x1F80000)  # points 19 to 24, the home of the opponent


def pack(counts: Sequence[int], size: int) -> Words:
    """Returns the numbers of checkers on points 0 to 25 as `size` words."""
    bits = [sum(((n >> k) & 1) << i for i, n in enumerate(counts)) for k in range(size)]
    return tuple(jnp.uint32(word) for word in bits)


def counts(words: Words) -> Array:
    """Returns the numbers of checkers on points 0 to 25, uint8 [26]."""
    points = np.arange(26, dtype=np.uint32)
    bits = [((word >> points) & 1).astype(jnp.uint8) << k for k, word in enumerate(words)]
    return sum(bits[1:], bits[0])


def some(words: Words) -> Array:
    """Returns the points with checkers, and the bar, uint32 []."""
    return _any(words) & ~OFF


def several(words: Words) -> Array:
    """Returns the points with two checkers or more, uint32 []."""
    return _any(words[1:])


def blots(words: Words) -> Array:
    """Returns the points with exactly one checker, uint32 []."""
    return words[0] & ~several(words) & POINTS


def borne_off(words: Words) -> Array:
    """Returns how many checkers are borne off, uint8 []."""
    bits = [(word & 1).astype(jnp.uint8) << k for k, word in enumerate(words)]
    return sum(bits[1:], bits[0])


def pips(words: Words) -> Array:
    """Returns how many points all checkers have still to go, int32 []."""
    count, masks = jax.lax.population_count, [(POINTS | BAR) & _NUMBERS[k] for k in range(5)]
    sums = [count(w & m) << (j + k) for j, w in enumerate(words) for k, m in enumerate(masks)]
    return sum(sums[1:], sums[0]).astype(jnp.int32)


def add(words: Words, point: Array) -> Words:
    """Returns the words with one checker more on a point, uint32 [], one bit or none."""
    result, carry = [], point
    for word in words:
        result.append(word ^ carry)
        carry = carry & word
    return tuple(result)


def remove(words: Words, point: Array) -> Words:
    """Returns the words with one checker less on a point, uint32 [], one bit or none."""
    result, borrow = [], point
    for word in words:
        result.append(word ^ borrow)
        borrow = borrow & ~word
    return tuple(result)


def turned(points: Array) -> Array:
    """Returns points, uint32 [], as the other player counts them: point i is their 25 - i."""
    for shift, mask in _SWAPS:
        points = ((points >> shift) & mask) | ((points & mask) << shift)
    return ((points >> 16) | (points << 16)) >> 6


def _any(words: Words) -> Array:
    result = words[0]
    for word in words[1:]:
        result = result | word
    return result


_SWAPS = [(1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)]
_SWAPS = [(shift, np.uint32(mask)) for shift, mask in _SWAPS]
# The points whose number has bit k.
_NUMBERS = [np.uint32(sum(1 << i for i in range(32) if i >> k & 1)) for k in range(5)]
