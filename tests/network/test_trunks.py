"""Options of the trunks: global pooling, and a trunk for each head."""

import dataclasses

import jax
import numpy as np
import pytest

from azjax.config import NetworkConfig
from azjax.network.two_headed import TwoHeadedNetwork


def other_network(**changes):
    sizes = {"blocks": 2, "channels": 8, "value_hidden": 8} | changes
    return TwoHeadedNetwork((4, 5, 3), 7, NetworkConfig(**sizes))


def test_pooling_shows_every_cell_the_whole_board():
    """One block reaches three cells. With pooling a change in one corner reaches the other."""
    far = {}
    for every in (0, 1):
        network = other_network(
            blocks=1, pooling_every=every, norm="none", auxiliary=("ownership",)
        )
        network = dataclasses.replace(network, observation_shape=(9, 9, 3))
        variables = network.init(jax.random.key(0))
        board = jax.random.normal(jax.random.key(1), (1, 9, 9, 3))
        owners = [
            network.apply(variables, x).ownership.reshape(9, 9)
            for x in (board, board.at[0, 0, 0].add(30.0))
        ]
        far[every] = float(np.abs(owners[0] - owners[1])[5:, 5:].max())
    assert far[0] == 0
    assert far[1] > 0


@pytest.mark.parametrize("architecture", ["resnet", "mlp"])
def test_separate_trunks_share_nothing(architecture):
    options = {"norm": "none", "auxiliary": ("ownership",), "value_channels": 4}
    network = other_network(architecture=architecture, towers="separate", **options)
    variables = network.init(jax.random.key(0))
    board = jax.random.normal(jax.random.key(1), (2, 4, 5, 3))

    def heads(params):
        prediction = network.apply({"params": params, "stats": {}}, board)
        return prediction.policy_logits.sum(), prediction.value.sum() + prediction.ownership.sum()

    def touched(which):
        gradient = jax.grad(lambda p: heads(p)[which])(variables["params"])
        return {name for name, g in gradient.items() if any(x.any() for x in jax.tree.leaves(g))}

    assert touched(0) == {"body", "policy"}
    assert touched(1) == {"value_body", "value_hidden", "value", "ownership"}


def test_one_trunk_is_under_all_heads():
    network = other_network(norm="none")
    variables = network.init(jax.random.key(0))
    assert "value_body" not in variables["params"]
