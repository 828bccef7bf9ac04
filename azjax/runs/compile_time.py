"""How long this process has compiled, from the durations that JAX reports."""

import functools
import time

import jax

_EVENTS = "/jax/core/compile/"  # begins the names of tracing, lowering and compiling


class CompileClock:
    """Adds up the time in which JAX traced, lowered and compiled."""

    def __init__(self) -> None:
        self._spans: list[tuple[float, float]] = []  # (start, end), by `time.monotonic()`
        self._earlier = 0.0  # seconds of spans that no later one can contain

    def add(self, event: str, duration_secs: float, **details: object) -> None:
        """Adds an event that ends now. Events inside it, which ended earlier, count once."""
        del details
        if not event.startswith(_EVENTS):
            return
        end = time.monotonic()
        start = end - duration_secs
        while self._spans and self._spans[-1][0] >= start:
            self._spans.pop()
        self._spans.append((start, end))
        if len(self._spans) > 1000:  # nesting is never as deep
            old_start, old_end = self._spans.pop(0)
            self._earlier += old_end - old_start

    def seconds(self) -> float:
        return self._earlier + sum(end - start for start, end in self._spans)


@functools.cache
def compile_clock() -> CompileClock:
    """Returns this process's clock, which starts at the first call."""
    clock = CompileClock()
    jax.monitoring.register_event_duration_secs_listener(clock.add)
    return clock
