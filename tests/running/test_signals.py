import json
import os
import re
import signal
import time

import pytest

from azjax.config.toml import load_config, save_config
from azjax.evaluation.match import play_match
from azjax.running import stop_signals
from azjax.running.loop import resume, train
from azjax.running.saved_state import restore_state
from azjax.running.stop_signals import StopSignals
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.metrics import read_metrics
from tests import tiny
from tests.running.whole_runs import QUIET, at_cycle, console, newest_cycle, restore

pytestmark = pytest.mark.usefixtures("compile_once")


def test_a_signal_stops_after_the_cycle_that_was_started(ahead, tmp_path, monkeypatch):
    config = tiny.config(checkpoint={"every": 6}, **QUIET)
    at_cycle(monkeypatch, 2, lambda: os.kill(os.getpid(), signal.SIGTERM))
    state = train(config, tmp_path / "run", console=console())
    assert int(state.cycle) == 3
    assert [x["cycle"] for x in read_metrics(tmp_path / "run")] == [1, 2, 3]
    tiny.assert_equal(state, restore(tmp_path / "run", config))
    straight = train(config, tmp_path / "straight", console=console())
    tiny.assert_equal(straight, resume(tmp_path / "run", console=console()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_leaves(number, tmp_path, monkeypatch):
    config = tiny.config(**QUIET)
    before = signal.getsignal(number)
    at_cycle(monkeypatch, 2, lambda: os.kill(os.getpid(), number))
    out = console()
    state = train(config, tmp_path / "run", console=out)
    assert int(state.cycle) == 2
    assert f"azjax resume {tmp_path / 'run'}" in out.file.getvalue()
    assert signal.getsignal(number) is before
    tiny.assert_equal(state, restore(tmp_path / "run", config))
    straight = train(config, tmp_path / "straight", console=console())
    tiny.assert_equal(straight, resume(tmp_path / "run", console=console()))


def test_a_signal_in_the_last_cycle_leaves_nothing_to_resume(tmp_path, monkeypatch):
    at_cycle(monkeypatch, 6, lambda: os.kill(os.getpid(), signal.SIGTERM))
    out = console()
    train(tiny.config(), tmp_path / "run", console=out)
    assert f"azjax report {tmp_path / 'run'}" in out.file.getvalue()
    assert "azjax resume" not in out.file.getvalue()
    assert newest_cycle(tmp_path / "run") == 6
    evaluated = [x["cycle"] for x in read_metrics(tmp_path / "run") if x["kind"] == "eval"]
    assert evaluated == [0, 3]


@pytest.mark.parametrize("cycle", [0, 3])
def test_a_signal_gives_the_evaluation_up(cycle, tmp_path, monkeypatch):
    matches = [play_match] if cycle else []  # before the endless one

    def endless_match(*arguments, **options):
        if matches:
            return matches.pop()(*arguments, **options)
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100 * tiny.PATIENCE_S):
            time.sleep(0.01)
        pytest.fail("not interrupted")

    config, out = tiny.config(), console()
    straight = tiny.on_host(train(config, tmp_path / "straight", console=console()))
    with monkeypatch.context() as patched:
        patched.setattr("azjax.running.evaluation.play_match", endless_match)
        state = train(config, tmp_path / "run", console=out)
    assert int(state.cycle) == newest_cycle(tmp_path / "run") == cycle
    assert [x["cycle"] for x in read_metrics(tmp_path / "run")] == list(range(cycle + 1))[
        : 4 * cycle
    ]
    said = f"stopped after cycle {cycle}, without its evaluation; continue with: azjax resume"
    assert said in out.file.getvalue()
    assert not (tmp_path / "run" / "plots").exists()
    tiny.assert_equal(straight, resume(tmp_path / "run", console=console()))
    evaluated = [x["cycle"] for x in read_metrics(tmp_path / "run") if x["kind"] == "eval"]
    assert evaluated == ([0, 6] if cycle else [0, 3, 6])
    if cycle:  # the evaluation was not counted
        with Checkpoints(tmp_path / "run", read_only=True) as checkpoints:
            assert checkpoints.best() == 6


def test_two_signals_together_are_one_and_a_later_one_interrupts(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(stop_signals.time, "monotonic", lambda: now[0])
    with StopSignals() as stopping:
        assert not stopping
        for later in (0.0, 0.2):
            now[0] += later
            os.kill(os.getpid(), signal.SIGTERM)
            assert stopping
        now[0] += 1.0
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt), stopping.interrupt():
            pytest.fail("a signal came before")


def test_signals_and_a_kill_of_a_real_process(tmp_path):
    """A run that is stopped by Ctrl-C, SIGTERM and SIGKILL ends like one without stops."""
    changes = {"cycles": 150, "checkpoint": {"every": 10}, **QUIET}
    file = tiny.write_config(tmp_path / "tiny.toml", **changes)
    run = tmp_path / "run"
    stops = []
    for number, command in [
        (signal.SIGINT, ("train", file, "--run-dir", run)),
        (signal.SIGTERM, ("resume", run)),
        (signal.SIGKILL, ("resume", run)),
    ]:
        # Each part of the run makes some cycles.
        target = (stops[-1] if stops else 0) // 10 * 10 + 10
        process = tiny.start_azjax(*command)
        with tiny.killed_at_the_end(process):
            tiny.wait_until((run / "checkpoints" / str(target)).is_dir, process)
            process.send_signal(number)
            out, err = process.communicate(timeout=tiny.PATIENCE_S)
        cycle = newest_cycle(run)
        assert cycle < 150, "too fast for this test"
        if number == signal.SIGKILL:
            assert process.returncode == -number
            assert cycle % 10 == 0
        else:
            assert process.returncode == 0, err
            assert err == ""
            said = re.search(r"stopped after cycle (\d+); continue with: azjax resume (\S+)", out)
            assert said, out
            assert (int(said[1]), said[2]) == (cycle, str(run))
        stops.append(cycle)
    assert stops[0] < stops[1] < stops[2]
    code, out, err = tiny.run_azjax("resume", run)
    assert (code, err) == (0, "")
    config = load_config(run / "config.toml")
    trainer = tiny._trainer(config, 1)
    state = tiny.start(trainer, config.seed)
    for _ in range(150):
        state, _ = trainer.cycle(state)
    with Checkpoints(run, read_only=True) as checkpoints:
        restored = restore_state(checkpoints, trainer.abstract_state(), warn=pytest.fail)
    assert int(restored.cycle) == 150
    tiny.assert_equal(state, restored)
    assert [x["cycle"] for x in read_metrics(run)] == list(range(1, 151))


def test_a_real_process_gives_a_long_evaluation_up_and_a_second_signal_ends_it(tmp_path):
    changes = {"network": {**tiny.VALUES["network"], "channels": 64}}
    evaluation = {"games": 40_000, "num_simulations": 64}  # minutes
    file = tiny.write_config(tmp_path / "tiny.toml", evaluation=evaluation, **changes)
    run = tmp_path / "run"
    process = tiny.start_azjax("train", file, "--run-dir", run)
    with tiny.killed_at_the_end(process):
        tiny.wait_until(lambda: starts_of(run), process)
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=tiny.PATIENCE_S)
    assert (process.returncode, err) == (0, "")
    assert (
        f"stopped after cycle 0, without its evaluation; continue with: azjax resume {run}" in out
    )
    assert lines_of(run) == []
    assert newest_cycle(run) == 0

    # Cycle 1 takes minutes now. The first signal would stop the run after it. Gumbel's search would
    # be long to trace, because of its table of visits.
    long = {"algorithm": "puct", "num_simulations": 200_000}
    config = load_config(run / "config.toml", {"search": long, "evaluation": {"every": 0}})
    save_config(config, run / "config.toml")
    process = tiny.start_azjax("resume", run)
    with tiny.killed_at_the_end(process):
        tiny.wait_until(lambda: len(starts_of(run)) == 2, process)
        for _ in range(2):
            time.sleep(1)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=tiny.PATIENCE_S)
    ended = f"azjax: ended at once; azjax resume {run} continues from the last checkpoint\n"
    assert (process.returncode, err) == (130, ended)
    assert lines_of(run) == []
    tiny.assert_equal(restore(run, tiny.config(**changes)), restore(run, config))
    assert newest_cycle(run) == 0


def lines_of(run):
    return read_metrics(run) if (run / "metrics.jsonl").is_file() else []


def starts_of(run):
    if not (run / "metrics.jsonl").is_file():
        return []
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [line for line in lines if line["kind"] == "start"]
