"""States are packed into one array of each dtype, and come back as they were."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.search.packing import packing
from tests.oracles.searches import random_positions


@pytest.mark.parametrize("name", ["tic_tac_toe", "gomoku_5x5", "mancala_3x2", "go_3x3"])
def test_states_come_back_as_they_were(name):
    game = make(name)
    states = random_positions(game, jax.random.key(0), 12)
    tree = jax.tree.map(lambda x: x.reshape(3, 4, *x.shape[1:]), states)
    pack, unpack = packing(tree)
    for packed_from in (tree, states, jax.tree.map(lambda x: x[0], states)):
        packed = pack(packed_from)
        chex.assert_trees_all_equal(unpack(packed), packed_from)
        chex.assert_trees_all_equal_dtypes(unpack(packed), packed_from)
    dtypes = {x.dtype.name for x in jax.tree.leaves(states)}
    assert set(packed) == dtypes


def test_one_array_of_each_dtype():
    states = {
        "board": jnp.arange(2 * 3 * 4, dtype=jnp.int8).reshape(2, 3, 2, 2),
        "over": jnp.array([[True, False, True]] * 2),
        "move": jnp.arange(6, dtype=jnp.int32).reshape(2, 3),
        "passes": jnp.ones((2, 3, 1), jnp.int8),
    }
    pack, unpack = packing(states)
    packed = pack(states)
    assert {name: x.shape for name, x in packed.items()} == {
        "int8": (2, 3, 5),
        "bool": (2, 3, 1),
        "int32": (2, 3, 1),
    }
    # A part of the tree's axes, as of the new nodes of one simulation.
    one = jax.tree.map(lambda x: x[:, 1], states)
    chex.assert_trees_all_equal(unpack(jax.tree.map(lambda x: x[:, 1], packed)), one)
    np.testing.assert_array_equal(pack(one)["int8"], packed["int8"][:, 1])
