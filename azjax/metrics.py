"""What a run tells while it trains: live progress, `metrics.jsonl` and TensorBoard files."""

from __future__ import annotations

import collections
import contextlib
import json
import math
import numbers
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text
from tensorboardX import SummaryWriter

from azjax.errors import UserError

METRICS_FILE = "metrics.jsonl"
TENSORBOARD_FOLDER = "tensorboard"
Value = float | int | str | None

_PLAIN_EVERY_S = 10.0
_RATE_WINDOW = 20  # cycles
_SHOWN = (
    ("loss", "loss/total", "#.4g"),
    ("policy", "loss/policy", "#.4g"),
    ("value", "loss/value", "#.4g"),
    ("game length", "game_length", "#.3g"),
    ("learning rate", "learning_rate", ".3g"),
)


class RunLogger:
    """Writes the metrics of a run and shows its progress, between `with` and the end.

    On a terminal one display is kept up to date; a pipe or a notebook gets a line every ten
    seconds. Lines are on disk as soon as a call returns.
    """

    def __init__(
        self,
        run_dir: str | Path,
        *,
        total_cycles: int,
        first_cycle: int = 0,
        console: Console | None = None,
        quiet: bool = False,
    ):
        """Opens nothing yet.

        Args:
          run_dir: the run's directory; what an earlier part of the run wrote is continued.
          total_cycles: cycles of the whole run.
          first_cycle: cycles done when this part of the run begins.
          console: where progress is shown; standard output by default.
          quiet: write and show nothing: for the processes of a run that do not lead it.
        """
        self._run_dir = Path(run_dir)
        self._first_cycle = first_cycle
        self._quiet = quiet
        self._console = console or Console()
        self._progress = _Progress(self._run_dir.name, total_cycles, first_cycle)
        self._resources = contextlib.ExitStack()
        self._live: Live | None = None
        self._last_plain = -math.inf
        self._untold = False  # whether the newest cycle is still to be shown

    def __enter__(self) -> Self:
        if self._quiet:
            return self
        with contextlib.ExitStack() as stack:
            self._file = stack.enter_context(_open_to_append(self._run_dir / METRICS_FILE))
            self._tensorboard = SummaryWriter(
                str(self._run_dir / TENSORBOARD_FOLDER),
                # The cycles after a checkpoint are done again: their first version is hidden.
                purge_step=self._first_cycle + 1 if self._first_cycle else None,
            )
            stack.callback(self._tensorboard.close)
            # A notebook is no terminal in this sense: rich would ask for ipywidgets there.
            if self._console.is_terminal and not self._console.is_jupyter:
                self._live = stack.enter_context(
                    Live(get_renderable=self._progress.display, console=self._console)
                )
            # Only now, so that whatever fails above leaves nothing open.
            self._resources = stack.pop_all()
        earlier = _lines(self._run_dir / METRICS_FILE)
        self._progress.start(earlier[-1]["time_s"] if earlier else 0.0)
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._quiet and self._live is None and self._untold:
            self.note(self._progress.plain())
        self._resources.close()

    def cycle(self, cycle: int, scalars: Mapping[str, float]) -> None:
        """Records a training cycle; numbers that are not finite become null."""
        if self._quiet:
            return
        self._write("cycle", cycle, scalars)
        for name, value in scalars.items():
            self._scalar(name, value, cycle)
        self._progress.update(cycle, scalars)
        self._untold = True
        now = time.monotonic()
        if self._live is None and now - self._last_plain >= _PLAIN_EVERY_S:
            self._last_plain, self._untold = now, False
            self.note(self._progress.plain())

    def evaluation(self, cycle: int, scalars: Mapping[str, Value]) -> None:
        """Records an evaluation: numbers, and texts such as the opponent's name."""
        if self._quiet:
            return
        self._write("eval", cycle, scalars)
        folder = f"eval/{scalars['opponent']}" if "opponent" in scalars else "eval"
        for name, value in scalars.items():
            self._scalar(f"{folder}/{name}", value, cycle)
        self._progress.evaluated(cycle, evaluation_text(scalars))
        self.note(f"cycle {cycle}: {evaluation_text(scalars)}")

    def note(self, text: str) -> None:
        """Prints a line, above the live display where there is one."""
        if not self._quiet:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _write(self, kind: str, cycle: int, scalars: Mapping[str, Value]) -> None:
        line = {"kind": kind, "cycle": int(cycle), "time_s": round(self._progress.time_s(), 3)}
        line |= {name: _plain_value(value) for name, value in scalars.items()}
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()

    def _scalar(self, tag: str, value: Any, cycle: int) -> None:
        value = _plain_value(value)
        if isinstance(value, float | int):
            self._tensorboard.add_scalar(re.sub(r"[^\w./-]+", "_", tag), value, global_step=cycle)


def read_metrics(run_dir: str | Path) -> list[dict[str, Value]]:
    """The lines of a run's `metrics.jsonl`, as if the run had never been stopped.

    A line broken by a crash is skipped. A resumed run repeats the cycles after its checkpoint:
    whatever an earlier attempt wrote from the first repeated cycle on is dropped.

    Raises:
      UserError: there is no such file.
    """
    path = Path(run_dir) / METRICS_FILE
    if not path.is_file():
        raise UserError(f"{run_dir}: no run is there ({METRICS_FILE} is missing)")
    kept: list[dict[str, Value]] = []
    for line in _lines(path):
        if line["kind"] == "cycle":
            while kept and kept[-1]["cycle"] >= line["cycle"]:
                kept.pop()
        kept.append(line)
    return kept


