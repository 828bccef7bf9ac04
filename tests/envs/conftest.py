"""Batches of random games in one jitted scan, and OpenSpiel as their referee."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest


@pytest.fixture(scope="session")
def play_randomly():
    """Returns a function that plays random games.

    It maps (game, games, seed) to arrays [max_steps + 1, games, ...], with one row for each ply.
    """

    @functools.partial(jax.jit, static_argnums=(0, 1))
    def play(game, games, seed):
        def look(state):
            return {
                "mask": game.legal_action_mask(state),
                "player": game.current_player(state),
                "over": game.is_terminal(state),
                "returns": game.returns(state),
            }

        def ply(states, key):
            seen = jax.vmap(look)(states)
            chances = jax.random.uniform(key, seen["mask"].shape)
            action = jnp.argmax(jnp.where(seen["mask"], chances, -1.0), axis=1)
            return jax.vmap(game.step)(states, action), seen | {"action": action}

        start = jax.tree.map(lambda x: jnp.broadcast_to(x, (games, *x.shape)), game.init())
        keys = jax.random.split(jax.random.key(seed), game.max_steps + 1)
        return jax.lax.scan(ply, start, keys)[1]

    return lambda game, games, seed=0: jax.tree.map(np.asarray, play(game, games, seed))


@pytest.fixture(scope="session")
def agree_with_open_spiel(play_randomly):
    """Plays random games and asserts that OpenSpiel agrees at every ply."""

    def agree(game, spiel_game: str, games: int, seed: int = 0):
        record = play_randomly(game, games, seed)
        reference = pyspiel.load_game(spiel_game)
        assert reference.num_distinct_actions() == game.num_actions
        lengths = set()
        for lane in range(games):
            state = reference.new_initial_state()
            for ply in range(game.max_steps + 1):
                seen = {name: values[ply, lane] for name, values in record.items()}
                assert seen["over"] == state.is_terminal()
                if state.is_terminal():
                    assert not seen["mask"].any()
                    np.testing.assert_array_equal(seen["returns"], np.sign(state.returns()))
                    break
                assert np.flatnonzero(seen["mask"]).tolist() == state.legal_actions()
                assert seen["player"] == state.current_player()
                np.testing.assert_array_equal(seen["returns"], [0, 0])
                state.apply_action(int(seen["action"]))
            assert state.is_terminal()
            lengths.add(ply)
        return lengths

    return agree


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
