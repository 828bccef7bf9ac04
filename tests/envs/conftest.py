"""Batches of random games in one jitted scan, and states after given moves."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@functools.partial(jax.jit, static_argnums=(0, 1))
def _play(game, see, key, begins, taste):
    def look(state):
        return {
            "mask": game.legal_action_mask(state),
            "player": game.current_player(state),
            "over": game.is_terminal(state),
            "returns": game.returns(state),
        } | {name: getattr(game, name)(state) for name in see}

    def ply(states, choice):
        key, given = choice
        seen = jax.vmap(look)(states)
        chances = taste + jax.random.uniform(key, seen["mask"].shape)
        drawn = jnp.argmax(jnp.where(seen["mask"], chances, -jnp.inf), axis=1)
        action = jnp.where(given < 0, drawn, given)
        return jax.vmap(game.step)(states, action), seen | {"action": action}

    plies, games = begins.shape
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (games, *x.shape)), game.init())
    return jax.lax.scan(ply, start, (jax.random.split(key, plies), begins))[1]


@pytest.fixture(scope="session")
def play_randomly():
    """Returns a function that plays random games.

    It maps (game, games, seed) to arrays [plies, games, ...], with one row for each ply. There are
    `max_steps + 1` plies, or `plies`. `see` names methods of the game to be recorded, too;
    `begins`, int [games, n], the first actions; and `taste`, [games, actions], what each game likes
    to play.
    """

    def play(game, games, seed=0, *, plies=None, see=(), begins=(), taste=0.0):
        given = np.full((plies or game.max_steps + 1, games), -1, np.int32)
        for lane, line in enumerate(begins):
            given[: len(line), lane] = line
        record = _play(game, see, jax.random.key(seed), given, taste)
        return jax.tree.map(np.asarray, record)

    return play


@pytest.fixture(scope="session")
def play_line():
    """Returns a function (game, actions) -> the state after them, without jit."""

    def play(game, actions):
        step = _step(game)
        state = game.init()
        for action in actions:
            assert not game.is_terminal(state), "the line goes on after the end"
            state = step(state, jnp.int32(action))
        return state

    return play


@functools.cache
def _step(game):
    return jax.jit(game.step)
