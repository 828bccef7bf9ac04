"""How an engine decides: what it asks for moves, and a search in steps that a clock can stop."""

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from azjax_envs import Game

from azjax.engine.search_analysis import SearchAnalysis
from azjax.types import Array, State

_STEP_S = 0.05  # a request to stop waits at most about this long
_TINY_S = 1e-6
_FORGETTING = 0.9  # for how long the slowest of a search's steps is remembered


class Decision(Protocol):
    """An engine's search of a position, which may still go on."""

    @property
    def simulations(self) -> int: ...
    @property
    def full(self) -> bool:
        """Whether it cannot go on."""
        ...

    @property
    def width(self) -> int:
        """Simulations of a step, which are made together."""
        ...

    @property
    def seconds_each(self) -> float:
        """Of a simulation, the slowest of late; 0 before the first."""
        ...

    def run(self, simulations: int, *, most: float = 0) -> "Decision": ...
    def analysis(self) -> SearchAnalysis: ...


class EngineSearch(Protocol):
    """What engines ask for moves: an `AnytimeSearch` or a `PlayerSearch`."""

    @property
    def game(self) -> Game: ...
    @property
    def num_simulations(self) -> int: ...
    def start(
        self,
        state: State,
        key: Array | None = None,
        *,
        root_actions: Sequence[int] = (),
        after: Any = None,
        moves: Sequence[int] | None = None,
    ) -> Decision: ...
    def warm_up(self, state: State) -> Decision: ...
    def with_game(self, game: Game) -> "EngineSearch": ...


def slowest_each(began: float, count: int, before: float) -> float:
    """Returns the seconds of a simulation, the slowest of late.

    Args:
      began: when the last step began, by `time.monotonic()`.
      count: simulations of this step.
      before: the seconds known before the step.
    """
    return max((time.monotonic() - began) / max(count, 1), _FORGETTING * before)


def continue_search(
    progress: Decision,
    *,
    simulations: float = math.inf,
    seconds: float = math.inf,
    since: float | None = None,
) -> Iterator[Decision]:
    """Continues a search in steps of at most about 50 ms; the caller may leave the loop.

    Args:
      simulations: total number at which to stop, earlier ones included.
      seconds: time after which to stop. No step begins that would probably take longer.
      since: when the seconds begin, by `time.monotonic()`; None for now.
    """
    end = (time.monotonic() if since is None else since) + seconds
    step = 0
    while not progress.full and progress.simulations < simulations:
        left = end - time.monotonic()
        if left <= progress.width * progress.seconds_each:
            return
        # Steps grow at most twofold, because the first ones may have waited for something else.
        # None takes more than a quarter of the time left, because others may need the cores.
        fitting = min(_STEP_S, left / 4) / max(progress.seconds_each, _TINY_S)
        step = max(int(min(fitting, 2 * step)), progress.width)
        # Steps end where those of an uninterrupted search do.
        fitting = int(min(step, simulations - progress.simulations))
        progress = progress.run(fitting, most=simulations)
        yield progress
