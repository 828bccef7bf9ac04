"""What a function of the user's gets after each cycle of a run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """A run after one of its cycles. All its metrics are on disk."""

    run_dir: Path  # where the run is
    cycle: int  # cycles done
    metrics: dict[str, float]  # of this cycle, by name, as in `metrics.jsonl`
    state: Any  # the `TrainState`; the next cycle overwrites its arrays
    last: bool  # the run ends here
    trainer: Any = None  # the run's `Trainer`

    def player(self, *, simulations: int | None = None) -> Any:
        """Returns the `SearchPlayer` of this cycle's network, as `Trainer.player` does.

        Its arrays are lost when the next cycle begins, so let it play before you return.
        """
        return self.trainer.player(self.state, simulations=simulations)


OnCycle = Callable[[Progress], bool | None]
"""A function that is called after each cycle. True saves the state and stops the run."""
