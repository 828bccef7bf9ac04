"""The examples that hand games and parts of their own to `azjax.train`."""

import importlib.util
import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import legal_actions

import azjax
from azjax.config.toml import load_config

FOLDER = Path(__file__).parent.parent.parent / "examples"
SHORT = (
    "flax_weights",
    "learn_from_games",
    "numpy_player",
    "own_game",
    "own_loss",
    "own_network",
    "pgx_game",
    "stock_mctx",
    "sweep",
    "wandb_logging",
)
CYCLES = 8  # until the first updates


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where its dataclasses look for their types
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

    def load_small(name, own):
        return load_config(name, own | {k: own.get(k, {}) | size for k, size in sizes.items()})

    monkeypatch.setattr(azjax, "load_config", load_small)


def test_they_are_at_most_150_lines():
    for name in SHORT:
        assert len((FOLDER / f"{name}.py").read_text().splitlines()) <= 150, name


def test_the_page_begins_with_forty_lines_of_public_names():
    """`tests/test_docs.py` runs them."""
    page = (FOLDER.parent / "docs" / "research.md").read_text()
    block = page.partition("```python\n")[2].partition("```")[0]
    assert len(block.splitlines()) <= 40
    names = set(re.findall(r"azjax\.(\w+)", block))
    assert names <= set(azjax.__all__)
    assert names >= {"flax_network", "train", "save_player", "load_player", "play_match"}
    assert "from azjax" not in block


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


@pytest.mark.slow
def test_weights_and_biases(small, tmp_path, monkeypatch, capsys):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    slowest = load("wandb_logging").main(tmp_path / "run", CYCLES)
    assert 1 <= slowest.cycle <= CYCLES
    assert f"cycle {slowest.cycle} took longest" in capsys.readouterr().out
    assert list(tmp_path.glob("run/wandb/offline-run-*/*.wandb"))


@pytest.mark.slow
def test_a_sweep(small, tmp_path, monkeypatch):
    sweep = load("sweep")
    monkeypatch.setattr(sweep, "RATES", (1e-6, 1e-2))
    cycles = CYCLES + 3  # the first update has a learning rate of 0
    states, log = sweep.train(cycles, jnp.asarray(sweep.RATES))
    low, high = log["train/learning_rate"][-1]
    np.testing.assert_allclose(high, 1e4 * low, rtol=1e-4)
    moved = log["train/param_norm"][-1] - log["train/param_norm"][0]
    assert abs(moved[1]) > 10 * abs(moved[0])
    monkeypatch.setattr(sweep, "train", lambda cycles, rates: (states, log))
    wrong = sweep.main(tmp_path, cycles)
    assert len(wrong) == 2
    assert all(0 < share < 1 for share in wrong)
    assert (tmp_path / "sweep.png").stat().st_size > 10_000


@pytest.mark.slow
def test_a_game(small, tmp_path):
    result = load("own_game").main(tmp_path / "run", CYCLES)
    assert result.num_games == 200
    assert azjax.read_metrics(tmp_path / "run")[-1]["train/updates"] == 1


def test_the_game_is_breakthrough():
    """Its moves are counted and played by hand."""
    game = load("own_game").Breakthrough()
    step = jax.jit(game.step)

    def after(texts):
        state = game.init()
        for text in texts.split():
            state = step(state, game.string_to_action(state, text))
        return state

    def count(state, depth):
        moves = legal_actions(game, state)
        return len(moves) if depth == 1 else sum(count(step(state, a), depth - 1) for a in moves)

    # Of 5 pawns in front, those at the edges have two moves each, the others three. Each reply but
    # one is there too: the pawn that moved blocks one straight step, and can be captured instead.
    assert [count(game.init(), depth) for depth in (1, 2)] == [13, 13 * 12]
    state = after("b2c3 b4c3")
    assert game.to_string(state).splitlines() == [
        "O O O O O",
        "O . O O O",
        ". . O . .",
        "X . X X X",
        "X X X X X",
    ]
    with pytest.raises(
        ValueError, match="'c2c3' is not legal here"
    ):  # straight ahead is no capture
        game.string_to_action(state, "c2c3")
    state = after("b2c3 a4a3 c3b4 a3b2 b4a5")
    assert game.is_terminal(state)
    assert game.returns(state).tolist() == [1, -1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_game_of_pgx(small, tmp_path):
    with jax.numpy_rank_promotion("allow"):
        result = load("pgx_game").main(tmp_path / "run", CYCLES)
    assert result.num_games == 100
    assert (tmp_path / "run" / "last_position.svg").read_text().startswith("<?xml")
