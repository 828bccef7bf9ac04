"""Lines of input, read while something else goes on."""

from __future__ import annotations

import collections
import os
import queue
import threading
import time
from collections.abc import Sequence

LONGEST = 2**16
TOO_LONG = "(a line that was too long)"
"""Stands, as this very object, for a line of more than `LONGEST` bytes, of which nothing is kept:
half a command would be another command."""

_WAITING = 1000
_LOOK_S = 0.02


class Lines:
    """The lines that come in by a file descriptor, read by a thread as they come.

    Bytes that are no UTF-8 are replaced. Where nobody takes the lines, no more than a thousand are
    read ahead.
    """

    def __init__(self, descriptor: int):
        self._lines: queue.Queue[str | None] = queue.Queue(_WAITING)
        self._returned: collections.deque[str] = collections.deque()
        # The descriptor itself is read: a thread that waits in Python's own buffered reader holds
        # its lock, and Python could not end.
        threading.Thread(target=_read, args=(descriptor, self._lines), daemon=True).start()

    def next(self) -> str | None:
        """Waits for the next line; None once the input has ended."""
        if self._returned:
            return self._returned.popleft()
        line = self._lines.get()
        if line is None:
            self._lines.put(None)  # it stays ended
        return line

    def wait(self) -> None:
        """Waits until `next` would answer at once."""
        while not self.waiting():
            time.sleep(_LOOK_S)

    def waiting(self) -> bool:
        """Whether `next` would answer at once."""
        return bool(self._returned) or not self._lines.empty()

    def give_back(self, lines: Sequence[str]) -> None:
        """Lines that were taken too early: `next` gives them again, before all others."""
        self._returned.extendleft(reversed(lines))


def _read(descriptor: int, lines: queue.Queue[str | None]) -> None:
    rest, dropping = b"", False
    while True:
        try:
            block = os.read(descriptor, 2**16)
        except OSError:
            block = b""
        if not block:
            break
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            lines.put(TOO_LONG if dropping or len(line) > LONGEST else _text(line))
            dropping = False
        if len(rest) > LONGEST:
            rest, dropping = b"", True
    if rest or dropping:
        lines.put(TOO_LONG if dropping else _text(rest))
    lines.put(None)


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")
