"""What a process does when another process of its run is lost: it prints one line and ends.

JAX aborts all processes of a run when one of them stops answering. It prints the stack of C++, and
its callback for this case fails (`std::bad_cast` in jaxlib 0.10.2). So this module reads what C++
writes to standard error, and handles the signal of the abort.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import jax
from jax._src import distributed

from azjax.errors import FatalError, UserError
from azjax.runs.checkpoint import SaveError

_ANSWER_S = 5.0  # in which every process that lost another one answers
_ANSWERS = "azjax/answers/"
_LAST_S = 2.0
_END_S = 10.0  # in which a process ends that has said why
_ABORT_S = 0.2  # in which the thread reads what was written before an abort
# Lines of C++ about lost processes. XLA's other lines stay.
_LOST_LINE = re.compile(
    rb"coordination_service|preemption_sync_manager|distributed_runtime|distributed/client"
    rb"|CoordinationService|terminate called|what\(\):|[Gg]RPC|grpc|heartbeats|tasks have crashed"
    rb"|stack trace|^\s*@ |^\*\*\* |^\d+\s*$|fatal errors|RPC: /|root cause"
)
_LOST_TASKS = re.compile(rb"unhealthy \(stopped sending heartbeats\):\n((?:\d+\n)+)")
_LOST_PROCESS = re.compile(r"Gloo|NCCL|Connection (closed|reset)|[Hh]eartbeat|UNAVAILABLE|Socket")


@contextlib.contextmanager
def lost_peers_named() -> Iterator[None]:
    """Ends this process with one line and exit code 2 if another process of the run is lost.

    Does nothing if there is only this process.
    """
    if jax.process_count() == 1:
        yield
        return
    says_so = threading.Lock()  # taken once, by the thread that prints the line
    with _abort_in_one_line(says_so):
        try:
            yield
        except (RuntimeError, ValueError) as error:
            # Processes write checkpoints together, so a loss can show as one that was not written.
            own = isinstance(error, UserError) and not isinstance(error, SaveError)
            if own or not _LOST_PROCESS.search(str(error)):
                raise
            lost = _silent_peers()
            if not lost:
                raise
            if not says_so.acquire(blocking=False):
                time.sleep(_END_S)  # JAX has aborted meanwhile: the process is about to end
            raise FatalError(_line(lost)) from error


def _line(lost: list[int]) -> str:
    if not lost:
        who = "another process of the run"
    else:
        who = f"process{'es' * (len(lost) > 1)} {', '.join(map(str, lost))} of the run"
    return (
        f"{who} stopped, so this one stops, too; look at that one's messages, and start all of "
        "them again with azjax resume"
    )


def _silent_peers() -> list[int]:
    """Returns the processes that do not answer, after giving all a time to do so."""
    client: Any = distributed.global_state.client
    try:
        client.key_value_set(f"{_ANSWERS}{jax.process_index()}", "1")
        time.sleep(_ANSWER_S)
        answered = {int(key.rpartition("/")[2]) for key, _ in client.key_value_dir_get(_ANSWERS)}
        _let_others_end_first()
    except Exception:  # process 0 keeps the answers
        return [0]
    return [n for n in range(jax.process_count()) if n not in answered]


def _let_others_end_first() -> None:
    """Keeps process 0 alive for a time. The others would take its end for the first loss."""
    if jax.process_index() == 0:
        time.sleep(_LAST_S)


@contextlib.contextmanager
def _abort_in_one_line(says_so: threading.Lock) -> Iterator[None]:
    """Turns an abort because of a lost process into one line; other aborts stay as they are.

    Args:
      says_so: a lock that is taken before the line is printed. If it is taken already, the line is
        not printed again.
    """
    terminal = os.dup(2)
    reader, writer = os.pipe()
    held: list[bytes] = []  # lines that may be the beginning of an abort
    last = -math.inf  # when the last of them came

    def forward(line: bytes) -> None:
        nonlocal last
        if _LOST_LINE.search(line):
            last = time.monotonic()
        if time.monotonic() - last < _ABORT_S:
            held.append(line)
        else:
            os.write(terminal, line)

    def read() -> None:
        with os.fdopen(reader, "rb", closefd=False) as lines:
            for line in lines:
                forward(line)

    def on_abort(number: int) -> None:
        time.sleep(_ABORT_S)
        text = b"".join(held)
        if not held or b"oordination" not in text:
            os.write(terminal, text)
            return  # and the abort goes on
        found = _LOST_TASKS.search(text)
        lost = [int(n) for n in found[1].split()] if found else []
        unavailable = b"Socket closed" in text or b"UNAVAILABLE" in text
        if not lost and unavailable and jax.process_index() != 0:
            lost = [0]
        if says_so.acquire(blocking=False):
            os.write(terminal, f"azjax: {_line(lost)}\n".encode())
            _let_others_end_first()
        else:
            time.sleep(_END_S)  # the main thread ends the process
        os._exit(2)

    libc: Any = ctypes.CDLL(None)
    libc.signal.restype = ctypes.c_void_p
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(on_abort)
    stderr = sys.stderr
    sys.stderr = own = os.fdopen(os.dup(terminal), "w", buffering=1)
    os.dup2(writer, 2)
    os.close(writer)
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    before = libc.signal(int(signal.SIGABRT), handler)
    lost = False
    try:
        yield
    except FatalError:
        lost = True
        raise
    finally:
        libc.signal(int(signal.SIGABRT), ctypes.c_void_p(before))
        os.dup2(terminal, 2)  # closes the pipe, and so the thread ends
        thread.join(timeout=5)
        if not lost:
            os.write(terminal, b"".join(held))
        sys.stderr = stderr
        own.close()
        if not thread.is_alive():  # a player's program may still write into the pipe
            os.close(reader)
            os.close(terminal)
