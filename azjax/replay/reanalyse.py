"""Reanalyse: fresh searches of stored positions by the network of now.

Schrittwieser et al. 2020 (MuZero, appendix H) and 2021: a position is met once and can teach for as
long as it is kept, if its policy and its value do not grow old.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import Config
from azjax.replay.buffer import Replay, pack_policy, take
from azjax.search.model import Evaluate, Params
from azjax.search.search import exploration_of, search
from azjax.types import Array


def reanalyse(
    game: Game,
    evaluate: Evaluate,
    params: Params,
    key: Array,
    replay: Replay,
    indices: Array,
    known: Array,
    config: Config,
) -> Replay:
    """The window with new policies and root values at flat indices int32 [N].

    Args:
      game: the game.
      evaluate: see `search`.
      params: for `evaluate`, the newest network (or the average of the weights).
      key: PRNG key.
      replay: the window; its states are whole.
      indices: what to search.
      known: bool [], False changes nothing: there was nothing to draw from.
      config: the search's constants.
    """
    rows = replay.rows
    result = search(
        game,
        evaluate,
        params,
        key,
        take(replay, indices).states,
        config=config.search,
        exploration=exploration_of(config.search),
    )
    size, lanes = rows.reward.shape
    # A row that does not exist is dropped.
    row = jnp.where(known, indices // lanes, size)

    def write(ring: Array, new: Array) -> Array:
        return ring.at[row, indices % lanes].set(new.astype(ring.dtype), mode="drop")

    policy = jax.tree.map(write, rows.policy, pack_policy(result.policy))
    value = write(rows.value, result.value)
    return replace(replay, rows=replace(rows, policy=policy, value=value))
