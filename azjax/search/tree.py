"""A search tree in little memory: the data of an edge is stored with the node that it leads to.

`mctx.Tree` stores six numbers for each action of each node, [B, N, A]. Nearly all are unused,
because a tree of N nodes has only N - 1 edges that lead anywhere. Chess has 4672 actions, so 65
nodes of 256 games would take 1.9 GB. But the visits and the value of an edge are always those of
its child. Its reward and discount can be stored with the child too. So a compact tree stores
only the prior logits for each action. A row of the other arrays is computed when it is needed.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import mctx

from azjax.search.model import Rules
from azjax.types import Array, State

ANCESTOR_WORD = 32  # bits
_MOST_NODES = 2048  # of a tree with ancestors, whose bits grow with the square of the nodes
_FEW_EDGES = 2**16  # nodes times actions of a tree whose edges can all be looked at at once

# In numbers of four bytes.
_NODE_NUMBERS = 7  # of each node: the arrays [B, N] of a compact tree

_ROWS = (
    "children_index",
    "children_visits",
    "children_rewards",
    "children_discounts",
    "children_values",
)

_OF_NODES = (
    "node_visits",
    "raw_values",
    "node_values",
    "action_from_parent",
    "children_prior_logits",
    "embeddings",
    "rewards",
    "discounts",
)

_SHARED = (*_OF_NODES[:-2], "parents", "root_invalid_actions")


class Ancestors(NamedTuple):
    """What leads to each node of a tree from its root. Allocated but not written on a CPU."""

    above: Array  # uint32 [B, N, words], bit n of node m: n is m or above it
    signs: Array  # [B, N], the product of the discounts from the root
    rewards: Array  # [B, N], from the root's perspective, the sum of the rewards from the root


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CompactTree:
    """A search tree of each of B games, with N nodes. Names that `mctx.Tree` has mean the same."""

    ROOT_INDEX: ClassVar[int] = mctx.Tree.ROOT_INDEX
    NO_PARENT: ClassVar[int] = mctx.Tree.NO_PARENT
    UNVISITED: ClassVar[int] = mctx.Tree.UNVISITED

    action_from_parent: Array  # int32 [B, N]
    children_prior_logits: Array  # float32 [B, N, A]
    embeddings: State  # [B, N, ...]
    rewards: Array  # float32 [B, N], of the move that led to each node
    discounts: Array  # float32 [B, N], of the same move
    children: Array | None  # int32 [B, N, A], nodes or UNVISITED; None if there are many actions
    ancestors: Ancestors | None  # for a backup without a loop; None if there are many nodes
    extra_data: Any  # the policy's own
    node_values: Array  # float32 [B, N]
    node_visits: Array  # int32 [B, N]
    parents: Array  # int32 [B, N]
    raw_values: Array  # float32 [B, N], evaluations
    root_invalid_actions: Array  # bool [B, A]


def compact(tree: mctx.Tree) -> CompactTree:
    """Returns the tree to search in, of roots alone or of what `with_root_edges` returned."""
    if isinstance(tree.extra_data, CompactTree):
        return tree.extra_data
    batch, nodes, actions = tree.children_prior_logits.shape
    nothing = jnp.zeros((batch, nodes), tree.node_values.dtype)
    return CompactTree(
        **_shared(tree),
        rewards=nothing,
        discounts=nothing,
        children=tree.children_index if keeps_children(nodes, actions) else None,
        ancestors=new_ancestors(tree),
        extra_data=tree.extra_data,
    )


def new_ancestors(tree: mctx.Tree) -> Ancestors | None:
    """Returns the ancestors of a tree that holds its roots alone; None if it has too many nodes."""
    batch, nodes = tree.parents.shape
    if nodes > _MOST_NODES:
        return None
    nothing = jnp.zeros((batch, nodes), tree.node_values.dtype)
    return Ancestors(
        above=jnp.zeros((batch, nodes, _words(nodes)), jnp.uint32).at[:, 0, 0].set(1),
        signs=nothing.at[:, 0].set(1),
        rewards=nothing,
    )


def ancestor_bytes(nodes: int) -> int:
    """Returns the bytes of one game's ancestors in a tree of `nodes` nodes."""
    return 4 * nodes * (_words(nodes) + 2) if nodes <= _MOST_NODES else 0


