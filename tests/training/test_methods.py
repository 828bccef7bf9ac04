"""All training methods at once: they must work together."""

import functools

import jax
import numpy as np
import pytest

from azjax.config.toml import save_config
from azjax.players.load import load_network
from azjax.running.saved_state import restore_state, save_state
from azjax.runs.checkpoint import Checkpoints
from tests import tiny

EVERYTHING = {
    "game": {"name": "dots_and_boxes_2x2"},
    "cycles": 4,
    "network": {
        "auxiliary": ["score", "ownership"],
        "value_head": "wdl",
    },
    "search": {
        "algorithm": "puct",
        "num_simulations": 4,
    },
    "selfplay": {
        "full_search_fraction": 0.5,
        "fast_simulations": 2,
        "resign_false_positive_rate": 0.5,
        "opening_plies": 4,
        "final_temperature": 0.1,
        "actor": "gated",
    },
    "replay": {
        "capacity_plies": 32,
        "max_games": 40,
        "min_positions": 32,
    },
    "learning": {"root_value_weight": 0.2, "l2": 1e-4},
}


def trained(state, cycles):
    trainer = tiny.trainer(2, **EVERYTHING)
    for _ in range(cycles):
        state, metrics = trainer.cycle(state)
        state, _ = trainer.gate(state)
    return state, metrics


@functools.lru_cache
def whole_run():
    """Returns the state after four cycles, on the host, and the last cycle's metrics."""
    state, metrics = trained(tiny.start(tiny.trainer(2, **EVERYTHING)), 4)
    return tiny.on_host(state), {k: float(v) for k, v in metrics.items()}


def test_a_run_with_everything_learns():
    _, metrics = whole_run()
    assert metrics["train/updates"] == 1
    measured = {k: v for k, v in metrics.items() if "resign" not in k}
    games = ("selfplay/game_length", "selfplay/draw_rate", "selfplay/first_player_score")
    if metrics["selfplay/games_finished"]:
        games = ()
    assert all(np.isfinite(v) for k, v in measured.items() if k not in games), metrics
    assert {
        "train/score_loss",
        "train/ownership_loss",
        "selfplay/resign_threshold",
        "selfplay/resigned_fraction",
    } <= metrics.keys()


def test_stopped_and_resumed_it_is_the_same_to_the_bit(tmp_path):
    trainer = tiny.trainer(2, **EVERYTHING)
    state, _ = trained(tiny.start(trainer), 2)
    with Checkpoints(tmp_path) as checkpoints:
        save_state(checkpoints, state)
    with Checkpoints(tmp_path) as checkpoints:
        state = restore_state(checkpoints, trainer.abstract_state(), warn=print)
    state, _ = trained(state, 2)
    tiny.assert_equal(tiny.on_host(state), whole_run()[0])


@pytest.mark.parametrize("actor", ["latest", "gated"])
def test_what_plays_a_run(actor, tmp_path):
    """The latest network plays; with a gate, the one that passed it."""
    trainer = tiny.trainer(selfplay={"actor": actor})
    state = tiny.start(trainer)
    latest, gated = (
        jax.tree.map(lambda x, add=add: x + add, state.learner.variables) for add in (1, 2)
    )
    state = tiny.with_learner(state, variables=latest)
    if state.gated is not None:
        state = tiny.replace(state, gated=gated)
    expected = gated if actor == "gated" else latest
    save_config(trainer.config, tmp_path / "config.toml")
    with Checkpoints(tmp_path) as checkpoints:
        save_state(checkpoints, state)
    _, _, variables = load_network(tmp_path)
    tiny.assert_equal(tiny.on_host(variables), tiny.on_host(expected))
    with Checkpoints(tmp_path) as checkpoints:
        restored = restore_state(checkpoints, trainer.abstract_state(), warn=pytest.fail)
    tiny.assert_equal(restored, state)
