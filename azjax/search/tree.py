"""The search tree in little memory: what an edge holds is read off the node that it leads to.

`mctx.Tree` keeps six numbers for each action of each node, [B, N, A], nearly all of them unused: a
tree of N nodes has N - 1 edges that lead anywhere. Chess has 4672 actions; 65 nodes of 256 games
would take 1.9 GB. But the visits and the value of an edge are those of its child, always, and its
reward and discount can be kept with the child too. So only the prior logits are stored for each
action, and a row of the other arrays is made when it is looked at.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game

from azjax.types import Array

# In numbers of four bytes.
_NODE_NUMBERS = 7  # of each node: [B, N] arrays of `mctx.Tree` and of `Moves`

_ROWS = (
    "children_index",
    "children_visits",
    "children_rewards",
    "children_discounts",
    "children_values",
)


class Moves(NamedTuple):
    """What a compact tree keeps besides `mctx.Tree`'s own arrays, in its `extra_data`."""

    rewards: Array  # [B, N], of the move that led to each node
    discounts: Array  # [B, N], likewise
    children: Array | None  # int32 [B, N, A], nodes or UNVISITED; None where actions are many
    extra_data: Any  # the policy's own


def compact(tree: mctx.Tree) -> mctx.Tree:
    """The tree to search in: its `children_` arrays are None, but for the prior logits.

    Args:
      tree: fresh from mctx, or from `with_root_edges`.
    """
    if isinstance(tree.extra_data, Moves):
        moves = tree.extra_data
    else:
        batch, nodes, actions = tree.children_prior_logits.shape
        children = tree.children_index if keeps_children(nodes, actions) else None
        nothing = jnp.zeros((batch, nodes), tree.node_values.dtype)
        moves = Moves(nothing, nothing, children, tree.extra_data)
    return tree.replace(**dict.fromkeys(_ROWS), extra_data=moves)


def keeps_children(nodes: int, actions: int) -> bool:
    """Whether a compact tree has an array of children [B, N, A].

    With it, a row is looked up action by action; without, it is put together from the nodes that
    have this parent. On a CPU core the second is faster from about two actions a node on.
    """
    return actions <= 2 * nodes


def tree_bytes(game: Game, nodes: int) -> int:
    """Returns the bytes of one game's compact tree."""
    return nodes * _node_bytes(game, children=keeps_children(nodes, game.num_actions))


def tree_capacity(game: Game, memory: int) -> int:
    """Returns how many nodes a compact tree of one game can have in `memory` bytes."""
    nodes = memory // _node_bytes(game, children=False)
    if keeps_children(nodes, game.num_actions):
        nodes = memory // _node_bytes(game, children=True)
    return nodes


def _node_bytes(game: Game, *, children: bool) -> int:
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(jax.eval_shape(game.init)))
    return state + 4 * (_NODE_NUMBERS + (2 if children else 1) * game.num_actions)


def with_root_edges(tree: mctx.Tree) -> mctx.Tree:
    """A compact tree with the edges of the roots, [B, 1, A], as mctx's policies read them."""
    roots = jax.vmap(edges_at, in_axes=(0, None))(tree, tree.ROOT_INDEX)
    return tree.replace(**{name: getattr(roots, name) for name in _ROWS})


def whole_tree(tree: mctx.Tree) -> mctx.Tree:
    """`mctx.Tree` as mctx itself makes it, all edges [B, N, A]: to draw it, or to compare.

    Args:
      tree: compact, with or without the edges of the roots.
    """
    nodes = jnp.arange(tree.parents.shape[1])
    edges = jax.vmap(jax.vmap(edges_at, in_axes=(None, 0)), in_axes=(0, None))(tree, nodes)
    rows = {name: getattr(edges, name)[:, :, 0] for name in _ROWS}
    return tree.replace(**rows, extra_data=tree.extra_data.extra_data)


def edges_at(tree: mctx.Tree, node: Array) -> mctx.Tree:
    """One node of one game's compact tree, as an `mctx.Tree` that has no other: N = 1."""
    moves, actions = tree.extra_data, tree.children_prior_logits.shape[1]
    numbers = jnp.arange(tree.parents.shape[0])
    if moves.children is None:
        # Nodes with another parent are written to places of their own that do not exist: dropped.
        place = jnp.where(tree.parents == node, tree.action_from_parent, actions + numbers)

        def row(of_nodes: Array, unvisited: int) -> Array:
            empty = jnp.full(actions, unvisited, of_nodes.dtype)
            return empty.at[place].set(of_nodes, mode="drop", unique_indices=True)
    else:
        children = moves.children[node]
        found, place = children != tree.UNVISITED, jnp.maximum(children, 0)

        def row(of_nodes: Array, unvisited: int) -> Array:
            return jnp.where(found, of_nodes.at[place].get(mode="promise_in_bounds"), unvisited)

    def only(of_nodes: Array) -> Array:
        return of_nodes[node][None]

    return mctx.Tree(
        node_visits=only(tree.node_visits),
        raw_values=only(tree.raw_values),
        node_values=only(tree.node_values),
        parents=only(tree.parents),
        action_from_parent=only(tree.action_from_parent),
        children_index=row(numbers.astype(jnp.int32), tree.UNVISITED)[None],
        children_prior_logits=only(tree.children_prior_logits),
        children_visits=row(tree.node_visits, 0)[None],
        children_rewards=row(moves.rewards, 0)[None],
        children_discounts=row(moves.discounts, 0)[None],
        children_values=row(tree.node_values, 0)[None],
        embeddings=jax.tree.map(only, tree.embeddings),
        root_invalid_actions=tree.root_invalid_actions,
        extra_data=moves.extra_data,
    )


def child_at(tree: mctx.Tree, node: Array, action: Array) -> Array:
    """The node int32 [] that an action leads to in one game's compact tree, UNVISITED if none."""
    if tree.extra_data.children is not None:
        return tree.extra_data.children[node, action]
    found = (tree.parents == node) & (tree.action_from_parent == action)
    numbers = jnp.arange(tree.parents.shape[0])
    return jnp.max(jnp.where(found, numbers, tree.UNVISITED)).astype(jnp.int32)


def add_nodes(
    tree: mctx.Tree,
    index: Array,
    parent: Array,
    action: Array,
    step: mctx.RecurrentFnOutput,
    embedding: Any,
) -> mctx.Tree:
    """A compact tree with the new nodes [B] of all games, each at the same `index`."""

    def write(nodes: Array, new: Array) -> Array:
        new = jnp.expand_dims(new.astype(nodes.dtype), 1)
        return jax.lax.dynamic_update_slice_in_dim(nodes, new, index, axis=1)

    # 1, but known only after the walk down: were it a constant, XLA would write it before the walk
    # reads the visits, into a copy of them all.
    one = (parent >= 0).astype(jnp.int32)
    moves = tree.extra_data
    children = moves.children
    if children is not None:
        children = children.at[jnp.arange(parent.shape[0]), parent, action].set(index)
    return tree.replace(
        children_prior_logits=write(tree.children_prior_logits, step.prior_logits),
        raw_values=write(tree.raw_values, step.value),
        node_values=write(tree.node_values, step.value),
        node_visits=write(tree.node_visits, one),
        parents=write(tree.parents, parent),
        action_from_parent=write(tree.action_from_parent, action),
        embeddings=jax.tree.map(write, tree.embeddings, embedding),
        extra_data=moves._replace(
            rewards=write(moves.rewards, step.reward),
            discounts=write(moves.discounts, step.discount),
            children=children,
        ),
    )
