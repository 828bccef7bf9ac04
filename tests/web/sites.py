"""Untrained players and a local server, for tests of the web pages."""

import contextlib
import functools
import threading

import jax
import pytest
from azjax_envs import make

from azjax.config import NetworkConfig, SearchConfig
from azjax.network.two_headed import make_network
from azjax.players.network_players import SearchPlayer
from azjax.web import server

TOWERS = {
    "mlp": NetworkConfig(architecture="mlp", blocks=1, channels=16, value_hidden=16),
    "points": NetworkConfig(
        architecture="mlp", blocks=1, channels=16, value_hidden=16, value_head="results"
    ),
    "resnet": NetworkConfig(
        architecture="resnet",
        blocks=1,
        channels=8,
        value_hidden=8,
        value_head="wdl",
        pooling_every=1,
    ),
}


@functools.cache
def untrained(name, tower="mlp"):
    """Returns an untrained player of the game with 8 simulations."""
    game = make(name)
    network = make_network(game, TOWERS[tower])
    variables = jax.jit(network.init)(jax.random.PRNGKey(0))
    config = SearchConfig(num_simulations=8)
    return SearchPlayer(game=game, network=network, variables=variables, config=config)


@contextlib.contextmanager
def listening(app):
    """Serves `app` as `azjax play --web` does, and yields the port."""
    uvicorn = pytest.importorskip("uvicorn")
    listener = server._listen(None)
    running = uvicorn.Server(server.make_config(app))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        running.should_exit = True
        thread.join()
