"""Matches whose games advance on the host, for players that no jitted function can call."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.arena.openings import random_openings


def match_on_host(game: Game, player_a, player_b, key, num_pairs: int, opening_plies: int):
    """`azjax.arena.match.match_scores` with a loop on the host: two arrays [2, num_pairs]."""
    opening_key, play_key = jax.random.split(key)
    pairs, lengths = _openings(game, opening_key, num_pairs, opening_plies)
    states = jax.tree.map(lambda x: jnp.concatenate([x, x]), pairs)
    lengths = np.concatenate([lengths, lengths])
    seats = np.repeat(np.arange(2), num_pairs)
    while True:
        ended, movers = (np.asarray(x) for x in _status(game, states))
        if ended.all():
            break
        actions = np.zeros(2 * num_pairs, np.int32)
        for player, turn in ((player_a, movers == seats), (player_b, movers != seats)):
            play_key, move_key = jax.random.split(play_key)
            _fill_actions(player, move_key, states, turn & ~ended, actions)
        states = _step(game, states, actions)
        lengths = lengths + ~ended
    returns = np.asarray(_returns(game, states))
    scores = (returns[np.arange(2 * num_pairs), seats] + 1) / 2
    return scores.reshape(2, -1), lengths.reshape(2, -1)


def _fill_actions(player, key, states, turn: np.ndarray, actions: np.ndarray) -> None:
    """Write the player's moves. A jittable one sees the whole batch, so that it compiles once;
    another one sees only the positions it has to answer."""
    if not turn.any():
        return
    if getattr(player, "jittable", True):
        actions[turn] = np.asarray(_act(player, key, states))[turn]
    else:
        where = np.flatnonzero(turn)
        actions[where] = np.asarray(player(key, jax.tree.map(lambda x: x[where], states)))


@jax.jit
def _act(player, key, states):
    return player(key, states)


@functools.partial(jax.jit, static_argnums=0)
def _status(game: Game, states):
    return jax.vmap(game.is_terminal)(states), jax.vmap(game.current_player)(states)


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, states, actions):
    return jax.vmap(game.step)(states, actions)


@functools.partial(jax.jit, static_argnums=0)
def _returns(game: Game, states):
    return jax.vmap(game.returns)(states)


@functools.partial(jax.jit, static_argnums=(0, 2, 3))
def _openings(game: Game, key: jax.Array, num_pairs: int, plies: int):
    return random_openings(game, key, num_pairs, plies)
