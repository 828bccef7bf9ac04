"""The live view of a run: progress, speed, losses and evaluations."""

import math
import time
from collections.abc import Mapping
from typing import NamedTuple

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from azjax.runs.compile_time import compile_clock

_RATE_WINDOW = 20  # cycles
_LOSSES = (
    ("loss", "train/loss", "#.4g"),
    ("policy", "train/policy_loss", "#.4g"),
    ("value", "train/value_loss", "#.4g"),
    ("moves predicted", "heldout/move_accuracy", ".1%"),
    ("learning rate", "train/learning_rate", ".3g"),
)
_GAMES = (("game length", "selfplay/game_length", "#.3g"),)
Facts = list[tuple[str, str]]


class _Cycle(NamedTuple):
    """One cycle. Its times are on the run's clock, which stands still during compilations."""

    start: float  # the end of the cycle before, so that evaluations between them count
    end: float
    seconds: float  # of the cycle alone
    games: float
    positions: float
    learnt: bool  # the replay buffer held enough positions for updates


class ProgressDisplay:
    """The data of the display: the newest cycle, rates over the last cycles, the time left."""

    def __init__(self, name: str, total_cycles: int, first_cycle: int):
        self._evaluations: tuple[int, list[str]] = (first_cycle, [])  # those of the newest cycle
        self._name, self._total, self._cycle = name, total_cycles, first_cycle
        self._scalars: dict[str, float] = {}
        # The last cycles. The tuple is replaced, never changed: the display's thread reads it.
        self._window: tuple[_Cycle, ...] = ()
        self._num_cycles = 0
        self._compile_clock = compile_clock()
        self.start(0.0)

    def start(self, time_s: float) -> None:
        self._zero = time.monotonic() - time_s
        self._last_end = time_s - self._compile_clock.seconds()

    def time_s(self) -> float:
        return time.monotonic() - self._zero

    def update(self, cycle: int, scalars: Mapping[str, float]) -> None:
        end = self.time_s() - self._compile_clock.seconds()
        newest = _Cycle(
            start=self._last_end,
            end=end,
            seconds=scalars.get("time/cycle_s", end - self._last_end),
            games=scalars.get("selfplay/games_finished", math.nan),
            positions=scalars.get("selfplay/plies", math.nan),
            learnt=scalars.get("train/updates", math.inf) > 0,
        )
        # The first cycle also compiles, and cycles without updates are shorter. Such cycles do not
        # count towards the rates once others follow.
        begins = any(newest.learnt > last.learnt for last in self._window[-1:])
        earlier = () if self._num_cycles == 1 or begins else self._window
        self._window = (*earlier, newest)[-_RATE_WINDOW:]
        self._num_cycles += 1
        self._last_end = end
        self._cycle = cycle
        # Metrics that this cycle did not measure keep their last values (if no game ended, say).
        self._scalars |= {k: v for k, v in scalars.items() if math.isfinite(v)}

    def evaluated(self, cycle: int, text: str) -> None:
        if cycle != self._evaluations[0]:
            self._evaluations = (cycle, [])
        self._evaluations[1].append(text)

    def display(self) -> RenderableType:
        """Returns four lines; a display that grows would overwrite the lines printed above it."""
        head = Table.grid(padding=(0, 2))
        head.add_column(no_wrap=True, max_width=24)
        for _ in range(5):
            head.add_column(no_wrap=True)
        done = self._cycle / self._total if self._total else 1.0
        head.add_row(
            Text(self._name, style="bold"),
            Text(f"cycle {self._cycle}/{self._total}"),
            ProgressBar(total=max(self._total, 1), completed=self._cycle, width=20),
            Text(f"{done:4.0%}", style="cyan"),
            Text(f"{_clock(self.time_s())} elapsed", style="dim"),
            Text(self._left(), style="cyan"),
        )
        cycle, evaluations = self._evaluations
        known = f"  cycle {cycle}: {'; '.join(evaluations)}" if evaluations else ""
        # This line is not the last one: if it is full, the terminal's ^C would start a new line.
        evaluated = Text(known, style="green", no_wrap=True, overflow="ellipsis")
        losses = _line(self._facts(_LOSSES))
        return Group(head, evaluated, losses, _line(self._rates() + self._facts(_GAMES)))

    def plain(self) -> str:
        """Returns the display's contents on one line, without the evaluations."""
        facts = self._facts(_LOSSES) + self._rates() + self._facts(_GAMES)
        clock = f"{_clock(self.time_s())} elapsed, {self._left()}"
        shown = "  ".join(f"{label} {value}" for label, value in facts)
        return f"cycle {self._cycle}/{self._total}  {clock}  {shown}"

    def _facts(self, metrics: tuple[tuple[str, str, str], ...]) -> Facts:
        known = self._scalars
        return [
            (label, format(known[name], form)) for label, name, form in metrics if name in known
        ]

    def _rates(self) -> Facts:
        window = self._window
        seconds = sum(cycle.seconds for cycle in window)
        games = sum(cycle.games for cycle in window)
        positions = sum(cycle.positions for cycle in window)
        facts = []
        for label, count in (("games/s", games), ("positions/s", positions)):
            if math.isfinite(count) and seconds > 0:
                rate = count / seconds
                facts.append((label, f"{rate:,.{1 if rate < 10 else 0}f}"))
        return facts

    def _left(self) -> str:
        """Returns the expected time left, in which evaluations between the cycles count."""
        window = self._window
        if not window:
            return "compiling"
        if not window[-1].learnt:
            return "warming up"
        seconds = (self._total - self._cycle) * (window[-1].end - window[0].start) / len(window)
        return f"{_clock(seconds)} left"


def _line(facts: Facts) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    for label, value in facts:
        line.append(f"  {label} ", style="dim").append(value, style="bold")
    return line


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
