"""The descent of simulations: from the root to nodes and actions that lead to no node yet.

The simulations of a step begin with different actions of the root, so each has a way of its own.

A CPU walks down level by level, which touches few numbers: a search of 512 games of connect four
takes 23 ms so, and 134 ms by the other form. On other platforms each level would be many launches
and a predicate that the host reads: an H100's search would take an estimated 1.8 times as long.
There, unless the trees have too many edges, an action is selected at every node at once. Then each
node jumps to the end of its way in a number of steps that grows with the logarithm of the nodes.
Both forms give exactly the same numbers.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx

from azjax.search.tree import CompactTree, child_at, edges_at, has_few_edges
from azjax.types import Array


class Selection(NamedTuple):
    """How a search selects actions."""

    root: Callable[[Array, mctx.Tree, int], tuple[Array, Array]]
    """(key, tree of the root alone, width) -> (different actions int32 [width], whether each is to
    be visited bool [width])."""
    below: mctx.InteriorActionSelectionFn
    """mctx's (key, tree of one node, 0, depth) -> action int32 []."""
    weighted_outcomes: int = 0
    """How many of the last actions are outcomes of chance whose values count by their
    probabilities; 0 where all values count by visits."""


def one_at_the_root(select: mctx.RootActionSelectionFn) -> Callable[..., tuple[Array, Array]]:
    """Returns the root's part of a `Selection` of width 1 by mctx's selection at a root."""

    def select_one(key: Array, tree: mctx.Tree, width: int) -> tuple[Array, Array]:
        assert width == 1
        return select(key, tree, jnp.int32(0))[None], jnp.ones(1, bool)

    return select_one


_MOST_EDGES = 2**25  # of all trees; looking at more takes a GPU longer than waiting ten times


def descend(
    key: Array, tree: CompactTree, selection: Selection, *, width: int = 1, deterministic: bool
) -> tuple[Array, Array]:
    """Walks down all trees until the actions lead to no node yet.

    Args:
      key: PRNG key, used as mctx does if the width is 1.
      tree: of B games.
      width: simulations W that go down from each root.
      deterministic: whether both selections ignore their key and depth.

    Returns:
      (nodes to expand int32 [B, W], actions int32 [B, W]). The node is NO_PARENT where the root has
      fewer actions to visit.
    """
    by_level = functools.partial(descend_by_level, selection=selection, width=width)
    at_once = functools.partial(descend_at_once, selection=selection, width=width)
    batch, nodes, actions = tree.children_prior_logits.shape
    is_small = has_few_edges(nodes, actions) and batch * nodes * actions <= _MOST_EDGES
    if not (deterministic and is_small):
        return by_level(key, tree)
    return jax.lax.platform_dependent(key, tree, cpu=by_level, default=at_once)


def descend_by_level(
    key: Array, tree: CompactTree, selection: Selection, width: int = 1
) -> tuple[Array, Array]:
    """Walks down all games level by level. Arguments and results are those of `descend`."""
    batch = tree.node_visits.shape[0]
    keys = jax.random.split(key, batch)

    def next_keys(keys: Array) -> tuple[Array, Array]:
        pairs = jax.vmap(jax.random.split)(keys)
        return pairs[:, 0], pairs[:, 1]

    def below(key: Array, tree: CompactTree, depth: Array, node: Array) -> Array:
        return selection.below(key, edges_at(tree, node), jnp.int32(0), depth)

    below_all = _of_lanes(below, (0, 0, None), 1)
    child_of = _of_lanes(child_at, (0,), 2)

    keys, now = next_keys(keys)
    action, is_open = _select_at_roots(now, tree, selection, width)
    node = jnp.full((batch, width), tree.ROOT_INDEX, jnp.int32)
    child = jnp.where(is_open, child_of(tree, node, action), tree.UNVISITED)

    def any_live(state: tuple[Array, ...]) -> Array:
        return jnp.any(state[3] != tree.UNVISITED)

    def step_down(state: tuple[Array, ...]) -> tuple[Array, ...]:
        keys, node, action, child, depth = state
        live = child != tree.UNVISITED
        keys, now = next_keys(keys)
        node = jnp.where(live, child, node)
        action = jnp.where(live, below_all(now, tree, depth, node), action)
        child = jnp.where(live, child_of(tree, node, action), tree.UNVISITED)
        return keys, node, action, child, depth + 1

    start = (keys, node, action, child, jnp.ones((), jnp.int32))
    with jax.named_scope("descent"):
        _, node, action, _, _ = jax.lax.while_loop(any_live, step_down, start)
    return jnp.where(is_open, node, tree.NO_PARENT), action


def _of_lanes(
    function: Callable[..., Array], shared: tuple[int | None, ...], lanes: int
) -> Callable[..., Array]:
    """Returns a function of B games with W lanes each, of results [B, W], from one of a lane.

    A single lane needs no axis within: XLA on a CPU copies what it gathers along two, with which a
    cycle of tic-tac-toe took 7% longer.

    Args:
      shared: the axes of the games in the first arguments, which all lanes of a game share.
      lanes: the number of arguments after them, [B, W].
    """
    of_games = (*shared, *[0] * lanes)
    alone = jax.vmap(function, of_games)
    side_by_side = jax.vmap(jax.vmap(function, (*[None] * len(shared), *[0] * lanes)), of_games)

    def call(*arguments: Any) -> Array:
        if arguments[-1].shape[1] > 1:
            return side_by_side(*arguments)
        own = (x[:, 0] for x in arguments[len(shared) :])
        return alone(*arguments[: len(shared)], *own)[:, None]

    return call


def descend_at_once(
    key: Array, tree: CompactTree, selection: Selection, width: int = 1
) -> tuple[Array, Array]:
    """Selects at all nodes at once. Arguments and results are those of `descend`.

    The tree must have its array of children, and the selections must ignore key and depth.
    """
    batch, nodes = tree.parents.shape
    numbers, rows = jnp.arange(nodes, dtype=jnp.int32), jnp.arange(batch)[:, None]

    def below(tree: CompactTree, node: Array) -> Array:
        return selection.below(key, edges_at(tree, node), jnp.int32(0), jnp.int32(1))

    first, is_open = _select_at_roots(
        jnp.broadcast_to(key, (batch, *key.shape)), tree, selection, width
    )
    action = jax.vmap(jax.vmap(below, (None, 0)), (0, None))(tree, numbers)
    assert tree.children is not None
    child = jnp.take_along_axis(tree.children, action[:, :, None], axis=2)[:, :, 0]
    # A node whose action leads to no node is the end of its way, and stays where it is.
    end = jnp.where(child == tree.UNVISITED, numbers, child)
    for _ in range((nodes - 1).bit_length()):
        end = jnp.take_along_axis(end, end, axis=1)
    child = tree.children[rows, tree.ROOT_INDEX, first]
    is_new = (child == tree.UNVISITED) | ~is_open
    node = jnp.where(is_new, tree.ROOT_INDEX, end[rows, jnp.maximum(child, 0)])
    action = jnp.where(is_new, first, action[rows, node])
    return jnp.where(is_open, node, tree.NO_PARENT), action


def _select_at_roots(
    keys: Array, tree: CompactTree, selection: Selection, width: int
) -> tuple[Array, Array]:
    """Returns the root's actions int32 [B, W], and whether each is to be visited, bool [B, W]."""

    def at_root(key: Array, tree: CompactTree) -> tuple[Array, Array]:
        return selection.root(key, edges_at(tree, jnp.int32(tree.ROOT_INDEX)), width)

    return jax.vmap(at_root)(keys, tree)
