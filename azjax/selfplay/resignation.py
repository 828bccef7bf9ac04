"""Resignation, and what keeps it honest (AlphaGo Zero, Silver et al. 2017, Methods).

Some games are played to the end whatever the values. They tell how often a player who had come so
low did not lose after all, and the threshold is the highest at which that is rare.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from azjax.types import Array

_BINS = 100  # of values from -1 to 0
_MEMORY = 1000.0  # players; older evidence is forgotten
_EVIDENCE = 20.0  # players, before anybody resigns


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["players", "not_lost"], meta_fields=[]
)
@dataclass(frozen=True)
class Evidence:
    """Players of games that were played out, by the lowest value they had: 100 bins in [-1, 0]."""

    players: Array  # float32 [100], all of them
    not_lost: Array  # float32 [100], those that won or drew


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["lowest", "played_out"], meta_fields=[]
)
@dataclass(frozen=True)
class Prospects:
    """What each of B games in progress will tell, once it has ended."""

    lowest: Array  # float32 [B, 2], the lowest value that each player had, 1 before the first
    played_out: Array  # bool [B], nobody may resign


def no_evidence() -> Evidence:
    """What is known before the first game."""
    return Evidence(players=jnp.zeros(_BINS), not_lost=jnp.zeros(_BINS))


def new_prospects(key: Array, batch: int, *, played_out: float) -> Prospects:
    """Of `batch` new games; a share of them, drawn by lot, will be played out."""
    return Prospects(
        lowest=jnp.ones((batch, 2)), played_out=jax.random.bernoulli(key, played_out, (batch,))
    )


def after_search(prospects: Prospects, mover: Array, value: Array) -> Prospects:
    """After a search that found `value` float32 [B] for the players to move, int32 [B]."""
    own = jnp.arange(2)[None] == mover[:, None]
    lowest = jnp.where(own, jnp.minimum(prospects.lowest, value[:, None]), prospects.lowest)
    return Prospects(lowest=lowest, played_out=prospects.played_out)


def evidence_of(prospects: Prospects, done: Array, result: Array) -> Evidence:
    """What the games tell that are `done` (bool [B]) with `result` float32 [B, 2] by player."""
    counts = (done & prospects.played_out)[:, None] & (prospects.lowest < 0)
    place = jnp.clip(jnp.floor((prospects.lowest + 1) * _BINS), 0, _BINS - 1).astype(jnp.int32)
    hot = counts[..., None] & (place[..., None] == jnp.arange(_BINS)[None, None])  # [B, 2, 100]
    not_lost = hot & (result > -1)[..., None]
    return Evidence(
        players=jnp.sum(hot, axis=(0, 1), dtype=jnp.float32),
        not_lost=jnp.sum(not_lost, axis=(0, 1), dtype=jnp.float32),
    )


def remember(old: Evidence, new: Evidence) -> Evidence:
    """Both together, the old fading as the new comes in."""
    fading = 1 - jnp.minimum(jnp.sum(new.players) / _MEMORY, 1)
    return jax.tree.map(lambda a, b: fading * a + b, old, new)


def threshold(evidence: Evidence, *, error: float) -> tuple[Array, Array]:
    """The value below which to resign, and the share of such players that did not lose.

    The highest bin's end below which at most a share `error` of the players did not lose; below -1,
    where nobody can be, as long as there is too little evidence.
    """
    players, not_lost = jnp.cumsum(evidence.players), jnp.cumsum(evidence.not_lost)
    fine = (players >= _EVIDENCE) & (not_lost <= error * players)
    highest = _BINS - 1 - jnp.argmax(fine[::-1])
    found = jnp.any(fine)
    rate = not_lost[highest] / jnp.maximum(players[highest], 1)
    return (
        jnp.where(found, (highest + 1 - _BINS) / _BINS, -2.0).astype(jnp.float32),
        jnp.where(found, rate, jnp.nan),
    )