def _words(nodes: int) -> int:
    return -(-nodes // ANCESTOR_WORD)


def keeps_children(nodes: int, actions: int) -> bool:
    """Returns whether a compact tree has an array of children [B, N, A].

    With the array, a row is looked up action by action. Without it, a row is assembled from the
    nodes that have this parent. Other platforms than CPUs look rows up wherever that is affordable.
    """
    return _looks_up(nodes, actions) or has_few_edges(nodes, actions)


def has_few_edges(nodes: int, actions: int) -> bool:
    """Returns whether one game's tree is small enough to look at all its edges at once."""
    return nodes * actions <= _FEW_EDGES


def _looks_up(nodes: int, actions: int) -> bool:
    """Returns whether a CPU looks rows up. It assembles them faster from two actions per node.

    Rows of 362 actions in 256 trees of 33 nodes take 0.25 ms assembled, and 1.6 ms looked up.
    """
    return actions <= 2 * nodes


def tree_bytes(game: Rules, nodes: int) -> int:
    """Returns the bytes of one game's compact tree, without ancestors."""
    return nodes * _node_bytes(game, children=keeps_children(nodes, game.num_actions))


def tree_capacity(game: Rules, memory: int) -> int:
    """Returns how many nodes one game's compact tree without ancestors has in `memory` bytes."""
    nodes = memory // _node_bytes(game, children=False)
    if keeps_children(nodes, game.num_actions):
        nodes = memory // _node_bytes(game, children=True)
    return nodes


@functools.cache
def _node_bytes(game: Rules, *, children: bool) -> int:
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(jax.eval_shape(game.init)))
    return state + 4 * (_NODE_NUMBERS + (2 if children else 1) * game.num_actions)


def with_root_edges(tree: CompactTree) -> mctx.Tree:
    """Returns a tree with the roots' edges [B, 1, A], as much as mctx's policies read.

    Its `extra_data` is the compact tree.
    """
    roots = jax.vmap(edges_at, in_axes=(0, None))(tree, tree.ROOT_INDEX)
    edges = {name: getattr(roots, name) for name in _ROWS}
    return mctx.Tree(**_shared(tree), **edges, extra_data=tree)


def whole_tree(tree: CompactTree) -> mctx.Tree:
    """Returns the tree with all edges [B, N, A], as mctx makes it, to draw or compare it."""
    nodes = jnp.arange(tree.parents.shape[1])
    edges = jax.vmap(jax.vmap(edges_at, in_axes=(None, 0)), in_axes=(0, None))(tree, nodes)
    rows = {name: getattr(edges, name)[:, :, 0] for name in _ROWS}
    return mctx.Tree(**_shared(tree), **rows, extra_data=tree.extra_data)


def _shared(tree: mctx.Tree | CompactTree) -> dict[str, Any]:
    """Returns the arrays that both kinds of trees have."""
    return {name: getattr(tree, name) for name in _SHARED}


def node_arrays(tree: CompactTree) -> dict[str, Any]:
    """Returns the arrays with a row for each node [B, N, ...], except the parents."""
    return {name: getattr(tree, name) for name in _OF_NODES}


def edges_at(tree: CompactTree, node: Array | int) -> mctx.Tree:
    """Returns one node of one game's tree as an `mctx.Tree` of one node, N = 1."""
    nodes, actions = tree.children_prior_logits.shape
    of_nodes = (tree.node_visits, tree.rewards, tree.discounts, tree.node_values)
    if tree.children is not None and _looks_up(nodes, actions):
        rows = _look_up(tree.children[node], of_nodes)
    else:
        numbers = jnp.arange(nodes, dtype=jnp.int32)
        # Nodes with another parent are written to places that do not exist, which drops them.
        place = jnp.where(tree.parents == node, tree.action_from_parent, actions + numbers)
        rows = jax.lax.platform_dependent(
            node,
            place,
            tree.children,
            of_nodes,
            cpu=lambda _, place, __, of_nodes: _assemble(actions, place, of_nodes),
            # A GPU launches some kernels for each scatter, but none for a gather, which it fuses.
            # With gathers, a CPU's search of gomoku by a small network takes 1.08 times as long.
            default=lambda node, place, children, of_nodes: _look_up(
                _assemble(actions, place, ())[0] if children is None else children[node], of_nodes
            ),
        )
    children, visits, rewards, discounts, values = rows

    def only(of_nodes: Array) -> Array:
        return of_nodes[node][None]

    return mctx.Tree(
        node_visits=only(tree.node_visits),
        raw_values=only(tree.raw_values),
        node_values=only(tree.node_values),
        parents=only(tree.parents),
        action_from_parent=only(tree.action_from_parent),
        children_index=children[None],
        children_prior_logits=only(tree.children_prior_logits),
        children_visits=visits[None],
        children_rewards=rewards[None],
        children_discounts=discounts[None],
        children_values=values[None],
        embeddings=jax.tree.map(only, tree.embeddings),
        root_invalid_actions=tree.root_invalid_actions,
        extra_data=tree.extra_data,
    )


