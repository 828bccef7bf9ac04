"""Batches of games start, and ended games restart."""

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import auto_reset, init_batch, make

GAME = make("tic_tac_toe")


def test_a_batch_begins_at_the_start():
    states = init_batch(GAME, jax.random.key(0), 5)
    for one, many in zip(jax.tree.leaves(GAME.init()), jax.tree.leaves(states), strict=True):
        np.testing.assert_array_equal(many, jnp.broadcast_to(one, (5, *one.shape)))


def test_games_that_end_start_again_and_tell_their_result():
    step = jax.jit(jax.vmap(auto_reset(GAME)))
    states = init_batch(GAME, jax.random.key(0), 3)
    # X wins with the first row; a draw; an illegal move on the third ply.
    games = [[0, 3, 1, 4, 2], [0, 4, 8, 1, 7, 6, 2, 5, 3], [0, 1, 0]]
    ends = {4: (0, [1, -1]), 8: (1, [0, 0]), 2: (2, [-1, 1])}
    for ply in range(9):
        actions = jnp.asarray([moves[ply] if ply < len(moves) else 0 for moves in games])
        before = states
        states, returns, done = step(states, actions)
        if ply in ends:
            lane, result = ends[ply]
            assert done[lane]
            np.testing.assert_array_equal(returns[lane], result)
            fresh = jax.tree.map(lambda x, lane=lane: x[lane], states)
            assert all(map(np.array_equal, jax.tree.leaves(fresh), jax.tree.leaves(GAME.init())))
        for lane in range(3):
            if ply < len(games[lane]) - 1:
                assert not done[lane]
                assert not returns[lane].any()
                one = jax.tree.map(lambda x, lane=lane: x[lane], before)
                after = GAME.step(one, actions[lane])
                here = jax.tree.map(lambda x, lane=lane: x[lane], states)
                assert all(map(np.array_equal, jax.tree.leaves(here), jax.tree.leaves(after)))


def test_the_final_state_is_kept():
    step = jax.jit(jax.vmap(auto_reset(GAME, keep_final=True)))
    states = init_batch(GAME, jax.random.key(0), 2)
    for actions in ([0, 0], [3, 3], [1, 1], [4, 4], [2, 8]):  # the first game ends with a row
        states, returns, done, final = step(states, jnp.asarray(actions))
    assert done.tolist() == [True, False]
    np.testing.assert_array_equal(returns, [[1, -1], [0, 0]])
    assert jax.vmap(GAME.is_terminal)(final).tolist() == [True, False]
    assert jax.vmap(GAME.is_terminal)(states).tolist() == [False, False]
    np.testing.assert_array_equal(jax.vmap(GAME.view)(final)[0], [1, 1, 1, 2, 2, 0, 0, 0, 0])
    assert jax.tree.map(lambda x, y: bool(x[1] == y[1]), final, states) == jax.tree.map(
        lambda x: True, GAME.init()
    )


def test_the_key_starts_the_new_game():
    """A game with a random start begins differently with another key."""

    class Coin:
        def init(self, key=None):
            return jax.random.randint(key, (), 0, 1 << 20)

        def step(self, state, action):
            return action

        def is_terminal(self, state):
            return state == 1

        def returns(self, state):
            return jnp.zeros(2)

    step = jax.vmap(auto_reset(Coin()))
    keys = jax.random.split(jax.random.key(0), 3)
    states, _, done = step(jnp.zeros(3, jnp.int32), jnp.asarray([1, 1, 7]), keys)
    assert done.tolist() == [True, True, False]
    assert states[0] != states[1]
    assert states[2] == 7
