"""Weights in programs without azjax: plain NumPy, and a Flax module of one's own."""

import functools
import re
from pathlib import Path

import jax
import numpy as np
import pytest
from azjax_envs import make

import azjax
from azjax.cli.main import main
from azjax.network.two_headed import make_network
from azjax.players.load import load_player
from azjax.players.weights_file import pretrained
from tests import tiny
from tests.examples.test_own_parts import load
from tests.players.saved_players import contents

GAME = make("dots_and_boxes_2x2")  # 12 actions on 5 x 5 cells
BOARD = make("tic_tac_toe")  # an action for each cell
SMALL = {"channels": 8, "value_hidden": 4}
NETWORKS = {
    "dense": (GAME, {"architecture": "mlp", "blocks": 2}),
    "dense after convolutions": (
        GAME,
        {
            "architecture": "mlp",
            "blocks": 3,
            "convolutions": 2,
            "filters": 4,
            "residual": True,
            "value_head": "wdl",
        },
    ),
    "dense without normalisation": (GAME, {"architecture": "mlp", "blocks": 1, "norm": "none"}),
    "tower": (GAME, {"architecture": "resnet", "blocks": 1, "policy_channels": 3}),
    "planes and pooling": (
        BOARD,
        {
            "architecture": "resnet",
            "blocks": 2,
            "policy_head": "planes",
            "pooling_every": 2,
            "value_channels": 2,
            "value_head": "wdl",
            "norm": "layer",
        },
    ),
}


@functools.cache
def player(name):
    """Returns a game, a config, and a network with numbers that no initialisation has."""
    game, changes = NETWORKS[name]
    config = tiny.config(game={"name": game.name}, network=SMALL | {"norm": "batch"} | changes)
    network = make_network(game, config.network)
    rng = np.random.default_rng(0)
    shapes = jax.eval_shape(network.init, jax.random.key(0))
    variables = jax.tree.map(lambda x: rng.uniform(0.1, 0.6, x.shape).astype(np.float32), shapes)
    variables["params"] = jax.tree.map(lambda x: x - np.float32(0.3), variables["params"])
    return game, config, network, variables


@functools.cache
def expected(name):
    """Returns observations, and what azjax predicts of them."""
    game, _, network, variables = player(name)
    observations = np.random.default_rng(1).normal(size=(3, *game.observation_shape))
    observations = observations.astype(np.float32)
    return observations, jax.jit(network.apply)(variables, observations)


def written(path, name, dtype="float32"):
    _, config, _, variables = player(name)
    azjax.save_player(path, config, variables, dtype=dtype)
    return path


@pytest.mark.parametrize("dtype", ["float32", "float16", "compact"])
@pytest.mark.parametrize("name", NETWORKS)
def test_numpy_predicts_the_same(name, dtype, tmp_path, monkeypatch):
    monkeypatch.setattr("azjax.players.compact_weights.LARGE", 100)
    net = load("numpy_player").Net(written(tmp_path / "a.safetensors", name, dtype))
    observations, want = expected(name)
    near = {"float32": 1e-5, "float16": 3e-3, "compact": 5e-2}[dtype]
    logits, value = net(observations)
    np.testing.assert_allclose(logits, want.policy_logits, atol=near)
    np.testing.assert_allclose(value, want.value, atol=near)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_flax_module_predicts_the_same(name, tmp_path):
    example = load("flax_weights")
    game, settings, variables = example.load(written(tmp_path / "a.safetensors", name))
    net = example.Net(make(**game).num_actions, settings)
    observations, want = expected(name)
    shapes = jax.eval_shape(net.init, jax.random.key(0), observations)
    assert jax.tree.map(np.shape, shapes) == jax.tree.map(np.shape, variables)
    logits, value = jax.jit(net.apply)(variables, observations)
    np.testing.assert_allclose(logits, want.policy_logits, atol=1e-5)
    np.testing.assert_allclose(value, want.value, atol=1e-5)


def test_the_computing_parts_import_no_azjax():
    folder = Path(azjax.__file__).parent.parent / "examples"
    for name, packages in (("numpy_player", {"numpy"}), ("flax_weights", {"jax", "flax"})):
        top = re.findall(r"^(?:import|from) (\w+)", (folder / f"{name}.py").read_text(), re.M)
        assert packages <= set(top)
        assert not {"azjax", "azjax_envs"} & set(top)
        assert name == "flax_weights" or "jax" not in top


def test_the_command_writes_what_azjax_and_the_examples_read(tmp_path):
    files = [tmp_path / f"{name}.safetensors" for name in ("compact", "full", "again")]
    for source, file, dtype in (
        ("tic_tac_toe", files[0], []),
        ("tic_tac_toe", files[1], ["--dtype", "float32"]),
        (files[1], files[2], ["--dtype", "float32"]),
    ):
        assert main(["export", str(source), str(file), *dtype]) == 0
    compact, full, again = map(contents, files)
    shipped = contents(pretrained()["tic_tac_toe"])
    for (arrays, header), (others, other) in ((compact, shipped), (full, again)):
        tiny.assert_equal(arrays, others)
        assert header == other
    assert {str(x.dtype) for x in full[0].values()} == {"float32"}
    before, loaded = load_player("tic_tac_toe"), load_player(str(files[1]))
    tiny.assert_equal(loaded.variables, before.variables)
    assert loaded.config == before.config
    policy = load("numpy_player").main(files[1])
    assert policy.sum() == pytest.approx(1)
    errors = load("flax_weights").main(files[1], updates=3)
    assert errors[-1] < errors[0]
    with pytest.raises(azjax.UserError, match="dtype must be one of compact"):
        azjax.save_player(tmp_path / "b.safetensors", *player("dense")[1::2], dtype="int8")


def test_the_page_names_every_layer():
    page = (Path(azjax.__file__).parent.parent / "docs" / "weights.md").read_text()
    table = page.partition("| layer |")[2].partition("\n\n")[0]
    named = {name for row in table.splitlines()[1:] for name in re.findall(r"`([a-zN_.]+)`", row)}
    found = set()
    for name in NETWORKS:
        for path, _ in jax.tree_util.tree_flatten_with_path(player(name)[3])[0]:
            keys = [re.sub(r"^\d+$", "N", key.key) for key in path]
            assert keys[0] in ("params", "stats")
            found.add(".".join(keys[1:-1]))
    assert named == found