def _look_up(children: Array, of_nodes: tuple[Array, ...]) -> tuple[Array, ...]:
    """Returns a row of children [A], and the rows of numbers [N] of these children.

    The numbers are 0 where there is no child.
    """
    there, at = children != mctx.Tree.UNVISITED, jnp.maximum(children, 0)
    found = (x.at[at].get(mode="promise_in_bounds") for x in of_nodes)
    return children, *(jnp.where(there, x, 0) for x in found)


def _assemble(actions: int, place: Array, of_nodes: tuple[Array, ...]) -> tuple[Array, ...]:
    """Returns the same rows, from the place of each node in its row, int32 [N].

    Places beyond the row are dropped.
    """

    def row(numbers: Array, unvisited: int = 0) -> Array:
        empty = jnp.full(actions, unvisited, numbers.dtype)
        return empty.at[place].set(numbers, mode="drop", unique_indices=True)

    children = row(jnp.arange(place.shape[0], dtype=jnp.int32), mctx.Tree.UNVISITED)
    return children, *map(row, of_nodes)


def child_at(tree: CompactTree, node: Array, action: Array) -> Array:
    """Returns the node that an action leads to in one game's tree, or UNVISITED: int32 []."""
    if tree.children is not None:
        return tree.children[node, action]
    found = (tree.parents == node) & (tree.action_from_parent == action)
    numbers = jnp.arange(tree.parents.shape[0])
    return jnp.max(jnp.where(found, numbers, tree.UNVISITED)).astype(jnp.int32)


def add_nodes(
    tree: CompactTree,
    index: Array,
    parent: Array,
    action: Array,
    step: mctx.RecurrentFnOutput,
    embedding: State,
) -> CompactTree:
    """Adds W new nodes to each game's tree, all from the same `index` on, int32 [].

    Args:
      parent: parents of the new nodes, int32 [B, W]; NO_PARENT where there is none.
      action: actions that lead to them, int32 [B, W].
      step: their rewards, discounts, prior logits and values [B, W, ...].
      embedding: their states [B, W, ...].
    """

    def write(nodes: Array, new: Array) -> Array:
        new = new.astype(nodes.dtype)
        return jax.lax.dynamic_update_slice_in_dim(nodes, new, index, axis=1)

    # A width of 1 makes this all 1, but XLA knows it only after the walk down. XLA would write a
    # constant before the walk reads the visits, into a copy of the whole array.
    is_new = parent >= 0
    children = tree.children
    if children is not None:
        batch, width = parent.shape
        row = jnp.where(is_new, jnp.arange(batch)[:, None], batch)
        node = index + jnp.arange(width, dtype=jnp.int32)
        children = children.at[row, parent, action].set(
            jnp.broadcast_to(node, parent.shape), mode="drop", unique_indices=True
        )
    new = {
        "node_visits": is_new,
        "raw_values": step.value,
        "node_values": step.value,
        "action_from_parent": jnp.where(is_new, action, tree.NO_PARENT),
        "children_prior_logits": step.prior_logits,
        "embeddings": embedding,
        "rewards": step.reward,
        "discounts": step.discount,
    }
    arrays = jax.tree.map(write, node_arrays(tree), new)
    return replace(tree, **arrays, parents=write(tree.parents, parent), children=children)
