"""Networks of nnx modules: their arrays as nested dicts, and checks of the shapes."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx

from azjax.network.network import Network, Variables
from azjax.pytrees import check_key
from azjax.types import Array


class ModuleNetwork(Network):
    """A network of an nnx module, which `make` makes.

    A module with arrays is never kept: the arrays are put into a new one while JAX traces.
    """

    def make(self, key: Array) -> nnx.Module:
        """Returns a new module."""
        raise NotImplementedError

    def init(self, key: Array) -> Variables:
        """Returns new variables: the module's parameters, and its other arrays as statistics."""
        check_key(key)
        _, params, _, stats = split(self.make(key))
        return {"params": plain_dicts(params), "stats": plain_dicts(stats)}

    def module(self, variables: Variables, key: Array | None = None) -> Any:
        """Returns the module with these arrays, and with random numbers from `key` if it is given.

        Without a key, the module's streams of random numbers hold no arrays.
        """
        graph, *states = _without_arrays(self)
        params, random, stats = jax.tree.map(lambda x: x, states)  # a copy, which is filled
        check_variables(variables, params=params, stats=stats)
        nnx.replace_by_pure_dict(params, variables["params"])
        nnx.replace_by_pure_dict(stats, variables["stats"])
        if key is None:
            return nnx.merge(graph, params, random, stats)
        leaves, structure = jax.tree.flatten(random)
        # Every stream of random numbers gets a key of its own, and counts from 0.
        fresh = [
            jax.random.fold_in(typed_key(key), number)
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            else jnp.zeros(leaf.shape, leaf.dtype)
            for number, leaf in enumerate(leaves)
        ]
        return nnx.merge(graph, params, jax.tree.unflatten(structure, fresh), stats)


def variable_shapes(network: Network) -> Variables:
    """Returns the shapes and dtypes of a network's variables, as `jax.ShapeDtypeStruct`s."""
    if not isinstance(network, ModuleNetwork):
        return jax.eval_shape(network.init, jax.ShapeDtypeStruct((2,), jnp.uint32))
    _, params, _, stats = _without_arrays(network)
    return {"params": plain_dicts(params), "stats": plain_dicts(stats)}


@functools.cache
def _without_arrays(network: ModuleNetwork) -> tuple[Any, nnx.State, nnx.State, nnx.State]:
    """Returns `split` of the module with shapes in place of arrays; making it takes 0.2 s."""
    graph, *states = split(nnx.eval_shape(lambda: network.make(jax.random.key(0))))
    # Alone, because shapes that are found while JAX traces a program know that program's devices.
    return graph, *jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), states)


def split(module: nnx.Module) -> tuple[Any, nnx.State, nnx.State, nnx.State]:
    """Returns the graph, the parameters, the state of random numbers, and all other arrays."""
    graph, params, random, stats = nnx.split(module, nnx.Param, nnx.RngState, ...)
    return graph, params, random, stats


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
