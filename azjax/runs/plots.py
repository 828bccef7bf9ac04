"""Plots of a run: losses, evaluations, Elo, game lengths and speed, from `metrics.jsonl`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter
from numpy.typing import ArrayLike

from azjax.runs.loggers import EVALUATION
from azjax.runs.metrics import CLASS_METRIC, Line, Value, read_metrics

PLOTS_FOLDER = "plots"
Lines = list[Line]

# Okabe and Ito's colours, which colour-blind people can distinguish.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_CLASSES = EVALUATION + CLASS_METRIC  # begins the names of metrics of classes of positions
_NO_MISTAKE_PERCENT = 0.1  # where plots of mistakes end below
_INK, _GRID = "#333333", "#E6E6E6"


def draw(run_dir: str | Path) -> list[Path]:
    """Draws the metrics of a run into its folder `plots`; returns the files of those with data."""
    run_dir = Path(run_dir)
    lines = read_metrics(run_dir)
    written = []
    strength = (evaluation, mistakes_by_class, elo, league)
    for picture in (losses, predictions, *strength, game_lengths, speed):
        figure = picture(lines)
        if figure is not None:
            written.append(save(figure, run_dir, f"{picture.__name__}.png"))
    return written


def save(figure: Figure, run_dir: Path, name: str) -> Path:
    """Writes a figure into the run's folder `plots`, and returns its path."""
    folder = run_dir / PLOTS_FOLDER
    folder.mkdir(exist_ok=True)
    # Without pyplot, no display is needed and matplotlib's global state stays as it is.
    FigureCanvasAgg(figure).print_png(folder / name)
    return folder / name


def losses(lines: Lines) -> Figure | None:
    """Plots the value loss, and the policy loss with its lower bound, the targets' entropy."""
    cycles = _of_kind(lines, "cycle")
    figure, (left, right) = figure_over_cycles(lines, 2)
    _curve(left, cycles, "train/policy_loss", 0, "policy: cross-entropy with the search")
    if not left.lines:
        return None
    floor = "entropy of the search: its floor"
    _curve(left, cycles, "selfplay/policy_entropy", 2, floor, linestyle=(0, (4, 2)))
    _curve(right, cycles, "train/value_loss", 1, "value: error against the results")
    left.set_ylabel("policy loss (nats)")
    right.set_ylabel("value loss")
    return finish(figure, "Losses")


def predictions(lines: Lines) -> Figure | None:
    """Plots how well moves and results of held-out recorded games are predicted."""
    cycles = _of_kind(lines, "cycle")
    figure, (left, right) = figure_over_cycles(lines, 2)
    _curve(left, cycles, "heldout/move_accuracy", 0, "moves of held-out games that are predicted")
    if not left.lines:
        return None
    _curve(right, cycles, "heldout/value_error", 1, "results of held-out games: squared error")
    left.set_ylabel("moves predicted")
    left.yaxis.set_major_formatter(PercentFormatter(1.0))
    right.set_ylabel("squared error")
    return finish(figure, "Predictions")


def evaluation(lines: Lines) -> Figure | None:
    """Plots the share of positions without a mistake, and the scores against opponents."""
    exact = [x for x in _of_kind(lines, "eval") if not math.isnan(_mistake_rate(x))]
    matches = _by_opponent(lines, "eval/score")
    if not exact and not matches:
        return None
    figure, panels = figure_over_cycles(lines, bool(exact) + bool(matches))
    if exact:
        share = [1 - _mistake_rate(x) for x in exact]
        mistakes, positions = exact[-1]["eval/mistakes"], exact[-1]["eval/positions"]
        label = f"at last {mistakes:,} mistakes in {positions:,} positions"
        _points(panels[0], exact, share, 0, label)
        panels[0].set_ylabel("positions without a mistake")
        _percent(panels[0], share)
    if matches:
        scores = [0.5]
        for number, (opponent, games) in enumerate(matches.items()):
            scores += [_number(x["eval/score"]) for x in games]
            _points(panels[-1], games, scores[-len(games) :], number, f"against {opponent}")
        panels[-1].set_ylabel("score (draw = half)")
        _percent(panels[-1], scores)
    return finish(figure, "Evaluation")


def mistakes_by_class(lines: Lines) -> Figure | None:
    """Plots the share of mistakes in each class of positions, on a logarithmic axis."""
    exact = [x for x in _of_kind(lines, "eval") if any(n.startswith(_CLASSES) for n in x)]
    if not exact:
        return None
    figure, (axes,) = figure_over_cycles(lines, 1)
    names = dict.fromkeys(n for x in exact for n in x if n.startswith(_CLASSES))
    for number, name in enumerate(names):
        percents = 100 * np.array([_number(x.get(name)) for x in exact])
        label = f"{name.removeprefix(_CLASSES)}, at last {percents[-1]:.2g}%"
        # Classes without a mistake lie on the lower edge, since 0 has no logarithm.
        _points(axes, exact, np.maximum(percents, _NO_MISTAKE_PERCENT), number, label)
    axes.set_yscale("log")
    axes.set_ylim(_NO_MISTAKE_PERCENT, 100)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}%"))
    axes.set_ylabel("mistakes")
    return finish(figure, "Mistakes by class of positions")


