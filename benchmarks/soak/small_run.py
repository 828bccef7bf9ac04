"""A small run of tic-tac-toe on one device, and its states."""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "1"

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tomli_w

from azjax.config.toml import config_from_dict
from azjax.games import make_game
from azjax.running.saved_state import restore_state
from azjax.runs.checkpoint import Checkpoints
from azjax.training.state import TrainState
from azjax.training.trainer import Trainer, make_trainer


def values(cycles: int, checkpoint_every: int) -> dict[str, Any]:
    return {
        "game": {"name": "tic_tac_toe"},
        "cycles": cycles,
        "network": {"architecture": "mlp", "blocks": 1, "channels": 16, "value_hidden": 16},
        "search": {"num_simulations": 4},
        "selfplay": {"parallel_games": 16, "plies_per_cycle": 8},
        "replay": {"capacity_plies": 16, "min_positions": 96},
        "learning": {"batch_size": 16, "updates_per_cycle": 1, "warmup_updates": 2},
        "evaluation": {"every": 0},
        "checkpoint": {"every": checkpoint_every, "keep": 3},
    }


def trainer(settings: dict[str, Any]) -> Trainer:
    config = config_from_dict(settings)
    return make_trainer(make_game(config), config)


def write_config(path: Path, settings: dict[str, Any]) -> Path:
    path.write_text(tomli_w.dumps(settings))
    return path


def newest_state(run_dir: Path, maker: Trainer, warn: Callable[[str], None]) -> TrainState:
    """Returns the newest intact state of a run."""
    with Checkpoints(run_dir, read_only=True) as checkpoints:
        return restore_state(checkpoints, maker.abstract_state(), warn=warn)


def on_host(state: Any) -> Any:
    """Returns a copy that no later cycle can change."""
    return jax.tree.map(lambda x: np.array(x, copy=True), state)


def differing(left: Any, right: Any) -> int:
    """Returns the number of arrays that are not equal bit for bit."""
    pairs = zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True)
    return sum(
        (x.dtype, x.shape, np.asarray(x).tobytes()) != (y.dtype, y.shape, np.asarray(y).tobytes())
        for x, y in pairs
    )
