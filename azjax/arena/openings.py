"""Random openings, which make the games of a match differ."""

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.players.random import random_action


def random_openings(game: Game, key: jax.Array, batch: int, plies: int):
    """Starts after `plies` uniformly random moves: states and how many, both [batch].

    An opening stops short of a move that would end the game.
    """
    start = game.init()
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (batch, *jnp.shape(x))), start)
    return play_randomly(game, key, states, jnp.full(batch, plies), most=plies)


def play_randomly(game: Game, key: jax.Array, states, plies: jax.Array, *, most: int):
    """`states` [B, ...] after up to `plies` (int32 [B], at most `most`) uniformly random moves.

    Returns the states and how many moves were made, int32 [B]: a move that would end the game is
    not made, nor any after it.
    """

    def ply(i, carry):
        states, lengths = carry
        mask = jax.vmap(game.legal_action_mask)(states)
        actions = random_action(jax.random.fold_in(key, i), mask)
        moved = jax.vmap(game.step)(states, actions)
        goes_on = (lengths == i) & (i < plies) & ~jax.vmap(game.is_terminal)(moved)
        return _where(goes_on, moved, states), lengths + goes_on

    return jax.lax.fori_loop(0, most, ply, (states, jnp.zeros(plies.shape, jnp.int32)))


def _where(condition: jax.Array, left, right):
    """`jnp.where` by rows [B] on two batched states."""

    def choose(x, y):
        return jnp.where(condition.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(choose, left, right)
