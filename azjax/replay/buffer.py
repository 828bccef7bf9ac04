"""The replay buffer: a time-major ring of plies."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp

from azjax.types import Array, State

_MANY_ACTIONS = 512  # with more than this, only the likeliest are kept
_KEPT_ACTIONS = 128


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TopPolicy:
    """A policy over very many actions, of which only the K likeliest are kept."""

    actions: Array  # int16 [..., K], the likeliest first; int32 where A is over 32768
    probabilities: Array  # float16 [..., K]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Transition:
    """One ply of B games, as stored; observations are made when a batch is drawn."""

    states: State  # [B, ...], the position before the move, without unobserved parts
    policy: Array | TopPolicy  # float16 [B, A], the search's policy; its top where A is large
    reward: Array  # float16 [B], result for the mover, 0 before the end
    discount: Array  # int8 [B], 0 at the end, 1 where the mover moves again, else -1
    value: Array  # float16 [B], the search's value of the position
    learn: Array  # bool [B], is learned from, as after a full search
    recorded: dict[str, Array] = field(default_factory=dict)  # [B, ...], for targets of one's own
    before_dice: "BeforeDice | None" = None  # in a game of chance


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BeforeDice:
    """The positions before the dice that led to a ply of B games."""

    states: State  # [B, ...], without unobserved parts; the ply's own where they are not known
    same_mover: Array  # bool [B], whether the player to move is the same as after the dice
    luck: Array  # float16 [B], how much better the roll was for the mover than the mean of all


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Replay:
    """A ring with the last R plies of every lane; lane b holds its games one after the other."""

    transitions: Transition  # [R, B, ...]
    position: Array  # int32 [], where the next ply is written
    filled: Array  # int32 [], plies written so far, at most R


def pack_policy(policy: Array) -> Array | TopPolicy:
    """Packs policies, float32 [..., A], for storage.

    If only the likeliest actions are kept and others had weight too, the kept ones are scaled to
    sum to 1. Among equally likely actions, those with the lower numbers are kept.
    """
    count = policy.shape[-1]
    if count <= _MANY_ACTIONS:
        return policy.astype(jnp.float16)
    top, actions = jax.lax.top_k(policy, _KEPT_ACTIONS + 1)
    kept, first_left_out = top[..., :-1], top[..., -1:]
    whole = jnp.where(first_left_out > 0, jnp.sum(kept, axis=-1, keepdims=True), 1.0)
    return TopPolicy(
        actions=actions[..., :-1].astype(_action_dtype(count)),
        probabilities=(kept / whole).astype(jnp.float16),
    )


def pack_actions(actions: Array, num_actions: int) -> Array | TopPolicy:
    """Returns what `pack_policy` returns of policies that are sure of one action, int32 [N]."""
    if num_actions <= _MANY_ACTIONS:
        return pack_policy(jax.nn.one_hot(actions, num_actions))
    # `pack_policy` sorts: examples of chess took 150 times as long.
    others = jnp.arange(_KEPT_ACTIONS - 1)[None]
    others = others + (others >= actions[:, None])
    kept = jnp.concatenate([actions[:, None], others], axis=1)
    return TopPolicy(
        actions=kept.astype(_action_dtype(num_actions)),
        probabilities=jax.nn.one_hot(jnp.zeros_like(actions), _KEPT_ACTIONS, dtype=jnp.float16),
    )


def _action_dtype(num_actions: int) -> jnp.dtype:
    return jnp.dtype("int16" if num_actions <= 2**15 else "int32")


def unpack_policy(policy: Array | TopPolicy, num_actions: int) -> Array:
    """Returns the policies of N transitions, float32 [N, A]."""
    if not isinstance(policy, TopPolicy):
        return policy.astype(jnp.float32)

    def spread(actions: Array, probabilities: Array) -> Array:
        empty = jnp.zeros(num_actions, jnp.float32)
        return empty.at[actions].set(probabilities.astype(jnp.float32), unique_indices=True)

    return jax.vmap(spread)(policy.actions.astype(jnp.int32), policy.probabilities)


def init(transition: Transition, capacity: int) -> Replay:
    """Returns an empty ring of `capacity` plies for transitions like this [B, ...]."""
    ring = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), transition)
    return Replay(
        transitions=ring, position=jnp.zeros((), jnp.int32), filled=jnp.zeros((), jnp.int32)
    )


def add(replay: Replay, transitions: Transition) -> Replay:
    """Writes T plies [T, B, ...] over the oldest ones; T must divide the ring's length."""
    size, new = replay.transitions.reward.shape[0], transitions.reward.shape[0]
    if size % new:
        raise ValueError(
            f"{new} plies cannot be added to a ring of {size} plies: they must divide it"
        )
    written = jax.tree.map(
        lambda ring, x: jax.lax.dynamic_update_slice_in_dim(ring, x, replay.position, axis=0),
        replay.transitions,
        transitions,
    )
    return Replay(
        transitions=written,
        position=(replay.position + new) % size,
        filled=jnp.minimum(replay.filled + new, size),
    )
