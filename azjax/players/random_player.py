"""The random player."""

import dataclasses

import jax
from azjax_envs import Game, random_action

from azjax.players.base import register_player
from azjax.pytrees import check_key, check_states
from azjax.types import Array, State, static


@register_player
@dataclasses.dataclass(frozen=True)
class RandomPlayer:
    """A player of uniformly random legal actions."""

    game: Game = static()

    name = "random"

    def __call__(self, key: Array, states: State) -> Array:
        check_key(key)
        check_states(self.game, states)
        return random_action(key, jax.vmap(self.game.legal_action_mask)(states))
