"""Calm lines in place of XLA's alarms about slow compilations, on standard error.

XLA offers no option for them. They are logged as errors, so a lower log level would hide errors,
too. Instead, a small process reads what this one's libraries write to standard error, rewrites the
alarms and passes everything else on. It is a process and not a thread because it must also pass on
what a library says just before it aborts.
"""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import threading

_LOGGED = re.compile(rb"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w.]+:\d+\] ")  # begins a message
_ALARM = re.compile(_LOGGED.pattern.replace(rb"[\w.]+", rb"slow_operation_alarm\.cc") + rb"(.*)")
_TOOK = re.compile(rb"The operation took ([\dhms.]+)")
_MODULE = re.compile(rb"Compiling module (?:jit_)?([^\s\]]+)")
_SLOW_COMPILATION, _SLOW_CONSTANT = b"Very slow compile", b"Constant folding"
_LAST_WORDS = b"attach the results."
_MAX_LINES = 20  # of an alarm
_WAIT_S = 0.2  # for the rest of a line


def announce_slow_compilations() -> None:
    """Lets a process rewrite XLA's alarms until this process ends.

    Python's own standard error stays as it is. Must be called before other threads start.
    """
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return
    try:
        original = os.dup(2)
        reading, writing = os.pipe()
    except OSError:  # no standard error, or too many open files
        return
    sys.stderr.flush()
    if os.fork() == 0:
        try:
            _rewrite(reading, writing, original)
        finally:
            os._exit(0)
    os.close(reading)
    os.dup2(writing, 2)
    os.close(writing)
    encoding = sys.stderr.encoding
    sys.stderr = os.fdopen(original, "w", buffering=1, encoding=encoding, errors="backslashreplace")


class AlarmRewriter:
    """Rewrites the alarms in a stream of lines."""

    def __init__(self) -> None:
        self._alarm: list[bytes] = []  # the lines of an unfinished alarm

    def line(self, line: bytes) -> bytes:
        """Returns what to write for the next line, which may be nothing yet."""
        if not self._alarm:
            if not _ALARM.match(line):
                return line
            self._alarm.append(line)
            return b""
        if _LOGGED.match(line) or len(self._alarm) == _MAX_LINES:  # not an alarm as we know them
            return self.rest() + self.line(line)
        self._alarm.append(line)
        text = b"".join(self._alarm)
        framed = b"\n****" in text
        if _LAST_WORDS not in text or (framed and not line.startswith(b"****")):
            return b""
        self._alarm = []
        return _calm(text)

    def rest(self) -> bytes:
        """Returns the lines of an unfinished alarm as they were."""
        text, self._alarm = b"".join(self._alarm), []
        return text

    @property
    def within_alarm(self) -> bool:
        """Whether the next line belongs to an alarm."""
        return bool(self._alarm)


def _calm(alarm: bytes) -> bytes:
    """Returns a line in place of an alarm; nothing for a slow constant, which takes seconds."""
    if _SLOW_CONSTANT in alarm:
        return b""
    if _SLOW_COMPILATION not in alarm:
        return alarm
    module = _MODULE.search(alarm)
    name = module[1] if module else b"a program"
    if took := _TOOK.search(alarm):
        return b"azjax: %s is compiled, after %s\n" % (name, took[1])
    return (
        b"azjax: compiling %s takes more than two minutes; this is usual for large networks and "
        b"searches, and happens once\n" % name
    )


def _rewrite(reading: int, writing: int, original: int) -> None:
    """Copies from one file descriptor to another until all writers are gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.close(writing)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # those who wait for their end wait for the other process only
        os.dup2(nowhere, number)
    rewriter, partial = AlarmRewriter(), b""
    while True:
        if (
            partial
            and not rewriter.within_alarm
            and not select.select([reading], [], [], _WAIT_S)[0]
        ):
            _write(original, partial)  # such as a prompt
            partial = b""
        data = os.read(reading, 1 << 16)
        if not data:
            break
        *lines, partial = (partial + data).split(b"\n")
        _write(original, b"".join(rewriter.line(line + b"\n") for line in lines))
    _write(original, rewriter.rest() + partial)


def _write(to: int, data: bytes) -> None:
    while data:
        try:
            data = data[os.write(to, data) :]
        except OSError:  # nobody reads any more; the other process must still be able to write
            return
