"""The metrics of a run: `metrics.jsonl`, TensorBoard files, and the live progress."""

from __future__ import annotations

import contextlib
import json
import math
import numbers
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TextIO

from rich.console import Console
from rich.live import Live

from azjax.errors import UserError
from azjax.runs.progress import Progress
from azjax.runs.tensorboard import TensorBoardFile

METRICS_FILE = "metrics.jsonl"
CLASS_METRIC = "mistake_rate/"  # begins the names of metrics of classes of positions
TENSORBOARD_FOLDER = "tensorboard"
_KINDS = ("start", "cycle", "eval")  # of lines
Value = float | int | str | None
Line = dict[str, Any]  # of `metrics.jsonl`: each value is a `Value`

_PLAIN_EVERY_S = 10.0
_UNFIT_FOR_TAG = re.compile(r"[^\w./-]+")


class RunLogger:
    """A context manager that writes the metrics of a run and shows its progress.

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
        quiet: bool = False,
        lines: bool = True,
    ):
        """Stores the settings; no file is opened before `with`.

        Args:
          run_dir: the run's directory. Files of an earlier part of the run are continued.
          total_cycles: number of cycles of the whole run.
          first_cycle: number of cycles done before this part of the run.
          machine: what the run computes on, to record.
          console: where progress is shown; standard output by default.
          quiet: write and show nothing. All processes of a run except the first are quiet.
          lines: show the cycles; if False, only notes are printed.
        """
        self._run_dir = Path(run_dir)
        self._first_cycle = first_cycle
        self._machine = machine
        self._quiet = quiet
        self._lines = lines
        self._console = console or Console()
        self._progress = Progress(self._run_dir.name, total_cycles, first_cycle)
        self._resources = contextlib.ExitStack()
        self._live: Live | None = None
        self._last_plain = -math.inf
        self._unshown = False  # whether the newest cycle is still to be shown

    def __enter__(self) -> Self:
        if self._quiet:
            return self
        with contextlib.ExitStack() as stack:
            self._file = _open_to_append(self._run_dir / METRICS_FILE)
            stack.callback(_close, self._file)
            self._tensorboard = TensorBoardFile(
                self._run_dir / TENSORBOARD_FOLDER,
                first_step=self._first_cycle + 1 if self._first_cycle else None,
                warn=self.note,
            )
            stack.callback(self._tensorboard.close)
            # A notebook gets no live display, because rich would need ipywidgets there.
            if self._lines and self._console.is_terminal and not self._console.is_jupyter:
                self._live = stack.enter_context(
                    Live(get_renderable=self._progress.display, console=self._console)
                )
            # This comes last, so that an error above leaves nothing open.
            self._resources = stack.pop_all()
        earlier, damaged = _lines(self._run_dir / METRICS_FILE)
        self._progress.start(earlier[-1]["time_s"] if earlier else 0.0)
        if damaged:
            self.note(f"{self._run_dir / METRICS_FILE}: {damaged} damaged lines are left out")
        if self._machine:
            self._write("start", self._first_cycle, {"machine": self._machine})
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._quiet and self._lines and self._live is None and self._unshown:
            self.note(self._progress.plain())
        self._resources.close()

    def cycle(self, cycle: int, scalars: Mapping[str, float]) -> None:
        """Records a training cycle; numbers that are not finite become null."""
        if self._quiet:
            return
        self._write("cycle", cycle, scalars)
        self._add_to_tensorboard(scalars, cycle)
        self._progress.update(cycle, scalars)
        self._unshown = True
        now = time.monotonic()
        due = self._lines and now - self._last_plain >= _PLAIN_EVERY_S
        if self._live is None and due:
            self._last_plain, self._unshown = now, False
            self.note(self._progress.plain())

    def evaluation(self, cycle: int, scalars: Mapping[str, Value]) -> None:
        """Records an evaluation: numbers, and texts such as the opponent's name."""
        if self._quiet:
            return
        self._write("eval", cycle, scalars)
        folder = f"eval/{scalars['opponent']}" if "opponent" in scalars else "eval"
        self._add_to_tensorboard({f"{folder}/{name}": x for name, x in scalars.items()}, cycle)
        self._progress.evaluated(cycle, evaluation_text(scalars))
        self.note(f"cycle {cycle}: {evaluation_text(scalars)}")

    def note(self, text: str) -> None:
        """Prints a line, above the live display if there is one."""
        if not self._quiet:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _write(self, kind: str, cycle: int, scalars: Mapping[str, Value]) -> None:
        line = {"kind": kind, "cycle": int(cycle), "time_s": round(self._progress.time_s(), 3)}
        line |= {name: _plain_value(value) for name, value in scalars.items()}
        try:
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise UserError(
                f"{self._run_dir / METRICS_FILE}: {error.strerror or error}; training stopped, and "
                f"azjax resume {self._run_dir} continues from the last checkpoint"
            ) from error

    def _add_to_tensorboard(self, scalars: Mapping[str, Value], cycle: int) -> None:
        plain = {_UNFIT_FOR_TAG.sub("_", tag): _plain_value(x) for tag, x in scalars.items()}
        numbers = {tag: x for tag, x in plain.items() if isinstance(x, float | int)}
        self._tensorboard.add_scalars(numbers, cycle)


