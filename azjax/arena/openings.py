"""Random openings, which make the games of a match differ."""

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.players.random import random_action


def random_openings(game: Game, key: jax.Array, num_pairs: int, plies: int):
    """Starts after `plies` uniformly random moves: states and how many, both [num_pairs].

    An opening stops short of a move that would end the game.
    """
    start = game.init()
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (num_pairs, *jnp.shape(x))), start)

    def ply(i, carry):
        states, lengths = carry
        mask = jax.vmap(game.legal_action_mask)(states)
        actions = random_action(jax.random.fold_in(key, i), mask)
        moved = jax.vmap(game.step)(states, actions)
        goes_on = ~jax.vmap(game.is_terminal)(moved)
        return _where(goes_on, moved, states), lengths + goes_on

    return jax.lax.fori_loop(0, plies, ply, (states, jnp.zeros(num_pairs, jnp.int32)))


def _where(condition: jax.Array, left, right):
    """`jnp.where` by rows [B] on two batched states."""

    def choose(x, y):
        return jnp.where(condition.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(choose, left, right)
