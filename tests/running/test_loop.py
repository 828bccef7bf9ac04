import contextlib
import errno
import json
import os
import re
import signal
from pathlib import Path
from unittest import mock

import jax
import numpy as np
import pytest

from azjax.config.toml import load_config
from azjax.errors import UserError
from azjax.games import make_game
from azjax.running import loop as train_module
from azjax.running.loop import resume, train
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.lock import LOCK_FILES
from azjax.runs.metrics import read_metrics
from azjax.runs.run_logger import RunLogger
from tests import tiny
from tests.running.whole_runs import QUIET, at_cycle, console, newest_cycle, restore

pytestmark = pytest.mark.usefixtures("compile_once")
GATED = {"selfplay": {"actor": "gated"}, "gate": {"threshold": 0.3}}


def power_cut():
    raise RuntimeError("power cut")


@pytest.mark.parametrize("changes", [{}, GATED | QUIET], ids=["newest", "gated"])
def test_killed_and_resumed_is_as_never_stopped(changes, tmp_path, monkeypatch):
    config = tiny.config(**changes)
    straight = tiny.on_host(train(config, tmp_path / "straight", console=console()))
    assert int(straight.cycle) == 6
    assert int(straight.learner.num_updates) >= 3
    if changes:
        passed = [
            x["gate/passed"] for x in read_metrics(tmp_path / "straight") if "gate/score" in x
        ]
        assert len(passed) == 3
    # The run is killed after cycle 5. Its checkpoint is of cycle 3.
    at_cycle(monkeypatch, 5, power_cut)
    with pytest.raises(RuntimeError, match="power cut"):
        train(config, tmp_path / "killed", console=console())
    assert newest_cycle(tmp_path / "killed") == 3
    resumed = resume(tmp_path / "killed", console=console())
    tiny.assert_equal(straight, resumed)
    # The last checkpoint holds that state.
    restored = restore(tmp_path / "killed", config)
    tiny.assert_equal(straight, restored)
    assert without_times(tmp_path / "straight") == without_times(tmp_path / "killed")


def without_times(run_dir):
    return [{k: v for k, v in x.items() if not k.endswith("_s")} for x in read_metrics(run_dir)]


@pytest.mark.parametrize("changes", [{}, GATED], ids=["newest", "gated"])
def test_starting_early_changes_nothing(changes, tmp_path, monkeypatch):
    config = tiny.config(cycles=7, **changes)
    straight = tiny.on_host(train(config, tmp_path / "straight", console=console()))
    happened, log, start = [], RunLogger.cycle, train_module.Pipeline.start

    def started(self, newest):
        happened.append(f"start {newest}")
        start(self, newest)

    def logged(self, cycle, metrics):
        happened.append(f"log {cycle}")
        log(self, cycle, metrics)

    monkeypatch.setattr(RunLogger, "cycle", logged)
    monkeypatch.setattr(train_module.Pipeline, "start", started)
    trainer = tiny.replace(tiny.shared_make_trainer(make_game(config), config), asynchronous=True)
    monkeypatch.setattr(train_module, "make_trainer", lambda *_, **parts: trainer)
    early = train(config, tmp_path / "early", console=console())
    tiny.assert_equal(straight, early)
    assert without_times(tmp_path / "straight") == without_times(tmp_path / "early")
    # The state is needed after cycle 3, 6 and 7 and, for a gate, after 2, 4 and 6.
    needed = {3, 6, 7} | ({2, 4, 6} if changes else set())
    expected = []
    for cycle in range(1, 8):
        expected += [f"start {cycle + (cycle not in needed)}", f"log {cycle}"]
    assert happened == expected


def test_a_cycle_is_two_programs_and_one_transfer(ahead, tmp_path, monkeypatch):
    """The device would wait for the host at any other one."""
    config = tiny.config(cycles=9, checkpoint={"every": 9}, **QUIET)
    fetch = mock.Mock(side_effect=jax.device_get)
    within = contextlib.ExitStack()

    def begin():
        within.enter_context(mock.patch.object(jax, "device_get", fetch))
        # For all threads, since one of its own starts the cycles.
        jax.config.update("jax_transfer_guard", "disallow")
        within.callback(jax.config.update, "jax_transfer_guard", "allow")
        within.enter_context(jax.profiler.trace(tmp_path / "profile"))

    log, changes = RunLogger.cycle, {3: begin, 7: within.close}

    def logged(self, cycle, metrics):
        log(self, cycle, metrics)
        changes.get(cycle, lambda: None)()

    monkeypatch.setattr(RunLogger, "cycle", logged)
    train(config, tmp_path / "run", console=console())
    assert sum(len(jax.tree.leaves(call.args)) for call in fetch.call_args_list) == 7 - 3
    (file,) = (tmp_path / "profile").rglob("*.xplane.pb")
    planes = jax.profiler.ProfileData.from_file(str(file)).planes
    names = {event.name for plane in planes for line in plane.lines for event in line.events}
    programs = {name for name in names if name.startswith("PjitFunction(")}
    assert len(programs) == 2, programs
    assert "PjitFunction(_stack)" in programs
    assert "DevicePut" not in names


