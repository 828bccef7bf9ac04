"""A player's moves in many positions, and what it thinks them worth."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from azjax.sharding import EVERYWHERE, SPLIT, make_mesh, shard


def choose(player, key: jax.Array, states, batch_size: int) -> np.ndarray:
    """The player's actions int32 [P] in batched states [P, ...], by batches of one size.

    A jittable player has each batch split over this process's devices. The last batch is filled
    up with copies of the last state.
    """
    if not getattr(player, "jittable", True):
        return np.asarray(player(key, states), np.int32)
    return _by_batches(player, "__call__", key, states, batch_size).astype(np.int32)


def find_values(player, key: jax.Array, states, batch_size: int) -> np.ndarray | None:
    """What the player thinks batched states [P, ...] worth, float32 [P]; None if it has no values.

    Values are those of its method `values(key, states)`, seen by who is to move.
    """
    if not hasattr(player, "values"):
        return None
    return _by_batches(player, "values", key, states, batch_size).astype(np.float32)


def _by_batches(player, method: str, key: jax.Array, states, batch_size: int) -> np.ndarray:
    positions = jax.tree.leaves(states)[0].shape[0]
    mesh = make_mesh(jax.local_devices())
    player = jax.device_put(player, NamedSharding(mesh, EVERYWHERE))
    batches = -(-positions // batch_size)
    size = mesh.size * -(-positions // (batches * mesh.size))
    states = jax.tree.map(np.asarray, states)
    found = []
    for batch in range(batches):
        rows = np.minimum(np.arange(batch * size, (batch + 1) * size), positions - 1)
        part = jax.tree.map(lambda x, rows=rows: x[rows], states)
        keys = jax.random.split(jax.random.fold_in(key, batch), mesh.size)
        found.append(np.asarray(_ask(mesh, method, player, keys, part)))
    return np.concatenate(found)[:positions]


@functools.partial(jax.jit, static_argnums=(0, 1))
def _ask(mesh, method: str, player, keys, states):
    def on_one_device(player, keys, states):
        return getattr(player, method)(keys[0], states)

    states = jax.tree.map(jnp.asarray, states)
    return shard(on_one_device, mesh, (EVERYWHERE, SPLIT, SPLIT), SPLIT)(player, keys, states)
