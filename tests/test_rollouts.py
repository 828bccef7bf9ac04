import jax
import numpy as np
import pytest
from azjax_envs import make

from azjax.rollouts import opening_lines, random_openings

GAME = make("tic_tac_toe")


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
