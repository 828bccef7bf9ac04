"""Search: the transition rule between a game and mctx, and the Gumbel and PUCT policies."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from azjax_envs import Game

from azjax.config import SearchConfig
from azjax.forced_playouts import forcing, pruned_visits
from azjax.network import Network
from azjax.noise import log_gamma_variates
from azjax.tree_loop import make_loop_fn

_TINY = 1e-6
Array = jax.Array
State = Any
Params = Any

Evaluate = Callable[[Params, Array, State], tuple[Array, Array]]
"""(params, key, states [B, ...]) -> (logits [B, A], value [B] seen by the player to move)."""


class SearchResult(NamedTuple):
    """What a search of B positions found; values are seen by the player to move."""

    action: Array  # int32 [B], the move that the policy itself would play
    policy: Array  # float32 [B, A], the improved policy: the target to learn
    visits: Array  # int32 [B, A]
    prior: Array  # float32 [B, A], the root's prior with its noise
    action_values: Array  # float32 [B, A], 0 where unvisited
    value: Array  # float32 [B], to be expected of the improved policy


def transition(game: Game, state: State, action: Array) -> tuple[State, Array, Array]:
    """One move of one game, as a search sees it.

    Returns:
      (next state, reward, discount): reward float32 [] is the result for the player who moved;
      discount is 0 at the end, +1 where the mover is to move again, and -1 otherwise. Where the
      game is over already, both are 0.
    """
    mover = game.current_player(state)
    next_state = game.step(state, action)
    over = game.is_terminal(state)
    reward = jnp.where(over, 0.0, game.returns(next_state)[mover])
    discount = jnp.where(game.current_player(next_state) == mover, 1.0, -1.0)
    return next_state, reward, jnp.where(game.is_terminal(next_state), 0.0, discount)


def network_evaluate(game: Game, network: Network) -> Evaluate:
    """The evaluation by a network; its params are the network's variables."""

    def evaluate(variables: Params, key: Array, states: State) -> tuple[Array, Array]:
        del key
        prediction = network.apply(variables, jax.vmap(game.observe)(states))
        return prediction.policy_logits, prediction.value

    return evaluate


def mask_logits(logits: Array, mask: Array) -> Array:
    """`logits` with the lowest finite number where `mask` is False.

    Finite, so that the position after the end, where nothing is legal, gives no NaN.
    """
    return jnp.where(mask, logits, jnp.finfo(logits.dtype).min)


def make_recurrent_fn(game: Game, evaluate: Evaluate) -> mctx.RecurrentFn:
    """mctx's recurrent function: plays the actions and evaluates where they lead."""

    def recurrent_fn(
        params: Params, key: Array, action: Array, states: State
    ) -> tuple[mctx.RecurrentFnOutput, State]:
        states, reward, discount = jax.vmap(functools.partial(transition, game))(states, action)
        logits, value = evaluate(params, key, states)
        output = mctx.RecurrentFnOutput(
            reward=reward,
            discount=discount,
            prior_logits=mask_logits(logits, jax.vmap(game.legal_action_mask)(states)),
            value=value,
        )
        return output, states

    return recurrent_fn


def search(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    states: State,
    *,
    config: SearchConfig,
    gumbel_scale: Array | float = 0.0,
    dirichlet_fraction: Array | float = 0.0,
    root_temperature: float = 1.0,
    forced_playouts: float = 0.0,
) -> SearchResult:
    """Searches B positions at once.

    Args:
      game: the game.
      evaluate: gives priors and values; illegal actions need no masking.
      params: handed on to `evaluate`.
      key: PRNG key.
      states: positions, [B, ...].
      config: algorithm and its constants.
      gumbel_scale: scale of Gumbel's noise, float or [B]; 1 explores, 0 plays the best.
      dirichlet_fraction: PUCT's share of root noise, float or [B].
      root_temperature: PUCT's of the root's prior, before the noise.
      forced_playouts: PUCT's at the root, see `forced_playouts.py`; the policy is pruned of them.
    """
    output = search_output(
        game,
        evaluate,
        params,
        key,
        states,
        config=config,
        gumbel_scale=gumbel_scale,
        dirichlet_fraction=dirichlet_fraction,
        root_temperature=root_temperature,
        forced_playouts=forced_playouts,
    )
    tree = output.search_tree
    summary = tree.summary()
    visits = summary.visit_counts.astype(jnp.int32)
    prior = jax.nn.softmax(tree.children_prior_logits[:, tree.ROOT_INDEX])
    action_values = jnp.where(visits > 0, summary.qvalues, 0.0)
    policy = output.action_weights
    if config.algorithm == "puct" and forced_playouts:
        forced = replace(config, forced_playouts=forced_playouts)
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
    gumbel_scale: Array | float = 0.0,
    dirichlet_fraction: Array | float = 0.0,
    root_temperature: float = 1.0,
    forced_playouts: float = 0.0,
) -> mctx.PolicyOutput:
    """What `search` sums up, with the whole tree of each of B positions; arguments as there."""
    mask = jax.vmap(game.legal_action_mask)(states)
    search_key, noise_key, evaluate_key = jax.random.split(key, 3)
    logits, value = evaluate(params, evaluate_key, states)
    logits = mask_logits(logits, mask)
    recurrent_fn = make_recurrent_fn(game, evaluate)
    if config.algorithm == "gumbel":
        scale = jnp.broadcast_to(jnp.asarray(gumbel_scale, logits.dtype), value.shape)[:, None]
        return gumbel_policy(
            params, search_key, logits, value, states, recurrent_fn, mask, scale, config
        )
    fraction = jnp.broadcast_to(jnp.asarray(dirichlet_fraction, logits.dtype), value.shape)
    if root_temperature != 1.0:
        logits = mask_logits(logits / root_temperature, mask)
    logits = add_dirichlet_noise(
        noise_key, logits, mask, fraction[:, None], total=config.dirichlet_total
    )
    forced = replace(config, forced_playouts=forced_playouts)
    return puct_policy(params, search_key, logits, value, states, recurrent_fn, mask, forced)


