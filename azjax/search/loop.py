"""A fast simulation loop for mctx: same searches, same numbers, a fraction of the bookkeeping.

mctx's own loop body `vmap`s a `while_loop` over the tree of one game. Batched, that becomes a loop
which selects between old and new copies of the *whole* tree at each step down and up. Here one loop
with a scalar predicate walks all games at once and writes single elements in place, in a tree that
keeps little for each edge (`search_tree.py`). mctx takes it through its public `loop_fn` argument;
the result equals stock mctx exactly, random keys included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from azjax.search.tree import add_nodes, child_at, compact, edges_at, with_root_edges
from azjax.types import Array

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
      select_root: mctx's action selection at the root, bound to the policy's own options. It and
        `select_interior` are shown a tree of one node, the one to choose at: its index is 0.
      select_interior: likewise in the tree.

    Returns:
      A function of (lower, upper, body, (key, tree)) that ignores mctx's body and runs the
      simulations `lower` to `upper - 1`. The node of simulation `i` is written at index `i + 1`, so
      a tree with room can be continued later by a second call from `upper`. The `max_depth` of mctx
      is not supported: every simulation expands a new node.

      The tree that it returns, a policy's `search_tree`, has all nodes, [B, N], and their prior
      logits, [B, N, A], where mctx has them; the other `children_` arrays hold the roots' edges
      only, [B, 1, A]. `search_tree.whole_tree` gives all edges.
    """

    def loop_fn(lower: int, upper: int, body: Any, state: LoopState) -> LoopState:
        del body

        def simulate(simulation: Array, state: LoopState) -> LoopState:
            key, tree = state
            key, select_key, expand_key = jax.random.split(key, 3)
            parent, action = _select(select_key, tree, select_root, select_interior)
            rows = jnp.arange(parent.shape[0])
            embedding = jax.tree.map(lambda x: x[rows, parent], tree.embeddings)
            step, embedding = recurrent_fn(params, expand_key, action, embedding)
            tree = add_nodes(tree, simulation + 1, parent, action, step, embedding)
            return key, _backup(tree, step, parent)

        key, tree = state
        key, tree = jax.lax.fori_loop(lower, upper, simulate, (key, compact(tree)))
        return key, with_root_edges(tree)

    return loop_fn


def _select(
    key: Array,
    tree: mctx.Tree,
    select_root: mctx.RootActionSelectionFn,
    select_interior: mctx.InteriorActionSelectionFn,
) -> tuple[Array, Array]:
    """Walks all games down to an action that has no node yet: (parent [B], action [B])."""
    batch = tree.node_visits.shape[0]
    keys = jax.random.split(key, batch)

    def next_keys(keys: Array) -> tuple[Array, Array]:
        pairs = jax.vmap(jax.random.split)(keys)
        return pairs[:, 0], pairs[:, 1]

    def at_root(key: Array, tree: mctx.Tree) -> Array:
        return select_root(key, edges_at(tree, jnp.int32(tree.ROOT_INDEX)), jnp.int32(0))

    def below(key: Array, tree: mctx.Tree, node: Array, depth: Array) -> Array:
        return select_interior(key, edges_at(tree, node), jnp.int32(0), depth)

    keys, now = next_keys(keys)
    action = jax.vmap(at_root)(now, tree)
    node = jnp.full(batch, tree.ROOT_INDEX, jnp.int32)
    child = jax.vmap(child_at)(tree, node, action)

    def going_on(state: tuple[Array, ...]) -> Array:
        return jnp.any(state[3] != tree.UNVISITED)

    def step_down(state: tuple[Array, ...]) -> tuple[Array, ...]:
        keys, node, action, child, depth = state
        live = child != tree.UNVISITED
        keys, now = next_keys(keys)
        node = jnp.where(live, child, node)
        chosen = jax.vmap(below, in_axes=(0, 0, 0, None))(now, tree, node, depth)
        action = jnp.where(live, chosen, action)
        child = jnp.where(live, jax.vmap(child_at)(tree, node, action), tree.UNVISITED)
        return keys, node, action, child, depth + 1

    start = (keys, node, action, child, jnp.ones((), jnp.int32))
    _, node, action, _, _ = jax.lax.while_loop(going_on, step_down, start)
    return node, action


def _backup(tree: mctx.Tree, step: mctx.RecurrentFnOutput, parent: Array) -> mctx.Tree:
    """Carries the new nodes' values up to the roots."""
    batch = parent.shape[0]
    rows = jnp.arange(batch)
    moves = tree.extra_data

    def going_on(state: tuple[Array, ...]) -> Array:
        return jnp.any(state[2] >= 0)

    def step_up(state: tuple[Array, ...]) -> tuple[Array, ...]:
        values, visits, node, reward, discount, value = state
        live = node >= 0
        at = jnp.maximum(node, 0)
        count = visits[rows, at]
        value = reward + discount * value
        mean = (values[rows, at] * count + value) / (count + 1.0)
        # Games that have reached their root write to a row that does not exist: dropped.
        row = jnp.where(live, rows, batch)
        return (
            values.at[row, at].set(mean, mode="drop"),
            visits.at[row, at].set(count + 1, mode="drop"),
            jnp.where(live, tree.parents[rows, at], tree.NO_PARENT),
            moves.rewards[rows, at],
            moves.discounts[rows, at],
            value,
        )

    start = (tree.node_values, tree.node_visits, parent, step.reward, step.discount, step.value)
    values, visits, *_ = jax.lax.while_loop(going_on, step_up, start)
    return tree.replace(node_values=values, node_visits=visits)
