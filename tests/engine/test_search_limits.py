"""The limits of anytime searches, with a clock that only simulations advance."""

import dataclasses
import itertools

import numpy as np
import pytest

from azjax.engine import decision
from azjax.engine.decision import continue_search


@dataclasses.dataclass
class FakeClock:
    """A clock that only simulations advance."""

    now: float = 0.0

    def monotonic(self):
        return self.now


@dataclasses.dataclass
class SteadyProgress:
    """A search of a hundred simulations a second."""

    clock: FakeClock
    simulations: int = 0
    full = False
    width = 1
    seconds_each = 0.01

    def run(self, count, most):
        self.clock.now += count / 100
        return SteadyProgress(self.clock, self.simulations + count)


@pytest.fixture
def clock(monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr(decision, "time", clock)
    return clock


def test_the_limit_of_time(clock):
    for seconds in (0.5, 3.0):
        began = clock.now
        *_, last = continue_search(SteadyProgress(clock), seconds=seconds)
        assert seconds - 0.01 <= clock.now - began <= seconds + 0.05
        assert 100 * seconds - 1 <= last.simulations <= 100 * seconds + 5
    assert list(continue_search(SteadyProgress(clock), seconds=0)) == []


def test_the_limit_of_simulations_is_exact(clock):
    for simulations in (1, 5, 333):
        *_, last = continue_search(SteadyProgress(clock), simulations=simulations)
        assert last.simulations == simulations
    *_, last = continue_search(SteadyProgress(clock, 100), simulations=130)
    assert last.simulations == 130
    assert list(continue_search(SteadyProgress(clock, 130), simulations=130)) == []


def test_steps_take_a_twentieth_of_a_second(clock):
    times = [clock.now]
    for _ in itertools.islice(continue_search(SteadyProgress(clock)), 50):
        times.append(clock.now)
    assert max(np.diff(times)) <= 0.06
