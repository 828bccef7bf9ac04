"""A search of many positions at once, by Gumbel or PUCT, and what it found."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game

from azjax.config import SearchConfig
from azjax.search.dirichlet import add_dirichlet_noise
from azjax.search.forced_playouts import pruned_visits
from azjax.search.model import Evaluate, Params, State, make_recurrent_fn, mask_logits
from azjax.search.policies import gumbel_policy, puct_policy
from azjax.types import Array

_TINY = 1e-6


class Exploration(NamedTuple):
    """What a search does at its root to see more than the best move; nothing, by default."""

    gumbel_scale: Array | float = 0.0
    """Scale of Gumbel's noise, float or [B]; 1 explores, 0 plays the best."""
    dirichlet_fraction: Array | float = 0.0
    """PUCT's share of root noise, float or [B]."""
    root_temperature: float = 1.0
    """PUCT's, of the root's prior, before the noise."""
    forced_playouts: float = 0.0
    """PUCT's at the root, see `forced_playouts.py`; the policy is pruned of them."""


_NO_EXPLORATION = Exploration()


def exploration_of(config: SearchConfig, gumbel_scale: Array | float = 1.0) -> Exploration:
    """Self-play's exploration, as a config sets it."""
    return Exploration(
        gumbel_scale, config.dirichlet_fraction, config.root_temperature, config.forced_playouts
    )


class SearchResult(NamedTuple):
    """What a search of B positions found; values are seen by the player to move."""

    action: Array  # int32 [B], the move that the policy itself would play
    policy: Array  # float32 [B, A], the improved policy: the target to learn
    visits: Array  # int32 [B, A]
    prior: Array  # float32 [B, A], the root's prior with its noise
    action_values: Array  # float32 [B, A], 0 where unvisited
    value: Array  # float32 [B], to be expected of the improved policy


def search(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    states: State,
    *,
    config: SearchConfig,
    exploration: Exploration = _NO_EXPLORATION,
) -> SearchResult:
    """Searches B positions at once.

    Args:
      game: the game.
      evaluate: gives priors and values; illegal actions need no masking.
      params: handed on to `evaluate`.
      key: PRNG key.
      states: positions, [B, ...].
      config: algorithm and its constants.
      exploration: what self-play adds at the root; `config`'s own numbers for it are not read.
    """
    output = search_output(
        game, evaluate, params, key, states, config=config, exploration=exploration
    )
    tree = output.search_tree
    summary = tree.summary()
    visits = summary.visit_counts.astype(jnp.int32)
    prior = jax.nn.softmax(tree.children_prior_logits[:, tree.ROOT_INDEX])
    action_values = jnp.where(visits > 0, summary.qvalues, 0.0)
    policy = output.action_weights
    if config.algorithm == "puct" and exploration.forced_playouts:
        forced = replace(config, forced_playouts=exploration.forced_playouts)
        left = pruned_visits(visits, action_values, prior, forced)
        policy = left / jnp.maximum(jnp.sum(left, axis=-1, keepdims=True), 1)
    tried = jnp.where(visits > 0, policy, 0.0)
    weight = jnp.sum(tried, axis=-1)
    mean = jnp.sum(tried * action_values, axis=-1) / jnp.maximum(weight, _TINY)
    return SearchResult(
        action=output.action,
        policy=policy,
        visits=visits,
        prior=prior,
        action_values=action_values,
        value=jnp.where(weight > _TINY, mean, summary.value),
    )


def search_output(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    states: State,
    *,
    config: SearchConfig,
    exploration: Exploration = _NO_EXPLORATION,
) -> mctx.PolicyOutput:
    """What `search` sums up, with the whole tree of each of B positions; arguments as there."""
    mask = jax.vmap(game.legal_action_mask)(states)
    search_key, noise_key, evaluate_key = jax.random.split(key, 3)
    logits, value = evaluate(params, evaluate_key, states)
    logits = mask_logits(logits, mask)
    recurrent_fn = make_recurrent_fn(game, evaluate)

    def for_each(share: Array | float) -> Array:
        return jnp.broadcast_to(jnp.asarray(share, logits.dtype), value.shape)[:, None]

    if config.algorithm == "gumbel":
        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states)
        scale = for_each(exploration.gumbel_scale)
        return gumbel_policy(params, search_key, root, recurrent_fn, mask, scale, config)
    if exploration.root_temperature != 1.0:
        logits = mask_logits(logits / exploration.root_temperature, mask)
    fraction = for_each(exploration.dirichlet_fraction)
    logits = add_dirichlet_noise(noise_key, logits, mask, fraction, total=config.dirichlet_total)
    root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states)
    forced = replace(config, forced_playouts=exploration.forced_playouts)
    return puct_policy(params, search_key, root, recurrent_fn, mask, forced)
