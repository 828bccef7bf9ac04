"""All games and players that come with azjax use only what the exporter supports.

Versions of JAX differ in the primitives that they make of the same rules. So this test names what a
new version needs. It compiles none of the rules.
"""

import jax
import numpy as np
import pytest
from azjax_envs import available_games, make

from azjax import load_player
from azjax.files.positions import notation_of
from azjax.network.two_headed import make_network
from azjax.players.weights_file import pretrained
from azjax.web.onnx_model import FACTS, export_model, export_set_up
from tests.web.sites import TOWERS

pytest.importorskip("onnx")


def assert_exported(game, network, variables):
    model = export_model(game, network, variables)
    assert set(FACTS) < set(model.outputs)
    assert len(model.proto) > 1000
    assert (export_set_up(game) is None) == (notation_of(game) is None)


@pytest.mark.parametrize("name", sorted({*available_games()} - {"mnk"}))
def test_every_game_can_be_exported(name):
    game = make(name)
    network = make_network(game, TOWERS["resnet"])
    shapes = jax.eval_shape(network.init, jax.random.key(0))
    assert_exported(game, network, jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes))


@pytest.mark.parametrize("name", pretrained())
def test_every_player_can_be_exported(name):
    player = load_player(name)
    assert_exported(player.game, player.network, player.variables)
