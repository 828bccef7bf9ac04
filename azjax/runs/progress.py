"""What a function of the user's gets after each cycle of a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """A run after one of its cycles. All its metrics are on disk."""

    run_dir: Path
    cycle: int
    metrics: dict[str, float]
    state: Any  # the `TrainState`; the next cycle overwrites its arrays
    last: bool  # the run ends here


OnCycle = Callable[[Progress], bool | None]
"""A function that is called after each cycle. True saves the state and stops the run."""
