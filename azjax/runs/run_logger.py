"""What a run tells while it trains: its metrics to all loggers, and its progress to the user."""

import contextlib
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.live import Live

from azjax.runs.loggers import Logger, Value, evaluation_line, plain_value
from azjax.runs.metrics import METRICS_FILE, MetricsFile, evaluation_text, read_lines
from azjax.runs.progress_display import ProgressDisplay
from azjax.runs.tensorboard import TensorBoardFile

TENSORBOARD_FOLDER = "tensorboard"

_PLAIN_EVERY_S = 10.0


class RunLogger:
    """A context manager that writes the metrics of a run and shows its progress.

    The metrics go to `metrics.jsonl`, to TensorBoard's files and to the user's loggers.

    A terminal shows one display, which is kept up to date. A pipe or a notebook gets a line every
    ten seconds. When a call returns, its line is on disk.
    """

    def __init__(
        self,
        run_dir: str | Path,
        *,
        total_cycles: int,
        first_cycle: int = 0,
        machine: str = "",
        console: Console | None = None,
        loggers: Sequence[Logger] = (),
        quiet: bool = False,
    ):
        """Stores the settings; no file is opened before `with`.

        Args:
          run_dir: files of an earlier part of the run are continued.
          first_cycle: number of cycles done before this part of the run.
          machine: what the run computes on, to record.
          console: where progress is shown; standard output by default.
          loggers: more loggers. They are closed at the end.
          quiet: write and show nothing, as all processes of a run except the first.
        """
        self._run_dir = Path(run_dir)
        self._first_cycle = first_cycle
        self._machine = machine
        self._quiet = quiet
        self._more = loggers
        self._loggers: list[Logger] = []
        self._console = Console(quiet=True) if quiet else console or Console()
        self._progress = ProgressDisplay(self._run_dir.name, total_cycles, first_cycle)
        self._resources = contextlib.ExitStack()
        self._live: Live | None = None
        self._last_plain = -math.inf
        self._unshown = False  # whether the newest cycle is still to be shown

    def __enter__(self) -> Self:
        if self._quiet:
            return self
        with contextlib.ExitStack() as stack:
            folder = self._run_dir / TENSORBOARD_FOLDER
            resumed = self._first_cycle + 1 if self._first_cycle else None
            self._add(MetricsFile(self._run_dir), stack)
            self._add(TensorBoardFile(folder, first_step=resumed, warn=self.note), stack)
            for logger in self._more:
                self._add(logger, stack)
            # A notebook gets no live display, because rich would need ipywidgets there.
            if self._console.is_terminal and not self._console.is_jupyter:
                self._live = stack.enter_context(
                    Live(get_renderable=self._progress.display, console=self._console)
                )
            earlier, damaged = read_lines(self._run_dir / METRICS_FILE)
            self._progress.start(earlier[-1]["time_s"] if earlier else 0.0)
            if damaged:
                self.note(f"{self._run_dir / METRICS_FILE}: {damaged} damaged lines are left out")
            if self._machine:
                self._write("start", self._first_cycle, {"machine": self._machine})
            # This comes last, so that an error above leaves nothing open.
            self._resources = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is None and self._unshown:
            self.note(self._progress.plain())
        self._resources.close()

    def cycle(self, cycle: int, scalars: Mapping[str, float]) -> None:
        """Records a training cycle; numbers that are not finite become null."""
        self._write("cycle", cycle, scalars)
        self._progress.update(cycle, scalars)
        self._unshown = True
        now = time.monotonic()
        due = now - self._last_plain >= _PLAIN_EVERY_S
        if self._live is None and due:
            self._last_plain, self._unshown = now, False
            self.note(self._progress.plain())

    def evaluation(self, cycle: int, scalars: Mapping[str, Value]) -> None:
        """Records an evaluation: numbers, and texts such as the opponent's name."""
        self._write("eval", cycle, evaluation_line(scalars))
        self._progress.evaluated(cycle, evaluation_text(scalars))
        self.note(f"cycle {cycle}: {evaluation_text(scalars)}")

    def note(self, text: str) -> None:
        """Prints a line, above the live display if there is one."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _add(self, logger: Logger, stack: contextlib.ExitStack) -> None:
        self._loggers.append(logger)
        stack.callback(logger.close)

    def _write(self, kind: str, cycle: int, scalars: Mapping[str, Value]) -> None:
        line: dict[str, Value] = {"time_s": round(self._progress.time_s(), 3)}
        line |= {name: plain_value(value) for name, value in scalars.items()}
        for logger in self._loggers:
            logger.write(kind, int(cycle), line)
