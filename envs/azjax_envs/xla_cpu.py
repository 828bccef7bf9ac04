"""Loops that keep XLA on a CPU from fusing a value with what is computed from it."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array


def computed_once(*values: Any) -> tuple[Any, ...]:
    """Returns the same values, behind a barrier that makes XLA compute them only once.

    XLA on a CPU fuses each result of a program with all that leads to it, and computes again what
    they share; optimization barriers are gone by then, but loops are not. So the values go through
    a loop that leaves them as they were (measured: a step and a restart of gomoku in two thirds of
    the time).
    """

    def stay(i: Array, values: Any) -> Any:
        return jax.tree.map(lambda x: jnp.where(i < 0, jnp.zeros_like(x), x), values)

    return jax.lax.fori_loop(0, 2, stay, values)


def materialized(array: Array) -> Array:
    """Returns the same array [n, m, ...], n and m at least 2, written to memory in that shape.

    XLA on a CPU fuses a reshape with what it reshapes, and then divides the number of each element
    by the old sizes, even where none of the memory would have to move (measured: a mask of
    64 x 73 moves takes 40 times as long to unpack). The loop exchanges two elements twice.
    """

    def swap(_: int, array: Array) -> Array:
        corner = (0,) * array.ndim
        pair = jax.lax.slice(array, corner, (2,) + (1,) * (array.ndim - 1))
        return jax.lax.dynamic_update_slice(array, pair[::-1], corner)

    return jax.lax.fori_loop(0, 2, swap, array)
