"""Replay buffers as users may write them."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from azjax.pytrees import take
from azjax.replay import Replay, Ring, Sample, examples_at, value_targets
from azjax.types import Array


class Surprising(Ring):
    """The ring, from which positions are drawn the more often the less the search expected."""

    def __init__(self, least: float = 0.1) -> None:
        self.least = least

    def sample(self, replay, targets, key, n):
        surprise = jnp.abs(targets.value - replay.transitions.value) + self.least
        cumulative = jnp.cumsum(jnp.where(targets.valid, surprise, 0.0))
        drawn = jax.random.uniform(key, (n,), maxval=cumulative[-1])
        return examples_at(replay, targets, jnp.searchsorted(cumulative, drawn, side="right"))


class Kept(NamedTuple):
    """What a `Reservoir` keeps."""

    ring: Replay  # the newest plies
    examples: Sample  # [K, ...], of earlier ones
    seen: Array  # int32 [], finished positions that left the ring so far


class Ready(NamedTuple):
    """Which examples there are."""

    valid: Array  # bool [K]


class Reservoir(Ring):
    """A uniform sample of the finished positions that left the ring (Vitter 1985, algorithm R)."""

    def init(self, transition, capacity):
        ring = super().init(transition, capacity)
        none = examples_at(ring, self._targets(ring), jnp.arange(ring.transitions.reward.size))
        return Kept(ring, none, jnp.int32(0))

    def add(self, replay, transitions):
        ring, examples, seen = replay
        plies, lanes = transitions.reward.shape
        leaving = ring.position * lanes + jnp.arange(plies * lanes)
        targets = self._targets(ring)
        valid = targets.valid.reshape(-1)[leaving]
        rank, size = seen + jnp.cumsum(valid) - 1, len(examples.outcome)
        key = jax.random.fold_in(jax.random.key(0), seen)
        slots = jnp.where(rank < size, rank, jax.random.randint(key, rank.shape, 0, rank + 1))
        slots = jnp.where(valid, slots, size)  # outside, where nothing is written
        examples = jax.tree.map(
            lambda kept, new: kept.at[slots].set(new, mode="drop"),
            examples,
            examples_at(ring, targets, leaving),
        )
        return Kept(super().add(ring, transitions), examples, seen + jnp.sum(valid))

    def targets(self, replay, *, root_value_weight, max_games):
        return Ready(jnp.arange(len(replay.examples.outcome)) < replay.seen)

    def sample(self, replay, targets, key, n):
        count = jnp.maximum(jnp.sum(targets.valid), 1)
        return take(replay.examples, jax.random.randint(key, (n,), 0, count))

    def _targets(self, ring):
        return value_targets(ring, root_value_weight=0.0)
