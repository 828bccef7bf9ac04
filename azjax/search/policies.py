"""mctx's Gumbel and PUCT policies with the fast simulation loop of `loop.py`."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import mctx

from azjax.config import GumbelConfig, SearchConfig
from azjax.search.loop import make_loop_fn
from azjax.search.model import log_of, mask_logits
from azjax.types import Array, Params


def gumbel_policy(
    params: Params,
    key: Array,
    root: mctx.RootFnOutput,
    recurrent_fn: mctx.RecurrentFn,
    mask: Array,
    scale: Array,
    config: SearchConfig,
) -> mctx.PolicyOutput:
    """Runs `mctx.gumbel_muzero_policy` (Danihelka et al. 2022) with the fast loop.

    Args:
      params: passed to `recurrent_fn`.
      key: PRNG key.
      root: masked logits, values and states of B positions.
      recurrent_fn: mctx's recurrent function.
      mask: legal actions, bool [B, A].
      scale: scale of the Gumbel noise, float32 [B, 1].
      config: Gumbel's constants.
    """
    considered = min(config.gumbel.max_considered_actions, mask.shape[-1])
    qtransform = gumbel_values(config.gumbel)
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
        deterministic=True,
        pack_states=True,
    )
    return mctx.gumbel_muzero_policy(
        params,
        key,
        root,
        recurrent_fn,
        config.num_simulations,
        invalid_actions=~mask,
        loop_fn=loop_fn,
        qtransform=qtransform,
        max_num_considered_actions=considered,
        gumbel_scale=scale,
    )


def gumbel_values(config: GumbelConfig) -> Callable[[mctx.Tree, Array], Array]:
    """Returns what Gumbel search adds to the logits: values, also of moves without visits."""
    return functools.partial(
        mctx.qtransform_completed_by_mix_value,
        value_scale=config.value_scale,
        rescale_values=config.rescale_values,
    )


def puct_policy(
    params: Params,
    key: Array,
    root: mctx.RootFnOutput,
    recurrent_fn: mctx.RecurrentFn,
    mask: Array,
    temperature: Array,
    config: SearchConfig,
) -> mctx.PolicyOutput:
    """Runs AlphaZero's PUCT by `mctx.search` with the fast loop.

    The result equals that of `mctx.muzero_policy` without noise, bit for bit, also its move if the
    temperature is 1. That function draws
    noise over all actions even if its share is 0, and on CPU one variate after the other. For 256
    games of chess this takes seconds per move.

    Args:
      params: passed to `recurrent_fn`.
      key: PRNG key.
      root: logits, values and states of B positions. The logits contain the noise already.
      recurrent_fn: mctx's recurrent function.
      mask: legal actions, bool [B, A].
      temperature: of the move, which is drawn by visits ** (1 / temperature); the most visited one
        where it is 0. float32 [B, 1].
      config: PUCT's constants.
    """
    select_root, select = puct_selection(config)
    key, _, search_key = jax.random.split(key, 3)  # as in mctx, which uses the second for noise
    root = root.replace(prior_logits=normalise_logits(root.prior_logits, mask))
    tree = mctx.search(
        params,
        search_key,
        root=root,
        recurrent_fn=recurrent_fn,
        root_action_selection_fn=select_root,
        interior_action_selection_fn=select,
        num_simulations=config.num_simulations,
        invalid_actions=~mask,
        loop_fn=make_loop_fn(
            params,
            recurrent_fn,
            select_root=select_root,
            select_interior=select,
            pack_states=True,
        ),
    )
    shares = tree.summary().visit_probs
    action = draw_moves(key, shares, temperature)
    return mctx.PolicyOutput(action=action, action_weights=shares, search_tree=tree)


def draw_moves(key: Array, shares: Array, temperature: Array) -> Array:
    """Draws moves by their shares of the visits.

    Args:
      key: PRNG key.
      shares: shares of the visits, float32 [B, A].
      temperature: the chances are shares ** (1 / temperature). The largest share is taken where the
        temperature is 0. float32 [B, 1].

    Returns:
      Actions, int32 [B].
    """
    logits = log_of(shares)
    logits -= jnp.max(logits, axis=-1, keepdims=True)
    # Moves without visits stay out of reach, however high the temperature is.
    heated = logits / jnp.where(temperature > 0, temperature, 1.0)
    drawn = jax.random.categorical(key, jnp.where(shares > 0, heated, logits))
    most = jnp.argmax(shares, axis=-1)
    return jnp.where(temperature[:, 0] > 0, drawn, most).astype(jnp.int32)


def puct_selection(
    config: SearchConfig,
) -> tuple[mctx.RootActionSelectionFn, mctx.InteriorActionSelectionFn]:
    """Returns PUCT's action selection at the root and in the tree."""
    # AlphaZero's values: results lie in [-1, 1], and an unvisited move counts as lost. MuZero's own
    # rescaling by the siblings' values would make the smallest difference decide.
    qtransform = functools.partial(mctx.qtransform_by_min_max, min_value=-1.0, max_value=1.0)
    select = functools.partial(
        mctx.muzero_action_selection,
        pb_c_init=config.puct.pb_c_init,
        pb_c_base=config.puct.pb_c_base,
        qtransform=qtransform,
    )
    select_root = functools.partial(select, depth=0)
    return select_root, select


def anytime_selection(
    config: SearchConfig,
) -> tuple[mctx.RootActionSelectionFn, mctx.InteriorActionSelectionFn]:
    """Returns the action selection of a search that may stop at any time, at the root and below.

    Sequential halving must know the number of simulations. So Gumbel search selects at the root as
    it does below: each move gets visits in proportion to the improved policy (Danihelka et al.
    2022, section 5).
    """
    if config.algorithm == "puct":
        return puct_selection(config)
    select = functools.partial(
        mctx.gumbel_muzero_interior_action_selection, qtransform=gumbel_values(config.gumbel)
    )
    return functools.partial(select, depth=0), select


def normalise_logits(logits: Array, mask: Array) -> Array:
    """Returns the logits of the same prior as mctx makes them for a PUCT root.

    Args:
      logits: masked logits [B, A].
      mask: legal actions, bool [B, A].

    Returns:
      Masked logits [B, A], the largest of each row 0.
    """
    logits = log_of(jax.nn.softmax(logits))
    return mask_logits(logits - jnp.max(logits, axis=-1, keepdims=True), mask)
