"""The example that researchers copy is short, and reaches the scores that it promises."""

import ast
import importlib.util
import json
import re
import sys
from pathlib import Path

import jax
import pytest

from azjax.config import SearchConfig

FILE = Path(__file__).parent.parent.parent / "examples" / "minimal.py"


@pytest.fixture
def minimal(monkeypatch):
    spec = importlib.util.spec_from_file_location("minimal", FILE)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "minimal", module)  # where its dataclass looks for its types
    spec.loader.exec_module(module)
    return module


def test_it_is_under_200_lines():
    assert len(FILE.read_text().splitlines()) < 200


def test_a_tiny_run_trains_every_seed_and_prints_its_score(minimal, monkeypatch, capsys):
    tiny = {
        "SEEDS": 2,
        "CYCLES": 2,
        "CYCLES_PER_REPORT": 2,
        "GAMES": 4,
        "PLIES": 3,
        "CAPACITY": 6,
        "UPDATES": 2,
        "BATCH": 8,
        "SEARCH": SearchConfig(num_simulations=2),
        "EVALUATION_PAIRS": 2,
        "EVALUATION_SEARCH": SearchConfig(num_simulations=2),
    }
    for name, value in tiny.items():
        monkeypatch.setattr(minimal, name, value)
    scores = minimal.main()
    assert scores.shape == (2,)
    assert ((scores >= 0) & (scores <= 1)).all()
    printed = capsys.readouterr().out
    assert re.search(r"cycle   2  policy_loss \d\S+  value_loss \d\S+  score \S+% \S+%\n", printed)
    assert re.search(r"final score against random play: \S+%, the mean of 2 seeds\n", printed)


@pytest.mark.slow
def test_one_seed_learns_to_beat_random_play(minimal, monkeypatch, capsys):
    monkeypatch.setattr(minimal, "SEEDS", 1)
    monkeypatch.setattr(minimal, "CYCLES_PER_REPORT", minimal.CYCLES)
    with jax.default_device(jax.devices()[0]):
        scores = minimal.main()
    assert scores.shape == (1,)
    assert scores[0] >= 0.95, capsys.readouterr().out


@pytest.mark.slow
def test_four_seeds_beat_random_play(minimal, capsys):
    with jax.default_device(jax.devices()[0]):
        scores = minimal.main()
    assert scores.shape == (4,)
    assert scores.mean() >= 0.95, capsys.readouterr().out


def test_the_notebook_shows_its_parts():
    notebook = json.loads((FILE.parent.parent / "notebooks/02_the_games.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    source = FILE.read_text()
    parts = [node for node in ast.parse(source).body if hasattr(node, "name")]
    assert len(parts) >= 7
    for part in parts:
        shown = any(ast.get_source_segment(source, part) in cell for cell in cells)
        assert shown == (part.name != "main"), part.name
