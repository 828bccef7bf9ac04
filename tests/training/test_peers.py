"""Three processes, one of which is lost: the others name it in one line and end."""

import contextlib
import os
import signal
import subprocess
import sys

import jax
import pytest

from azjax.errors import FatalError
from azjax.runs.checkpoint import SaveError
from azjax.training import peers
from tests import tiny

PROCESS = """
import sys, time
import jax, numpy as np
from jax.experimental.multihost_utils import process_allgather
from azjax.cli.main import COMMANDS, main
from azjax.devices import Hosts, join_hosts
from azjax.training.peers import lost_peers_named

def talk(arguments):
    address, number, together = arguments
    join_hosts(Hosts(coordinator=address, num_processes=3, process_id=int(number),
        heartbeat_timeout=10))
    with lost_peers_named():
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
            assert err == (
                f"azjax: process {lost} of the run stopped, so this one stops, too; look at that "
                "one's messages, and start all of them again with azjax resume\n"
            )
            assert processes[number].returncode == 2


def fail_to_save(message):
    raise SaveError(
        f"runs/a/checkpoints: the checkpoint of cycle 20 could not be written ({message})"
    )


@pytest.mark.parametrize(
    ("message", "silent", "expected"),
    [
        (
            "ValueError: UNKNOWN: Gloo AllGather failed: Connection reset by peer",
            [1],
            "process 1 of",
        ),
        ("ValueError: UNKNOWN: Gloo AllGather failed: Connection reset by peer", [], "cycle 20"),
        ("OSError: No space left on device", [1], "cycle 20"),
    ],
)
def test_a_process_lost_while_a_checkpoint_is_written(message, silent, expected, monkeypatch):
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr(peers, "_silent_peers", lambda: silent)
    monkeypatch.setattr(peers, "_abort_in_one_line", contextlib.nullcontext)
    with pytest.raises(FatalError, match=expected), peers.lost_peers_named():
        fail_to_save(message)


@pytest.mark.parametrize("aborted", [False, True])
def test_a_process_says_only_once_what_was_lost(aborted, monkeypatch):
    """JAX may abort while the process still asks which of the others was lost."""
    waited = []

    def abort_in_one_line(says_so):
        assert not aborted or says_so.acquire(blocking=False)
        return contextlib.nullcontext()

    monkeypatch.setattr(jax, "process_count", lambda: 2)
    monkeypatch.setattr(peers, "_silent_peers", lambda: [1])
    monkeypatch.setattr(peers, "_abort_in_one_line", abort_in_one_line)
    monkeypatch.setattr(peers.time, "sleep", waited.append)
    with pytest.raises(FatalError), peers.lost_peers_named():
        fail_to_save("Connection reset by peer")
    assert waited == [peers._END_S] * aborted
