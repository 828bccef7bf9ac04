"""A program that answers lines with lines, and that ends when nobody needs it any more."""

from __future__ import annotations

import collections
import contextlib
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from azjax.errors import UserError

# Debian keeps games where the PATH of a service may not look.
_GAMES = "/usr/games:/usr/local/games"
# The programs whose package on Debian is known; it has the same name.
_PACKAGES = ("gnugo", "stockfish", "fairy-stockfish")
_FAREWELL_S = 1.0


class EngineProcess:
    """One running engine: `send` it lines, then `read` what it answers.

    It ends with `close`, with this object, or with Python, whichever comes first.

    Args:
      command: the program and its arguments.
      timeout: seconds from `send` until all that is read has to be there.

    Raises:
      UserError: the program is not there or cannot be started. Later on, `read` raises one where no
        line comes in time or the program has ended; the process is over then.
    """

    def __init__(self, command: Sequence[str], *, timeout: float):
        self.name = Path(command[0]).name
        self._timeout = timeout
        self._deadline = 0.0
        self._asked = ""
        try:
            self._process = subprocess.Popen(
                [find_program(command[0]), *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                # Ctrl-C is for azjax, which then ends the engine and all that it has started.
                start_new_session=True,
            )
        except OSError as error:
            raise UserError(f"{command[0]}: cannot be started: {error.strerror}") from error
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._last: collections.deque[str] = collections.deque(maxlen=2)
        _in_background(_read_lines, self._process.stdout, self._lines)
        self._complaints = _in_background(_keep_last, self._process.stderr, self._last)
        # Neither this nor the threads refer to the object itself, which may so be collected.
        self._end = weakref.finalize(self, _end, self._process)

    def send(self, lines: Sequence[str]) -> None:
        """Writes lines; the time for the answers begins."""
        self._asked = lines[-1]
        self._deadline = time.monotonic() + self._timeout
        # That it has ended, or was closed, is said by `read`, and with better words.
        with contextlib.suppress(BrokenPipeError, ValueError):
            self._process.stdin.write("".join(f"{line}\n" for line in lines))
            self._process.stdin.flush()

    def read(self) -> str:
        """The next line, without blanks at its end."""
        try:
            line = self._lines.get(timeout=max(self._deadline - time.monotonic(), 0))
        except queue.Empty:
            raise self.failure(
                f"no answer to {self._asked!r} within {self._timeout:g} s (?timeout=SECONDS "
                "changes that)"
            ) from None
        if line is None:
            self._lines.put(None)  # it stays ended
            self._complaints.join(_FAREWELL_S)
            last_words = f"; it said: {' '.join(self._last)}" if self._last else ""
            raise self.failure(f"it ended when it was sent {self._asked!r}{last_words}")
        return line.rstrip()

    def failure(self, reason: str) -> UserError:
        """What to raise where the engine cannot go on; it is ended."""
        self.close()
        return UserError(f"engine {self.name}: {' '.join(reason.split())}")

    def close(self) -> None:
        self._end()


def find_program(name: str) -> str:
    """Where a program is. UserError where it is not."""
    found = shutil.which(name) or shutil.which(name, path=_GAMES)
    if found is None:
        hint = f"; Debian: apt install {name}" if name in _PACKAGES else ""
        raise UserError(f"engine {name}: not found{hint}")
    return found


def _in_background(read, stream: IO[str], into) -> threading.Thread:
    thread = threading.Thread(target=read, args=(stream, into), daemon=True)
    thread.start()
    return thread


def _read_lines(stream: IO[str], into: queue.SimpleQueue) -> None:
    with stream:
        for line in stream:
            into.put(line)
    into.put(None)


def _keep_last(stream: IO[str], into: collections.deque) -> None:
    with stream:
        into.extend(line for line in stream if line.strip())


def _end(process: subprocess.Popen) -> None:
    """The end of its input tells an engine to quit; one that does not listen is killed."""
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(_FAREWELL_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
