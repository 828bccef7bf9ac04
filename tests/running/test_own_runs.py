"""Runs with a network and an optimizer of one's own: saved, loaded, resumed."""

import io
import sys
import textwrap

import jax
import numpy as np
import optax
import pytest
from azjax_envs import init_batch, make
from rich.console import Console

import azjax
from azjax.cli import main as cli
from azjax.config.toml import load_config
from azjax.errors import UserError
from azjax.players.load import export_player
from azjax.running.saved_state import restore_state
from azjax.runs.checkpoint import Checkpoints
from tests import tiny
from tests.network.own_networks import Dense

GAME = make("tic_tac_toe")
QUIET = {"evaluation": {"every": 0}, "checkpoint": {"every": 2}, "cycles": 4}
KEY = jax.random.key(0)


def console():
    return Console(file=io.StringIO(), width=200)


def network():
    return azjax.flax_network(lambda rngs: Dense(GAME, rngs=rngs))


def test_objects_that_are_handed_over(tmp_path):
    config, run = tiny.config(**QUIET), tmp_path / "run"
    parts = {"network": network(), "optimizer": optax.contrib.muon(1e-2)}

    def stop(progress):
        player = progress.player(simulations=2)
        assert azjax.act(player, KEY, init_batch(GAME, KEY, 3)).shape == (3,)
        assert player.config.num_simulations == 2
        return progress.cycle == 2

    straight = tiny.on_host(azjax.train(config, tmp_path / "a", console=console(), **parts))
    said = console()
    azjax.train(config, run, console=said, on_cycle=stop, **parts)
    call = f"continue with: azjax.resume({str(run)!r}, network=..., optimizer=...)"
    assert call in said.file.getvalue()
    with pytest.raises(UserError, match=r"resume that run \(azjax\.resume\(.*, optimizer=\.\.\."):
        azjax.train(config, run, console=console(), **parts)
    written = load_config(run / "config.toml")
    assert written.network.module == "<azjax.network.flax_network.NNXNetwork>"
    with pytest.raises(
        UserError, match=r"network\.module = .* so it must be again: network=\.\.\."
    ):
        azjax.resume(run, console=console())
    with pytest.raises(UserError, match=r"learning\.optimizer = .* again: optimizer=\.\.\."):
        azjax.resume(run, console=console(), network=network())
    resumed = azjax.resume(run, console=console(), **parts)
    tiny.assert_equal(straight, resumed)
    # A player of the run, and of a file.
    with pytest.raises(UserError, match=r"run: network\.module = .* network=\.\.\."):
        azjax.load_player(run)
    file = tmp_path / "own.safetensors"
    export_player(run, file, network=network())
    states = init_batch(GAME, KEY, 8)
    for spec in (run, file):
        player = azjax.load_player(spec, network=network(), simulations=4)
        assert azjax.act(player, KEY, states).shape == (8,)
    wide = azjax.flax_network(lambda rngs: Dense(GAME, 9, rngs=rngs))
    with pytest.raises(UserError, match="do not fit the given network"):
        azjax.load_player(file, network=wide)
    # Another run starts from it.
    started = azjax.train(
        config, tmp_path / "b", console=console(), on_cycle=stop, start_from=file, **parts
    )
    assert int(started.cycle) == 2


MODULE = """
    import jax
    import jax.numpy as jnp
    from flax import nnx

    class Net(nnx.Module):
        def __init__(self, game, width=8, *, rngs):
            inputs = game.observation_shape
            self.hidden = nnx.Linear(inputs[0] * inputs[1] * inputs[2], width, rngs=rngs)
            self.policy = nnx.Linear(width, game.num_actions, rngs=rngs)
            self.value = nnx.Linear(width, 1, rngs=rngs)

        def __call__(self, x):
            x = nnx.relu(self.hidden(x.reshape(len(x), -1)))
            return self.policy(x), jnp.tanh(self.value(x))
    """

PARTS = """
    import azjax
    import optax

    def muon(learning_rate):
        return optax.chain(optax.clip_by_global_norm(1.0), optax.contrib.muon(learning_rate))

    def loss(config):
        def with_size(prediction, batch):
            total, metrics = azjax.alphazero_loss(prediction, batch)
            size = jnp.mean(prediction.policy_logits**2)
            return total + 1e-3 * size, metrics | {"logit_size": size}

        return with_size
    """


def test_the_command_line_finds_them_by_name(tmp_path, monkeypatch, capsys, refused):
    (tmp_path / "my_net.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_net", raising=False)
    own = {"module": "my_net:Net", "options": {"width": 5}}
    tiny.write_config(tmp_path / "own.toml", **QUIET | {"cycles": 1, "network": own})
    run = tmp_path / "runs" / "own"
    assert cli.main(["train", "own.toml"]) == 0
    assert cli.main(["eval", f"{run}:policy", "--against", "random", "--games", "2"]) == 0
    assert cli.main(["export", str(run), "own.safetensors"]) == 0
    message = refused("eval", "own.safetensors", "--against", "random", "--games", "2")
    assert "own.safetensors asks to import my_net:Net, which can run any code" in message
    assert cli.main(["eval", "own.safetensors:policy", "--trust", "--against", "random"]) == 0
    player = azjax.load_player("own.safetensors", trust=True)
    assert {5} & {np.shape(x)[-1] for x in jax.tree.leaves(player.variables)}
    message = refused("train", "own.toml", "--run-dir", "b", "--network.module", "my_net:Nothing")
    assert "network.module: 'my_net' has no function or class 'Nothing'" in message


def test_a_killed_run_ends_like_one_that_was_not(tmp_path, monkeypatch):
    """A network, an optimizer and a loss that the config names, from the command line."""
    (tmp_path / "my_parts.py").write_text(textwrap.dedent(MODULE + PARTS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "my_parts", raising=False)
    changes = {
        "cycles": 40,
        "checkpoint": {"every": 5},
        "evaluation": {"every": 0},
        "network": {"module": "my_parts:Net"},
        "learning": {"optimizer": "my_parts:muon", "loss": "my_parts:loss"},
    }
    file = tiny.write_config(tmp_path / "own.toml", **changes)
    run = tmp_path / "run"
    process = tiny.start_azjax("train", file, "--run-dir", run, cwd=tmp_path)
    with tiny.killed_at_the_end(process):
        tiny.wait_until((run / "checkpoints" / "5").is_dir, process)
        process.kill()
        process.communicate()
    assert len(azjax.read_metrics(run)) < 40, "too fast for this test"
    code, out, err = tiny.run_azjax("resume", run, cwd=tmp_path)
    assert code == 0, (out, err)
    trainer = azjax.make_trainer(GAME, load_config(file), azjax.make_mesh(jax.devices()[:1]))
    straight = tiny.start(trainer)
    for _ in range(40):
        straight, _ = trainer.cycle(straight)
    with Checkpoints(run, read_only=True) as checkpoints:
        resumed = restore_state(checkpoints, trainer.abstract_state(), warn=pytest.fail)
    assert int(resumed.cycle) == 40
    tiny.assert_equal(straight, resumed)
    assert azjax.read_metrics(run)[-1]["train/logit_size"] > 0
