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


def opening_lines(game: Game, key: jax.Array, batch: int, plies: int):
    """The same openings move by move, for players that follow games.

    Returns:
      All states, [plies + 1, batch, ...], from the start to those of `random_openings`, and the
      actions, int32 [plies, batch], -1 where an opening has stopped.
    """
    states, _ = random_openings(game, key, batch, 0)

    def ply(carry, i):
        after, goes_on, actions = _random_ply(game, key, i, *carry)
        return (after, goes_on), (after, jnp.where(goes_on, actions, -1))

    everyone = jnp.ones(batch, jnp.bool_)
    _, (later, actions) = jax.lax.scan(ply, (states, everyone), jnp.arange(plies))
    return jax.tree.map(lambda x, y: jnp.concatenate([x[None], y]), states, later), actions


def play_randomly(game: Game, key: jax.Array, states, plies: jax.Array, *, most: int):
    """`states` [B, ...] after up to `plies` (int32 [B], at most `most`) uniformly random moves.

    Returns the states and how many moves were made, int32 [B]: a move that would end the game is
    not made, nor any after it.
    """

    def ply(i, carry):
        states, lengths = carry
        states, goes_on, _ = _random_ply(game, key, i, states, (lengths == i) & (i < plies))
        return states, lengths + goes_on

    return jax.lax.fori_loop(0, most, ply, (states, jnp.zeros(plies.shape, jnp.int32)))


def _random_ply(game: Game, key: jax.Array, i: jax.Array, states, goes_on: jax.Array):
    """The states after ply `i`, where an opening still goes on, bool [B], and the actions."""
    mask = jax.vmap(game.legal_action_mask)(states)
    actions = random_action(jax.random.fold_in(key, i), mask)
    moved = jax.vmap(game.step)(states, actions)
    goes_on &= ~jax.vmap(game.is_terminal)(moved)
    return _where(goes_on, moved, states), goes_on, actions


def _where(condition: jax.Array, left, right):
    """`jnp.where` by rows [B] on two batched states."""

    def choose(x, y):
        return jnp.where(condition.reshape(-1, *[1] * (x.ndim - 1)), x, y)

    return jax.tree.map(choose, left, right)
