"""Examples drawn from the replay buffer: stored plies with their targets."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from azjax.replay.buffer import Replay, Transition
from azjax.replay.targets import Targets
from azjax.types import Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sample:
    """N plies to learn from, with what is to be learned."""

    transitions: Transition  # [N, ...]
    outcome: Array  # float32 [N, K], chances of the mover's results: win, draw and loss if K is 3
    targets: dict[str, Any] = field(default_factory=dict)  # [N, ...], of one's own, by name


def sample(replay: Replay, targets: Targets, key: Array, n: int) -> Sample:
    """Draws `n` valid positions uniformly, with replacement; any, if none is valid."""
    return examples_at(replay, targets, draw_indices(key, targets.valid, n))


def draw_indices(key: Array, valid: Array, n: int) -> Array:
    """Draws flat indices int32 [n] of valid positions, bool [R, B], uniformly, with replacement.

    If no position is valid, all indices are 0; the caller must check that.
    """
    cumulative = jnp.cumsum(valid.reshape(-1).astype(jnp.int32))
    rank = jax.random.randint(key, (n,), 0, jnp.maximum(cumulative[-1], 1))
    indices = jnp.searchsorted(cumulative, rank, side="right")
    return jnp.minimum(indices, valid.size - 1).astype(jnp.int32)


def examples_at(replay: Replay, targets: Targets, indices: Array) -> Sample:
    """Returns the plies at flat indices int32 [N] of the ring, with their targets."""

    def at(x: Array) -> Array:
        return x.reshape(-1, *x.shape[2:])[indices]

    return Sample(
        transitions=jax.tree.map(at, replay.transitions),
        outcome=at(targets.outcome),
        targets=jax.tree.map(at, targets.extra),
    )
