"""Means that may be over nothing."""

import math

import jax
import jax.numpy as jnp

from azjax.types import Array


def mean(total: Array, count: Array) -> Array:
    """Returns total / count; `nothing()` where the count is 0."""
    if not _stops_at_nans():
        return total / count
    return jnp.where(count > 0, total / jnp.maximum(count, 1), nothing())


def nothing() -> float:
    """Returns the number that stands for the mean of no numbers: NaN.

    Where JAX stops at every NaN (`jax_debug_nans`) it is infinity, which is no finite number
    either.
    """
    return math.inf if _stops_at_nans() else math.nan


def _stops_at_nans() -> bool:
    return getattr(jax.config, "jax_debug_nans", False)
