"""The descent of a simulation: from the root to a node and an action that leads to no node yet.

A CPU walks down level by level, which touches few numbers: a search of 256 games of connect four
takes 26 ms so, and 95 ms by the other form. On other platforms each level would be
many launches and a predicate that the host reads. There, unless the trees have too many edges, an
action is selected at every node at once. Then each node jumps to the end of its way in a number of
steps that grows with the logarithm of the nodes. Both forms give exactly the same numbers.
"""

import functools

import jax
import jax.numpy as jnp
import mctx

from azjax.search.tree import child_at, edges_at, has_few_edges
from azjax.types import Array

Selection = tuple[mctx.RootActionSelectionFn, mctx.InteriorActionSelectionFn]
"""How a search selects an action at the root, and below it."""

_MOST_EDGES = 2**25  # of all trees; looking at more takes a GPU longer than waiting ten times


def descend(
    key: Array, tree: mctx.Tree, selection: Selection, *, deterministic: bool
) -> tuple[Array, Array]:
    """Walks down all trees until an action leads to no node yet.

    `deterministic` tells whether both selections ignore their key and depth. Returns (node to
    expand int32 [B], action int32 [B]).
    """
    by_level = functools.partial(descend_by_level, selection=selection)
    at_once = functools.partial(descend_at_once, selection=selection)
    batch, nodes, actions = tree.children_prior_logits.shape
    is_small = has_few_edges(nodes, actions) and batch * nodes * actions <= _MOST_EDGES
    if not (deterministic and is_small):
        return by_level(key, tree)
    return jax.lax.platform_dependent(key, tree, cpu=by_level, default=at_once)


def descend_by_level(key: Array, tree: mctx.Tree, selection: Selection) -> tuple[Array, Array]:
    """Walks down all games level by level. Arguments and results are those of `descend`."""
    select_root, select_interior = selection
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
    with jax.named_scope("descent"):
        _, node, action, _, _ = jax.lax.while_loop(any_live, step_down, start)
    return node, action


def descend_at_once(key: Array, tree: mctx.Tree, selection: Selection) -> tuple[Array, Array]:
    """Selects at all nodes at once. Arguments and results are those of `descend`.

    The tree must have its array of children, and the selections must ignore key and depth.
    """
    select_root, select_interior = selection
    batch, nodes = tree.parents.shape
    root, depth = jnp.int32(tree.ROOT_INDEX), jnp.int32(1)
    numbers, rows = jnp.arange(nodes, dtype=jnp.int32), jnp.arange(batch)

    def at_root(tree: mctx.Tree) -> Array:
        return select_root(key, edges_at(tree, root), jnp.int32(0))

    def below(tree: mctx.Tree, node: Array) -> Array:
        return select_interior(key, edges_at(tree, node), jnp.int32(0), depth)

    action = jax.vmap(jax.vmap(below, (None, 0)), (0, None))(tree, numbers)
    action = jnp.where(numbers == root, jax.vmap(at_root)(tree)[:, None], action)
    child = jnp.take_along_axis(tree.extra_data.children, action[:, :, None], axis=2)[:, :, 0]
    # A node whose action leads to no node is the end of its way, and stays where it is.
    end = jnp.where(child == tree.UNVISITED, numbers, child)
    for _ in range((nodes - 1).bit_length()):
        end = jnp.take_along_axis(end, end, axis=1)
    node = end[:, tree.ROOT_INDEX]
    return node, action[rows, node]
