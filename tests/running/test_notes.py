"""Notes of a run: nothing is learned yet, the learning rate jumps, float32 is faster."""

import functools
import io
import re
from unittest import mock

import jax
import pytest
from rich.console import Console

from azjax.errors import UserError
from azjax.games import make_game
from azjax.running import loop
from azjax.running.loop import resume, train
from azjax.runs.metrics import read_metrics
from azjax.training.trainer import make_trainer
from tests import tiny


def test_min_positions_counts_only_full_searches():
    message = (
        "replay.min_positions = 96 must be at most 32: half of the 256 positions of "
        "replay.capacity_plies x selfplay.parallel_games, of which 2 in 8 get a full search"
    )
    with pytest.raises(UserError) as caught:
        tiny.config(selfplay={"full_search_fraction": 0.25})
    assert str(caught.value) == message
    tiny.config(selfplay={"full_search_fraction": 0.25}, replay={"min_positions": 32})


@pytest.mark.parametrize(
    ("replay", "said"),
    [
        # The newest game of each lane is unfinished, and one game at most counts.
        ({"max_games": 4}, "the full replay buffer has"),
        ({}, None),
    ],
)
def test_a_full_buffer_without_updates_is_announced_once(replay, said, tmp_path):
    out = io.StringIO()
    config = tiny.config(cycles=4, replay=replay, evaluation={"every": 0}, gate={"every": 9})
    train(config, tmp_path / "run", console=Console(file=out, width=300))
    lines = [line for line in out.getvalue().splitlines() if "nothing is learned" in line]
    assert len(lines) == (said is not None)
    if said:
        assert said in lines[0]
        assert "replay.min_positions = 96" in lines[0]


def notes(run, function):
    out = io.StringIO()
    function(run, console=Console(file=out, width=300))
    return out.getvalue()


def test_a_learning_rate_that_jumps_is_announced(tmp_path):
    run = tmp_path / "run"
    settings = {"evaluation": {"every": 0}, "gate": {"every": 9}, "learning": {"warmup_updates": 0}}
    config = tiny.config(cycles=2, replay={"min_positions": 16}, **settings)
    assert "learning rate was" not in notes(run, functools.partial(train, config))
    file = run / "config.toml"
    file.write_text(file.read_text().replace("cycles = 2", "cycles = 8"))
    said = [line for line in notes(run, resume).splitlines() if "learning rate was" in line]
    assert len(said) == 1
    assert "its schedule follows the number of cycles" in said[0]
    before, after = (float(x) for x in re.findall(r"(?:was|is) ([\d.e-]+)", said[0]))
    assert after > 2 * before
    rates = [x["train/learning_rate"] for x in read_metrics(run) if x["kind"] == "cycle"]
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[2] > rates[1]


def untrained(**changes):
    """Returns a trainer of this machine, which may compute faster in one type than in another."""
    config = tiny.config(**changes)
    return make_trainer(make_game(config), config)


@pytest.mark.parametrize(
    ("dtype", "slow", "used"),
    [
        ("bfloat16", True, "float32"),
        ("bfloat16", False, "bfloat16"),
        ("float32", True, "float32"),
    ],
)
def test_bfloat16_is_trained_in_float32_where_that_is_faster(dtype, slow, used, monkeypatch):
    monkeypatch.setattr("azjax.network.two_headed.bfloat16_is_slow", lambda: slow)
    trainer = untrained(network={"dtype": dtype})
    assert trainer.network.config.dtype == used
    assert trainer.config.network.dtype == dtype
    log = mock.Mock()
    loop._note_arithmetic(log, trainer)
    note = "this CPU has no instructions for bfloat16, so the network computes in float32"
    said = [call.args[0] for call in log.note.call_args_list]
    assert said == ([note] if used != dtype else [])


def test_a_run_continues_in_the_other_arithmetic(monkeypatch):
    """A run may move between machines, so both kinds of states are alike."""
    shapes = []
    for slow in True, False:
        monkeypatch.setattr("azjax.network.two_headed.bfloat16_is_slow", lambda slow=slow: slow)
        trainer = untrained(network={"dtype": "bfloat16"})
        shapes.append(jax.tree.map(lambda x: (x.shape, x.dtype), trainer.abstract_state()))
    assert shapes[0] == shapes[1]
