"""The cycles of a run that are on the device, and their metrics on the way to the host."""

import collections
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

import jax
import jax.numpy as jnp

from azjax.sharding import local
from azjax.training import Trainer, TrainState
from azjax.types import Array, Metrics


class MetricsInFlight:
    """Metrics, the same on all devices, in one array, which reaches the host in one transfer."""

    def __init__(self, metrics: Metrics) -> None:
        here = local(metrics)
        self._names, self._values = list(here), _stack(list(here.values()))

    def read(self) -> dict[str, float]:
        return dict(zip(self._names, jax.device_get(self._values).tolist(), strict=True))


@jax.jit
def _stack(values: list[Array]) -> Array:
    return jnp.stack([x.astype(jnp.float32) for x in values])


class Pipeline:
    """The cycles that were started and whose metrics were not read yet.

    Where the next cycle is started before the metrics of the last one are read, the device never
    waits for the host. But a cycle takes its state's arrays over. So whatever needs `state`, that
    after the last cycle started, must be done before the next cycle is started.

    A GPU's host sends kernels for almost as long as they run. So a thread of its own starts the
    cycles there, while the metrics are logged. Several processes have no such thread, because they
    must send their messages and cycles in the same order.
    """

    def __init__(self, trainer: Trainer, state: TrainState, cycle: int) -> None:
        self._state, self._trainer, self._newest, self._read_at = state, trainer, cycle, 0.0
        self.ahead = False  # whether the cycle after the newest one read was started
        self.metrics: dict[str, float] = {}  # of the newest cycle read
        in_thread = trainer.asynchronous and jax.process_count() == 1
        self._thread = ThreadPoolExecutor(1) if in_thread else None
        self._unread: collections.deque[tuple[float, Future[MetricsInFlight]]] = collections.deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)

    @property
    def state(self) -> TrainState:
        """The state after the newest cycle that was started."""
        if self._unread:
            self._unread[-1][1].result()
        return self._state

    @state.setter
    def state(self, state: TrainState) -> None:
        self._state = state

    def until(self, last: int, needs_state: Callable[[int], bool]) -> Iterator[int]:
        """Runs the cycles up to number `last`; yields the number of each when it has ended.

        If `needs_state` says that nothing needs the state after a cycle, and steps are
        asynchronous, the next cycle is started before this one's metrics are read.
        """
        for cycle in range(self._newest + 1, last + 1):
            self.ahead = self._trainer.asynchronous and not needs_state(cycle)
            self.start(cycle + self.ahead)
            self.metrics = self.read()
            yield cycle

    def start(self, newest: int) -> None:
        """Starts the cycles up to number `newest` that were not started before."""
        while self._newest < newest:
            started = time.perf_counter()
            if self._thread is not None:
                metrics = self._thread.submit(self._cycle)
            else:
                metrics = Future[MetricsInFlight]()
                metrics.set_result(self._cycle())
            self._unread.append((started, metrics))
            self._newest += 1

    def _cycle(self) -> MetricsInFlight:
        self._state, metrics = self._trainer.cycle(self._state)
        return MetricsInFlight(metrics)

    def read(self) -> dict[str, float]:
        """Waits for the oldest cycle whose metrics were not read; returns them, with its time."""
        started, metrics = self._unread.popleft()
        values = metrics.result().read()
        # A cycle that was started early began when the one before ended.
        began, self._read_at = max(started, self._read_at), time.perf_counter()
        return values | {"time/cycle_s": self._read_at - began}
