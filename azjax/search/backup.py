"""The backup of simulations: the values and visits of the nodes from new nodes up to the root.

The simulations of a step begin with different actions of the root, so each node but the root lies
on one way at most. The root is updated by one simulation after the other, as in mctx.

A CPU walks up level by level, which touches few numbers. On other platforms each level would be
some launches and a predicate that the host reads. There a tree stores the nodes above each node,
and all nodes of all games are updated at once. Both forms give exactly the same numbers.

In games of chance Gumbel's chance nodes weight the values of their outcomes by the probabilities.
Visits follow these only in whole numbers, so a mean by visits would be less exact. Such trees go
level by level on all platforms.

The second form needs what `model.transition` returns: discounts of -1, 0 or 1, and rewards only
where the discount is 0. Products with these are exact, so their order does not matter.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import mctx

from azjax.search.tree import ANCESTOR_WORD, Ancestors, CompactTree
from azjax.types import Array


def backup(
    tree: CompactTree,
    index: Array,
    step: mctx.RecurrentFnOutput,
    parent: Array,
    weighted_outcomes: int = 0,
) -> CompactTree:
    """Updates the values and visits from the new nodes up to the roots.

    Args:
      tree: of B games, with W new nodes each, from `index` on.
      step: the new nodes' rewards, discounts and values [B, W].
      parent: their parents, int32 [B, W]; NO_PARENT where there is no new node.
      weighted_outcomes: as in a `Selection`.
    """
    if tree.ancestors is None or weighted_outcomes:
        return backup_by_level(tree, index, step, parent, weighted_outcomes)
    # Searches of connect four with a small network take a CPU 1.08 times as long by the other form
    # with 32 simulations, and 1.18 times with 256. An H100 would take an estimated 1.8 times as
    # long level by level. Large trees are updated so anyway.
    return jax.lax.platform_dependent(
        tree, index, step, parent, cpu=backup_by_level, default=backup_at_once
    )


def backup_by_level(
    tree: CompactTree,
    index: Array,
    step: mctx.RecurrentFnOutput,
    parent: Array,
    weighted_outcomes: int = 0,
) -> CompactTree:
    """Updates all games level by level, as mctx does. Arguments are those of `backup`."""
    (batch, width), root = parent.shape, tree.ROOT_INDEX
    rows = jnp.arange(batch)[:, None]
    first_outcome = tree.children_prior_logits.shape[2] - weighted_outcomes
    last = root if width > 1 else tree.NO_PARENT  # one simulation can update the root itself

    def any_live(state: tuple[Array, ...]) -> Array:
        return jnp.any(state[2] > last)

    def step_up(state: tuple[Array, ...]) -> tuple[Array, ...]:
        values, visits, node, reward, discount, value, *below = state
        live = node > last
        at = jnp.maximum(node, root)
        count = visits[rows, at]
        here = reward + discount * value
        before = values[rows, at]
        if weighted_outcomes:
            child, child_before, child_count = below
            action = jnp.maximum(tree.action_from_parent[rows, child], 0)
            old = jnp.where(
                child_count > 0, reward + discount * child_before, tree.raw_values[rows, at]
            )
            new = reward + discount * values[rows, child]
            share = jnp.exp(tree.children_prior_logits[rows, at, action])
            # The change of the node's sum of values that gives it the mean by probabilities.
            change = (before + share * (new - old)) * (count + 1.0) - before * count
            here = jnp.where(action >= first_outcome, change, here)
        mean = (before * count + here) / (count + 1.0)
        here_below = (at, before, count)[: len(below)]
        # Others write to a row that does not exist, which drops it.
        row = jnp.where(live, rows, batch)
        return (
            values.at[row, at].set(mean, mode="drop"),
            visits.at[row, at].set(count + 1, mode="drop"),
            jnp.where(live, tree.parents[rows, at], node),
            jnp.where(live, tree.rewards[rows, at], reward),
            jnp.where(live, tree.discounts[rows, at], discount),
            jnp.where(live, here, value),
            *(jnp.where(live, new, old) for new, old in zip(here_below, below, strict=True)),
        )

    start = (tree.node_values, tree.node_visits, parent, step.reward, step.discount, step.value)
    if weighted_outcomes:
        new = index + jnp.arange(width, dtype=jnp.int32)[None] + jnp.zeros_like(parent)
        start += (new, step.value, jnp.zeros_like(parent))
    with jax.named_scope("backup"):
        values, visits, node, reward, discount, value, *_ = jax.lax.while_loop(
            any_live, step_up, start
        )
    if width > 1:
        results = reward + discount * value
        mean, count = _root_update(values[:, root], visits[:, root], results, node == root)
        values, visits = values.at[:, root].set(mean), visits.at[:, root].set(count)
    return replace(tree, node_values=values, node_visits=visits)


def _root_update(mean: Array, count: Array, results: Array, live: Array) -> tuple[Array, Array]:
    """Returns the roots' values and visits [B] after the live ones of the results [B, W]."""
    for result, is_live in zip(results.T, live.T, strict=True):
        mean = jnp.where(is_live, (mean * count + result) / (count + 1.0), mean)
        count += is_live.astype(count.dtype)
    return mean, count


