"""Two processes, one device each, that find each other on this machine."""

import contextlib
import re
import signal

import numpy as np
import pytest

from azjax.config.toml import load_config
from azjax.running.saved_state import restore_state
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.metrics import read_metrics
from tests import tiny

HEARTBEAT_S = 10
CHANGES = {"cycles": 120, "checkpoint": {"every": 10}, "evaluation": {"every": 60}}


@contextlib.contextmanager
def two(*command):
    """Starts both processes of a run, and kills them at the end of the context."""
    address = f"127.0.0.1:{tiny.free_port()}"
    processes = [
        tiny.start_azjax(
            *command,
            *("--coordinator", address, "--num-processes", 2, "--process-id", number),
            *("--heartbeat-timeout", HEARTBEAT_S),
        )
        for number in range(2)
    ]
    with tiny.killed_at_the_end(*processes):
        yield processes


def finish(processes):
    """Returns the exit codes and outputs of both."""
    outputs = [p.communicate(timeout=tiny.PATIENCE_S) for p in processes]
    return [
        (p.returncode, out, tiny.without_notice_of_jax(err))
        for p, (out, err) in zip(processes, outputs, strict=True)
    ]


def final_state(run_dir):
    config = load_config(run_dir / "config.toml")
    trainer = tiny._trainer(config, 2)
    with Checkpoints(run_dir, read_only=True) as checkpoints:
        return tiny.on_host(restore_state(checkpoints, trainer.abstract_state(), warn=pytest.fail))


@pytest.mark.slow
def test_two_processes_train_one_is_killed_and_both_resume(tmp_path):
    file = tiny.write_config(tmp_path / "tiny.toml", **CHANGES)
    run = tmp_path / "run"
    with two("train", file, "--run-dir", run) as processes:
        tiny.wait_until((run / "checkpoints" / "10").is_dir, *processes)
        processes[1].send_signal(signal.SIGKILL)
        # It ends by itself, within the heartbeat's timeout and the time to shut down.
        _, err = processes[0].communicate(timeout=3 * HEARTBEAT_S)
        err = tiny.without_notice_of_jax(err)
        assert re.fullmatch(r"azjax: process 1 of the run stopped, .*azjax resume.*\n", err), err
        assert processes[0].returncode == 2
    assert not (run / "checkpoints" / "120").exists(), "too fast for this test"

    with two("resume", run) as processes:
        for code, _, err in finish(processes):
            assert (code, err) == (0, "")
    # Two processes of one device, killed and resumed, equal one process of two devices.
    trainer = tiny.trainer(2, **CHANGES)
    state = tiny.start(trainer)
    for _ in range(120):
        state, _ = trainer.cycle(state)
    tiny.assert_equal(final_state(run), state)
    assert all(np.isfinite(x).all() for x in tiny.leaves(state.learner.variables).values())
    assert [x["cycle"] for x in read_metrics(run) if x["kind"] == "cycle"] == list(range(1, 121))

    # Both refuse a directory that is not empty, and one says why.
    with two("train", file, "--run-dir", run) as processes:
        for code, _, err in finish(processes):
            assert code == 2
            assert re.fullmatch(r"azjax: .*(not empty|another process).*\n", err)
