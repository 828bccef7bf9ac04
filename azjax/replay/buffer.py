"""The replay window: a time-major ring of plies."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp

from azjax.types import Array, State

_MANY_ACTIONS = 512  # more than this, and only the likeliest are kept
_KEPT_ACTIONS = 128


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["actions", "probabilities"],
    meta_fields=[],
)
@dataclass(frozen=True)
class TopPolicy:
    """The K likeliest of very many actions: few are legal, and fewer are worth remembering."""

    actions: Array  # int16 [..., K], the likeliest first; int32 where A is over 32768
    probabilities: Array  # float16 [..., K]


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["score", "ownership"], meta_fields=[]
)
@dataclass(frozen=True)
class Ending:
    """How games stood after a ply, seen by who made it; of use where it was the last."""

    score: Array | None  # float16 [B], margin as a share of all points; NaN: unknown
    ownership: Array | None  # int8 [B, cells], 1 mine, -1 theirs, 0 nobody's; 127: unknown


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["states", "policy", "reward", "discount", "value", "full", "ending"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Row:
    """One ply of B games, as stored; observations are made when a batch is drawn."""

    states: State  # [B, ...], the position before the move, without what is never looked at again
    policy: Array | TopPolicy  # float16 [B, A], the search's policy; its top where A is large
    reward: Array  # float16 [B], result for the mover, 0 before the end
    discount: Array  # int8 [B], 0 at the end, 1 where the mover moves again, else -1
    value: Array  # float16 [B], the search's value of the position
    full: Array  # bool [B], searched with all simulations, and so to be learnt from
    ending: Ending | None  # where the network learns to predict it


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["rows", "position", "filled"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Replay:
    """Ring of the last R plies of every lane; lane b holds its games one after the other."""

    rows: Row  # [R, B, ...]
    position: Array  # int32 [], where the next ply is written
    filled: Array  # int32 [], plies written so far, at most R


def pack_policy(policy: Array) -> Array | TopPolicy:
    """A policy float32 [..., A] as it is stored.

    Where only the likeliest actions are kept, and others had weight too, what is kept sums to 1
    again. Of equally likely ones those with the lower numbers are kept.
    """
    count = policy.shape[-1]
    if count <= _MANY_ACTIONS:
        return policy.astype(jnp.float16)
    top, actions = jax.lax.top_k(policy, _KEPT_ACTIONS + 1)
    kept, first_left_out = top[..., :-1], top[..., -1:]
    whole = jnp.where(first_left_out > 0, jnp.sum(kept, axis=-1, keepdims=True), 1.0)
    return TopPolicy(
        actions=actions[..., :-1].astype(jnp.int16 if count <= 2**15 else jnp.int32),
        probabilities=(kept / whole).astype(jnp.float16),
    )


def unpack_policy(policy: Array | TopPolicy, num_actions: int) -> Array:
    """The policies float32 [N, A] of rows [N]."""
    if not isinstance(policy, TopPolicy):
        return policy.astype(jnp.float32)

    def spread(actions: Array, probabilities: Array) -> Array:
        empty = jnp.zeros(num_actions, jnp.float32)
        return empty.at[actions].set(probabilities.astype(jnp.float32), unique_indices=True)

    return jax.vmap(spread)(policy.actions.astype(jnp.int32), policy.probabilities)


def empty_replay(row: Row, plies: int) -> Replay:
    """An empty ring of `plies` plies; `row` (arrays or shapes, [B, ...]) gives the layout."""
    rows = jax.tree.map(lambda x: jnp.zeros((plies, *x.shape), x.dtype), row)
    return Replay(rows=rows, position=jnp.zeros((), jnp.int32), filled=jnp.zeros((), jnp.int32))


def append(replay: Replay, rows: Row) -> Replay:
    """Writes T plies, [T, B, ...], over the oldest ones; T divides the ring's length."""
    size, new = replay.rows.reward.shape[0], rows.reward.shape[0]
    if size % new:
        raise ValueError(f"{new} plies at a time do not divide a ring of {size}")
    written = jax.tree.map(
        lambda ring, x: jax.lax.dynamic_update_slice_in_dim(ring, x, replay.position, axis=0),
        replay.rows,
        rows,
    )
    return Replay(
        rows=written,
        position=(replay.position + new) % size,
        filled=jnp.minimum(replay.filled + new, size),
    )


def draw_indices(key: Array, known: Array, shape: tuple[int, ...]) -> Array:
    """Flat indices int32 `shape` of positions drawn uniformly where `known` [R, B] is True.

    0 throughout where none is: the caller waits until there are enough.
    """
    cumulative = jnp.cumsum(known.reshape(-1).astype(jnp.int32))
    rank = jax.random.randint(key, shape, 0, jnp.maximum(cumulative[-1], 1))
    indices = jnp.searchsorted(cumulative, rank.reshape(-1), side="right").reshape(shape)
    return jnp.minimum(indices, known.size - 1).astype(jnp.int32)


def take(replay: Replay, indices: Array) -> Row:
    """The plies at flat indices [N] of the ring, as a row [N, ...]."""
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:])[indices], replay.rows)
