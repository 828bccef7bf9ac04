"""Lines of input, read by a thread while the program does something else."""

import collections
import os
import queue
import threading
import time
from collections.abc import Sequence

MAX_BYTES = 2**16
TOO_LONG = "(a line that was too long)"
"""This very object replaces a line of more than `MAX_BYTES` bytes. Nothing of the line is kept,
because half a command would be another command."""

_MAX_WAITING = 1000
_POLL_S = 0.02


class Lines:
    """The lines of a file descriptor, read by a thread as they come.

    Bytes that are not UTF-8 are replaced. At most a thousand lines are read ahead.
    """

    def __init__(self, descriptor: int):
        self._lines: queue.Queue[tuple[float, str | None]] = queue.Queue(_MAX_WAITING)
        self._returned: collections.deque[str] = collections.deque()
        self.arrived = time.monotonic()
        """When the line came to the thread that `next` returned last, by `time.monotonic()`."""
        # Reads the descriptor itself. A thread that waits in Python's own buffered reader holds
        # its lock, and Python could not exit.
        threading.Thread(target=_read, args=(descriptor, self._lines), daemon=True).start()

    def next(self) -> str | None:
        """Waits for the next line; returns None at the end of the input."""
        if self._returned:
            self.arrived = time.monotonic()  # it has waited long enough
            return self._returned.popleft()
        self.arrived, line = self._lines.get()
        if line is None:
            self._lines.put((self.arrived, None))  # further calls return None too
        return line

    def wait(self) -> None:
        """Waits until `next` returns at once."""
        while not self.waiting():
            time.sleep(_POLL_S)

    def waiting(self) -> bool:
        """Returns whether `next` returns at once."""
        return bool(self._returned) or not self._lines.empty()

    def give_back(self, lines: Sequence[str]) -> None:
        """Puts lines back, so that `next` returns them before all others."""
        self._returned.extendleft(reversed(lines))


def _read(descriptor: int, lines: queue.Queue[tuple[float, str | None]]) -> None:
    rest, dropping = b"", False

    def put(line: str | None) -> None:
        lines.put((time.monotonic(), line))

    while True:
        try:
            block = os.read(descriptor, 2**16)
        except OSError:
            block = b""
        if not block:
            break
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            put(TOO_LONG if dropping or len(line) > MAX_BYTES else _text(line))
            dropping = False
        if len(rest) > MAX_BYTES:
            rest, dropping = b"", True
    if rest or dropping:
        put(TOO_LONG if dropping else _text(rest))
    put(None)


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")