def test_without_space_for_plots_a_run_still_ends(tmp_path, monkeypatch):
    def full(run_dir):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(train_module.plots, "draw", full)
    out = console()
    state = train(tiny.config(**QUIET), tmp_path / "run", console=out)
    assert int(state.cycle) == 6
    assert "plots: No space left on device; without plots" in out.file.getvalue()


def test_killed_before_the_first_checkpoint(tmp_path, monkeypatch):
    config = tiny.config(**QUIET)
    at_cycle(monkeypatch, 2, power_cut)
    with pytest.raises(RuntimeError, match="power cut"):
        train(config, tmp_path / "killed", console=console())
    resumed = resume(tmp_path / "killed", console=console())
    straight = train(config, tmp_path / "straight", console=console())
    tiny.assert_equal(straight, resumed)


def test_a_run_keeps_the_positions_it_begins_games_at(tmp_path, monkeypatch):
    lines, run = tmp_path / "lines.txt", tmp_path / "run"
    lines.write_text("a1 b2\n-\n")
    monkeypatch.setattr(train_module, "run_cycles", lambda trainer, *_: trainer.config)
    train(tiny.config(selfplay={"openings": str(lines)}), run)
    lines.write_text("a1 c3\n")
    resumed = resume(run).selfplay.openings
    assert Path(resumed).read_text() == "a1 b2\n-\n"
    assert Path(resumed).parent == run


def test_a_function_is_called_after_every_cycle(tmp_path, monkeypatch):
    config, out, calls = tiny.config(), console(), []

    def on_cycle(progress):
        lines = read_metrics(progress.run_dir)
        evaluated = [x["cycle"] for x in lines if x["kind"] == "eval"]
        calls.append((lines[-1]["cycle"], evaluated, progress.last))
        assert progress.cycle == int(progress.state.cycle) == lines[-1]["cycle"]
        assert progress.metrics["selfplay/plies"] == lines[-1].get("selfplay/plies", 128)

    at_cycle(monkeypatch, 4, lambda: os.kill(os.getpid(), signal.SIGTERM))
    train(config, tmp_path / "run", console=out, on_cycle=on_cycle)
    resume(tmp_path / "run", console=out, on_cycle=on_cycle)
    assert [cycle for cycle, _, _ in calls] == [1, 2, 3, 4, 5, 6]
    assert [ends for _, _, ends in calls] == [False, False, False, True, False, True]
    assert [evaluated for _, evaluated, _ in calls] == [[0], [0], [0, 3], [0, 3], [0, 3], [0, 3, 6]]
    assert "against random" in out.file.getvalue()
    assert "elapsed" in out.file.getvalue()  # the progress is still printed


def test_the_first_evaluation_changes_nothing(tmp_path):
    changes = {"evaluation": {"every": 2, "exact_report": True}, "checkpoint": {"every": 6}}
    kept = [train(tiny.config(**changes), tmp_path / "run", console=console())]
    kept.append(train(tiny.config(**QUIET), tmp_path / "quiet", console=console()))
    tiny.assert_equal(*kept)
    evaluated = [x["cycle"] for x in read_metrics(tmp_path / "run") if x["kind"] == "eval"]
    assert evaluated == [c for c in (0, 2, 4, 6) for _ in range(2)]
    # One that would double the evaluations is left out.
    train(tiny.config(evaluation={"every": 6}), tmp_path / "one", console=console())
    evaluated = [x["cycle"] for x in read_metrics(tmp_path / "one") if x["kind"] == "eval"]
    assert evaluated == [6]


def test_a_function_stops_the_run(tmp_path):
    config, out = tiny.config(**QUIET), console()
    state = train(
        config, tmp_path / "run", console=out, on_cycle=lambda progress: progress.cycle == 2
    )
    assert int(state.cycle) == newest_cycle(tmp_path / "run") == 2
    assert "stopped after cycle 2" in out.file.getvalue()
    resumed = resume(tmp_path / "run", console=console())
    tiny.assert_equal(train(config, tmp_path / "straight", console=console()), resumed)