def read_metrics(run_dir: str | Path) -> list[Line]:
    """Returns the lines of a run's `metrics.jsonl`, as if the run had never been stopped.

    A damaged line, such as one that a crash cut off, is left out. A resumed run repeats the cycles
    after its checkpoint, so the first version of the repeated cycles is dropped.

    Args:
      run_dir: the run directory.

    Returns:
      One dict per line, with "kind" ("cycle" or "eval"), "cycle", "time_s" and the metrics.

    Raises:
      UserError: there is no such file.
    """
    path = Path(run_dir) / METRICS_FILE
    if not path.is_file():
        raise UserError(f"{run_dir}: there is no run ({METRICS_FILE} is missing)")
    kept: list[Line] = []
    for line in _lines(path)[0]:
        if line["kind"] == "start":
            continue
        if line["kind"] == "cycle":
            while kept and kept[-1]["cycle"] >= line["cycle"]:
                kept.pop()
        kept.append(line)
    return kept


def training_time(run_dir: str | Path, cycle: int | None = None) -> tuple[float, str]:
    """Returns the seconds that a run has taken, and the machine it ran on.

    Args:
      run_dir: the run directory.
      cycle: count up to this cycle, with its evaluation; None for all.

    Returns:
      0 and "" where they are not known. Several machines are joined by "and".
    """
    path = Path(run_dir) / METRICS_FILE
    if not path.is_file():
        return 0.0, ""
    lines = [line for line in _lines(path)[0] if cycle is None or line["cycle"] <= cycle]
    machines = dict.fromkeys(str(x["machine"]) for x in lines if x.get("machine"))
    return max((line["time_s"] for line in lines), default=0.0), " and ".join(machines)


def evaluation_text(scalars: Mapping[str, Value]) -> str:
    """Returns an evaluation as text: "against random: score 97.5%, Elo +636 [+500, +900]"."""
    known = {
        name: value
        for name, value in scalars.items()
        if _plain_value(value) is not None and not name.startswith(CLASS_METRIC)
    }
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


def _open_to_append(path: Path) -> TextIO:
    """Opens a file to append to it, after ending a line that a crash has cut off."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+b")
    if file.tell():
        file.seek(-1, 2)
        if file.read(1) != b"\n":
            file.write(b"\n")
    file.close()
    return path.open("a", encoding="utf-8")


def _close(file: TextIO) -> None:
    """Closes a file; what could not be written before is left out."""
    with contextlib.suppress(OSError):
        file.close()


def _lines(path: Path) -> tuple[list[Line], int]:
    """Returns the intact lines of a metrics file, and the number of damaged ones."""
    lines, damaged = [], 0
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if _is_line(line):
            lines.append(line)
        else:
            damaged += bool(text)
    return lines, damaged


def _is_line(line: Any) -> bool:
    if not isinstance(line, dict) or line.get("kind") not in _KINDS:
        return False
    if not isinstance(line.get("cycle"), int) or not _is_number(line.get("time_s")):
        return False
    return all(
        value is None or isinstance(value, str) or _is_number(value) for value in line.values()
    )


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def _plain_value(value: Any) -> Value:
    """Returns a value that JSON can hold; numbers that are not finite become None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    value = float(value)
    # Nine digits identify every float32.
    return float(f"{value:.9g}") if math.isfinite(value) else None


def _short(value: Value) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
