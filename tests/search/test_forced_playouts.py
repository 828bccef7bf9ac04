import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import make

from azjax.config import PUCTConfig, SearchConfig
from azjax.search.forced_playouts import prune_visits
from azjax.search.search import Exploration, search
from tests.oracles.searches import random_positions

GAME = make("connect_four")
CONFIG = SearchConfig("puct", num_simulations=48, puct=PUCTConfig(forced_playouts=2.0))
BATCH = 24


def evaluate(params, key, states):
    """Returns fixed but varied numbers, from a hash of the observations."""
    del params, key
    seen = jax.vmap(GAME.observe)(states).reshape(states_size(states), -1)
    waves = jnp.sin(seen @ jnp.linspace(1, 9, seen.shape[-1])[:, None] * jnp.arange(1, 9)[None])
    return waves[:, :7], 0.7 * waves[:, 7]


def states_size(states):
    return jax.tree.leaves(states)[0].shape[0]


@functools.partial(jax.jit, static_argnames="forced")
def searched(states, key, *, forced):
    return search(
        GAME,
        evaluate,
        None,
        key,
        states,
        config=CONFIG,
        exploration=Exploration(dirichlet_fraction=0.25, forced_playouts=forced),
    )


def positions():
    states = random_positions(GAME, jax.random.key(0), 4 * BATCH)
    going = np.flatnonzero(~np.asarray(jax.vmap(GAME.is_terminal)(states)))[:BATCH]
    return jax.tree.map(lambda x: x[going], states)


def puct_score(prior, value, visits, total):
    weight = CONFIG.puct.pb_c_init + np.log(
        (total + CONFIG.puct.pb_c_base + 1) / CONFIG.puct.pb_c_base
    )
    return (value + 1) / 2 + prior * weight * np.sqrt(total) / (1 + visits)


def pruned_one_by_one(visits, values, prior):
    """Follows the paper literally: removes one visit after the other, down to the limit."""
    visits = visits.astype(int).copy()
    total, best = visits.sum(), visits.argmax()
    limit = puct_score(prior[best], values[best], visits[best], total)
    for move in range(len(visits)):
        if move == best or not visits[move]:
            continue
        for _ in range(int(np.sqrt(CONFIG.puct.forced_playouts * prior[move] * total))):
            if (
                visits[move]
                and puct_score(prior[move], values[move], visits[move] - 1, total) < limit
            ):
                visits[move] -= 1
        if visits[move] <= 1:
            visits[move] = 0
    return visits


def test_pruning_follows_the_paper():
    result = jax.device_get(searched(positions(), jax.random.key(1), forced=2.0))
    left = np.asarray(prune_visits(result.visits, result.action_values, result.prior, CONFIG))
    changed = 0
    for row in range(BATCH):
        visits = result.visits[row]
        expected = pruned_one_by_one(
            visits, result.action_values[row].astype(float), result.prior[row].astype(float)
        )
        np.testing.assert_array_equal(left[row], expected)
        np.testing.assert_allclose(result.policy[row], expected / expected.sum(), rtol=1e-5)
        changed += (expected != visits).any()
    assert changed > BATCH // 2


def test_tried_moves_get_their_forced_playouts():
    states = positions()
    free = jax.device_get(searched(states, jax.random.key(1), forced=0.0))
    forced = jax.device_get(searched(states, jax.random.key(1), forced=2.0))
    required = np.floor(np.sqrt(2.0 * forced.prior * 48))
    short = lambda r: (r.visits > 0) & (r.visits < required - 1)  # noqa: E731
    assert not short(forced).any()
    assert short(free).sum() > 2
    # Without the option the policy is the visits.
    np.testing.assert_allclose(free.policy, free.visits / 48, rtol=1e-6)


def test_the_value_is_the_expectation_under_the_policy():
    result = jax.device_get(searched(positions(), jax.random.key(1), forced=2.0))
    expected = (result.policy * result.action_values).sum(-1)
    np.testing.assert_allclose(result.value, expected, atol=1e-5)
