"""The memory of an engine's search tree: its capacity, and the nodes that the next search keeps."""

import functools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs.xla_cpu import fusion_barrier

from azjax.search import CompactTree, keeps_children, node_arrays
from azjax.types import Array


def with_capacity(root: CompactTree, nodes: int) -> CompactTree:
    """Returns a tree with places for `nodes` nodes of each game, without ancestors.

    `root` has one node, which becomes the root.
    """
    batch, _, actions = root.children_prior_logits.shape

    def grow(of_root: Array, empty: int = 0) -> Array:
        of_nodes = jnp.full((batch, nodes, *of_root.shape[2:]), empty, of_root.dtype)
        return of_nodes.at[:, 0].set(of_root[:, 0])

    children = None
    if keeps_children(nodes, actions):
        children = jnp.full((batch, nodes, actions), root.UNVISITED, jnp.int32)
    arrays = jax.tree.map(grow, node_arrays(root))
    arrays["action_from_parent"] = grow(root.action_from_parent, root.NO_PARENT)
    parents = grow(root.parents, root.NO_PARENT)
    return replace(root, **arrays, parents=parents, children=children, ancestors=None)


def replant(
    root: CompactTree, tree: CompactTree, order: Array, parents: Array, count: Array, used: Array
) -> CompactTree:
    """Moves some nodes of one game's tree to its beginning, where they are a tree.

    The work grows with the nodes moved and used, not with the tree's capacity.

    Args:
      root: of one node, the evaluated root of the new tree.
      tree: the tree, B = 1.
      order: the nodes to keep, ascending, the new root first; int32 [N].
      parents: the kept nodes' parents by their new numbers, NO_PARENT of all others; int32 [N].
      count: number of nodes to keep, at least 1, which means that the root is new; int32 [].
      used: number of nodes in the tree before, int32 [].
    """

    def write(index: Array, of_nodes: Array, row: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(of_nodes, row, index, axis=1)

    def move(index: Array, kept: dict[str, Any]) -> dict[str, Any]:
        # A node never moves to a higher number, so none is overwritten before it has moved.
        rows = jax.tree.map(
            lambda x: jax.lax.dynamic_slice_in_dim(x, order[index], 1, axis=1), kept
        )
        (rows,) = fusion_barrier(rows)  # else XLA would copy whole arrays
        return jax.tree.map(functools.partial(write, index), kept, rows)

    kept = jax.lax.fori_loop(0, jnp.where(count > 1, count, 0), move, node_arrays(tree))
    fresh = node_arrays(root)
    for name in ("node_visits", "node_values"):  # which stay if there are nodes below the root
        fresh[name] = jnp.where(count == 1, fresh[name], kept[name][:, :1])
    kept = jax.tree.map(functools.partial(write, jnp.int32(0)), kept, fresh)
    children = tree.children
    if children is not None:
        empty = jnp.full((1, 1, children.shape[2]), tree.UNVISITED, children.dtype)
        children = jax.lax.fori_loop(
            0, used, lambda node, children: write(node, children, empty), children
        )
        actions = kept["action_from_parent"]
        children = jax.lax.fori_loop(
            1,
            count,
            lambda node, children: children.at[0, parents[node], actions[0, node]].set(node),
            children,
        )
    return replace(
        tree,
        **kept,
        parents=parents[None],
        children=children,
        root_invalid_actions=root.root_invalid_actions,
    )
