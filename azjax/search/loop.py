"""A fast simulation loop for mctx, with exactly the results of mctx's own loop.

mctx's loop body `vmap`s a `while_loop` over the tree of one game. Batched, this becomes a loop that
selects between old and new copies of the *whole* tree at each step down and up. Here one loop with
a scalar predicate walks all games at once and writes single elements in place. Its tree stores
little for each edge (`tree.py`). mctx accepts the loop through its public `loop_fn` argument. The
results equal stock mctx exactly, because the random keys are used in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx

from azjax.pytrees import take
from azjax.search.tree import add_nodes, child_at, compact, edges_at, with_root_edges
from azjax.types import Array, Params

LoopState = tuple[Array, mctx.Tree]  # (PRNG key, tree)


def make_loop_fn(
    params: Params,
    recurrent_fn: mctx.RecurrentFn,
    *,
    select_root: mctx.RootActionSelectionFn,
    select_interior: mctx.InteriorActionSelectionFn,
) -> Callable[[int | Array, int | Array, Any, LoopState], LoopState]:
    """Returns a `loop_fn` for `mctx.gumbel_muzero_policy`, `mctx.muzero_policy` and `mctx.search`.

    Args:
      params: the same as for mctx, passed to `recurrent_fn`.
      recurrent_fn: the same as for mctx.
      select_root: mctx's action selection at the root, with the policy's options bound. It is
        called with a tree of one node, the node to choose at, whose index is 0.
      select_interior: mctx's action selection below the root, called in the same way.

    Returns:
      A function of (lower, upper, body, (key, tree)) that ignores mctx's body and runs the
      simulations `lower` to `upper - 1`. Simulation `i` writes its node at index `i + 1`, so a
      second call from `upper` continues a tree that is not full. The `max_depth` of mctx is not
      supported: every simulation expands a new node.

      The returned tree, a policy's `search_tree`, has all nodes [B, N] and their prior logits
      [B, N, A] as in mctx. The other `children_` arrays hold the roots' edges only, [B, 1, A];
      `tree.whole_tree` returns all edges.
    """

    def loop_fn(lower: int | Array, upper: int | Array, body: Any, state: LoopState) -> LoopState:
        del body

        def simulate(simulation: Array, state: LoopState) -> LoopState:
            key, tree = state
            key, select_key, expand_key = jax.random.split(key, 3)
            parent, action = _select(select_key, tree, select_root, select_interior)
            rows = jnp.arange(parent.shape[0])
            embedding = take(tree.embeddings, (rows, parent))
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
    """Walks down all trees until an action leads to no node yet.

    Returns:
      (node to expand int32 [B], action int32 [B]).
    """
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

    def any_live(state: tuple[Array, ...]) -> Array:
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
    _, node, action, _, _ = jax.lax.while_loop(any_live, step_down, start)
    return node, action


def _backup(tree: mctx.Tree, step: mctx.RecurrentFnOutput, parent: Array) -> mctx.Tree:
    """Updates the values and visits from the new nodes up to the roots."""
    batch = parent.shape[0]
    rows = jnp.arange(batch)
    moves = tree.extra_data

    def any_live(state: tuple[Array, ...]) -> Array:
        return jnp.any(state[2] >= 0)

    def step_up(state: tuple[Array, ...]) -> tuple[Array, ...]:
        values, visits, node, reward, discount, value = state
        live = node >= 0
        at = jnp.maximum(node, 0)
        count = visits[rows, at]
        value = reward + discount * value
        mean = (values[rows, at] * count + value) / (count + 1.0)
        # Games that have reached their root write to a row that does not exist, which drops it.
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
    values, visits, *_ = jax.lax.while_loop(any_live, step_up, start)
    return tree.replace(node_values=values, node_visits=visits)
