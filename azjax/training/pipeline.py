"""The cycles of a run that are on the device, and their metrics on the way to the host."""

import collections
import time

import jax
import jax.numpy as jnp

from azjax.sharding import local
from azjax.training.state import TrainState
from azjax.training.trainer import Trainer
from azjax.types import Array, Metrics


class Pipeline:
    """The cycles that were started and whose metrics were not read yet.

    Where the next cycle is started before the metrics of the last one are read, the device never
    waits for the host. But a cycle takes its state's arrays over. So whatever needs `state`, that
    after the last cycle started, must be done before the next cycle is started.
    """

    def __init__(self, trainer: Trainer, state: TrainState, cycle: int) -> None:
        self.state = state
        self._trainer, self._newest, self._read_at = trainer, cycle, 0.0
        self._unread: collections.deque[tuple[float, MetricsInFlight]] = collections.deque()

    def start(self, newest: int) -> None:
        """Starts the cycles up to number `newest` that were not started before."""
        while self._newest < newest:
            started = time.perf_counter()
            self.state, metrics = self._trainer.cycle(self.state)
            self._unread.append((started, MetricsInFlight(metrics)))
            self._newest += 1

    def read(self) -> dict[str, float]:
        """Waits for the oldest cycle whose metrics were not read; returns them, with its time."""
        started, metrics = self._unread.popleft()
        values = metrics.read()
        # A cycle that was started early began when the one before ended.
        began, self._read_at = max(started, self._read_at), time.perf_counter()
        return values | {"time/cycle_s": self._read_at - began}


class MetricsInFlight:
    """Metrics, the same on all devices, in one array, which reaches the host in one transfer."""

    def __init__(self, metrics: Metrics) -> None:
        self._names, self._values = list(metrics), _stack(list(local(metrics).values()))

    def read(self) -> dict[str, float]:
        return dict(zip(self._names, jax.device_get(self._values).tolist(), strict=True))


@jax.jit
def _stack(values: list[Array]) -> Array:
    return jnp.stack([x.astype(jnp.float32) for x in values])
