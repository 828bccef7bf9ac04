"""Searches of games of chance by an exact evaluation, against the exact expectations of moves."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import make

from azjax.config import SearchConfig
from azjax.exact.chance_solver import chance_keys
from azjax.exact.codec import join
from azjax.players.exact import exact_player, find_rows
from azjax.search.search import search
from tests.oracles.dice import rolled_positions

KEY = jax.random.key(0)


@functools.cache
def solved(name):
    """Returns different positions after rolls, and the exact expectations of their moves [B, A]."""
    game = make(name)
    player = exact_player(game)
    states = rolled_positions(game, KEY, 320, 60)
    _, rows = np.unique(join(chance_keys(game, states)), return_index=True)
    states = jax.tree.map(lambda x: x[rows], states)
    return player, states, np.asarray(player.move_values(states))


def result_of(name, config, *, steps="rounds"):
    """Returns a search without a prior, by the exact values of positions before their rolls.

    So no roll looks better than another.
    """
    player, states, _ = solved(name)
    game = player.game

    def evaluate(params, key, states):
        states = dataclasses.replace(states, roll=jnp.full_like(states.roll, -1))
        row, found = find_rows(player.keys, chance_keys(game, states))
        value = jnp.where(found, player.state_values[row], 0.0)
        return jnp.zeros((len(value), game.num_actions)), value

    run = jax.jit(
        lambda states: search(game, evaluate, (), KEY, states, config=config, steps=steps)
    )
    return jax.device_get(run(states))


def test_values_of_puct_tend_to_exact_expectations():
    """In ur_1, where a player has no choice: the root's value against its exact expectation.

    The evaluation has the exact values before rolls. Visits follow the probabilities of rolls only
    in whole numbers, so the mean error of the positions is below 0.01, but not that of each.
    """
    _, _, moves = solved("ur_1")
    found = result_of(
        "ur_1",
        SearchConfig("puct", num_simulations=4096),
        steps="single",
    )
    error = np.abs(found.value - moves.max(-1))
    assert len(error) > 100
    assert error.mean() < 0.01
    assert error.max() < 0.05, error.max()


def test_gumbels_policy_is_that_of_exact_expectations():
    """In ur_2 with exact values before rolls: the moves' values, and the policy made of them.

    Two moves have two visits each, to the chance node and to its likeliest outcome. So their values
    are the exact expectations, and the policy is the softmax of these after mctx's scaling.
    """
    _, _, moves = solved("ur_2")
    found = result_of("ur_2", SearchConfig(num_simulations=4))
    legal, scale = np.isfinite(moves), SearchConfig().gumbel.value_scale
    several = legal.sum(-1) == 2
    assert several.sum() > 100
    assert (legal.sum(-1) <= 2).all()
    assert (found.visits[several][legal[several]] == 2).all()
    np.testing.assert_allclose(found.action_values[legal], moves[legal], atol=1e-5)
    scaled = (50 + found.visits.max(-1, keepdims=True)) * scale * moves
    np.testing.assert_allclose(found.policy, np.asarray(jax.nn.softmax(scaled)), atol=1e-4)
    assert (np.take_along_axis(moves, found.action[:, None], -1)[:, 0] > moves.max(-1) - 1e-5).all()
