"""Live curves show the metrics of a run, in one place of the notebook."""

import base64
import importlib
import re
import sys

import pytest
from rich.console import Console

from azjax.config.toml import save_config
from azjax.errors import UserError
from azjax.running.progress import Progress
from azjax.runs.run_logger import RunLogger
from tests import tiny

pytest.importorskip("IPython")

from azjax.notebook import curves

CYCLE = {
    "train/policy_loss": 1.0,
    "train/value_loss": 0.5,
    "selfplay/plies": 8.0,
    "time/cycle_s": 0.1,
    "selfplay/game_length": 7.0,
}


class Display:
    """Replaces `display(..., display_id=True)` and records what it shows."""

    def __init__(self):
        self.shown = []

    def __call__(self, html, *, display_id):
        assert display_id is True
        self.update(html)
        return self

    def update(self, html):
        self.shown.append(html.data)


@pytest.fixture
def recorded(monkeypatch):
    recorded = Display()
    monkeypatch.setattr(curves, "display", recorded)
    return recorded


def write(run_dir, cycles):
    run_dir.mkdir(exist_ok=True)
    save_config(tiny.config(), run_dir / "config.toml")
    log = RunLogger(run_dir, total_cycles=6, console=Console(quiet=True))
    with log:
        for cycle in cycles:
            log.cycle(cycle, CYCLE)
            if cycle == 3:
                log.evaluation(cycle, {"mistakes": 2, "positions": 900})
    return run_dir


def progress(run_dir, last):
    return Progress(run_dir, 1, {}, None, last, None)


def test_a_run_is_drawn_in_one_place(recorded, tmp_path):
    watch = curves.live_curves()
    run_dir = write(tmp_path / "run", [1])
    watch(progress(run_dir, False))
    assert "cycle 1 of 6 after 0:00" in recorded.shown[1]
    write(run_dir, [2, 3])
    watch(progress(run_dir, False))  # too soon after the last drawing
    assert len(recorded.shown) == 2
    watch(progress(run_dir, True))  # but the end is shown
    assert "cycle 3 of 6" in recorded.shown[2]
    assert "cycle 3: 2 mistakes in 900 positions" in recorded.shown[2]
    images = re.findall(r"data:image/png;base64,([^\"]+)", recorded.shown[2])
    assert len(images) == 3  # losses, evaluation, games
    assert all(base64.b64decode(image).startswith(b"\x89PNG") for image in images)


def test_a_missing_package_is_one_line(monkeypatch):
    notebook = importlib.import_module("azjax.notebook")
    monkeypatch.delitem(sys.modules, "azjax.notebook.curves")
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(UserError, match=re.escape('pip install "azjax[notebook]"')):
        _ = notebook.live_curves
