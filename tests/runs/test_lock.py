"""One process trains a run at a time."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from azjax.errors import UserError
from azjax.running.loop import resume, train
from azjax.runs.lock import LOCK_FILES, run_lock
from tests import tiny

HOLDER = """
import sys, time
from pathlib import Path
from azjax.runs.lock import run_lock
with run_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of a run directory."""
    run = tmp_path / "run"
    run.mkdir()
    command = [sys.executable, "-c", textwrap.dedent(HOLDER), str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield run, process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_refused_until_the_first_is_gone(holder):
    run, process = holder
    with pytest.raises(UserError) as caught, run_lock(run):
        pass
    assert str(caught.value) == (
        f"{run}: another process trains this run (process {process.pid}); wait for it, stop it, or "
        "choose another directory"
    )
    os.kill(process.pid, signal.SIGKILL)  # no chance to clean up
    process.wait()
    with run_lock(run):
        assert (run / LOCK_FILES[1]).read_text() == f"{os.getpid()}\n"
    with run_lock(run):  # released at the end
        pass


def test_neither_train_nor_resume_touches_a_run_that_is_trained(holder):
    run, _ = holder
    with pytest.raises(UserError, match="another process trains this run"):
        train(tiny.config(), run)
    tiny.write_config(run / "config.toml")
    with pytest.raises(UserError, match="another process trains this run"):
        resume(run)
    assert {file.name for file in run.iterdir()} == {*LOCK_FILES, "config.toml"}