def elo(lines: Lines) -> Figure | None:
    """Plots Elo differences with 95% bands. A match won throughout shows only its lower bound."""
    matches = _by_opponent(lines, "eval/elo", "eval/elo_low", "eval/elo_high")
    if not matches:
        return None
    figure, (axes,) = figure_over_cycles(lines, 1)
    alone: dict[str, Any] = {"markersize": 7, "fillstyle": "none", "linewidth": 1, "linestyle": ":"}
    for number, (opponent, games) in enumerate(matches.items()):
        colour = COLOURS[number % len(COLOURS)]
        cycles, middle, low, high = (
            np.array([_number(x.get(name)) for x in games])
            for name in ("cycle", "eval/elo", "eval/elo_low", "eval/elo_high")
        )
        axes.fill_between(cycles, low, high, color=colour, alpha=0.15, linewidth=0)
        if np.isfinite(middle).any():
            _points(axes, games, middle, number, f"against {opponent}")
        bounds = ((low, "^", "won all: at least"), (high, "v", "lost all: at most"))
        for bound, marker, words in bounds:
            rows = np.isnan(middle) & np.isfinite(bound)
            if rows.any():
                look = alone | {"marker": marker, "label": f"against {opponent}, {words}"}
                axes.plot(cycles[rows], bound[rows], color=colour, **look)
    axes.axhline(0, color=_INK, linewidth=0.8, zorder=1)
    axes.set_ylabel("Elo difference, with its 95% interval")
    return finish(figure, "Elo")


def league(lines: Lines) -> Figure | None:
    """Plots the results of self-play against the members of the pool, by their places in it."""
    cycles = _of_kind(lines, "cycle")
    figure, (axes,) = figure_over_cycles(lines, 1)
    _curve(axes, cycles, "league/score", 0, "against all members")
    if not axes.lines:
        return None
    names = dict.fromkeys(n for x in cycles for n in x if n.startswith("league/score_"))
    for number, name in enumerate(names, 1):
        label = f"against member {name.removeprefix('league/score_')}"
        _curve(axes, cycles, name, number % len(COLOURS), label)
    axes.set_ylabel("score (draw = half)")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    return finish(figure, "League")


def game_lengths(lines: Lines) -> Figure | None:
    """Plots the mean length of self-play games, and how they ended."""
    cycles = _of_kind(lines, "cycle")
    results = {"selfplay/first_player_score": "first player's score", "selfplay/draw_rate": "draws"}
    known = [name for name in results if any(x.get(name) is not None for x in cycles)]
    figure, panels = figure_over_cycles(lines, 2 if known else 1)
    _curve(panels[0], cycles, "selfplay/game_length", 0, "mean of the games that ended")
    if not panels[0].lines:
        return None
    panels[0].set_ylabel("game length (plies)")
    for number, name in enumerate(known):
        _curve(panels[1], cycles, name, 1 + number, results[name])
    if known:
        panels[1].set_ylabel("share of the games")
        panels[1].set_ylim(-0.02, 1.02)
        panels[1].yaxis.set_major_formatter(PercentFormatter(1.0))
    return finish(figure, "Games of self-play")


def speed(lines: Lines) -> Figure | None:
    """Plots positions and games per second, within the cycles."""
    timed = [x for x in _of_kind(lines, "cycle") if _number(x.get("time/cycle_s")) > 0]
    counts = {"positions": "selfplay/plies", "games": "selfplay/games_finished"}
    rates = [
        {"cycle": x["cycle"]}
        | {name: _number(x.get(count)) / x["time/cycle_s"] for name, count in counts.items()}
        for x in timed
    ]
    figure, panels = figure_over_cycles(lines, 2)
    for number, (axes, name) in enumerate(zip(panels, counts, strict=True)):
        _curve(axes, rates, name, number)
        axes.set_ylabel(f"{name} per second")
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.10g}"))
    return finish(figure, "Speed of self-play and learning together") if panels[0].lines else None


