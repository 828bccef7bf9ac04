"""Sends the metrics of a run to Weights & Biases, and to a logger of one's own.

    pip install "azjax[wandb]"
    WANDB_MODE=offline python examples/wandb_logging.py

A logger has two methods, `write` and `close`. azjax's own files, `metrics.jsonl` and TensorBoard's,
are written in any case. On the command line `azjax train tic_tac_toe --wandb my-project` does it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import azjax


class Slowest:
    """Remembers the cycle that took longest."""

    def __init__(self) -> None:
        self.cycle, self.seconds, self._before = 0, 0.0, 0.0

    def write(self, kind: str, cycle: int, scalars: Mapping[str, float | int | str | None]) -> None:
        """Gets every line of the log: the start, cycles, evaluations."""
        now = float(scalars["time_s"] or 0)
        if kind == "cycle" and now - self._before > self.seconds:
            self.cycle, self.seconds = cycle, now - self._before
        self._before = now

    def close(self) -> None:
        """Is called at the end of the run, also after an error."""
        print(f"cycle {self.cycle} took longest, {self.seconds:.2f} s")


def main(run_dir: str | Path = "runs/wandb_logging", cycles: int = 100) -> Slowest:
    """Trains in a new run directory; returns the logger of one's own."""
    config = azjax.load_config("tic_tac_toe", {"cycles": cycles, "evaluation": {"every": 0}})
    slowest = Slowest()
    wandb = azjax.WandbLogger(run_dir, "azjax-examples", tags=["example"])
    azjax.train(config, run_dir, loggers=[wandb, slowest])
    return slowest


if __name__ == "__main__":
    main(*sys.argv[1:])
