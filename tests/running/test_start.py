"""Runs that begin with the network of another player."""

import re
import shutil

import jax
import numpy as np
import pytest

import azjax
from azjax.players.load import START_FILE, export_player, load_network, saved_player
from azjax.players.spec import parse_run
from azjax.players.weights_file import load_saved
from azjax.running.loop import resume, train
from azjax.running.start import first_state, read_start, with_network
from tests import tiny

# One config for all runs, so that it is compiled once.
CONFIG = tiny.config(cycles=2, evaluation={"every": 0})


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Returns a run of two cycles, and its player's file."""
    folder = tmp_path_factory.mktemp("start")
    train(CONFIG, folder / "first")
    export_player(folder / "first", folder / "first.safetensors")
    return folder / "first", folder / "first.safetensors"


def rounded(variables):
    return jax.tree.map(lambda x: np.asarray(x, np.float16).astype(np.float32), variables)


@pytest.mark.parametrize("kind", ["run", "file"])
def test_a_run_begins_with_the_network_of_a_run_or_of_its_file(first, tmp_path, kind):
    run, file = first
    shutil.copyfile(file, tmp_path / START_FILE)
    spec = str(run if kind == "run" else file)
    config = tiny.config(selfplay={"actor": "gated"})
    trainer = tiny.trainer(selfplay={"actor": "gated"})
    start = read_start(spec, trainer.game, config)
    state = first_state(trainer, tmp_path)
    expected = rounded(load_network(run)[2])
    for place in (state.learner.variables, state.gated):
        tiny.assert_equal(place, expected)
    tiny.assert_equal(rounded(start.variables), expected)
    # All else is new.
    fresh = tiny.start(trainer)
    tiny.assert_equal(state.learner.optimizer_state, fresh.learner.optimizer_state)
    tiny.assert_equal(with_network(state, fresh.learner.variables), fresh)


def test_a_file_tells_the_training_before(first, tmp_path):
    second, third = tmp_path / "second", tmp_path / "third"
    assert int(azjax.train(CONFIG, second, start_from=str(first[1])).cycle) == 2
    about = saved_player(parse_run(str(second))).metadata
    assert re.match(r"2 cycles in .*, after 2 cycles in ", about["training"])
    export_player(second, tmp_path / "second.safetensors")
    assert load_saved(tmp_path / "second.safetensors").metadata == about
    azjax.train(CONFIG, third, start_from=str(second))
    training = saved_player(parse_run(str(third))).metadata["training"]
    assert training.count("2 cycles in ") == 3
    assert training.count(", after ") == 2


def test_a_run_stopped_before_its_first_checkpoint_starts_from_it_again(first, tmp_path):
    straight = tiny.on_host(train(CONFIG, tmp_path / "run", start_from=first[1]))
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    tiny.assert_equal(resume(tmp_path / "run"), straight)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("random", "random has no network to start from"),
        ("uct:100", "uct:100 has no network to start from"),
        ("FILE:policy", "a run starts from a network alone; write FILE"),
        ("connect_four", r"connect_four\.safetensors plays connect_four, not tic_tac_toe"),
        ("nothing", "there is no player 'nothing'"),
        ("FILE@best", "there is no player"),
    ],
)
def test_what_is_no_such_network_is_named_and_nothing_is_written(first, tmp_path, spec, message):
    file = str(first[1])
    with pytest.raises(azjax.UserError, match=message.replace("FILE", file)):
        train(tiny.config(), tmp_path / "run", start_from=spec.replace("FILE", file))
    assert not (tmp_path / "run").exists()


def test_other_layers_are_named(first, tmp_path):
    config = tiny.config(network={"channels": 32})
    with pytest.raises(azjax.UserError, match=r"network.channels = 16 and this config 32"):
        train(config, tmp_path / "run", start_from=first[0])
    assert not (tmp_path / "run").exists()


def test_the_command_takes_it(first, tmp_path):
    config, run = tiny.write_config(tmp_path / "tiny.toml", cycles=1), tmp_path / "run"
    flags = ["--run-dir", run, "--evaluation.every", "0", "--start-from"]
    code, _, err = tiny.run_azjax("train", config, *flags, "uct:8")
    assert (code, err.count("\n")) == (2, 1)
    code, _, err = tiny.run_azjax("train", config, *flags, first[0])
    assert code == 0, err
    assert (run / START_FILE).is_file()
