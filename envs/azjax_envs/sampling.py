"""Random legal actions, cheap enough not to slow random play down.

A draw with `jax.random.categorical` makes a random number for every action. These functions make
one for every position, by a hash of the key and the position's place in the batch. JAX's own
generator would take longer than a move of connect four. They need only jax.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


def random_action(key: Array, mask: Array) -> Array:
    """Returns a uniformly random legal action for each position, int32 [...].

    One key serves a whole batch, so no keys need to be split:

        masks = jax.vmap(game.legal_action_mask)(states)  # bool [B, A]
        actions = random_action(key, masks)  # int32 [B]

    Probabilities are equal up to 2**-32, the step of a random word. Where no action is legal, as
    after the end of a game, the result is 0.

    Args:
      mask: legal actions, bool [..., A], A at most 65,535.

    Raises:
      ValueError: there is more than one key.
    """
    return _for_each(choose_legal, _random_words(key, mask.shape[:-1]), mask)


def weighted_action(key: Array, weights: Array) -> Array:
    """Returns a random action for each position, with probabilities like the weights, int32 [...].

    A weight of 0 is never drawn. Where all weights are 0, the result is the last action.

    Args:
      weights: float [..., A], none negative, of any sum; for example visits, or a policy times the
        legal mask.

    Raises:
      ValueError: there is more than one key.
    """
    uniform = _in_unit_interval(_random_words(key, weights.shape[:-1]))
    return _for_each(_choose_weighted, uniform, weights.astype(jnp.float32))


def choose_legal(bits: Array, mask: Array) -> Array:
    """Returns the action of a mask, bool [A], that a random word, uint32 [], selects: int32 []."""
    return _find(bits, mask, most=1)[0]


def choose_weighted(bits: Array, weights: Array) -> Array:
    """Returns the action that a random word, uint32 [], selects by weights [A]: int32 []."""
    return _choose_weighted(_in_unit_interval(bits), weights)


def _in_unit_interval(words: Array) -> Array:
    """Returns numbers in [0, 1) for random words, which are exact in float32."""
    return (words >> 8).astype(jnp.float32) * 2.0**-24


def _random_words(key: Array, shape: tuple[int, ...]) -> Array:
    """Returns random words for the places of a batch, uint32 [shape].

    Each word of the key goes through a mixing function with full avalanche, so that neighbouring
    places and neighbouring keys have words that look independent.
    """
    parts = jax.random.key_data(key)
    if parts.ndim != 1:
        raise ValueError(
            f"one key serves the whole batch, but there are keys of the shape {parts.shape[:-1]}"
        )
    numbers = jax.lax.iota(jnp.uint32, math.prod(shape))
    words = numbers * jnp.uint32(0x9E3779B9)  # 2**32 divided by the golden ratio
    for part in parts:
        words = mix_bits(words ^ part)
    return words.reshape(shape)


def mix_bits(words: Any) -> Any:
    """Returns a permutation of the words, uint32 [...]: the end of MurmurHash3 (Appleby 2011)."""
    words = (words ^ (words >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    words = (words ^ (words >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return words ^ (words >> np.uint32(16))


def _for_each(choose: Callable[[Array, Array], Array], draws: Array, rows: Array) -> Array:
    flat = jax.vmap(choose)(draws.reshape(-1), rows.reshape(-1, rows.shape[-1]))
    return flat.reshape(draws.shape)


def _find(bits: Array, counts: Array, most: int) -> tuple[Array, Array]:
    """Draws one of the counted things with equal probability, by a random word, uint32 [].

    There are at most `most` at each place [n]. Returns the place, int32 [], and the rank of the
    thing among those there, from 1. Up to 16 places are searched one by one. More places are
    arranged in columns. The sums of the columns are plain vector code over bytes; then one column
    is searched.
    """
    size = counts.shape[0]
    if size <= 16:
        sums = jnp.stack(_running_sums(counts, _type_up_to(size * most)))
        return _place(sums, _draw_rank(bits, sums[-1]).astype(sums.dtype))
    columns = _columns(counts)
    height, width = columns.shape
    sums = jnp.sum(columns, axis=0, dtype=_type_up_to(height * most))
    column, rank = _find(bits, sums, height * most)
    row, rank = _place(_sums_so_far(_at(columns, column), sums.dtype), rank)
    return row * width + column, rank


def _sums_so_far(counts: Array, dtype: Any) -> Array:
    """Returns the sums of the first 1, 2, ... counts [n] as an array [n].

    XLA makes slow loops of `cumsum` on a CPU, and takes long to compile sums that are written out.
    """
    upper = np.tri(counts.shape[0], dtype=bool).T
    counts = counts.astype(jnp.int32) if counts.dtype == bool else counts
    return jnp.sum(jnp.where(upper, counts[:, None], 0), axis=0, dtype=dtype)


def _draw_rank(bits: Array, count: Array) -> Array:
    """Returns 1 + bits * count / 2**32 rounded down, from 1 to count, or 0 if count is 0.

    The count must be below 2**16.
    """
    count = count.astype(jnp.uint32)
    high, low = bits >> 16, bits & 0xFFFF
    return ((high * count + (low * count >> 16)) >> 16) + jnp.minimum(count, 1)


def _place(sums: Array, rank: Array) -> tuple[Array, Array]:
    """Returns the place in running sums where a thing stands, and its rank there.

    Ranks begin at 1. Rank 0, of nothing, is at place 0.
    """
    place = jnp.sum(sums.astype(rank.dtype) < rank, dtype=jnp.int32)
    before = jnp.where(place > 0, _at(sums, jnp.maximum(place - 1, 0)), 0)
    return place, rank - before.astype(rank.dtype)


def _at(values: Array, place: Array) -> Array:
    """Returns `values[..., place]`; it compiles faster because no place may be negative."""
    return jax.lax.dynamic_index_in_dim(values, place, -1, False, allow_negative_indices=False)


def _choose_weighted(uniform: Array, weights: Array) -> Array:
    """Returns the action whose share of the unit interval a number falls into, int32 []."""
    if weights.shape[0] <= 16:
        sums = jnp.stack(_running_sums(weights, weights.dtype))
        return _weighted_place(uniform * sums[-1], sums, weights)[0]
    columns = _columns(weights)
    width = columns.shape[1]
    totals = jnp.sum(columns, axis=0)
    if width <= 16:
        sums = jnp.stack(_running_sums(totals, totals.dtype))
    else:
        sums = jnp.cumsum(totals)
    column, rest = _weighted_place(uniform * sums[-1], sums, totals)
    chosen = columns[:, column]
    row, _ = _weighted_place(rest, jnp.stack(_running_sums(chosen, chosen.dtype)), chosen)
    return jnp.minimum(row * width + column, weights.shape[0] - 1)


def _weighted_place(target: Array, sums: Array, weights: Array) -> tuple[Array, Array]:
    """Returns the place whose share of the sums a number falls into, and the number within it."""
    size = weights.shape[0]
    positive = weights > 0
    # Sums are rounded, so the number can be beyond the last of them.
    last = size - 1 - jnp.argmax(positive[::-1])
    inside = positive & (sums > target)
    place = jnp.where(jnp.any(inside), jnp.argmax(inside), last).astype(jnp.int32)
    return place, target - jnp.where(place > 0, sums[jnp.maximum(place - 1, 0)], 0)


def _columns(places: Array) -> Array:
    """Arranges places in rows of a table, whose columns have at most 11 places."""
    size = places.shape[0]
    height = next((h for h in range(11, 3, -1) if size % h == 0), 8)  # padding is slow
    return jnp.pad(places, (0, -size % height)).reshape(height, -1)


def _running_sums(values: Array, dtype: Any) -> list[Array]:
    values = values.astype(dtype)
    sums = [values[0]]
    for place in range(1, values.shape[0]):
        sums.append(sums[-1] + values[place])
    return sums


def _type_up_to(most: int) -> np.dtype:
    return np.dtype(np.uint8 if most < 256 else np.uint16)
