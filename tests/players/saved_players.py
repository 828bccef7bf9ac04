"""A saved player of tic-tac-toe, and files like it that someone has changed."""

import functools

import jax
import pytest
import safetensors.numpy
from azjax_envs import make

from azjax.errors import UserError
from azjax.network.two_headed import make_network
from azjax.players.weights_file import file_bytes, load_saved
from tests import tiny

GAME = make("tic_tac_toe")
ABOUT = {"training": "6 cycles", "card": "tic_tac_toe is good.\nsearch:4: 90.0% of 4,520"}


@functools.lru_cache
def network():
    config = tiny.config()
    made = make_network(GAME, config.network)
    return config, made, jax.jit(made.init)(jax.random.key(3))


def signed(path, arrays, header):
    """Writes a file whose checksum is right, as someone with bad intentions would."""
    path.write_bytes(file_bytes(arrays, header))
    return path


def contents(file):
    with safetensors.safe_open(file, framework="numpy") as opened:
        return {name: opened.get_tensor(name) for name in opened.keys()}, opened.metadata()  # noqa: SIM118


def refusal(path):
    with pytest.raises(UserError) as caught:
        load_saved(path)
    assert str(caught.value).isprintable()
    return str(caught.value)
