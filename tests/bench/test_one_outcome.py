"""The search without chance nodes that benchmarks compare with."""

import jax
import numpy as np
from azjax_envs import make

from azjax.config import SearchConfig
from azjax.search import Exploration
from benchmarks.searches.one_outcome import search
from tests.oracles.dice import rolled_positions
from tests.oracles.searches import make_evaluate, random_params


def test_it_searches_a_game_of_dice_as_one_without():
    game = make("ur_2")
    states = rolled_positions(game, jax.random.key(0), 16, 20)
    evaluate, params = make_evaluate(game), random_params(game, jax.random.key(1))
    config = SearchConfig(num_simulations=12)
    result = jax.jit(
        lambda states: search(
            game,
            evaluate,
            params,
            jax.random.key(2),
            states,
            config=config,
            exploration=Exploration(),
        )
    )(states)
    legal = np.asarray(jax.vmap(game.legal_action_mask)(states))
    assert result.visits.shape == legal.shape
    assert not result.visits[~legal].any()
    assert legal[np.arange(16), result.action].all()
    assert (result.visits.sum(-1)[legal.sum(-1) > 1] == 12).all()
