"""Resignation, calibrated by games in which it is disabled (AlphaGo Zero, Silver et al. 2017).

In some games nobody may resign. They show how often players did not lose although their value had
fallen to some level. The threshold is the highest level at which that is rare.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from azjax.means import nothing
from azjax.types import Array

_BINS = 100  # of values from -1 to 0
_MEMORY = 1000.0  # players; older statistics decay
_MIN_PLAYERS = 20.0  # before anybody resigns


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ResignationStats:
    """Counts of players in games without resignation, by their lowest value: 100 bins."""

    players: Array  # float32 [100], all of them
    not_lost: Array  # float32 [100], those that won or drew


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GameMinima:
    """The lowest values so far in B games in progress."""

    lowest: Array  # float32 [B, 2], the lowest value that each player had, 1 before the first
    disabled: Array  # bool [B], nobody may resign


def initial_stats() -> ResignationStats:
    """Returns the statistics before the first game."""
    none = jnp.zeros(_BINS, jnp.float32)
    return ResignationStats(players=none, not_lost=none)


def initial_minima(key: Array, batch: int, *, disabled_fraction: float) -> GameMinima:
    """Returns the minima of `batch` new games; a random fraction disables resignation."""
    return GameMinima(
        lowest=jnp.ones((batch, 2), jnp.float32),
        disabled=jax.random.bernoulli(key, disabled_fraction, (batch,)),
    )


def update_minima(minima: GameMinima, mover: Array, value: Array) -> GameMinima:
    """Returns the minima after a search found `value` [B] for the players to move, int32 [B]."""
    own = jnp.arange(2)[None] == mover[:, None]
    lowest = jnp.where(own, jnp.minimum(minima.lowest, value[:, None]), minima.lowest)
    return GameMinima(lowest=lowest, disabled=minima.disabled)


def stats_of_finished(minima: GameMinima, done: Array, result: Array) -> ResignationStats:
    """Returns the statistics of the games that have ended, `done` [B], with results [B, 2]."""
    counts = (done & minima.disabled)[:, None] & (minima.lowest < 0)
    index = jnp.clip(jnp.floor((minima.lowest + 1) * _BINS), 0, _BINS - 1).astype(jnp.int32)
    hot = counts[..., None] & (index[..., None] == jnp.arange(_BINS)[None, None])  # [B, 2, 100]
    not_lost = hot & (result > -1)[..., None]
    return ResignationStats(
        players=jnp.sum(hot, axis=(0, 1), dtype=jnp.float32),
        not_lost=jnp.sum(not_lost, axis=(0, 1), dtype=jnp.float32),
    )


def decay_and_add(old: ResignationStats, new: ResignationStats) -> ResignationStats:
    """Adds new statistics to old ones, which decay in proportion to the number of new players."""
    kept = 1 - jnp.minimum(jnp.sum(new.players) / _MEMORY, 1)
    return jax.tree.map(lambda a, b: kept * a + b, old, new)


def resignation_threshold(
    stats: ResignationStats, *, false_positive_rate: float
) -> tuple[Array, Array]:
    """Returns the value below which to resign, and the measured false positive rate there.

    The threshold is the upper end of the highest bin at or below which the rate is allowed. With
    too few players it is -2, below every value, and the rate is NaN, see `azjax.means`.
    Both are float32 [].
    """
    players, not_lost = jnp.cumsum(stats.players), jnp.cumsum(stats.not_lost)
    fine = (players >= _MIN_PLAYERS) & (not_lost <= false_positive_rate * players)
    highest = _BINS - 1 - jnp.argmax(fine[::-1])
    found = jnp.any(fine)
    rate = not_lost[highest] / jnp.maximum(players[highest], 1)
    return (
        jnp.where(found, (highest + 1 - _BINS) / _BINS, -2.0).astype(jnp.float32),
        jnp.where(found, rate, nothing()),
    )
