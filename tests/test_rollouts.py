import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.rollouts import opening_lines, playout_value, random_openings
from tests.oracles.pig import Pig

GAME = make("tic_tac_toe")
KEY = jax.random.key(0)


@pytest.mark.parametrize("plies", [0, 3, 8])
def test_openings_move_by_move_are_the_same_openings(plies):
    """Some of eight random plies would end the game; the opening stops before that."""
    arguments = GAME, jax.random.key(5), 64, plies
    states, lengths = jax.jit(random_openings, static_argnums=(0, 2, 3))(*arguments)
    lines, actions = jax.jit(opening_lines, static_argnums=(0, 2, 3))(*arguments)
    jax.tree.map(lambda x, y: np.testing.assert_array_equal(x[-1], y), lines, states)
    assert actions.shape == (plies, 64)
    np.testing.assert_array_equal((np.asarray(actions) >= 0).sum(0), lengths)
    if plies == 8:
        assert 0 < (np.asarray(lengths) < 8).sum() < 64
    step = jax.jit(jax.vmap(GAME.step))
    for ply in range(plies):
        before, after = (jax.tree.map(lambda x, i=i: x[i], lines) for i in (ply, ply + 1))
        moved = step(before, np.maximum(actions[ply], 0))
        made = np.asarray(actions[ply]) >= 0

        def check(old, new, now, made=made):
            shape = (-1, *[1] * (old.ndim - 1))
            np.testing.assert_array_equal(now, np.where(made.reshape(shape), new, old))

        jax.tree.map(check, before, moved, after)


def test_dice_are_rolled_in_openings_and_playouts():
    game = Pig(10)
    states, _ = jax.jit(random_openings, static_argnums=(0, 2, 3))(game, KEY, 2000, 3)
    assert not jax.vmap(game.is_chance)(states).any()
    # Holding is not legal at first, so each first roll is a player's first.
    lines, _ = jax.jit(opening_lines, static_argnums=(0, 2, 3))(game, KEY, 6000, 1)
    counts = np.bincount(np.asarray(lines.turn[1]), minlength=7)
    assert counts[1] == 0  # a 1 loses the turn
    np.testing.assert_allclose(counts[[0, 2, 3, 4, 5, 6]], 1000, atol=150)
    # A roll of 2 or more ends a game to 2 points: 5 of 6 at the first try, and so on by turns.
    game = Pig(2)
    rolling = jax.vmap(lambda _: game.step(game.init(), 1))(np.arange(6000))
    values = playout_value(game, KEY, rolling)
    random_play = _value_of_pig_to_2()
    np.testing.assert_allclose(values.mean(), random_play, atol=0.04)


def _value_of_pig_to_2():
    """Returns the value of a first roll, when both players choose at random.

    With points at hand, half of the choices hold and win. The others roll again.
    """
    value = 0.0  # of a player with no points before the roll
    for _ in range(100):
        with_points = 0.0
        for _ in range(100):
            with_points = 0.5 + 0.5 * (5 / 6 * with_points - value / 6)
        value = 5 / 6 * with_points - value / 6
    return value