def gumbel_policy(
    params: Params,
    key: Array,
    logits: Array,
    value: Array,
    states: State,
    recurrent_fn: mctx.RecurrentFn,
    mask: Array,
    scale: Array,
    config: SearchConfig,
) -> mctx.PolicyOutput:
    """`mctx.gumbel_muzero_policy` (Danihelka et al. 2022) with the fast loop; scale [B, 1]."""
    considered = min(config.max_considered_actions, logits.shape[-1])
    qtransform = functools.partial(
        mctx.qtransform_completed_by_mix_value,
        value_scale=config.value_scale,
        rescale_values=config.rescale_values,
    )
    loop_fn = make_loop_fn(
        params,
        recurrent_fn,
        select_root=functools.partial(
            mctx.gumbel_muzero_root_action_selection,
            num_simulations=config.num_simulations,
            max_num_considered_actions=considered,
            qtransform=qtransform,
        ),
        select_interior=functools.partial(
            mctx.gumbel_muzero_interior_action_selection, qtransform=qtransform
        ),
    )
    return mctx.gumbel_muzero_policy(
        params,
        key,
        mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states),
        recurrent_fn,
        config.num_simulations,
        invalid_actions=~mask,
        loop_fn=loop_fn,
        qtransform=qtransform,
        max_num_considered_actions=considered,
        gumbel_scale=scale,
    )


def puct_policy(
    params: Params,
    key: Array,
    logits: Array,
    value: Array,
    states: State,
    recurrent_fn: mctx.RecurrentFn,
    mask: Array,
    config: SearchConfig,
) -> mctx.PolicyOutput:
    """AlphaZero's PUCT by `mctx.search` with the fast loop; noise is in `logits` already.

    The result is that of `mctx.muzero_policy` without noise, bit for bit. That one draws its noise
    over all actions also where the noise's share is 0, and on CPU one variate after the other: for
    256 games of chess, seconds of each move.
    """
    select_root, select = puct_selection(config)
    key, _, search_key = jax.random.split(key, 3)  # as mctx does; the second is for its noise
    logits = normalised_logits(logits, mask)
    tree = mctx.search(
        params,
        search_key,
        root=mctx.RootFnOutput(prior_logits=logits, value=value, embedding=states),
        recurrent_fn=recurrent_fn,
        root_action_selection_fn=select_root,
        interior_action_selection_fn=select,
        num_simulations=config.num_simulations,
        invalid_actions=~mask,
        loop_fn=make_loop_fn(params, recurrent_fn, select_root=select_root, select_interior=select),
    )
    shares = tree.summary().visit_probs
    logits = _log(shares)
    action = jax.random.categorical(key, logits - jnp.max(logits, axis=-1, keepdims=True))
    return mctx.PolicyOutput(action=action, action_weights=shares, search_tree=tree)


def puct_selection(
    config: SearchConfig,
) -> tuple[mctx.RootActionSelectionFn, mctx.InteriorActionSelectionFn]:
    """How PUCT chooses at the root and in the tree."""
    # AlphaZero's values: results lie in [-1, 1], and an unvisited move counts as lost. (MuZero's
    # own rescaling by the siblings' values makes the smallest difference decide.)
    qtransform = functools.partial(mctx.qtransform_by_min_max, min_value=-1.0, max_value=1.0)
    select = functools.partial(
        mctx.muzero_action_selection,
        pb_c_init=config.pb_c_init,
        pb_c_base=config.pb_c_base,
        qtransform=qtransform,
    )
    select_root = functools.partial(select, depth=0)
    if config.forced_playouts:
        select_root = forcing(select_root, config.forced_playouts)
    return select_root, select


def normalised_logits(logits: Array, mask: Array) -> Array:
    """Logits [B, A] of the same prior as mctx makes them for a PUCT root, the largest 0."""
    logits = _log(jax.nn.softmax(logits))
    return mask_logits(logits - jnp.max(logits, axis=-1, keepdims=True), mask)


def add_dirichlet_noise(
    key: Array, logits: Array, mask: Array, fraction: Array, *, total: float
) -> Array:
    """Mixes Dirichlet noise over the legal actions into the prior.

    mctx draws its noise over all actions and masks afterwards, which leaves most of it on illegal
    moves. A Dirichlet over the legal actions is their gamma variables, normalised.

    Args:
      key: PRNG key.
      logits: masked prior logits [B, A].
      mask: legal actions, bool [B, A].
      fraction: share of noise [B, 1]; 0 leaves the prior as it is.
      total: concentration of all legal actions together; alpha is an equal share of it.
    """
    alpha = total / jnp.maximum(jnp.sum(mask, axis=-1, keepdims=True), 1)
    # Normalised as logarithms: for a small alpha, the variables themselves underflow.
    noise = jax.nn.softmax(mask_logits(log_gamma_variates(key, alpha, logits.shape), mask))
    mixed = (1 - fraction) * jax.nn.softmax(logits) + fraction * noise
    return jnp.where(fraction > 0, mask_logits(_log(mixed), mask), logits)


def _log(probabilities: Array) -> Array:
    """Logarithms, finite also of 0."""
    return jnp.log(jnp.maximum(probabilities, jnp.finfo(probabilities.dtype).tiny))
