"""The interface of what a run's metrics are written to."""

import math
import numbers
import re
from collections.abc import Mapping
from typing import Any, Protocol

Value = float | int | str | None

EVALUATION = "eval/"  # begins the names of an evaluation's metrics
_UNFIT_FOR_TAG = re.compile(r"[^\w./-]+")


class Logger(Protocol):
    """Somewhere for the metrics of a run. Only the first process of a run has loggers."""

    def write(self, kind: str, cycle: int, scalars: Mapping[str, Value]) -> None:
        """Writes one line of metrics.

        Args:
          kind: "start" of a part of the run, "cycle", or "eval" for an evaluation.
          scalars: numbers, texts such as the "opponent" of an evaluation, and None for what is not
            finite. Names tell what was measured: "train/loss", "selfplay/plies", "eval/score".
            "time_s" is the run's time in seconds.
        """

    def close(self) -> None:
        """Writes what is left; the run ends or stops."""


def evaluation_line(scalars: Mapping[str, Value]) -> dict[str, Value]:
    """Returns an evaluation's line, in which the names of all metrics begin with "eval/"."""
    whole = ("kind", "cycle", "time_s", "opponent")
    return {
        name if name in whole or name.startswith(EVALUATION) else EVALUATION + name: value
        for name, value in scalars.items()
    }


def tagged(kind: str, scalars: Mapping[str, Value]) -> dict[str, float]:
    """Returns the numbers of a line by the tags of TensorBoard and the like.

    Those of an evaluation begin with "eval/" and the opponent's name.
    """
    folder = ""
    if kind == "eval":
        folder = EVALUATION + (f"{scalars['opponent']}/" if "opponent" in scalars else "")
    return {
        _UNFIT_FOR_TAG.sub("_", folder + name.removeprefix(folder and EVALUATION)): value
        for name, value in scalars.items()
        if isinstance(value, float | int) and name != "time_s"
    }


def plain_value(value: Any) -> Value:
    """Returns a value that JSON can hold; numbers that are not finite become None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    value = float(value)
    # Nine digits identify every float32.
    return float(f"{value:.9g}") if math.isfinite(value) else None
