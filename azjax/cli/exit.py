"""Ends of this process that wait for nothing."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

from rich.console import Console

from azjax.running.stop_signals import STOPPING, TOGETHER_S


def exit_at_once(code: int) -> None:
    """Ends the process without waiting for its threads."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def end_saying(last_words: str, code: int) -> None:
    """Ends the process at once, after a line on standard error."""
    Console().show_cursor()  # the live display hides it
    print(last_words, file=sys.stderr)
    exit_at_once(code)


@contextlib.contextmanager
def second_signal_ends(last_words: str) -> Iterator[None]:
    """Ends the process at the second Ctrl-C or SIGTERM, whatever it computes, after a last line.

    Python handles a signal only after the compiled call that runs. A thread learns of it at once.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    except ValueError:  # outside of the main thread
        os.close(reading)
        os.close(writing)
        yield
        return
    thread = threading.Thread(target=_end_at_second, args=(reading, last_words), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writing)
        thread.join()
        os.close(reading)


def _end_at_second(reading: int, last_words: str) -> None:
    first = None
    while number := os.read(reading, 1):
        if number[0] not in STOPPING:
            continue
        now = time.monotonic()
        first = now if first is None else first
        if now - first > TOGETHER_S:
            end_saying(last_words, 128 + number[0])
