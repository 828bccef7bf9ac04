"""A tiny run for the tests of training, and the processes that train it."""

import contextlib
import dataclasses
import functools
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import tomli_w

from azjax.config import Config
from azjax.config.toml import config_from_dict
from azjax.games import make_game
from azjax.sharding import make_mesh
from azjax.training.state import TrainState
from azjax.training.trainer import Trainer, make_trainer

VALUES: dict[str, Any] = {
    "game": {"name": "tic_tac_toe"},
    "cycles": 6,
    "network": {
        "architecture": "mlp",
        "blocks": 1,
        "channels": 16,
        "value_hidden": 16,
        "norm": "batch",
    },
    "search": {"num_simulations": 4},
    "selfplay": {"parallel_games": 16, "plies_per_cycle": 8},
    "replay": {"capacity_plies": 16, "min_positions": 96},
    "learning": {"batch_size": 16, "updates_per_cycle": 1, "warmup_updates": 2},
    "evaluation": {"every": 3, "games": 8, "num_simulations": 4},
    "gate": {"every": 2, "games": 8},
    "checkpoint": {"every": 3},
}

# Nothing may wait longer than this, for a dead peer or in a deadlock.
PATIENCE_S = 120


def values(**changes: Any) -> dict[str, Any]:
    """Returns the tiny config as nested dicts; `learning={"l2": 1.0}` changes a key."""
    merged = dict(VALUES)
    for key, change in changes.items():
        merged[key] = {**merged.get(key, {}), **change} if isinstance(change, dict) else change
    return merged


def config(**changes: Any) -> Config:
    return config_from_dict(values(**changes))


def write_config(path: Path, **changes: Any) -> Path:
    path.write_text(tomli_w.dumps(values(**changes)))
    return path


@functools.lru_cache(maxsize=64)
def _trainer(config: Config, devices: int) -> Trainer:
    return make_trainer(make_game(config), config, make_mesh(jax.devices()[:devices]))


def trainer(devices: int = 1, **changes: Any) -> Trainer:
    """Returns a trainer whose functions are compiled once for all tests."""
    return _trainer(config(**changes), devices)


@functools.lru_cache(maxsize=64)
def shared_make_trainer(game: Any, config: Config, mesh: Any = None, **parts: Any) -> Trainer:
    """Returns what `make_trainer` does, but one trainer for all runs of one config."""
    return make_trainer(game, config, mesh, **parts)


def start(trainer: Trainer, seed: int = 0) -> TrainState:
    return trainer.init(jax.random.PRNGKey(seed))


def on_host(tree: Any) -> Any:
    """Returns a copy on the host that no donated buffer can change."""
    return jax.tree.map(lambda x: np.array(x, copy=True), tree)


def leaves(tree: Any) -> dict[str, np.ndarray]:
    flat, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in flat}


def assert_equal(left: Any, right: Any) -> None:
    """Checks that all leaves of two trees are equal, bit for bit."""
    left, right = leaves(left), leaves(right)
    assert left.keys() == right.keys()
    assert left
    for name, x in left.items():
        y = right[name]
        assert (x.dtype, x.shape) == (y.dtype, y.shape), name
        assert x.tobytes() == y.tobytes(), f"{name} differs"


def replace(config: Any, **changes: Any) -> Any:
    return dataclasses.replace(config, **changes)


def with_learner(state: TrainState, **changes: Any) -> TrainState:
    """Returns the state with changes to its learner."""
    return replace(state, learner=replace(state.learner, **changes))


def start_azjax(
    *arguments: str | Path, devices: int = 1, cwd: Path | None = None
) -> subprocess.Popen:
    """Starts the command line in its own process, with both outputs in pipes."""
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": str(devices),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "azjax.cli", *map(str, arguments)],
        env=environment,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@contextlib.contextmanager
def killed_at_the_end(*processes: subprocess.Popen) -> Iterator[None]:
    """Kills the processes at the end of the context, also after an error."""
    try:
        yield
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdout, process.stderr):
                pipe.close()


def run_azjax(
    *arguments: str | Path, devices: int = 1, cwd: Path | None = None
) -> tuple[int, str, str]:
    """Returns exit code, standard output and standard error."""
    process = start_azjax(*arguments, devices=devices, cwd=cwd)
    with killed_at_the_end(process):
        out, err = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out, err


def wait_until(
    condition: Callable[[], Any], *processes: subprocess.Popen, seconds: float = PATIENCE_S
) -> None:
    """Waits for `condition`; fails if it takes too long, or if a process ends before."""
    end = time.monotonic() + seconds
    while not condition():
        for process in processes:
            if process.poll() is not None and not condition():
                out, err = process.communicate()
                raise AssertionError(f"exit code {process.returncode}\n{out}\n{err}")
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def without_notice_of_jax(errors: str) -> str:
    """Returns the errors of a process without JAX's notice that tasks may be lost."""
    return re.sub(r"^W.* Using experimental recoverable task feature.*\n", "", errors)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
