"""Live curves show what the metrics of a run hold, in one place."""

import base64
import importlib
import re
import sys

import pytest
from rich.console import Console

from azjax.config.toml import save_config
from azjax.errors import UserError
from azjax.runs.metrics import RunLogger
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
    """What `display(..., display_id=True)` returns, and what it was given."""

    def __init__(self):
        self.shown = []

    def __call__(self, html, *, display_id):
        assert display_id is True
        self.update(html)
        return self

    def update(self, html):
        self.shown.append(html.data)


@pytest.fixture
def place(monkeypatch):
    place = Display()
    monkeypatch.setattr(curves, "display", place)
    return place


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


def test_a_run_is_drawn_in_place(place, tmp_path):
    watch = curves.live_curves()
    run_dir = write(tmp_path / "run", [1])
    watch(run_dir, False)
    assert "cycle 1 of 6 after 0:00" in place.shown[1]
    write(run_dir, [2, 3])
    watch(run_dir, False)  # too soon after the last drawing
    assert len(place.shown) == 2
    watch(run_dir, True)  # but the end is shown
    assert "cycle 3 of 6" in place.shown[2]
    assert "cycle 3: 2 mistakes in 900 positions" in place.shown[2]
    images = re.findall(r"data:image/png;base64,([^\"]+)", place.shown[2])
    assert len(images) == 3  # losses, evaluation, games
    assert all(base64.b64decode(image).startswith(b"\x89PNG") for image in images)


def test_what_is_missing_is_told_in_a_line(monkeypatch):
    notebook = importlib.import_module("azjax.notebook")
    monkeypatch.delitem(sys.modules, "azjax.notebook.curves")
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(UserError, match=re.escape('pip install "azjax[notebook]"')):
        _ = notebook.live_curves
