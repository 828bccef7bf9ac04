import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.learning.symmetries import random_symmetries
from tests.oracles.searches import GAMES, random_positions

BATCH = 256


@functools.partial(jax.jit, static_argnums=0)
def turned(game, key, observations, policies, masks):
    return random_symmetries(game, key, observations, policies, masks)[:3]


@functools.partial(jax.jit, static_argnums=0)
def look(game, states):
    return jax.vmap(game.observe)(states), jax.vmap(game.legal_action_mask)(states)


def images(name, observation):
    """Returns the symmetric images of one observation, written by hand for each shape of board."""
    flips = [observation, observation[:, ::-1]]
    if name == "connect_four":
        return flips
    return [np.rot90(x, turns) for x in flips for turns in range(4)]


def cell_of_action(name, game):
    """Returns the cell of each action on the observation; connect four's are on the top row."""
    height, width, _ = game.observation_shape
    cells = np.arange(height * width).reshape(height, width)
    if name == "connect_four":
        return cells[0]
    if name == "tic_tac_toe":
        return cells.ravel()
    return np.concatenate([cells[0::2, 1::2].ravel(), cells[1::2, 0::2].ravel()])


@pytest.mark.parametrize("name", GAMES)
def test_each_example_is_turned_as_a_whole(name):
    """Each example has its own symmetry for observation, mask and policy, and all are used."""
    game = make(name)
    states = random_positions(game, jax.random.key(0), BATCH)
    observations, masks = look(game, states)
    policies = jax.random.uniform(jax.random.key(1), masks.shape) * masks
    # A plane of different numbers distinguishes the symmetries even if a board is its own image.
    height, width, _ = game.observation_shape
    marks = np.random.default_rng(0).random((BATCH, height, width, 1), np.float32)
    # A plane with each action's number on its cell says where that number must be after it.
    place = np.zeros((BATCH, height * width, 1), np.float32)
    place[:, cell_of_action(name, game), 0] = policies
    place = place.reshape(BATCH, height, width, 1)
    observations = np.concatenate([observations, marks, place], axis=-1)

    got, policy, mask = map(
        np.asarray, turned(game, jax.random.key(2), jnp.asarray(observations), policies, masks)
    )
    used = []
    for row in range(BATCH):
        equal = [np.array_equal(got[row], image) for image in images(name, observations[row])]
        assert sum(equal) == 1
        used.append(equal.index(True))
    at_action = got[..., -1].reshape(BATCH, -1)[:, cell_of_action(name, game)]
    np.testing.assert_array_equal(policy, at_action)
    np.testing.assert_array_equal(mask, policy > 0)
    counts = np.bincount(used, minlength=game.num_symmetries)
    assert len(counts) == game.num_symmetries
    assert (counts > BATCH / game.num_symmetries / 3).all()


def test_other_keys_draw_other_symmetries():
    game = make("tic_tac_toe")
    observations = jax.random.uniform(jax.random.key(0), (BATCH, 3, 3, 2))
    policies = jax.random.uniform(jax.random.key(1), (BATCH, 9))
    masks = policies > 0.5
    first, second, again = (
        turned(game, jax.random.key(seed), observations, policies, masks)[0] for seed in (1, 2, 1)
    )
    assert np.array_equal(first, again)
    assert (np.asarray(first) != np.asarray(second)).any(axis=(1, 2, 3)).mean() > 0.7


def test_a_transformed_policy_still_plays_the_same_move():
    """Turn a position and play the turned move: the turned position after the move."""
    game = make("dots_and_boxes_2x2")
    states = random_positions(game, jax.random.key(3), BATCH)
    observations, masks = look(game, states)
    action = jnp.argmax(masks, axis=-1)
    policies = jax.nn.one_hot(action, game.num_actions)
    after, _ = look(game, jax.jit(jax.vmap(game.step))(states, action))
    key = jax.random.key(4)
    turned_before, turned_policy, turned_mask = turned(game, key, observations, policies, masks)
    turned_after, _, _ = turned(game, key, after, policies, masks)  # the same key: the same turns
    playing = np.asarray(masks.any(-1))
    chosen = np.asarray(turned_policy.argmax(-1))
    assert np.asarray(turned_mask)[np.arange(BATCH), chosen][playing].all()
    # The edge that was drawn is the one that the turned policy names.
    cells = cell_of_action("dots_and_boxes_2x2", game)
    drawn = lambda x: np.asarray(x)[..., 0].reshape(BATCH, -1)[:, cells]  # noqa: E731
    change = drawn(turned_after) - drawn(turned_before)
    np.testing.assert_array_equal(change[playing], np.asarray(turned_policy)[playing])


def test_a_game_without_symmetries_is_left_alone():
    game = make("connect_four", columns=1, rows=4)
    assert game.num_symmetries == 1
    arrays = jnp.ones((2, 4, 1, 2)), jnp.ones((2, 1)), jnp.ones((2, 1), bool)
    turned = random_symmetries(game, jax.random.key(0), *arrays)[:3]
    for got, given in zip(turned, arrays, strict=True):
        np.testing.assert_array_equal(got, given)
