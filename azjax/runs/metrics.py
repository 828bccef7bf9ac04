"""The metrics file of a run, `metrics.jsonl`: a line of JSON for each cycle and evaluation."""

import contextlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from azjax.config import resume_command
from azjax.errors import UserError
from azjax.runs.loggers import EVALUATION, Value, evaluation_line, plain_value

METRICS_FILE = "metrics.jsonl"
CLASS_METRIC = "mistake_rate/"  # after "eval/", begins the names of metrics of classes
_KINDS = ("start", "cycle", "eval")  # of lines
Line = dict[str, Any]  # of `metrics.jsonl`: each value is a `Value`


class MetricsFile:
    """The logger of `metrics.jsonl`, which it continues. Lines are on disk when calls return."""

    def __init__(self, run_dir: Path):
        self._run_dir = run_dir
        self._file = _open_to_append(run_dir / METRICS_FILE)

    def write(self, kind: str, cycle: int, scalars: Mapping[str, Value]) -> None:
        """Writes a line; see `Logger.write`. Raises a UserError if it cannot be written."""
        line = {"kind": kind, "cycle": cycle} | dict(scalars)
        try:
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()
        except OSError as error:
            raise UserError(
                f"{self._run_dir / METRICS_FILE}: {error.strerror or error}; training stopped, and "
                f"{resume_command(self._run_dir)} continues from the last checkpoint"
            ) from error

    def close(self) -> None:
        """Closes the file; what could not be written before is left out."""
        with contextlib.suppress(OSError):
            self._file.close()


def read_metrics(run_dir: str | Path) -> list[Line]:
    """Returns the lines of a run's `metrics.jsonl`, as if the run had never been stopped.

    A damaged line, such as one that a crash cut off, is left out. A resumed run repeats the cycles
    after its checkpoint, so the first version of the repeated cycles is dropped.

    Returns:
      One dict per line, with "kind" ("cycle" or "eval"), "cycle", "time_s" and the metrics. Those
      of an evaluation begin with "eval/", as "eval/score", and "opponent" names the opponent.

    Raises:
      UserError: there is no such file.
    """
    path = Path(run_dir) / METRICS_FILE
    if not path.is_file():
        raise UserError(f"{run_dir}: there is no run ({METRICS_FILE} is missing)")
    kept: list[Line] = []
    for line in read_lines(path)[0]:
        if line["kind"] == "start":
            if line["cycle"] == 0:  # a run that was stopped before its first checkpoint
                kept.clear()
            continue
        if line["kind"] == "cycle":
            while kept and kept[-1]["cycle"] >= line["cycle"]:
                kept.pop()
        kept.append(line)
    return kept


def training_time(run_dir: str | Path, cycle: int | None = None) -> tuple[float, str]:
    """Returns the seconds that a run has taken up to a cycle or in all, and the machines it ran on.

    They are 0 and "" where they are not known.
    """
    path = Path(run_dir) / METRICS_FILE
    if not path.is_file():
        return 0.0, ""
    lines = [line for line in read_lines(path)[0] if cycle is None or line["cycle"] <= cycle]
    machines = dict.fromkeys(str(x["machine"]) for x in lines if x.get("machine"))
    return max((line["time_s"] for line in lines), default=0.0), " and ".join(machines)


def evaluation_text(scalars: Mapping[str, Value]) -> str:
    """Returns an evaluation as text: "against random: score 97.5%, Elo +636 [+500, +900]"."""
    plain = {name.removeprefix(EVALUATION): value for name, value in scalars.items()}
    known = {
        name: value
        for name, value in plain.items()
        if plain_value(value) is not None and not name.startswith(CLASS_METRIC)
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
    parts += [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in known.items()]
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


def read_lines(path: Path) -> tuple[list[Line], int]:
    """Returns the intact lines of a metrics file, and the number of damaged ones."""
    lines, damaged = [], 0
    for text in path.read_text(encoding="utf-8-sig", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            line = None
        if line is not None and _is_line(
            line
        ):  # files of earlier runs have evaluations without "eval/"
            lines.append(evaluation_line(line) if line["kind"] == "eval" else line)
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
