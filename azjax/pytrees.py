"""Operations on pytrees of arrays that share a leading batch axis."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from azjax.types import Array


def where(condition: Array, new: Any, old: Any) -> Any:
    """Chooses between two batched pytrees row by row.

    Args:
      condition: bool [B].
      new: pytree of arrays [B, ...], taken where `condition` is True.
      old: pytree of the same shapes, taken elsewhere.
    """

    def choose(x: Array, y: Array) -> Array:
        return jnp.where(condition.reshape(condition.shape + (1,) * (y.ndim - 1)), x, y)

    return jax.tree.map(choose, new, old)


def take(tree: Any, rows: Any) -> Any:
    """Returns the given rows of every array [B, ...]: `x[rows]`."""
    return jax.tree.map(lambda x: x[rows], tree)


def expand(tree: Any) -> Any:
    """Adds a batch axis of one to every array: [...] -> [1, ...]."""
    return jax.tree.map(lambda x: x[None], tree)


def first(tree: Any) -> Any:
    """Returns the first row of every array: [B, ...] -> [...]."""
    return jax.tree.map(lambda x: x[0], tree)
