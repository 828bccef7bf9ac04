"""Small networks for tic-tac-toe's board, compiled once for all tests."""

import functools

import jax
from azjax_envs import make

from azjax.config import NetworkConfig
from azjax.network.two_headed import make_network
from azjax.sharding import EVERYWHERE, make_mesh, shard
from tests.oracles.searches import random_positions

GAME = make("tic_tac_toe")
BATCH = 32
SMALL = {"blocks": 1, "channels": 8, "value_hidden": 8}


def resolve_network(game=GAME, **options):
    return make_network(game, NetworkConfig(**SMALL | options))


@functools.lru_cache
def observations():
    return jax.vmap(GAME.observe)(random_positions(GAME, jax.random.key(0), BATCH))


@functools.lru_cache
def compiled(network):
    """(init, apply, apply_train) of a network, the last on a mesh of one device."""
    apply_train = functools.partial(network.apply_train, key=jax.random.key(0))
    train = shard(apply_train, make_mesh(jax.devices()[:1]), EVERYWHERE, EVERYWHERE)
    # Unoptimised: compiling takes far longer than running.
    compiled = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
    return compiled(network.init), compiled(network.apply), compiled(train)


CHECKED = [
    resolve_network(architecture="resnet", norm="batch", value_head="tanh"),
    resolve_network(architecture="resnet", norm="layer", value_head="wdl", dtype="bfloat16"),
    resolve_network(architecture="mlp", norm="batch", value_head="wdl"),
    resolve_network(architecture="mlp", norm="none", value_head="tanh", dtype="bfloat16"),
    resolve_network(architecture="mlp", norm="none", convolutions=2, filters=4),
    resolve_network(architecture="mlp", norm="batch", blocks=3, residual=True),
]
