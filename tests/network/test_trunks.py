"""Options of the trunks: global pooling."""

import dataclasses

import jax
import numpy as np

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
            network.apply(variables, x).extra["ownership"].reshape(9, 9)
            for x in (board, board.at[0, 0, 0].add(30.0))
        ]
        far[every] = float(np.abs(owners[0] - owners[1])[5:, 5:].max())
    assert far[0] == 0
    assert far[1] > 0
