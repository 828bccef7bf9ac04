import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import make

from azjax.players.random_player import RandomPlayer
from azjax.rollouts import pick, random_action


def test_each_share_of_the_unit_interval_falls_on_one_legal_action():
    mask = jnp.array([[False, True, False, True, True, False]])
    mask = jnp.broadcast_to(mask, (7, 6))
    uniform = jnp.array([0.0, 0.33, 0.34, 0.66, 0.67, 0.99, np.nextafter(np.float32(1), 0)])
    np.testing.assert_array_equal(pick(uniform, mask), [1, 1, 3, 3, 4, 4, 4])


def test_rounding_never_goes_past_the_last_legal_action():
    """float32: 0.99999994 * 362 rounds to 362."""
    mask = jnp.ones((1, 362), bool)
    assert pick(jnp.array([np.nextafter(np.float32(1), 0)]), mask) == 361


def test_no_legal_action_gives_action_zero():
    assert pick(jnp.array([0.7]), jnp.zeros((1, 5), bool)) == 0


def test_every_legal_action_is_equally_likely():
    mask = jnp.broadcast_to(jnp.array([True, False, True, True, False]), (30_000, 5))
    counts = np.bincount(random_action(jax.random.key(0), mask), minlength=5)
    assert counts[1] == counts[4] == 0
    # 10,000 each, with a deviation of 82.
    assert (np.abs(counts[[0, 2, 3]] - 10_000) < 330).all()


def test_player():
    game = make("tic_tac_toe")
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (64, *x.shape)), game.init())
    actions = RandomPlayer(game)(jax.random.key(0), states)
    assert actions.shape == (64,)
    assert actions.dtype == jnp.int32
    assert set(np.asarray(actions)) == set(range(9))