def evaluation_text(scalars: Mapping[str, Value]) -> str:
    """An evaluation in words: `against random: score 97.5%, Elo +636 [+500, +900]`."""
    known = {name: value for name, value in scalars.items() if _plain_value(value) is not None}
    parts = []
    if {"mistakes", "positions"} <= known.keys():
        mistakes, positions = known.pop("mistakes"), known.pop("positions")
        parts.append(f"{mistakes:,} mistakes in {positions:,} positions")
    if "score" in known:
        parts.append(f"score {known.pop('score'):.1%}")
    low, elo, high = (known.pop(name, None) for name in ("elo_low", "elo", "elo_high"))
    if elo is not None:
        band = f" [{low:+.0f}, {high:+.0f}]" if None not in (low, high) else ""
        parts.append(f"Elo {elo:+.0f}{band}")
    elif low is not None:  # won every game: only a lower bound is known
        parts.append(f"Elo above {low:+.0f}")
    elif high is not None:
        parts.append(f"Elo below {high:+.0f}")
    opponent = f"against {known.pop('opponent')}: " if "opponent" in known else ""
    parts += [f"{name} {_short(value)}" for name, value in known.items()]
    return opponent + ", ".join(parts)


class _Progress:
    """What the display shows: the newest cycle, rates over the last ones, the time left."""

    def __init__(self, name: str, total_cycles: int, first_cycle: int):
        self._evaluations: tuple[int, list[str]] = (first_cycle, [])  # those of the newest cycle
        self._name, self._total, self._cycle = name, total_cycles, first_cycle
        self._scalars: dict[str, float] = {}
        # (cycle, its end, its seconds, games, plies); the first cycle compiles, and leaves the
        # window as soon as there is another one.
        self._window: collections.deque = collections.deque(maxlen=_RATE_WINDOW)
        self._compiled = False
        self.start(0.0)

    def start(self, time_s: float) -> None:
        """Sets the run's clock, which goes on from `time_s`."""
        self._zero = time.monotonic() - time_s
        self._last_end = time_s

    def time_s(self) -> float:
        return time.monotonic() - self._zero

    def update(self, cycle: int, scalars: Mapping[str, float]) -> None:
        end = self.time_s()
        seconds = scalars.get("cycle_s", end - self._last_end)
        if len(self._window) == 1 and not self._compiled:
            self._window.clear()
            self._compiled = True
        counts = [scalars.get(name, math.nan) for name in ("games_finished", "plies")]
        self._window.append((cycle, self._last_end, end, seconds, *counts))
        self._last_end = end
        self._cycle = cycle
        # What was not measured this time (no game ended, say) keeps its last number.
        self._scalars |= {k: v for k, v in scalars.items() if math.isfinite(v)}

    def evaluated(self, cycle: int, text: str) -> None:
        if cycle != self._evaluations[0]:
            self._evaluations = (cycle, [])
        self._evaluations[1].append(text)

    def display(self) -> RenderableType:
        head = Table.grid(padding=(0, 2))
        done = self._cycle / self._total if self._total else 1.0
        head.add_row(
            Text(self._name, style="bold"),
            Text(f"cycle {self._cycle}/{self._total}"),
            ProgressBar(total=max(self._total, 1), completed=self._cycle, width=28),
            Text(f"{done:4.0%}", style="cyan"),
            Text(f"{_clock(self.time_s())} elapsed", style="dim"),
            Text(f"{_clock(self._left_s())} left" if self._window else "compiling", style="cyan"),
        )
        facts = Text(" ")
        for label, value in self._facts():
            # Lines break between facts only.
            facts.append(f" {label} ".replace(" ", "\N{NO-BREAK SPACE}"), style="dim")
            facts.append(value, style="bold").append(" ")
        lines: list[RenderableType] = [head, facts]
        cycle, evaluations = self._evaluations
        if evaluations:
            text = f"  evaluation of cycle {cycle}: {'; '.join(evaluations)}"
            lines.append(Text(text, style="green"))
        return Group(*lines)

    def plain(self) -> str:
        facts = "  ".join(f"{label} {value}" for label, value in self._facts())
        clock = f"{_clock(self.time_s())} elapsed, {_clock(self._left_s())} left"
        return f"cycle {self._cycle}/{self._total}  {clock}  {facts}"

    def _facts(self) -> list[tuple[str, str]]:
        facts = []
        for label, name, form in _SHOWN:
            if name in self._scalars:
                facts.append((label, format(self._scalars[name], form)))
        if self._window:
            seconds = sum(entry[3] for entry in self._window)
            for index, label in ((4, "games/s"), (5, "positions/s")):
                count = sum(entry[index] for entry in self._window)
                if math.isfinite(count) and seconds > 0:
                    facts.append((label, f"{count / seconds:,.{1 if count < seconds else 0}f}"))
        return facts

    def _left_s(self) -> float:
        """Wall time, so that what lies between the cycles (evaluations) counts."""
        if not self._window:
            return math.nan
        spent = self._window[-1][2] - self._window[0][1]
        return (self._total - self._cycle) * spent / len(self._window)


def _open_to_append(path: Path) -> Any:
    """Opens `path` so that a line broken by a crash is ended before the next one begins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+b")
    if file.tell():
        file.seek(-1, 2)
        if file.read(1) != b"\n":
            file.write(b"\n")
    file.close()
    return path.open("a", encoding="utf-8")


def _lines(path: Path) -> list[dict[str, Value]]:
    """The whole lines of a metrics file."""
    lines = []
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and {"kind", "cycle", "time_s"} <= line.keys():
            lines.append(line)
    return lines


def _plain_value(value: Any) -> Value:
    """A value as JSON knows it: numbers that are not finite become None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    value = float(value)
    # Nine digits are all that a float32 holds.
    return float(f"{value:.9g}") if math.isfinite(value) else None


def _short(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _clock(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
