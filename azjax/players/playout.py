"""Random playouts: the value of a position by playing it to its end at random."""

import jax
import jax.numpy as jnp

from azjax.players.random import random_action
from azjax_envs import Game


def playout_value(game: Game, key: jax.Array, states) -> jax.Array:
    """The result of one random playout, seen by the player to move in each state: float32 [B].

    At the end of a game, `current_player` stays; the value is that player's result.
    """
    returns = playout_returns(game, key, states)
    movers = jax.vmap(game.current_player)(states)
    return jnp.take_along_axis(returns, movers[:, None], axis=-1)[:, 0]


def playout_returns(game: Game, key: jax.Array, states) -> jax.Array:
    """The result of one random playout from each state, per player: float32 [B, 2].

    All games run side by side until the last has ended: a finished one stays as it is.
    """

    def unfinished(carry):
        _, states = carry
        return ~jnp.all(jax.vmap(game.is_terminal)(states))

    def ply(carry):
        key, states = carry
        key, action_key = jax.random.split(key)
        actions = random_action(action_key, jax.vmap(game.legal_action_mask)(states))
        return key, jax.vmap(game.step)(states, actions)

    _, final = jax.lax.while_loop(unfinished, ply, (key, states))
    return jax.vmap(game.returns)(final)
