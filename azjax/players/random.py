"""The random player, and how a legal action is picked uniformly at random."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
from azjax_envs import Game


@functools.partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=["game"])
@dataclasses.dataclass(frozen=True)
class RandomPlayer:
    """Plays every legal action with equal probability."""

    game: Game

    jittable = True

    @property
    def name(self) -> str:
        return "random"

    def __call__(self, key: jax.Array, states) -> jax.Array:
        """Actions int32 [B] for a batch of states."""
        return random_action(key, jax.vmap(self.game.legal_action_mask)(states))


def random_action(key: jax.Array, mask: jax.Array) -> jax.Array:
    """A random True entry of each row of `mask` [B, A]: int32 [B], 0 where there is none."""
    return pick(jax.random.uniform(key, mask.shape[:1]), mask)


def pick(uniform: jax.Array, mask: jax.Array) -> jax.Array:
    """The True entry of each row of `mask` [B, A] that `uniform` [B] in [0, 1) falls on: int32 [B].

    One uniform number and a running count cost far less than a categorical draw over A actions.
    """
    rank = jnp.cumsum(mask, axis=-1, dtype=jnp.int32)
    count = rank[:, -1:]
    # float32 may round uniform * count up to count itself.
    wanted = jnp.minimum((uniform[:, None] * count).astype(jnp.int32), count - 1)
    return jnp.argmax(mask & (rank > wanted), axis=-1).astype(jnp.int32)
