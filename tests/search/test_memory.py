"""The memory of a search of a game with thousands of actions. The search is compiled, not run."""

import functools
import types

import jax
import jax.numpy as jnp
import pytest
from azjax_envs import init_batch, make

from azjax.config import Config, NetworkConfig, SearchConfig, SelfPlayConfig
from azjax.network.two_headed import make_network
from azjax.running.memory import search_bytes
from azjax.search.model import network_evaluate
from azjax.search.search import Exploration, search
from tests.oracles.searches import POLICIES
from tests.oracles.wide import Wide

GAMES, SIMULATIONS = 256, 64
# As many actions and as large a state as chess has, but much faster to compile.
LIKE_CHESS = Wide(num_actions=4672, choices=30, words=443)
SMALL = NetworkConfig(architecture="mlp", blocks=1, channels=8, value_hidden=8)


@functools.lru_cache
def search_takes(game, policy):
    """Returns the bytes that a compiled search allocates, including its results."""
    network = make_network(game, SMALL)
    run = functools.partial(
        search,
        game,
        network_evaluate(game, network),
        config=SearchConfig(policy, SIMULATIONS),
        exploration=Exploration(gumbel_scale=1.0, dirichlet_fraction=0.25),
        steps="single",  # as in self-play on CPUs
    )
    key = jax.ShapeDtypeStruct((2,), jnp.uint32)
    states = jax.eval_shape(lambda key: init_batch(game, key, GAMES), key)
    compiled = jax.jit(run).lower(jax.eval_shape(network.init, key), key, states).compile()
    memory = compiled.memory_analysis()
    return memory.temp_size_in_bytes + memory.output_size_in_bytes


@pytest.mark.parametrize("policy", POLICIES)
def test_256_games_of_chess_fit(policy):
    """mctx's own tree would have six arrays of 311 MB, 1.9 GB in total."""
    assert search_takes(make("chess"), policy) < 500e6


@pytest.mark.parametrize("game", [LIKE_CHESS, Wide(num_actions=100)], ids=lambda game: game.name)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_estimate_is_what_a_search_takes(game, policy):
    """The estimate is within a fifth, with an array of children (100 actions) and without it."""
    config = Config(
        search=SearchConfig(policy, SIMULATIONS), selfplay=SelfPlayConfig(parallel_games=GAMES)
    )
    mesh = types.SimpleNamespace(size=1)
    estimate = search_bytes(types.SimpleNamespace(config=config, game=game, mesh=mesh))
    assert 1 / 1.2 < estimate / search_takes(game, policy) < 1.2
