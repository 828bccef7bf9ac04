"""Forced playouts and policy-target pruning for PUCT (Wu 2019, "Accelerating self-play learning
in Go", section 3.2).

Root noise lets a search look at unlikely moves, but most of the time it looks once and turns away.
Forced playouts look long enough to tell; pruning then takes out of the policy to learn what was
only forced, so that the network does not learn the noise.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mctx

from azjax.config import SearchConfig
from azjax.types import Array


def forcing(
    select_root: mctx.RootActionSelectionFn, forced_playouts: float
) -> mctx.RootActionSelectionFn:
    """`select_root`, but a move that was tried too seldom for its prior is tried first.

    Args:
      select_root: PUCT's choice at the root, of one game: (key, tree, node index) -> action.
      forced_playouts: k; a move tried at all is tried sqrt(k * prior * simulations so far) times.
    """

    def select(key: Array, tree: mctx.Tree, node: Array) -> Array:
        visits = tree.children_visits[node]
        prior = jax.nn.softmax(tree.children_prior_logits[node])
        due = (visits > 0) & (visits < _forced(prior, jnp.sum(visits), forced_playouts))
        likeliest = jnp.argmax(jnp.where(due, prior, -1.0)).astype(jnp.int32)
        return jnp.where(jnp.any(due), likeliest, select_root(key, tree, node))

    return select


def pruned_visits(visits: Array, values: Array, prior: Array, config: SearchConfig) -> Array:
    """Visits [B, A] without those that PUCT would not have made by itself.

    From each move but the most visited up to its forced playouts are taken, as long as PUCT goes on
    to prefer the most visited one; a single visit that is left is no evidence and goes too.

    Args:
      visits: int32 [B, A].
      values: float32 [B, A] in [-1, 1], seen by the mover; 0 where unvisited.
      prior: float32 [B, A], the root's prior with its noise.
      config: PUCT's constants.
    """
    count = visits.astype(jnp.float32)
    total = jnp.sum(count, axis=-1, keepdims=True)
    weight = config.pb_c_init + jnp.log((total + config.pb_c_base + 1) / config.pb_c_base)
    exploration = prior * weight * jnp.sqrt(total)
    value = (values + 1) / 2  # as the search scales them
    best = jnp.argmax(count, axis=-1, keepdims=True)
    score = jnp.take_along_axis(value + exploration / (1 + count), best, axis=-1)
    # The fewest visits with which PUCT's score stays below that of the most visited move.
    fewest = jnp.floor(exploration / jnp.maximum(score - value, 1e-9) - 1) + 1
    forced = jnp.floor(_forced(prior, total, config.forced_playouts))
    left = jnp.clip(count - forced, jnp.minimum(jnp.maximum(fewest, 0), count), count)
    left = jnp.where(left > 1, left, 0)
    return jnp.where(jnp.arange(count.shape[-1])[None] == best, count, left)


def _forced(prior: Array, simulations: Array, forced_playouts: float) -> Array:
    return jnp.sqrt(forced_playouts * prior * simulations)
