"""Forced playouts and policy-target pruning for PUCT (Wu 2019, "Accelerating self-play learning
in Go", section 3.2).

Root noise makes a search try unlikely moves, but usually only once. Forced playouts try them often
enough to estimate their value. Pruning then removes the forced visits from the policy target, so
that the network does not learn the noise.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mctx

from azjax.config import SearchConfig
from azjax.types import Array


def force_playouts(
    select_root: mctx.RootActionSelectionFn, forced_playouts: float
) -> mctx.RootActionSelectionFn:
    """Returns a root selection that first chooses moves with too few visits for their prior.

    Args:
      select_root: PUCT's selection at the root of one game: (key, tree, node index) -> action.
      forced_playouts: k. A move that was tried at all is tried at least
        sqrt(k * prior * simulations so far) times.
    """

    def select(key: Array, tree: mctx.Tree, node: Array) -> Array:
        visits = tree.children_visits[node]
        prior = jax.nn.softmax(tree.children_prior_logits[node])
        due = (visits > 0) & (visits < _forced(prior, jnp.sum(visits), forced_playouts))
        likeliest = jnp.argmax(jnp.where(due, prior, -1.0)).astype(jnp.int32)
        return jnp.where(jnp.any(due), likeliest, select_root(key, tree, node))

    return select


def prune_visits(visits: Array, values: Array, prior: Array, config: SearchConfig) -> Array:
    """Removes the visits that PUCT would not have made without forcing.

    Each move except the most visited one loses up to its number of forced playouts, as long as PUCT
    still prefers the most visited move. A move that is left with a single visit loses it too.

    Args:
      visits: int32 [B, A].
      values: float32 [B, A] in [-1, 1], from the mover's perspective; 0 where unvisited.
      prior: float32 [B, A], the root's prior with its noise.
      config: PUCT's constants.

    Returns:
      The remaining visits, float32 [B, A].
    """
    count = visits.astype(jnp.float32)
    total = jnp.sum(count, axis=-1, keepdims=True)
    weight = config.puct.pb_c_init + jnp.log(
        (total + config.puct.pb_c_base + 1) / config.puct.pb_c_base
    )
    exploration = prior * weight * jnp.sqrt(total)
    value = (values + 1) / 2  # the search scales values like this
    best = jnp.argmax(count, axis=-1, keepdims=True)
    score = jnp.take_along_axis(value + exploration / (1 + count), best, axis=-1)
    # The fewest visits with which PUCT's score stays below that of the most visited move.
    fewest = jnp.floor(exploration / jnp.maximum(score - value, 1e-9) - 1) + 1
    forced = jnp.floor(_forced(prior, total, config.puct.forced_playouts))
    left = jnp.clip(count - forced, jnp.minimum(jnp.maximum(fewest, 0), count), count)
    left = jnp.where(left > 1, left, 0)
    return jnp.where(jnp.arange(count.shape[-1])[None] == best, count, left)


def _forced(prior: Array, simulations: Array, forced_playouts: float) -> Array:
    return jnp.sqrt(forced_playouts * prior * simulations)
