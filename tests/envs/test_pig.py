"""Pig with best play: the values of all positions, from the rules of the documentation."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from tests.oracles.pig import Pig

N = 100


def test_moves_of_all_positions():
    game = Pig()
    own, other, turn = (x.ravel()[::97] for x in np.indices((N, N, N), np.int32))

    @jax.jit
    @jax.vmap
    def play(own, other, turn):
        state = dataclasses.replace(game.init(), scores=jnp.stack([own, other]), turn=turn)
        held, rolling = game.step(state, 0), game.step(state, 1)
        return held, jax.vmap(game.chance_step, (None, 0))(rolling, jnp.arange(6))

    held, rolled = jax.device_get(play(own, other, turn))
    can_hold = turn > 0
    ends = can_hold & (own + turn >= N)
    np.testing.assert_array_equal(held.scores[can_hold], np.stack([own + turn, other], 1)[can_hold])
    assert (held.winner == np.where(can_hold, np.where(ends, 0, -1), 1)).all()
    assert ((held.turn == 0) & (held.player == 1))[can_hold].all()
    assert (rolled.scores == np.stack([own, other], 1)[:, None]).all()
    assert (rolled.player == (np.arange(6) == 0)).all()
    faces = np.arange(1, 7)
    assert (rolled.turn == np.where(faces == 1, 0, np.minimum(turn[:, None] + faces, N))).all()
    np.testing.assert_allclose(game.chance_probabilities(game.init()), 1 / 6)


def test_the_first_player_wins_53_06_percent_of_games():
    """T. Neller and C. Presser, Optimal Play of the Dice Game Pig, 2004."""
    wins = np.zeros((N + 6, N, N))  # by points of this turn, own score, and the opponent's score
    for turn in range(N + 6):
        wins[turn, max(N - turn, 0) :] = 1  # holding wins
    change = 1.0
    while change > 1e-7:
        before, passed = wins[0].copy(), 1 - wins[0].T
        for turn in reversed(range(N)):
            left = N - turn  # own scores with which holding does not win
            roll = (passed[:left] + wins[turn + 2 : turn + 7, :left].sum(0)) / 6
            wins[turn, :left] = np.maximum(roll, passed[turn:]) if turn else roll
        change = abs(wins[0] - before).max()
    assert abs(wins[0, 0, 0] - 0.5306) < 5e-5
