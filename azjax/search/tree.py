"""A search tree in little memory: the data of an edge is stored with the node that it leads to.

`mctx.Tree` stores six numbers for each action of each node, [B, N, A]. Nearly all are unused,
because a tree of N nodes has only N - 1 edges that lead anywhere. Chess has 4672 actions, so 65
nodes of 256 games would take 1.9 GB. But the visits and the value of an edge are always those of
its child. Its reward and discount can be stored with the child too. So a compact tree stores
only the prior logits for each action. A row of the other arrays is computed when it is needed.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game
from azjax_envs.xla_cpu import computed_once

from azjax.search.backup import Lineages, new_lineages
from azjax.types import Array, State

_FEW_EDGES = 2**16  # nodes times actions of a tree whose edges can all be looked at at once

# In numbers of four bytes.
_NODE_NUMBERS = 7  # of each node: [B, N] arrays of `mctx.Tree` and of `Moves`

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
)


class Moves(NamedTuple):
    """The `extra_data` of a compact tree: data of the moves that led to its nodes."""

    rewards: Array  # [B, N], of the move that led to each node
    discounts: Array  # [B, N], of the same move
    children: Array | None  # int32 [B, N, A], nodes or UNVISITED; None if there are many actions
    lineages: Lineages | None  # for a backup without a loop; None if there are many nodes
    extra_data: Any  # the policy's own


def compact(tree: mctx.Tree) -> mctx.Tree:
    """Returns a tree to search in, whose `children_` arrays are None except the prior logits."""
    if isinstance(tree.extra_data, Moves):
        moves = tree.extra_data
    else:
        batch, nodes, actions = tree.children_prior_logits.shape
        children = tree.children_index if keeps_children(nodes, actions) else None
        nothing = jnp.zeros((batch, nodes), tree.node_values.dtype)
        moves = Moves(nothing, nothing, children, new_lineages(tree), tree.extra_data)
    return tree.replace(**dict.fromkeys(_ROWS), extra_data=moves)


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


def tree_bytes(game: Game, nodes: int) -> int:
    """Returns the bytes of one game's compact tree, without lineages."""
    return nodes * _node_bytes(game, children=keeps_children(nodes, game.num_actions))


def tree_capacity(game: Game, memory: int) -> int:
    """Returns how many nodes one game's compact tree without lineages has in `memory` bytes."""
    nodes = memory // _node_bytes(game, children=False)
    if keeps_children(nodes, game.num_actions):
        nodes = memory // _node_bytes(game, children=True)
    return nodes


@functools.cache
def _node_bytes(game: Game, *, children: bool) -> int:
    state = sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(jax.eval_shape(game.init)))
    return state + 4 * (_NODE_NUMBERS + (2 if children else 1) * game.num_actions)


def with_root_edges(tree: mctx.Tree) -> mctx.Tree:
    """Returns a compact tree with the roots' edges [B, 1, A], which mctx's policies read."""
    roots = jax.vmap(edges_at, in_axes=(0, None))(tree, tree.ROOT_INDEX)
    return tree.replace(**{name: getattr(roots, name) for name in _ROWS})


def whole_tree(tree: mctx.Tree) -> mctx.Tree:
    """Returns a compact tree with all edges [B, N, A], as mctx makes it, to draw or compare it."""
    nodes = jnp.arange(tree.parents.shape[1])
    edges = jax.vmap(jax.vmap(edges_at, in_axes=(None, 0)), in_axes=(0, None))(tree, nodes)
    rows = {name: getattr(edges, name)[:, :, 0] for name in _ROWS}
    return tree.replace(**rows, extra_data=tree.extra_data.extra_data)


def _node_arrays(tree: mctx.Tree) -> dict[str, Any]:
    """Returns the arrays of a compact tree that have a row for each node [B, N, ...]."""
    return {name: getattr(tree, name) for name in _OF_NODES} | {
        "rewards": tree.extra_data.rewards,
        "discounts": tree.extra_data.discounts,
    }


def _with_node_arrays(
    tree: mctx.Tree, arrays: dict[str, Any], children: Array | None, **more: Any
) -> mctx.Tree:
    """Returns the tree with other arrays of its nodes."""
    moves = tree.extra_data._replace(
        rewards=arrays["rewards"], discounts=arrays["discounts"], children=children
    )
    return tree.replace(**{name: arrays[name] for name in _OF_NODES}, extra_data=moves, **more)


