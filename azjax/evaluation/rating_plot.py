"""The plot of a run's ratings: Elo of the checkpoints over cycles, and of the anchors."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from azjax.runs.plots import COLOURS, Lines, figure_over_cycles, finish, save


@dataclass(frozen=True)
class RatedPlayer:
    """A checkpoint or an anchor; `low` and `high` are the ends of the 95% interval."""

    name: str
    cycle: int | None  # None for anchors
    elo: float
    low: float
    high: float
    games: int
    score: float  # share of the points in its games


def draw_rating(run_dir: Path, lines: Lines, players: Sequence[RatedPlayer], *, zero: str) -> Path:
    """Draws `plots/rating.png`: checkpoints with 95% intervals, and anchors as horizontal lines.

    Args:
      lines: the run's metrics, for the duration of the cycles.
      players: checkpoints, oldest first, and anchors.
      zero: the name of the player whose Elo is 0.
    """
    figure, (axes,) = figure_over_cycles(lines, 1)
    for number, anchor in enumerate(x for x in players if x.cycle is None):
        colour = COLOURS[1 + number % (len(COLOURS) - 1)]
        axes.axhspan(anchor.low, anchor.high, color=colour, alpha=0.12, linewidth=0)
        axes.axhline(anchor.elo, color=colour, linewidth=1.2, linestyle=(0, (4, 2)))
        axes.plot([], [], color=colour, linewidth=1.2, linestyle=(0, (4, 2)), label=anchor.name)
    checkpoints = [x for x in players if x.cycle is not None]
    cycles = [x.cycle for x in checkpoints if x.cycle is not None]
    elo = [x.elo for x in checkpoints]
    below = [x.elo - x.low for x in checkpoints]
    above = [x.high - x.elo for x in checkpoints]
    axes.errorbar(
        cycles,
        elo,
        (below, above),
        color=COLOURS[0],
        marker="o",
        markersize=4.5,
        linewidth=1.8,
        elinewidth=1.2,
        capsize=2.5,
        label="checkpoints",
    )
    axes.set_ylabel(f"Elo ({zero} = 0), with 95% intervals")
    return save(finish(figure, "Rating"), run_dir, "rating.png")
