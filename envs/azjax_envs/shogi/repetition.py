"""Repeated positions: their fingerprints, and the players who gave check throughout."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.sampling import mix_bits

NEVER = np.int16(2**15 - 1)  # in place of a ply, for a side that does not give check


def fingerprint(position: Array, player: Array | np.integer) -> Array:
    """Returns the fingerprint, uint32 [2], of a position, uint32 [n], with `player` to move.

    Each of its two numbers is a sum over the words of MurmurHash3's finaliser (Appleby), each word
    salted by its index. Positions that differ in one word always have different fingerprints.
    Others are equal for one pair in 2**63.
    """
    words = jnp.append(position, player.astype(jnp.uint32))
    places = np.arange(2 * words.shape[0], dtype=np.uint32).reshape(2, -1)
    salted = mix_bits(words[None] ^ mix_bits(places + np.uint32(1)))
    # Never zero: zeros in a history mean that there was no position.
    return jnp.sum(salted, axis=1, dtype=jnp.uint32) | np.array([1, 0], np.uint32)


def earlier(history: Array, now: Array) -> tuple[Array, Array]:
    """Returns how often a position occurred before, int32 [], and its first ply, int16 [].

    `history`, uint32 [2, 512], has the fingerprints of all earlier positions, and `now` its own.
    """
    same = ((history[0] == now[0]) & (history[1] == now[1])).reshape(-1, 32)
    # Packed into words, so that one pass over the history serves both results.
    words = jnp.sum(jnp.where(same, np.uint32(1) << np.arange(32, dtype=np.uint32), 0), axis=1)
    zeros_below = jnp.bitwise_count((words & -words) - 1).astype(jnp.int16)
    plies = np.arange(0, history.shape[1], 32, dtype=np.int16) + zeros_below
    first = jnp.min(jnp.where(words != 0, plies, NEVER))
    return jnp.sum(jnp.bitwise_count(words), dtype=jnp.int32), first


def checking_since(since: Array, mover: Array, gives_check: Array, ply: Array) -> Array:
    """Returns for each player, int16 [2], the ply after which every move gave check, or NEVER.

    `since` is the result for the position before the move.
    """
    updated = jnp.where(gives_check, jnp.minimum(since, ply), NEVER)
    return jnp.where(np.arange(2) == mover.astype(jnp.int32), updated, since)


def result(since: Array, player: Array, first: Array) -> Array:
    """Returns the value of a position's fourth occurrence for player 0, int8 [].

    A side loses if all its moves since the ply of the first occurrence gave check, by
    `checking_since`. If that holds for both sides, the game is a draw.
    """
    # The player to move made the first move after that ply, and the opponent the second.
    begins = first + jnp.where(np.arange(2) == player.astype(jnp.int32), 1, 2)
    checked, by_other = since[0] <= begins[0], since[1] <= begins[1]
    return by_other.astype(jnp.int8) - checked.astype(jnp.int8)