def with_capacity(root: mctx.Tree, nodes: int) -> mctx.Tree:
    """Returns a compact tree with room for `nodes` nodes of each game, without lineages.

    `root` has one node, which becomes the root.
    """
    batch, _, actions = root.children_prior_logits.shape

    def grow(of_root: Array, empty: int = 0) -> Array:
        of_nodes = jnp.full((batch, nodes, *of_root.shape[2:]), empty, of_root.dtype)
        return of_nodes.at[:, 0].set(of_root[:, 0])

    children = None
    if keeps_children(nodes, actions):
        children = jnp.full((batch, nodes, actions), root.UNVISITED, jnp.int32)
    arrays = jax.tree.map(grow, _node_arrays(root))
    arrays["action_from_parent"] = grow(root.action_from_parent, root.NO_PARENT)
    parents = grow(root.parents, root.NO_PARENT)
    tree = _with_node_arrays(root, arrays, children, parents=parents)
    return tree.replace(extra_data=tree.extra_data._replace(lineages=None))


def replant(
    root: mctx.Tree, tree: mctx.Tree, order: Array, parents: Array, count: Array, used: Array
) -> mctx.Tree:
    """Moves some nodes of one game's compact tree to its beginning, where they are a tree.

    The work grows with the nodes moved and used, not with the tree's capacity.

    Args:
      root: compact, with one node: the evaluated root of the new tree.
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
        (rows,) = computed_once(rows)  # else XLA would copy whole arrays
        return jax.tree.map(functools.partial(write, index), kept, rows)

    kept = jax.lax.fori_loop(0, jnp.where(count > 1, count, 0), move, _node_arrays(tree))
    fresh = _node_arrays(root)
    for name in ("node_visits", "node_values"):  # which stay if there are nodes below the root
        fresh[name] = jnp.where(count == 1, fresh[name], kept[name][:, :1])
    kept = jax.tree.map(functools.partial(write, jnp.int32(0)), kept, fresh)
    children = tree.extra_data.children
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
    return _with_node_arrays(
        tree, kept, children, parents=parents[None], root_invalid_actions=root.root_invalid_actions
    )


def edges_at(tree: mctx.Tree, node: Array) -> mctx.Tree:
    """Returns one node of one game's compact tree as an `mctx.Tree` of one node, N = 1."""
    moves = tree.extra_data
    nodes, actions = tree.children_prior_logits.shape
    of_nodes = (tree.node_visits, moves.rewards, moves.discounts, tree.node_values)
    if moves.children is not None and _looks_up(nodes, actions):
        rows = _look_up(moves.children[node], of_nodes)
    else:
        numbers = jnp.arange(nodes, dtype=jnp.int32)
        # Nodes with another parent are written to places that do not exist, which drops them.
        place = jnp.where(tree.parents == node, tree.action_from_parent, actions + numbers)
        rows = jax.lax.platform_dependent(
            node,
            place,
            moves.children,
            of_nodes,
            cpu=lambda _, place, __, of_nodes: _assemble(actions, place, of_nodes),
            # A GPU launches some kernels for each scatter, but none for a gather, which it fuses.
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
        extra_data=moves.extra_data,
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


def child_at(tree: mctx.Tree, node: Array, action: Array) -> Array:
    """Returns the node that an action leads to in one compact tree, or UNVISITED: int32 []."""
    children = tree.extra_data.children
    if children is not None:
        return children[node, action]
    found = (tree.parents == node) & (tree.action_from_parent == action)
    numbers = jnp.arange(tree.parents.shape[0])
    return jnp.max(jnp.where(found, numbers, tree.UNVISITED)).astype(jnp.int32)


def add_nodes(
    tree: mctx.Tree,
    index: Array,
    parent: Array,
    action: Array,
    step: mctx.RecurrentFnOutput,
    embedding: State,
) -> mctx.Tree:
    """Adds W new nodes to each game's compact tree, all from the same `index` on, int32 [].

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
    children = tree.extra_data.children
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
    arrays = jax.tree.map(write, _node_arrays(tree), new)
    return _with_node_arrays(tree, arrays, children, parents=write(tree.parents, parent))
