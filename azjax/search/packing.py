"""States of a search tree as one array of each dtype, so that few kernels read and write them."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from azjax.types import Array, State


def packing(states: State) -> tuple[Callable[[State], Any], Callable[[Any], State]]:
    """Returns two functions, one that packs states [..., ...] and one that undoes it.

    Packed states are {name of a dtype: array [..., K]}. `states` [B, N, ...] are an example.
    """
    leaves, structure = jax.tree.flatten(states)
    shapes = [x.shape[2:] for x in leaves]
    sizes = [math.prod(shape) for shape in shapes]
    groups: dict[str, list[int]] = {}
    for number, leaf in enumerate(leaves):
        groups.setdefault(leaf.dtype.name, []).append(number)

    def flat(leaf: Array, shape: tuple[int, ...]) -> Array:
        return leaf.reshape(*leaf.shape[: leaf.ndim - len(shape)], -1)

    def pack(states: State) -> dict[str, Array]:
        rows = [flat(*pair) for pair in zip(jax.tree.leaves(states), shapes, strict=True)]
        return {
            name: jnp.concatenate([rows[number] for number in group], axis=-1)
            for name, group in groups.items()
        }

    def unpack(packed: dict[str, Array]) -> State:
        leaves: dict[int, Array] = {}
        for name, group in groups.items():
            ends = itertools.accumulate((sizes[number] for number in group), initial=0)
            for number, (start, end) in zip(group, itertools.pairwise(ends), strict=True):
                part = packed[name][..., start:end]
                leaves[number] = part.reshape(*part.shape[:-1], *shapes[number])
        return jax.tree.unflatten(structure, [leaves[number] for number in range(len(leaves))])

    return pack, unpack
