"""The policy head that gives each cell its own actions."""

import functools
import itertools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.config import NetworkConfig
from azjax.errors import UserError
from azjax.network.two_headed import TwoHeadedNetwork
from tests.network.networks import BATCH, GAME, SMALL, compiled, observations


def by_cell(**options):
    """Returns a network for tic-tac-toe's board with three actions for each of its nine cells."""
    return TwoHeadedNetwork(
        GAME.observation_shape, 27, NetworkConfig(**SMALL | {"policy_head": "planes"} | options)
    )


def test_planes_are_a_cells_own_logits_in_the_order_of_the_actions():
    """Recomputes the head: a 3x3 convolution, its normalisation, and one matrix for every cell."""
    network = by_cell()
    init, apply, _ = compiled(network)
    variables = init(jax.random.key(4))
    params, stats = variables["params"], variables["stats"]
    policy = params["policy"]
    assert policy["kernel"].shape == (SMALL["channels"], 3)
    policy["bias"] = jnp.asarray([1.0, 2.0, 3.0])
    logits = apply(variables, observations()).policy_logits
    assert logits.shape == (BATCH, 27)
    # The trunk is the same as with a dense head; then the head.
    convolve = functools.partial(
        jax.lax.conv_general_dilated,
        window_strides=(1, 1),
        padding="SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
    )

    def normalised(x, conv, norm):
        x = convolve(x, conv["conv"]["kernel"])
        scale = conv["norm"]["scale"] / jnp.sqrt(norm["norm"]["var"] + 1e-5)
        bias = conv["norm"]["bias"] - norm["norm"]["mean"] * scale
        return x * scale[None, None, None] + bias[None, None, None]

    trunk, means = params["body"]["trunk"], stats["body"]["trunk"]
    x = jax.nn.relu(normalised(observations(), trunk["stem"], means["stem"]))
    block, block_means = trunk["blocks"]["0"], means["blocks"]["0"]
    y = jax.nn.relu(normalised(x, block["first"], block_means["first"]))
    x = jax.nn.relu(x + normalised(y, block["second"], block_means["second"]))
    heads = jax.nn.relu(normalised(x, params["body"]["heads"], stats["body"]["heads"]))
    for row, column in itertools.product(range(3), repeat=2):
        cell = 3 * row + column
        expected = heads[:, row, column, : SMALL["channels"]] @ policy["kernel"]
        expected += policy["bias"][None]
        np.testing.assert_allclose(logits[:, 3 * cell : 3 * cell + 3], expected, atol=1e-5)
    assert np.ptp(logits[:, ::3]) > 0


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_planes_with_every_norm(norm):
    network = by_cell(norm=norm, dtype="bfloat16", value_head="wdl")
    init, apply, train = compiled(network)
    variables = init(jax.random.key(1))
    prediction = apply(variables, observations())
    chex.assert_shape(prediction.policy_logits, (BATCH, 27))
    assert {x.dtype for x in jax.tree.leaves(prediction)} == {jnp.dtype("float32")}
    assert np.abs(jax.nn.softmax(prediction.policy_logits) - 1 / 27).max() < 0.05
    prediction, stats = train(variables, observations())
    assert bool(jax.tree.leaves(stats)) == (norm == "batch")
    chex.assert_tree_all_finite(prediction)


def test_planes_of_chess_are_small():
    config = NetworkConfig(channels=64, policy_head="planes")
    network = TwoHeadedNetwork((8, 8, 19), 4672, config)
    params = jax.eval_shape(network.init, jax.random.key(0))["params"]
    assert params["policy"]["kernel"].shape == (64, 73)
    assert params["body"]["heads"]["conv"]["kernel"].shape == (3, 3, 64, 65)


def test_planes_need_the_same_number_of_actions_for_every_cell():
    with pytest.raises(
        UserError, match="for each of the 3 x 3 cells, but the game has 10; use"
    ) as caught:
        TwoHeadedNetwork((3, 3, 2), 10, NetworkConfig(policy_head="planes"))
    assert "\n" not in str(caught.value)
    TwoHeadedNetwork((3, 3, 2), 10, NetworkConfig())
