"""SIGTERM and Ctrl-C, which stop a run where it can be continued."""

import contextlib
import signal
import time
from collections.abc import Iterator
from typing import Any, Self

TOGETHER_S = 0.5
"""Signals within this time count as one: `timeout` and job managers send theirs twice."""
STOPPING = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """A context manager that notes the first signal; a second one raises `KeyboardInterrupt`.

    It is true once there was a signal. Outside of the main thread, as in some notebooks, signals
    cannot be caught.
    """

    def __init__(self) -> None:
        self._first: float | None = None
        self._interrupts = False
        self._handlers: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self._first is not None

    def __enter__(self) -> Self:
        with contextlib.suppress(ValueError):  # outside of the main thread
            self._handlers = {n: signal.signal(n, self._receive) for n in STOPPING}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def interrupt(self) -> Iterator[None]:
        """Lets already the first signal raise `KeyboardInterrupt`, also if it came before."""
        try:
            self._interrupts = not self
            if self:
                raise KeyboardInterrupt
            yield
        finally:
            self._interrupts = False

    def _receive(self, number: int, frame: Any) -> None:
        del number, frame
        now = time.monotonic()
        first = self._first = now if self._first is None else self._first
        if self._interrupts or now - first > TOGETHER_S:
            self._interrupts = False
            raise KeyboardInterrupt
