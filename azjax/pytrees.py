"""Operations on pytrees of arrays that share a leading batch axis, and checks of their shapes.

The checks read shapes and dtypes, which are known while JAX traces: a compiled program contains
nothing of them.
"""

from collections.abc import Callable
from typing import Any

import chex
import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.types import Array, State


def where(condition: Array, new: Any, old: Any) -> Any:
    """Chooses rows of arrays [B, ...]: of `new` where `condition` bool [B] is True, or of `old`."""

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


def in_chunks(
    function: Callable[[tuple[Array, Any]], Any], key: Array, tree: Any, *, most: int
) -> Any:
    """Maps a function of (PRNG key, rows) over chunks of a tree [B, ...], one after another.

    The chunks have at most `most` rows and equal sizes. The last one is filled up with copies of
    the last row. Returns the arrays [B, ...] of all chunks, whose keys differ.
    """
    batch = batch_size(tree)
    chunks = max(-(-batch // most), 1)
    size = -(-batch // chunks)
    rows = jnp.minimum(jnp.arange(chunks * size), batch - 1).reshape(chunks, size)
    found = jax.lax.map(function, (jax.random.split(key, chunks), take(tree, rows)))
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[:batch], found)


def batch_size(tree: Any, *, name: str = "batch") -> int:
    """Returns the length B of the leading axis that all arrays of `tree` share.

    Raises:
      ValueError: an array has no leading axis, or another length than the others. The message calls
        the tree `name`.
    """
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    shapes = {name + jax.tree_util.keystr(path): jnp.shape(leaf) for path, leaf in leaves}
    sizes = {shape[:1] for shape in shapes.values()}
    if len(sizes) != 1 or sizes == {()}:
        given = ", ".join(f"{key} {shape}" for key, shape in shapes.items()) or "no arrays"
        raise ValueError(f"{name}: all arrays must share their leading (batch) axis; given {given}")
    return sizes.pop()[0]


def check_array(array: Array, shape: tuple[int | str, ...], dtype: Any, *, name: str) -> None:
    """Checks the shape and the dtype of an array.

    Args:
      shape: the expected shape; a string such as "B" is an axis of any length.
      dtype: the expected dtype, such as `jnp.int32`; `float` and `int` for any of that kind.
      name: what the error message calls the array.

    Raises:
      ValueError: the shape or the dtype differs.
    """
    lengths = tuple(None if isinstance(axis, str) else axis for axis in shape)
    try:
        chex.assert_shape(array, lengths)
        chex.assert_type(array, dtype)
    except AssertionError:
        kind = dtype.__name__ if dtype in (float, int) else jnp.dtype(dtype).name
        axes = ", ".join(map(str, shape))
        given = f"{jnp.result_type(array).name} {list(jnp.shape(array))}"
        raise ValueError(f"{name} must be {kind} [{axes}], given {given}") from None


def check_states(game: Game, states: State) -> int:
    """Checks that `states` is a batch of the game's states [B, ...], and returns its size B.

    Raises:
      ValueError: the states are another game's, are not batched, or differ in shape or dtype.
    """
    one = jax.eval_shape(game.init)
    if jax.tree.structure(states) != jax.tree.structure(one):
        given = type(states).__name__
        if type(states) is type(one):
            given = str(jax.tree.structure(states))
        raise ValueError(
            f"states must be a batch of {game.name}'s {type(one).__name__}, given {given}"
        )
    leaves = jax.tree_util.tree_leaves_with_path(states)
    for (path, leaf), row in zip(leaves, jax.tree.leaves(one), strict=True):
        name = "states" + jax.tree_util.keystr(path)
        if jnp.shape(leaf) == row.shape:
            wanted = ", ".join(["B", *map(str, row.shape)])
            raise ValueError(
                f"{name} must have a batch axis, shape [{wanted}], given {row.shape}; "
                "azjax.pytrees.expand(state) makes a batch of one state"
            )
        check_array(leaf, ("B", *row.shape), row.dtype, name=f"{name} of {game.name}")
    return batch_size(states, name="states")


def check_key(key: Array, *, name: str = "key") -> None:
    """Checks that `key` is one PRNG key: a typed key [], or raw uint32 numbers [n].

    Raises:
      ValueError: it is a batch of keys, or no key.
    """
    dtype, shape = jnp.asarray(key).dtype, jnp.shape(key)
    typed = jnp.issubdtype(dtype, jax.dtypes.prng_key)
    if len(shape) != (0 if typed else 1) or not (typed or dtype == jnp.uint32):
        raise ValueError(
            f"{name} must be one PRNG key, such as jax.random.key(0), given {dtype} {shape}"
        )
