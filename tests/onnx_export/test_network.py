"""A network alone as an ONNX model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make
from flax import nnx

import azjax
from azjax.config import NetworkConfig, SearchConfig
from azjax.errors import UserError
from azjax.network.two_headed import make_network
from azjax.players.random_player import RandomPlayer
from tests.network.own_networks import Dense, LinenDense

onnxruntime = pytest.importorskip("onnxruntime")

GAME, HYPERGAMMON = make("connect_four_4x5"), make("hypergammon")
TOWER = {"blocks": 1, "channels": 8, "value_hidden": 8}
NETWORKS = {
    "tower in bfloat16": make_network(GAME, NetworkConfig(dtype="bfloat16", **TOWER)),
    "layer norm": make_network(GAME, NetworkConfig(norm="layer", value_head="wdl", **TOWER)),
    "results": make_network(
        HYPERGAMMON, NetworkConfig(architecture="mlp", value_head="results", **TOWER)
    ),
    "nnx": azjax.flax_network(lambda rngs: Dense(GAME, rngs=rngs)),
    "linen": azjax.flax_network(lambda: LinenDense(GAME), observation_shape=GAME.observation_shape),
}


def player_of(network, game=GAME):
    variables = network.init(jax.random.key(0))
    return azjax.SearchPlayer(
        game=game, network=network, variables=variables, config=SearchConfig()
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_are_those_of_the_network(name, tmp_path):
    player = player_of(NETWORKS[name], HYPERGAMMON if name == "results" else GAME)
    azjax.export_onnx(player, tmp_path / "net.onnx", batch=3)
    observations = jax.random.normal(jax.random.key(1), (3, *player.game.observation_shape))
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx")
    logits, value = session.run(
        ["policy_logits", "value"], {"observations": np.asarray(observations)}
    )
    prediction = player.network.apply(player.variables, observations)
    near = 0.02 if "bfloat16" in name else 1e-5
    np.testing.assert_allclose(logits, prediction.policy_logits, atol=near)
    np.testing.assert_allclose(value, prediction.value, atol=near)


class Sorting(nnx.Module):
    """A module with an operation that has no counterpart."""

    def __init__(self, rngs):
        self.scale = nnx.Param(jnp.ones(()))

    def __call__(self, x):
        total = jnp.linalg.qr(x.reshape(len(x), 4, -1) * self.scale[...])[1].sum((1, 2))
        return jnp.zeros((len(x), GAME.num_actions)) + total[:, None], jnp.tanh(total)


def test_mistakes(tmp_path):
    player = player_of(NETWORKS["nnx"])
    (tmp_path / "old.onnx").touch()
    for wrong, path, message in [
        (RandomPlayer(GAME), "net.onnx", "random has no network to export"),
        (player, "net.bin", r"must end in \.onnx"),
        (player, "old.onnx", "exists; choose another name"),
        (player, "nowhere/net.onnx", "no such directory"),
        (player_of(azjax.flax_network(Sorting)), "net.onnx", "JAX's primitive .* cannot be exp"),
    ]:
        with pytest.raises(UserError, match=message):
            azjax.export_onnx(wrong, tmp_path / path)
    with pytest.raises(UserError, match="batch = 0 must be at least 1"):
        azjax.export_onnx(player, tmp_path / "net.onnx", batch=0)
    assert [file.name for file in tmp_path.iterdir()] == ["old.onnx"]
