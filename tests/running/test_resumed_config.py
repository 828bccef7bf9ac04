"""A run that goes on with another config."""

import io

import optax
import pytest
from azjax_envs import make
from rich.console import Console

import azjax
from azjax.config.toml import load_config
from azjax.errors import UserError
from tests import tiny

QUIET = {"evaluation": {"every": 0}, "checkpoint": {"every": 2}, "cycles": 4}


def stopped(run, **parts):
    """Trains two cycles of a run."""
    console = Console(file=io.StringIO())
    azjax.train(
        tiny.config(**QUIET), run, console=console, on_cycle=lambda p: p.cycle == 2, **parts
    )
    return console


def test_what_may_change_changes(tmp_path):
    run = tmp_path / "run"
    console = stopped(run)
    learning = {**tiny.VALUES["learning"], "learning_rate": 0.5}
    changed = tiny.config(**QUIET | {"cycles": 5}, learning=learning)
    state = azjax.resume(run, config=changed, console=console)
    assert int(state.cycle) == 5
    assert load_config(run / "config.toml") == changed
    last = azjax.read_metrics(run)[-1]
    # The whole schedule follows the new config.
    assert 0.1 < last["train/learning_rate"] <= 0.5


def test_what_may_not_is_listed_and_nothing_is_written(tmp_path):
    run = tmp_path / "run"
    console = stopped(run)
    before = (run / "config.toml").read_text()
    wrong = tiny.config(
        **QUIET,
        seed=1,
        network={"channels": 8, "dtype": "bfloat16"},
        selfplay={"parallel_games": 32, "temperature": 2.0},
        learning={"l2": 0.5, "optimizer": "sgd"},
    )
    listed = (
        r"run: a run cannot change these: learning\.l2 = 0\.0, not 0\.5; "
        r"learning\.optimizer = 'adamw', not 'sgd'; network\.channels = 16, not 8; "
        r"seed = 0, not 1; selfplay\.parallel_games = 16, not 32; "
        r"azjax train CONFIG --start-from [^\n]*run \(in Python train\(\.\.\., start_from=\)\) "
        r"begins a new run with its network$"
    )
    with pytest.raises(UserError, match=listed):
        azjax.resume(run, config=wrong, console=console)
    assert (run / "config.toml").read_text() == before


def test_parts_of_ones_own_stay(tmp_path):
    run, parts = tmp_path / "run", {"optimizer": optax.sgd(0.1), "game": make("tic_tac_toe")}
    console = stopped(run, **parts)
    with pytest.raises(UserError, match=r"learning\.optimizer = '<optax.*>', not 'adamw'"):
        azjax.resume(run, config=tiny.config(**QUIET), console=console)
    changed = tiny.config(**QUIET | {"cycles": 3, "game": {"name": "connect_four"}})
    azjax.resume(run, config=changed, console=console, **parts)
    assert load_config(run / "config.toml").cycles == 3
    assert load_config(run / "config.toml").game.name == "tic_tac_toe"
