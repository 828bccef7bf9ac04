"""Training states in checkpoints: the network that plays in one item, the rest in another."""

from collections.abc import Callable

from azjax.runs.checkpoint import Checkpoints
from azjax.training import TrainState


def save_state(
    checkpoints: Checkpoints, state: TrainState, *, selection_metric: float | None = None
) -> None:
    """Starts to write `state`. Its arrays may be donated right after; see `Checkpoints.save`."""
    checkpoints.save(int(state.cycle), *state.split(), selection_metric=selection_metric)


def restore_state(
    checkpoints: Checkpoints, abstract: TrainState, *, warn: Callable[[str], None]
) -> TrainState:
    """Restores the newest intact state; see `Checkpoints.restore_newest`."""
    return abstract.join(*checkpoints.restore_newest(*abstract.split(), warn=warn))
