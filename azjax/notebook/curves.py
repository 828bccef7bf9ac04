"""The curves of a run, redrawn in one place of a notebook while it trains."""

import base64
import html
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from IPython.display import HTML, display
from matplotlib.figure import Figure

from azjax.players.load import load_run_config
from azjax.runs import plots
from azjax.runs.loggers import Value
from azjax.runs.metrics import evaluation_text, read_metrics

# Time between two drawings: at least this long, and this many times the time of a drawing.
_PAUSE_S, _PAUSE_FACTOR = 3.0, 10.0


class _Progress(Protocol):
    """What the curves need of an `azjax.Progress`."""

    @property
    def run_dir(self) -> Path: ...

    @property
    def last(self) -> bool: ...


def live_curves() -> Callable[[_Progress], None]:
    """Returns curves that show a run below the cell while it trains.

        azjax.train(config, run_dir, on_cycle=live_curves())

    `azjax.resume` takes them too. The curves are the losses, the evaluations and the lengths of
    self-play games, as in the run's folder `plots`. Interrupting the cell stops the run after its
    cycle and saves it.
    """
    handle = display(HTML(""), display_id=True)
    assert handle is not None  # because of display_id
    due = 0.0

    def draw(progress: _Progress) -> None:
        """Draws the run as it is now, if the last drawing is old enough or the run ends here."""
        nonlocal due
        started, run_dir = time.monotonic(), progress.run_dir
        if started < due and not progress.last:
            return
        lines = read_metrics(run_dir)
        figures = [plots.losses(lines), plots.evaluation(lines), plots.game_lengths(lines)]
        shown = "".join(_image(figure) for figure in figures if figure is not None)
        # Updates the display, so that the notebook keeps one drawing and not all of them.
        handle.update(HTML(f"<p>{html.escape(_headline(run_dir, lines))}</p>{shown}"))
        now = time.monotonic()
        due = now + max(_PAUSE_S, _PAUSE_FACTOR * (now - started))

    return draw


def _headline(run_dir: Path, lines: list[dict[str, Value]]) -> str:
    """Returns "runs/a: cycle 40 of 200 after 1:05; cycle 40: 3 mistakes in 4,520 positions"."""
    last = [line for line in lines if line["kind"] == "cycle"][-1]
    minutes, seconds = divmod(int(last["time_s"] or 0), 60)
    total = load_run_config(run_dir).cycles
    text = f"{run_dir}: cycle {last['cycle']} of {total} after {minutes}:{seconds:02}"
    evaluated = [line for line in lines if line["kind"] == "eval"]
    newest = [line for line in evaluated if line["cycle"] == evaluated[-1]["cycle"]]
    if newest:
        known = (
            {k: v for k, v in line.items() if k not in ("kind", "cycle", "time_s")}
            for line in newest
        )
        text += f"; cycle {newest[0]['cycle']}: {'; '.join(map(evaluation_text, known))}"
    return text


def _image(figure: Figure) -> str:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    data = base64.b64encode(file.getvalue()).decode()
    # Shown smaller than it is drawn, so that it is sharp on screens of high density.
    style = f"width: {70 * figure.get_figwidth():.0f}px; max-width: 100%"
    return f'<div><img src="data:image/png;base64,{data}" style="{style}"></div>'
