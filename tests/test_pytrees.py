"""Checks of batches: mistakes are reported while JAX traces, at no cost at run time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.pytrees import batch_size, check_key, check_states, expand, first, take, where

GAME = make("connect_four")
STATES = jax.tree.map(lambda x: jnp.broadcast_to(x, (3, *x.shape)), GAME.init())


def test_rows_are_chosen_taken_added_and_removed():
    old, new = (
        {"a": jnp.zeros((2, 3)), "b": jnp.zeros(2)},
        {"a": jnp.ones((2, 3)), "b": jnp.ones(2)},
    )
    chosen = where(jnp.asarray([True, False]), new, old)
    np.testing.assert_array_equal(chosen["a"], [[1, 1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(chosen["b"], [1, 0])
    np.testing.assert_array_equal(take(chosen, jnp.asarray([1, 1]))["b"], [0, 0])
    assert first(chosen)["a"].shape == (3,)
    assert expand(first(chosen))["a"].shape == (1, 3)


def test_batch_size_is_the_length_of_the_axis_that_all_arrays_share():
    assert batch_size({"a": jnp.zeros((4, 2)), "b": np.zeros(4)}) == 4
    assert batch_size(STATES) == check_states(GAME, STATES) == 3


@pytest.mark.parametrize(
    ("batch", "given"),
    [
        ({"a": jnp.zeros((4, 2)), "b": jnp.zeros(3)}, r"rows\['a'\] \(4, 2\), rows\['b'\] \(3,\)"),
        ({"a": jnp.zeros((4, 2)), "b": jnp.zeros(())}, r"rows\['a'\] \(4, 2\), rows\['b'\] \(\)"),
        (jnp.zeros(()), r"rows \(\)"),
        ({}, "no arrays"),
    ],
)
def test_batch_size_names_the_shapes_that_differ(batch, given):
    message = rf"rows: all arrays must share their leading \(batch\) axis; given {given}$"
    with pytest.raises(ValueError, match=message):
        batch_size(batch, name="rows")


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (GAME.init(), r"must have a batch axis, shape \[B\], given \(\); azjax.pytrees.expand"),
        (expand(STATES), r"^states\..* of connect_four must be \w+ \[B\], given \w+ \[1, 3\]"),
        (
            jax.tree.map(jnp.float32, STATES),
            r"of connect_four must be .*\[B\], given float32 \[3\]",
        ),
        (make("tic_tac_toe").init(), "must be a batch of connect_four's ConnectFourState, given "),
        (jnp.zeros((3, 6, 7)), "must be a batch of connect_four's ConnectFourState, given "),
    ],
)
def test_states_that_are_no_batch_of_the_games(states, message):
    with pytest.raises(ValueError, match=message):
        jax.jit(lambda states: check_states(GAME, states))(states)


@pytest.mark.parametrize("key", [jax.random.key(0), jax.random.PRNGKey(0)])
def test_one_key_is_a_key_and_several_or_a_seed_are_not(key):
    check_key(key)
    for wrong in (jax.random.split(key), jnp.zeros(2, jnp.int32), 3):
        with pytest.raises(ValueError, match=r"noise_key must be one PRNG key.*, given "):
            check_key(wrong, name="noise_key")


def test_checks_are_not_in_the_compiled_program():
    def checked(key, states):
        check_key(key)
        check_states(GAME, states)
        return states

    plain = jax.make_jaxpr(lambda key, states: states)(jax.random.key(0), STATES)
    assert str(jax.make_jaxpr(checked)(jax.random.key(0), STATES)) == str(plain)