def smooth(values: np.ndarray, window: int) -> np.ndarray:
    """Returns centred means over `window` values, fewer at the ends; NaN if all of them are NaN."""
    known = np.isfinite(values)
    kernel = np.ones(window)
    # The full convolution is cut here, because "same" has the length of the longer argument.
    cut = slice((window - 1) // 2, (window - 1) // 2 + len(values))
    total = np.convolve(np.where(known, values, 0.0), kernel)[cut]
    count = np.convolve(known.astype(float), kernel)[cut]
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _of_kind(lines: Lines, kind: str) -> Lines:
    return [line for line in lines if line["kind"] == kind]


def _by_opponent(lines: Lines, *names: str) -> dict[str, Lines]:
    """Returns the evaluations that have one of the metrics `names`, by opponent."""
    found: dict[str, Lines] = {}
    for line in _of_kind(lines, "eval"):
        if any(line.get(name) is not None for name in names):
            found.setdefault(str(line.get("opponent", "the baseline")), []).append(line)
    return found


def _mistake_rate(line: Line) -> float:
    positions = _number(line.get("eval/positions"))
    return _number(line.get("eval/mistakes")) / positions if positions else math.nan


def _number(value: Value) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def figure_over_cycles(lines: Lines, panels: int) -> tuple[Figure, Sequence[Axes]]:
    """Returns a figure and its panels, side by side, with cycles below and minutes above."""
    figure = Figure(
        figsize=(4.7 * panels if panels > 1 else 6.4, 3.9), dpi=150, layout="constrained"
    )
    every = figure.subplots(1, panels, squeeze=False)[0]
    made = _of_kind(lines, "cycle")
    cycles = [0, *(line["cycle"] for line in made)]
    minutes = [0.0, *(line["time_s"] / 60 for line in made)]
    end = max(cycles[-1], 1)
    # The axis is a little longer than the cycles, so that the last points are not cut.
    limits = (-0.02 * end, 1.02 * end)
    # The minutes have their ticks at those of the cycles. Ticks at round minutes could overlap,
    # because the first cycle compiles and may take as long as all the others.
    ticks = [t for t in MaxNLocator(6, integer=True).tick_values(0, end) if 0 <= t <= end]
    digits = 0 if minutes[-1] >= 100 else 1 if minutes[-1] >= 2 else 2
    labels = [f"{m:.{digits}f}" for m in np.interp(ticks, cycles, minutes)]
    for axes in every:
        axes.set_xlim(limits)
        axes.set_xlabel("training cycle", color=_INK)
        axes.set_xticks(ticks)
        axes.grid(color=_GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color("#999999")
        axes.tick_params(color="#999999", labelcolor=_INK, labelsize=9)
        axes.yaxis.label.set_color(_INK)
        top = axes.secondary_xaxis("top")
        top.set_xticks(ticks, labels)
        top.set_xlabel("minutes", color=_INK, fontsize=9)
        top.tick_params(color="#999999", labelcolor=_INK, labelsize=8)
        top.spines["top"].set_color("#CCCCCC")
    return figure, every


def _curve(axes: Axes, lines: Lines, name: str, number: int, label: str = "", **style: Any) -> None:
    """Draws a metric's values faintly, and their running mean over them."""
    cycles = np.array([line["cycle"] for line in lines], float)
    values = np.array([_number(line.get(name)) for line in lines])
    known = np.flatnonzero(np.isfinite(values))
    if not known.size:
        return
    colour = COLOURS[number]
    few: dict[str, Any] = {"marker": "o", "markersize": 3} if len(known) <= 30 else {}
    axes.plot(cycles, values, color=colour, alpha=0.25, linewidth=0.8, **few)
    # Means bridge gaps, but do not extend beyond the first and the last value.
    measured = slice(known[0], known[-1] + 1)
    means = smooth(values, max(5, len(values) // 20) | 1)[measured]
    axes.plot(cycles[measured], means, color=colour, linewidth=2, label=label, **style)
    axes.margins(y=0.08)


def _points(axes: Axes, lines: Lines, values: ArrayLike, number: int, label: str) -> None:
    colour, marker = COLOURS[number % len(COLOURS)], "osD^vPX"[number % 7]
    cycles = [line["cycle"] for line in lines]
    look = {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 1.8}
    axes.plot(cycles, values, label=label, clip_on=False, zorder=3, **look)


def _percent(axes: Axes, values: Sequence[float]) -> None:
    """Makes the vertical axis show percent, from below the lowest value to 100."""
    low = min(values)
    span = max(1 - low, 0.02)
    axes.set_ylim(max(low - 0.08 * span, 0.0), 1)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{100 * y:g}%"))


def finish(figure: Figure, title: str) -> Figure:
    """Adds the title and the legends to a figure, and returns it."""
    figure.suptitle(title, fontsize=12, fontweight="bold", color=_INK, x=0.01, ha="left")
    for axes in figure.axes:
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="best", frameon=False, fontsize=8.5, labelcolor=_INK)
    return figure