def backup_at_once(
    tree: CompactTree, index: Array, step: mctx.RecurrentFnOutput, parent: Array
) -> CompactTree:
    """Updates all nodes at once, without a loop. Arguments are those of `backup`."""
    ancestors, root = tree.ancestors, tree.ROOT_INDEX
    assert ancestors is not None
    rows, numbers = jnp.arange(len(parent))[:, None], jnp.arange(tree.parents.shape[1])
    is_new, at = parent >= root, jnp.maximum(parent, root)
    above = jnp.where(is_new[:, :, None], ancestors.above[rows, at], 0)
    sign_above = ancestors.signs[rows, at]
    sign = sign_above * step.discount
    rewards = ancestors.rewards[rows, at] + sign_above * step.reward

    # The results of the simulations from the root's perspective, then from that of each node. Nodes
    # of a finished game have the sign 0: below them nothing is won or lost any more.
    results = rewards + sign * step.value
    results = jnp.where(results == 0, 0.0, results)  # never -0, as in the sum with a reward of 0
    bits = above[:, :, :, None] >> jnp.arange(ANCESTOR_WORD, dtype=jnp.uint32)[None, None, None]
    on_way = (bits & 1).reshape(*parent.shape, -1)[:, :, : len(numbers)] == 1
    value = jnp.sum(jnp.where(on_way, results[:, :, None], 0.0), axis=1)
    value = ancestors.signs * value
    value = jnp.where(value == 0, 0.0, value)
    live = jnp.any(on_way, axis=1)
    values, visits = tree.node_values, tree.node_visits
    mean = (values * visits + value) / (visits + 1.0)
    root_mean, root_count = _root_update(values[:, root], visits[:, root], results, is_new)

    def write(nodes: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(nodes, new, index, axis=1)

    own = index + jnp.arange(parent.shape[1])
    bit = jnp.uint32(1) << (own % ANCESTOR_WORD).astype(jnp.uint32)
    in_word = jnp.arange(ancestors.above.shape[2])[None] == (own // ANCESTOR_WORD)[:, None]
    own_bits = jnp.where(in_word, bit[:, None], jnp.uint32(0))
    ancestors = Ancestors(
        above=write(ancestors.above, above | own_bits[None]),
        signs=write(ancestors.signs, sign),
        rewards=write(ancestors.rewards, rewards),
    )
    is_root = (numbers == root)[None]
    return replace(
        tree,
        node_values=jnp.where(is_root, root_mean[:, None], jnp.where(live, mean, values)),
        node_visits=jnp.where(is_root, root_count[:, None], visits + live.astype(visits.dtype)),
        ancestors=ancestors,
    )
