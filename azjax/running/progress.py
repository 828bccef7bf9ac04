"""What a function of the user's gets after each cycle of a run."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from azjax.players.network_players import SearchPlayer
from azjax.running.player import trained_player
from azjax.training import Trainer, TrainState


class Progress(NamedTuple):
    """A run after one of its cycles. All its metrics are on disk."""

    run_dir: Path  # where the run is
    cycle: int  # cycles done
    metrics: dict[str, float]  # of this cycle, by name, as in `metrics.jsonl`
    state: TrainState  # the next cycle overwrites its arrays
    last: bool  # the run ends here
    trainer: Trainer  # of the run

    def player(self, *, simulations: int | None = None) -> SearchPlayer:
        """Returns the player of this cycle's network, see `trained_player`.

        Its arrays are lost when the next cycle begins, so let it play before you return.
        """
        return trained_player(self.trainer, self.state, simulations=simulations)


OnCycle = Callable[[Progress], bool | None]
"""A function that is called after each cycle. True saves the state and stops the run."""
