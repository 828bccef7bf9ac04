"""The examples that hand parts of their own to `azjax.train`."""

import importlib.util
from pathlib import Path

import pytest

import azjax
from azjax.config.toml import load_config

FOLDER = Path(__file__).parent.parent.parent / "examples"
SHORT = ("own_network", "own_loss", "stock_mctx")
CYCLES = 8  # until the first updates


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def small(monkeypatch):
    """Makes the configs that the examples load small."""
    sizes = {
        "selfplay": {"parallel_games": 32, "plies_per_cycle": 4},
        "replay": {"min_positions": 32, "capacity_plies": 16},
        "learning": {"batch_size": 16, "updates_per_cycle": 1},
        "search": {"num_simulations": 2},
    }
    monkeypatch.setattr(azjax, "load_config", lambda name, own: load_config(name, own | sizes))


def test_they_are_at_most_150_lines():
    for name in SHORT:
        assert len((FOLDER / f"{name}.py").read_text().splitlines()) <= 150, name


def test_a_network(small, tmp_path):
    example = load("own_network")
    result = example.main(tmp_path / "run", CYCLES)
    assert result.num_games == 200
    named = azjax.read_metrics(tmp_path / "run")[-1]
    assert named["train/updates"] == 1


def test_a_loss(small, tmp_path):
    last = load("own_loss").main(tmp_path / "run", CYCLES)
    assert last["train/z_loss"] > 0
    assert last["train/learning_rate"] > 0


def test_mctxs_own_search(small, tmp_path):
    last = load("stock_mctx").main(tmp_path / "run", CYCLES)
    assert last["train/updates"] == 1
