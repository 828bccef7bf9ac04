"""A program that answers lines with lines, and ends when it is no longer needed."""

import collections
import contextlib
import os
import queue
import shutil
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import IO, Any

from azjax.errors import UserError

# Debian installs games here, outside of the PATH of a service.
_GAMES_PATH = "/usr/games:/usr/local/games"
_PACKAGES = {  # Debian's, by the program
    "gnugo": "gnugo",
    "stockfish": "stockfish",
    "fairy-stockfish": "fairy-stockfish",
    "gtp-rhino": "grhino",
}
_QUIT_S = 1.0  # for an engine to end by itself


class EngineProcess:
    """One running engine: `send` it lines, then `read` its answers.

    It ends with `close`, with this object, or with Python, whichever comes first. It has `timeout`
    seconds from `send` until the last line of the answers.

    Raises:
      UserError: the program is missing or cannot be started. `read` raises it when no line comes in
        time or the program has ended; the process is ended then.
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
                # Ctrl-C goes to azjax alone, which then ends the engine and its children.
                start_new_session=True,
            )
        except OSError as error:
            raise UserError(f"{command[0]}: cannot be started: {error.strerror}") from error
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._last: collections.deque[str] = collections.deque(maxlen=2)
        _in_background(_read_lines, self._process.stdout, self._lines)
        self._complaints = _in_background(_keep_last, self._process.stderr, self._last)
        # Neither this nor the threads refer to the object itself, so it can be collected.
        self._end = weakref.finalize(self, _end, self._process)

    @property
    def ended(self) -> bool:
        """Whether the engine has ended."""
        return self._process.poll() is not None

    def send(self, lines: Sequence[str]) -> None:
        """Writes lines and starts the clock for the answers."""
        self._asked = lines[-1]
        self._deadline = time.monotonic() + self._timeout
        # `read` reports an engine that has ended or was closed, with a better message.
        with contextlib.suppress(BrokenPipeError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.write("".join(f"{line}\n" for line in lines))
            self._process.stdin.flush()

    def read(self) -> str:
        """Returns the next line, without trailing blanks."""
        try:
            line = self._lines.get(timeout=max(self._deadline - time.monotonic(), 0))
        except queue.Empty:
            raise self.failure(
                f"no answer to {self._asked!r} within {self._timeout:g} s (the option "
                "?timeout=SECONDS changes this)"
            ) from None
        if line is None:
            self._lines.put(None)  # later reads report the end, too
            self._complaints.join(_QUIT_S)
            last_words = f"; its last lines: {' '.join(self._last)}" if self._last else ""
            raise self.failure(f"it ended when it was sent {self._asked!r}{last_words}")
        return line.rstrip()

    def failure(self, reason: str) -> UserError:
        """Ends the engine, and returns the error to raise."""
        self.close()
        return UserError(f"engine {self.name}: {' '.join(reason.split())}")

    def close(self) -> None:
        """Ends the engine."""
        self._end()


def find_program(name: str) -> str:
    """Returns the path of a program.

    Raises:
      UserError: it is not installed.
    """
    found = shutil.which(name) or shutil.which(name, path=_GAMES_PATH)
    if found is None:
        hint = f"; Debian: apt install {_PACKAGES[name]}" if name in _PACKAGES else ""
        raise UserError(f"engine {name}: not found{hint}")
    return found


def _in_background(read: Callable[[IO[str], Any], None], stream: IO[str], into: Any) -> Thread:
    thread = Thread(target=read, args=(stream, into), daemon=True)
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
    """Closes the input, so that the engine quits, and kills one that does not."""
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.close()
    try:
        process.wait(_QUIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
