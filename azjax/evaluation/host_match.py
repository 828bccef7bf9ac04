"""Matches whose games advance on the host, for players that no jitted function can call."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.rollouts import opening_lines


def match_on_host(game: Game, player_a, player_b, key, num_pairs: int, opening_plies: int):
    """`azjax.evaluation.match.match_scores` with a loop on the host, by seats [2, num_pairs].

    Players that follow moves are told those of each game, its opening included.
    """
    opening_key, play_key = jax.random.split(key)
    follows = any(getattr(player, "follows_moves", False) for player in (player_a, player_b))
    lines, opening_actions = _openings(game, opening_key, num_pairs, opening_plies)
    lengths = np.tile((np.asarray(opening_actions) >= 0).sum(0), 2)
    moves = [[] for _ in range(2 * num_pairs)]
    for ply in range(opening_plies if follows else 0):
        before = jax.tree.map(lambda x, ply=ply: x[ply], lines)
        _write_down(game, before, opening_actions[ply], moves[:num_pairs])
    for pair in range(num_pairs):
        moves[num_pairs + pair] += moves[pair]
    states = jax.tree.map(lambda x: jnp.concatenate([x[-1], x[-1]]), lines)
    seats = np.repeat(np.arange(2), num_pairs)
    ended, movers = (np.asarray(x) for x in _status(game, states))
    while not ended.all():
        actions = np.full(2 * num_pairs, -1, np.int32)
        for player, turn in ((player_a, movers == seats), (player_b, movers != seats)):
            play_key, move_key = jax.random.split(play_key)
            _fill_actions(player, move_key, states, turn & ~ended, actions, moves)
        after = _step(game, states, actions)
        lengths = lengths + ~ended
        ended, movers = (np.asarray(x) for x in _status(game, after))
        if follows:
            # What ended a game needs no name, and could be illegal and have none.
            _write_down(game, states, np.where(ended, -1, actions), moves)
        states = after
    returns = np.asarray(_returns(game, states))
    scores = (returns[np.arange(2 * num_pairs), seats] + 1) / 2
    start = jax.tree.map(lambda x: x[-1], lines)
    return scores.reshape(2, -1), lengths.reshape(2, -1), start


def _fill_actions(player, key, states, turn: np.ndarray, actions: np.ndarray, moves) -> None:
    """Write the player's actions. A jittable one sees the whole batch, so that it compiles once;
    another one sees only the positions it has to answer, in numpy, where sizes compile nothing."""
    if not turn.any():
        return
    if getattr(player, "jittable", True):
        actions[turn] = np.asarray(_act(player, key, states))[turn]
        return
    where = np.flatnonzero(turn)
    told = ([moves[i] for i in where],) if getattr(player, "follows_moves", False) else ()
    asked = jax.tree.map(lambda x: x[where], jax.device_get(states))
    actions[where] = np.asarray(player(key, asked, *told))


def _write_down(game: Game, states, actions, moves: list[list[tuple[int, str]]]) -> None:
    """Append to the moves of each game its action in `states`, where that is not negative."""
    _, movers = _status(game, states)
    rows, movers, actions = jax.device_get((states, movers, actions))
    for i in np.flatnonzero(actions >= 0):
        state = jax.tree.map(lambda x, i=i: x[i], rows)
        moves[i].append((int(movers[i]), game.action_to_string(state, int(actions[i]))))


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
    return opening_lines(game, key, num_pairs, plies)
