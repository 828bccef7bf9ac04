"""The backup of a simulation: the values and visits of the nodes from a new node up to the root.

A CPU walks up level by level, which touches few numbers. On other platforms each level would be
some launches and a predicate that the host reads. There a tree stores the nodes above each node,
and all nodes of all games are updated at once. Both forms give exactly the same numbers.

The second form needs what `model.transition` returns: discounts of -1, 0 or 1, and rewards only
where the discount is 0. Products with these are exact, so their order does not matter.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import mctx

from azjax.types import Array

_WORD = 32  # bits
_MOST_NODES = 2048  # of a tree with lineages, whose bits grow with the square of the nodes


class Lineages(NamedTuple):
    """What leads to each node of a tree from its root. Allocated but not written on a CPU."""

    above: Array  # uint32 [B, N, words], bit n of node m: n is m or above it
    signs: Array  # [B, N], the product of the discounts from the root
    rewards: Array  # [B, N], from the root's perspective, the sum of the rewards from the root


def new_lineages(tree: mctx.Tree) -> Lineages | None:
    """Returns the lineages of a tree that holds its roots alone; None if it has too many nodes."""
    batch, nodes = tree.parents.shape
    if nodes > _MOST_NODES:
        return None
    nothing = jnp.zeros((batch, nodes), tree.node_values.dtype)
    return Lineages(
        above=jnp.zeros((batch, nodes, _words(nodes)), jnp.uint32).at[:, 0, 0].set(1),
        signs=nothing.at[:, 0].set(1),
        rewards=nothing,
    )


def lineage_bytes(nodes: int) -> int:
    """Returns the bytes of one game's lineages in a tree of `nodes` nodes."""
    return 4 * nodes * (_words(nodes) + 2) if nodes <= _MOST_NODES else 0


def _words(nodes: int) -> int:
    return -(-nodes // _WORD)


def backup(tree: mctx.Tree, index: Array, step: mctx.RecurrentFnOutput, parent: Array) -> mctx.Tree:
    """Updates the values and visits from the new nodes, all at `index`, up to the roots.

    Args:
      tree: compact, of B games, with the new nodes.
      step: their rewards, discounts and values.
      parent: their parents, int32 [B].
    """
    if tree.extra_data.lineages is None:
        return backup_by_level(tree, index, step, parent)
    # With 32 simulations of 256 games of connect four, a CPU's whole search takes as long by either
    # form (25 and 21 ms). Times with hundreds of simulations would decide whether one is enough.
    return jax.lax.platform_dependent(
        tree, index, step, parent, cpu=backup_by_level, default=backup_at_once
    )


def backup_by_level(
    tree: mctx.Tree, index: Array, step: mctx.RecurrentFnOutput, parent: Array
) -> mctx.Tree:
    """Updates all games level by level, as mctx does. Arguments are those of `backup`."""
    del index
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
    with jax.named_scope("backup"):
        values, visits, *_ = jax.lax.while_loop(any_live, step_up, start)
    return tree.replace(node_values=values, node_visits=visits)


def backup_at_once(
    tree: mctx.Tree, index: Array, step: mctx.RecurrentFnOutput, parent: Array
) -> mctx.Tree:
    """Updates all nodes at once, without a loop. Arguments are those of `backup`."""
    lineages = tree.extra_data.lineages
    rows, numbers = jnp.arange(parent.shape[0]), jnp.arange(tree.parents.shape[1])
    above = lineages.above[rows, parent]
    sign_above = lineages.signs[rows, parent]
    sign = sign_above * step.discount
    rewards = lineages.rewards[rows, parent] + sign_above * step.reward

    # The result of this simulation from the root's perspective, then from that of each node. Nodes
    # of a finished game have the sign 0: below them nothing is won or lost any more.
    value = lineages.signs * (rewards + sign * step.value)[:, None]
    value = jnp.where(value == 0, 0.0, value)  # never -0, as in the sum with a reward of 0
    bits = above[:, :, None] >> jnp.arange(_WORD, dtype=jnp.uint32)[None, None]
    live = (bits & 1).reshape(len(rows), -1)[:, : len(numbers)] == 1
    count = tree.node_visits
    mean = (tree.node_values * count + value) / (count + 1.0)

    def write(nodes: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(nodes, new[:, None], index, axis=1)

    word, bit = jnp.arange(lineages.above.shape[2]), jnp.asarray(index % _WORD, jnp.uint32)
    own = jnp.where(word == index // _WORD, jnp.uint32(1) << bit, jnp.uint32(0))
    lineages = Lineages(
        above=write(lineages.above, above | own[None]),
        signs=write(lineages.signs, sign),
        rewards=write(lineages.rewards, rewards),
    )
    return tree.replace(
        node_values=jnp.where(live, mean, tree.node_values),
        node_visits=jnp.where(live, count + 1, count),
        extra_data=tree.extra_data._replace(lineages=lineages),
    )
