"""A search's wrong arguments are named while JAX traces, with what would be right."""

import functools

import jax
import jax.numpy as jnp
import pytest
from azjax_envs import make

from azjax.config import SearchConfig
from azjax.search import search
from azjax.search.tree import tree_bytes, tree_capacity
from tests.oracles.searches import flat_params, make_evaluate
from tests.oracles.wide import Wide

GAME = make("tic_tac_toe")
CONFIG = SearchConfig(num_simulations=2)
KEY = jax.random.key(0)
STATES = jax.tree.map(lambda x: jnp.broadcast_to(x, (3, *x.shape)), GAME.init())


def trace(key, states, evaluate=None):
    evaluate = evaluate or make_evaluate(GAME)
    run = functools.partial(search, GAME, evaluate, config=CONFIG)
    return jax.eval_shape(run, flat_params(GAME), key, states)


def test_right_arguments_are_accepted():
    assert trace(KEY, STATES).action.shape == (3,)


@pytest.mark.parametrize(
    ("key", "states", "message"),
    [
        (jax.random.split(KEY, 3), STATES, r"key must be one PRNG key.*, given key<fry> \(3,\)"),
        (jnp.zeros(()), STATES, r"key must be one PRNG key.*, given float32 \(\)"),
        (KEY, GAME.init(), r"must have a batch axis, shape \[B\], given \(\)"),
        (
            KEY,
            make("connect_four").init(),
            "must be a batch of tic_tac_toe's TicTacToeState, given",
        ),
    ],
)
def test_wrong_keys_and_states(key, states, message):
    with pytest.raises(ValueError, match=message):
        trace(key, states)


@pytest.mark.parametrize(
    ("logits", "value", "message"),
    [
        (jnp.zeros(9), jnp.zeros(3), r"float \[3, 9\], given float32 \[9\]"),
        (jnp.zeros((3, 8)), jnp.zeros(3), r"float \[3, 9\], given float32 \[3, 8\]"),
        (jnp.zeros((3, 9)), jnp.zeros((3, 1)), r"^value .* float \[3\], given float32 \[3, 1\]"),
        (
            jnp.zeros((3, 9), int),
            jnp.zeros(3),
            r"^logits that evaluate returns must be float ",
        ),
    ],
)
def test_wrong_evaluations(logits, value, message):
    with pytest.raises(ValueError, match=message):
        trace(KEY, STATES, lambda params, key, states: (logits, value))


@pytest.mark.parametrize("game", [GAME, Wide(num_actions=4672)], ids=lambda game: game.name)
def test_the_largest_tree_that_fits_is_found(game):
    for memory in (10**6, 10**7):
        nodes = tree_capacity(game, memory)
        assert tree_bytes(game, nodes) <= memory < tree_bytes(game, nodes + 1)
