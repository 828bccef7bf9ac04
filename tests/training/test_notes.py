"""Notes of a run: nothing can be learned yet, or the learning rate jumps on resume."""

import functools
import io
import re
from unittest import mock

import pytest
from rich.console import Console

from azjax.errors import UserError
from azjax.runs.metrics import read_metrics
from azjax.training import loop
from azjax.training.loop import resume, train
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


@pytest.mark.parametrize(
    ("dtype", "slow", "count"),
    [("bfloat16", True, 1), ("bfloat16", False, 0), ("float32", True, 0)],
)
def test_slow_arithmetic_is_announced(dtype, slow, count, monkeypatch):
    monkeypatch.setattr(loop, "bfloat16_is_slow", lambda: slow)
    log = mock.Mock()
    loop._note_slow_arithmetic(log, tiny.config(network={"dtype": dtype}))
    note = 'this CPU has no AVX-512; network.dtype = "float32" trains faster on it'
    said = [call.args[0] for call in log.note.call_args_list]
    assert said == [note] * count
