"""A player's moves and values in many positions, batch by batch."""

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from azjax.players.base import Player, is_empty, is_jittable
from azjax.pytrees import batch_size as count_rows
from azjax.pytrees import take
from azjax.sharding import EVERYWHERE, SPLIT, make_mesh, shard
from azjax.types import Array, State


def choose(player: Player, key: Array, states: State, batch_size: int) -> np.ndarray:
    """Returns a player's actions, int32 [P], in positions [P, ...], in batches of one size.

    Each batch of a jittable player is split over this process's devices. The last batch is filled
    up with copies of the last state.
    """
    if is_empty(states):
        return np.zeros(0, np.int32)
    if not is_jittable(player):
        return np.asarray(player(key, states), np.int32)
    return _by_batches(player, "__call__", key, states, batch_size).astype(np.int32)


def find_values(player: Player, key: Array, states: State, batch_size: int) -> np.ndarray:
    """Returns the values, float32 [P], by a player's method `values`, as `choose` does."""
    return _by_batches(player, "values", key, states, batch_size).astype(np.float32)


def choose_and_value(
    player: Player, key: Array, suites: Sequence[State], batch_size: int
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Returns `choose` and `find_values` of several batches of states, from the same searches.

    All batches are one for the player, so that its program is compiled once. Players without a
    method `values` have None in its place.
    """
    sizes = [count_rows(states, name="states") for states in suites]
    ends = np.cumsum(sizes)[:-1]
    states = jax.tree.map(lambda *x: np.concatenate([np.asarray(each) for each in x]), *suites)
    if hasattr(player, "values") and hasattr(player, "analyse") and is_jittable(player):
        actions, values = _by_batches(player, "analyse", key, states, batch_size)
    else:
        actions = choose(player, key, states, batch_size)
        values = None
        if hasattr(player, "values"):
            values = find_values(player, key, states, batch_size)
    parts = [None] * len(sizes) if values is None else np.split(values, ends)
    return list(zip(np.split(actions, ends), parts, strict=True))


def _by_batches(player: Player, method: str, key: Array, states: State, batch_size: int) -> Any:
    positions = count_rows(states, name="states")
    mesh = make_mesh(jax.local_devices())
    player = jax.device_put(player, NamedSharding(mesh, EVERYWHERE))
    batches = -(-positions // batch_size)
    size = mesh.size * -(-positions // (batches * mesh.size))
    states = jax.tree.map(np.asarray, states)
    found = []
    for batch in range(batches):
        rows = np.minimum(np.arange(batch * size, (batch + 1) * size), positions - 1)
        part = take(states, rows)
        keys = jax.random.split(jax.random.fold_in(key, batch), mesh.size)
        found.append(jax.tree.map(np.asarray, ask_on_mesh(mesh, method, player, keys, part)))
    return jax.tree.map(lambda *x: np.concatenate(x)[:positions], *found)


@functools.partial(jax.jit, static_argnums=(0, 1))
def ask_on_mesh(mesh: Mesh, method: str, player: Player, keys: Array, states: State) -> Any:
    """Calls a jittable player's method for states [B, ...] split over a mesh, a key each device.

    Of "analyse" it returns the actions and their values.
    """

    def on_one_device(player: Player, keys: Array, states: State) -> Any:
        found = getattr(player, method)(keys[0], states)
        return (found.action, found.value) if method == "analyse" else found

    states = jax.tree.map(jnp.asarray, states)
    return shard(on_one_device, mesh, (EVERYWHERE, SPLIT, SPLIT), SPLIT)(player, keys, states)
