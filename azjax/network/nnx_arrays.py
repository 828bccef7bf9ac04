"""The arrays of an nnx module as nested dicts, and checks of their shapes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from azjax.network.network import Variables
from azjax.types import Array


def check_variables(variables: Variables, **expected: nnx.State) -> None:
    """Raises a ValueError unless every array of `params` and `stats` is there with its shape."""
    given_arrays = variables if isinstance(variables, dict) else {}
    for kind, state in expected.items():
        shapes = jax.tree.map(jnp.shape, plain_dicts(state), is_leaf=lambda x: hasattr(x, "shape"))
        given = jax.tree.map(jnp.shape, given_arrays.get(kind, {}))
        if given != shapes:
            raise ValueError(
                f'variables["{kind}"] must be of this network, made by `init` for the same game '
                f"and config: {_first_difference(given, shapes)}"
            )


def _first_difference(given: Any, expected: Any, path: str = "") -> str:
    """Describes where two nested dicts of shapes begin to differ."""
    if not isinstance(given, dict) or not isinstance(expected, dict):
        return f"{path} has the shape {given}, expected {expected}"
    for key in dict.fromkeys([*expected, *given]):
        if key not in given or key not in expected:
            return f"{path}[{key!r}] is {'missing' if key in expected else 'unknown'}"
        if given[key] != expected[key]:
            return _first_difference(given[key], expected[key], f"{path}[{key!r}]")
    return "they are equal"


def plain_dicts(state: nnx.State) -> dict[str, Any]:
    """Returns nested dicts with string keys only, which every file format can hold."""

    def strings(tree: Any) -> Any:
        return {str(k): strings(v) for k, v in tree.items()} if isinstance(tree, dict) else tree

    return strings(nnx.to_pure_dict(state))


def typed_key(key: Array) -> Array:
    """Returns a PRNG key that may be of raw numbers as a typed one, which nnx needs."""
    return jax.random.wrap_key_data(key) if key.dtype == jnp.uint32 else key