class Lines:
    """A logger that keeps what it gets."""

    def __init__(self):
        self.lines, self.closed = [], False

    def write(self, kind, cycle, scalars):
        assert not self.closed
        self.lines.append({"kind": kind, "cycle": cycle} | dict(scalars))

    def close(self):
        self.closed = True


def test_loggers_get_the_lines_of_the_metrics_file(tmp_path):
    own = Lines()
    train(tiny.config(), tmp_path / "run", console=console(), loggers=[own])
    written = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert own.lines == [json.loads(line) for line in written]
    assert own.closed


def times(run):
    """Returns when each file of a run was changed; its lock names the last process."""
    files = (p for p in run.rglob("*") if p.is_file() and p.name not in LOCK_FILES)
    return {p: p.stat().st_mtime_ns for p in files}


def test_what_lies_in_a_run_directory(tmp_path):
    config = tiny.config()
    out = console()
    train(config, tmp_path / "run", console=out)
    run = tmp_path / "run"
    assert load_config(run / "config.toml") == config
    lines = [json.loads(x) for x in (run / "metrics.jsonl").read_text().splitlines()]
    assert [x["cycle"] for x in lines if x["kind"] == "cycle"] == [1, 2, 3, 4, 5, 6]
    evaluations = [x for x in lines if x["kind"] == "eval"]
    assert [(x["cycle"], x["opponent"]) for x in evaluations] == [(c, "random") for c in (0, 3, 6)]
    assert lines.index(evaluations[0]) == 1  # after the start, before the first cycle
    assert all(0 <= x["eval/score"] <= 1 for x in evaluations)
    learned = [x for x in lines if x["kind"] == "cycle" and x["train/updates"]]
    assert learned
    assert all(np.isfinite(x["train/loss"]) for x in learned)
    assert list((run / "tensorboard").glob("events.out.tfevents.*"))
    assert {p.name for p in (run / "plots").glob("*.png")} >= {"losses.png", "game_lengths.png"}
    assert {p.name for p in (run / "checkpoints").iterdir()} >= {"3", "6"}
    with Checkpoints(run, read_only=True) as checkpoints:
        assert checkpoints.best() in (3, 6)
    # All cycles are done: there is nothing to resume, and no file changes.
    kept = times(run)
    with pytest.raises(UserError, match=re.escape("all 6 cycles are done")):
        resume(run, console=console())
    assert times(run) == kept


def ruinous_config(**changes):
    """Returns a config whose second update has a rate of 1e30."""
    learning = {
        "optimizer": "sgd",
        "learning_rate": 1e30,
        "clip_norm": 1e30,
        "warmup_updates": 1,
        "schedule": "constant",
    }
    return tiny.config(
        cycles=12, learning=learning, replay={"min_positions": 32}, **changes, **QUIET
    )


def test_a_loss_that_is_no_number_in_a_cycle_before_the_newest(ahead, tmp_path):
    config = ruinous_config(checkpoint={"every": 12})
    with pytest.raises(UserError, match=r"in cycle (\d+): training stopped, no checkpoint yet"):
        train(config, tmp_path / "run", console=console())
    with Checkpoints(tmp_path / "run", read_only=True) as checkpoints:
        assert checkpoints.cycles() == []
    assert all(x["train/param_norm"] < 1e6 for x in read_metrics(tmp_path / "run"))


def test_a_loss_that_is_no_number_stops_the_run(tmp_path):
    """Only earlier checkpoints exist afterwards."""
    config = ruinous_config(checkpoint={"every": 1})
    with pytest.raises(UserError, match=r"in cycle (\d+): training stopped") as caught:
        train(config, tmp_path / "run", console=console())
    message = str(caught.value)
    assert "\n" not in message
    wrong = int(re.search(r"in cycle (\d+)", message)[1])
    assert f"the last good checkpoint is of cycle {wrong - 1}" in message
    assert newest_cycle(tmp_path / "run") == wrong - 1
    state = restore(tmp_path / "run", config)
    assert int(state.cycle) == wrong - 1
    for name, x in tiny.leaves((state.learner.variables, state.learner.optimizer_state)).items():
        assert np.isfinite(x).all(), name
        assert (np.abs(x) < 1e6).all(), name
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    written = [json.loads(x) for x in lines]
    assert [x["cycle"] for x in written if x["kind"] == "cycle"] == list(range(1, wrong))


def test_an_occupied_directory_is_left_alone(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("run", "file"):
        with pytest.raises(UserError, match="not empty") as caught:
            train(tiny.config(), tmp_path / name, console=console())
        assert "azjax resume" in str(caught.value)
        assert "choose another directory" in str(caught.value)
    assert [p.name for p in (tmp_path / "run").iterdir()] == ["thesis.txt"]
    assert (tmp_path / "file").read_text() == "mine"
