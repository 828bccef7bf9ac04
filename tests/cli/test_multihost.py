"""Three processes, one of which is lost: the others name it in one line and end."""

import os
import signal
import subprocess
import sys

import pytest

from azjax.cli import multihost
from azjax.runs.checkpoint import SaveError
from tests import tiny

PROCESS = """
import sys, time
import jax, numpy as np
from jax.experimental.multihost_utils import process_allgather
from azjax.cli.main import COMMANDS, main
from azjax.cli.multihost import lost_peers_named
from azjax.devices import Hosts, join_hosts

def talk(arguments):
    address, number, together = arguments
    join_hosts(Hosts(coordinator=address, num_processes=3, process_id=int(number),
        heartbeat_timeout=10))
    with lost_peers_named(10):
        process_allgather(np.zeros(()))
        print("together", flush=True)
        while True:
            time.sleep(0.05)
            if together == "True":
                process_allgather(np.zeros(()))

COMMANDS["talk"] = talk
sys.exit(main(["talk", *sys.argv[1:]]))
"""


@pytest.mark.parametrize("lost", [1, 0])
@pytest.mark.parametrize("together", [True, False])
def test_the_others_name_a_lost_process_and_end(lost, together):
    """Without messages between them, only JAX's heartbeats notice."""
    address = f"127.0.0.1:{tiny.free_port()}"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, address, str(number), str(together)],
            env={**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    with tiny.killed_at_the_end(*processes):
        for process in processes:
            while "together" not in (line := process.stdout.readline()):
                assert line, process.stderr.read()
        processes[lost].send_signal(signal.SIGKILL)
        for number in {0, 1, 2} - {lost}:
            _, err = processes[number].communicate(timeout=tiny.PATIENCE_S)
            if lost == 0:  # JAX itself aborts those that it leads
                assert processes[number].returncode == -signal.SIGABRT
                assert "leader task was preempted/died/restarted unexpectedly" in err
                continue
            assert tiny.without_notice_of_jax(err) == (
                f"azjax: process {lost} of the run stopped, so this one stops, too; look at that "
                "one's messages, and start all of them again with azjax resume\n"
            )
            assert processes[number].returncode == 2


@pytest.mark.parametrize("lost", [True, False])
def test_a_checkpoint_that_fails_with_a_lost_process_waits_for_its_name(lost, monkeypatch):
    waited = []

    def watch(ended):
        if not ended.wait(0.5 if lost else 60):
            waited.append(True)

    monkeypatch.setattr(multihost.jax, "process_count", lambda: 2)
    monkeypatch.setattr(multihost, "_watch", watch)
    monkeypatch.setattr(multihost.time, "sleep", lambda seconds: None)
    reason = "Gloo AllGather failed: Connection reset by peer" if lost else "No space left"
    with pytest.raises(SaveError, match="cycle 20"), multihost.lost_peers_named(10):
        raise SaveError(f"the checkpoint of cycle 20 could not be written ({reason})")
    assert waited == [True] * lost
