"""The random player."""

import dataclasses
import functools

import jax
from azjax_envs import Game

from azjax.rollouts import random_action


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
