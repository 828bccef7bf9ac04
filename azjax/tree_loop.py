"""A fast simulation loop for mctx: same tree, same numbers, a fraction of the bookkeeping.

mctx's own loop body `vmap`s a `while_loop` over the tree of one game. Batched, that becomes a loop
which selects between old and new copies of the *whole* tree at each step down and up. Here one loop
with a scalar predicate walks all games at once and writes single elements in place. mctx takes it
through its public `loop_fn` argument; the result equals stock mctx exactly, random keys included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx

Array = jax.Array
LoopState = tuple[Array, mctx.Tree]  # (PRNG key, tree)


def make_loop_fn(
    params: Any,
    recurrent_fn: mctx.RecurrentFn,
    *,
    select_root: mctx.RootActionSelectionFn,
    select_interior: mctx.InteriorActionSelectionFn,
) -> Callable[[int, int, Any, LoopState], LoopState]:
    """A `loop_fn` for `mctx.gumbel_muzero_policy`, `mctx.muzero_policy` and `mctx.search`.

    Args:
      params: as given to mctx, handed on to `recurrent_fn`.
      recurrent_fn: as given to mctx.
      select_root: mctx's action selection at the root, bound to the policy's own options.
      select_interior: likewise in the tree.

    Returns:
      A function of (lower, upper, body, (key, tree)) that ignores mctx's body and runs the
      simulations `lower` to `upper - 1`. The node of simulation `i` is written at index `i + 1`, so
      a tree with room can be continued later by a second call from `upper`. The `max_depth` of mctx
      is not supported: every simulation expands a new node.
    """

    def loop_fn(lower: int, upper: int, body: Any, state: LoopState) -> LoopState:
        del body

        def simulate(simulation: Array, state: LoopState) -> LoopState:
            key, tree = state
            key, select_key, expand_key = jax.random.split(key, 3)
            parent, action = _select(select_key, tree, select_root, select_interior)
            tree, leaf_value = _expand(
                params, expand_key, tree, recurrent_fn, parent, action, simulation + 1
            )
            return key, _backup(tree, parent, action, leaf_value)

        return jax.lax.fori_loop(lower, upper, simulate, state)

    return loop_fn


def _select(
    key: Array,
    tree: mctx.Tree,
    select_root: mctx.RootActionSelectionFn,
    select_interior: mctx.InteriorActionSelectionFn,
) -> tuple[Array, Array]:
    """Walks all games down to an action that has no node yet: (parent [B], action [B])."""
    batch = tree.node_visits.shape[0]
    rows = jnp.arange(batch)
    keys = jax.random.split(key, batch)

    def next_keys(keys: Array) -> tuple[Array, Array]:
        pairs = jax.vmap(jax.random.split)(keys)
        return pairs[:, 0], pairs[:, 1]

    keys, now = next_keys(keys)
    action = jax.vmap(select_root, in_axes=(0, 0, None))(now, tree, tree.ROOT_INDEX)
    node = jnp.zeros(batch, jnp.int32)
    child = tree.children_index[rows, node, action]

    def going_on(state: tuple[Array, ...]) -> Array:
        return jnp.any(state[3] != tree.UNVISITED)

    def step_down(state: tuple[Array, ...]) -> tuple[Array, ...]:
        keys, node, action, child, depth = state
        live = child != tree.UNVISITED
        keys, now = next_keys(keys)
        node = jnp.where(live, child, node)
        chosen = jax.vmap(select_interior, in_axes=(0, 0, 0, None))(now, tree, node, depth)
        action = jnp.where(live, chosen, action)
        child = jnp.where(live, tree.children_index[rows, node, action], tree.UNVISITED)
        return keys, node, action, child, depth + 1

    start = (keys, node, action, child, jnp.ones((), jnp.int32))
    _, node, action, _, _ = jax.lax.while_loop(going_on, step_down, start)
    return node, action


def _expand(
    params: Any,
    key: Array,
    tree: mctx.Tree,
    recurrent_fn: mctx.RecurrentFn,
    parent: Array,
    action: Array,
    index: Array,
) -> tuple[mctx.Tree, Array]:
    """Evaluates the children and writes them as the nodes `index` of all games."""
    rows = jnp.arange(parent.shape[0])
    embedding = jax.tree.map(lambda x: x[rows, parent], tree.embeddings)
    step, embedding = recurrent_fn(params, key, action, embedding)

    def write(nodes: Array, new: Array) -> Array:
        new = jnp.expand_dims(new.astype(nodes.dtype), 1)
        return jax.lax.dynamic_update_slice_in_dim(nodes, new, index, axis=1)

    tree = tree.replace(
        children_prior_logits=write(tree.children_prior_logits, step.prior_logits),
        raw_values=write(tree.raw_values, step.value),
        node_values=write(tree.node_values, step.value),
        node_visits=write(tree.node_visits, jnp.ones_like(parent)),
        parents=write(tree.parents, parent),
        action_from_parent=write(tree.action_from_parent, action),
        embeddings=jax.tree.map(write, tree.embeddings, embedding),
        children_index=tree.children_index.at[rows, parent, action].set(index),
        children_rewards=tree.children_rewards.at[rows, parent, action].set(step.reward),
        children_discounts=tree.children_discounts.at[rows, parent, action].set(step.discount),
    )
    return tree, step.value


def _backup(tree: mctx.Tree, parent: Array, action: Array, leaf_value: Array) -> mctx.Tree:
    """Carries the new nodes' values up to the roots."""
    batch = parent.shape[0]
    rows = jnp.arange(batch)

    def going_on(state: tuple[Array, ...]) -> Array:
        return jnp.any(state[4] >= 0)

    def step_up(state: tuple[Array, ...]) -> tuple[Array, ...]:
        values, visits, child_values, child_visits, parent, action, value, child_value = state
        live = parent >= 0
        at = jnp.maximum(parent, 0)
        count = visits[rows, at]
        value = (
            tree.children_rewards[rows, at, action]
            + tree.children_discounts[rows, at, action] * value
        )
        mean = (values[rows, at] * count + value) / (count + 1.0)
        # Games that have reached their root write to a row that does not exist: dropped.
        row = jnp.where(live, rows, batch)
        edge_visits = child_visits[rows, at, action] + 1
        return (
            values.at[row, at].set(mean, mode="drop"),
            visits.at[row, at].set(count + 1, mode="drop"),
            child_values.at[row, at, action].set(child_value, mode="drop"),
            child_visits.at[row, at, action].set(edge_visits, mode="drop"),
            jnp.where(live, tree.parents[rows, at], tree.NO_PARENT),
            jnp.maximum(tree.action_from_parent[rows, at], 0),
            value,
            mean,
        )

    start = (
        tree.node_values,
        tree.node_visits,
        tree.children_values,
        tree.children_visits,
        parent,
        action,
        leaf_value,
        leaf_value,
    )
    values, visits, child_values, child_visits, *_ = jax.lax.while_loop(going_on, step_up, start)
    return tree.replace(
        node_values=values,
        node_visits=visits,
        children_values=child_values,
        children_visits=child_visits,
    )
