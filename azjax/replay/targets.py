"""What the window's positions are to teach: values, and which of them teach at all."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from azjax.config import Config
from azjax.replay.buffer import Replay
from azjax.types import Array


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["value", "known", "end", "side"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Targets:
    """Of each ply of the window, [R, B]."""

    value: Array  # float32, the value to learn, seen by the player to move
    known: Array  # bool, to be learnt from: its game has ended, and it was searched in full
    end: Array  # int32, the ring's row with the last ply of its game, where known
    side: Array  # int8, 1 where who moves here also made that last move, else -1


def find_targets(replay: Replay, config: Config, *, devices: int = 1) -> Targets:
    """Values that follow from how the games went on, by one scan from the newest ply back.

    What followed is a lambda-return (Sutton 1988): target[t] = reward[t] + discount[t] *
    ((1 - lambda) * root value[t + 1] + lambda * target[t + 1]), which holds for any order of turns,
    and at lambda = 1 is the game's result. The position's own root value is mixed in after.

    Args:
      replay: this device's share of the window.
      config: `learning.td_lambda`, `learning.root_value_weight` and `replay.max_games`.
      devices: how many share the window's games.
    """
    size, lanes = replay.rows.reward.shape
    decay, own = config.learning.td_lambda, config.learning.root_value_weight
    ages = jnp.arange(size)  # 0 is the newest ply
    newest_first = (replay.position - 1 - ages) % size
    rows = replay.rows
    plies = (newest_first, *(x[newest_first] for x in (rows.reward, rows.discount, rows.value)))

    def back(carry: tuple[Array, ...], ply: tuple[Array, ...]) -> tuple[Any, Any]:
        target, next_value, known, end, side, rank, games = carry
        place, reward, discount, value = ply
        reward, discount, value = (x.astype(jnp.float32) for x in (reward, discount, value))
        over = discount == 0
        target = reward + discount * ((1 - decay) * next_value + decay * target)
        known = known | over
        end = jnp.where(over, place, end)
        side = jnp.where(over, 1, jnp.sign(discount).astype(jnp.int8) * side).astype(jnp.int8)
        rank = jnp.where(over, games, rank)  # games that ended later than this one
        games = games + jnp.sum(over)
        recent = rank < config.replay.max_games // devices if config.replay.max_games else True
        carry = (target, value, known, end, side, rank, games)
        return carry, ((1 - own) * target + own * value, known & recent, end, side)

    zeros, none = jnp.zeros(lanes), jnp.zeros(lanes, jnp.int32)
    start = (zeros, zeros, none > 0, none, jnp.ones(lanes, jnp.int8), none, jnp.int32(0))
    _, found = jax.lax.scan(back, start, plies)
    # The map between "ply t" and "age" is its own inverse.
    value, known, end, side = (x[newest_first] for x in found)
    written = (ages < replay.filled)[newest_first]
    return Targets(value=value, known=known & written[:, None] & rows.full, end=end, side=side)
