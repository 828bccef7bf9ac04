"""Reanalysis: new searches of stored positions by the candidate network.

The candidate is the latest network, or its moving average. Its searches keep the stored policies
and values up to date (MuZero, Schrittwieser et al. 2020, appendix H; MuZero Unplugged,
Schrittwieser et al. 2021).
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import Config
from azjax.pytrees import check_array
from azjax.replay.buffer import Replay, pack_policy, take
from azjax.search.model import Evaluate
from azjax.search.search import exploration_of, search
from azjax.types import Array, Params


def reanalyse(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    replay: Replay,
    indices: Array,
    enabled: Array,
    config: Config,
) -> Replay:
    """Replaces the policies and root values of some stored positions by those of new searches.

    Args:
      game: the game.
      evaluate: the evaluation function; see `search`.
      params: passed to `evaluate`: the candidate network's variables.
      key: PRNG key.
      replay: the buffer, which must keep complete states.
      indices: int32 [N], flat indices of the positions to search. Where one occurs several times,
        its last search is stored.
      enabled: bool []; False changes nothing, for a buffer without valid positions.
      config: the search's settings.

    Raises:
      ValueError: an argument has a wrong shape or dtype.
    """
    check_array(indices, ("N",), int, name="indices")
    check_array(enabled, (), jnp.bool_, name="enabled")
    stored = replay.transitions
    result = search(
        game,
        evaluate,
        params,
        key,
        take(replay, indices).states,
        config=config.search,
        exploration=exploration_of(config.search),
    )
    size, lanes = stored.reward.shape
    places = places_to_write(indices, enabled, size * lanes)
    row, lane = places // lanes, places % lanes

    def write(ring: Array, new: Array) -> Array:
        return ring.at[row, lane].set(new.astype(ring.dtype), mode="drop", unique_indices=True)

    policy = jax.tree.map(write, stored.policy, pack_policy(result.policy))
    value = write(stored.value, result.value)
    return replace(replay, transitions=replace(stored, policy=policy, value=value))


def places_to_write(indices: Array, enabled: Array, size: int) -> Array:
    """Returns the places of the ring to write to, int32 [N], of which no two are equal.

    A GPU writes to equal places in any order, which may differ between the arrays of one search.
    So only the last search of a position keeps its place. The others get places beyond the ring.

    Args:
      indices: flat indices of positions, int32 [N].
      enabled: bool []; if False, all places are beyond the ring.
      size: number of positions in the ring.
    """
    order = jnp.arange(indices.shape[0], dtype=jnp.int32)
    # A maximum does not depend on the order of the writes.
    last = jnp.full(size, -1, jnp.int32).at[indices].max(order)
    return jnp.where(enabled & (last[indices] == order), indices, size + order)
