"""What the tests of whole runs share."""

import io

import pytest
from rich.console import Console

from azjax.games import make_game
from azjax.running.saved_state import restore_state
from azjax.runs.checkpoint import Checkpoints
from azjax.runs.run_logger import RunLogger
from azjax.sharding import make_mesh
from tests import tiny

QUIET = {"evaluation": {"every": 0}}


def console():
    return Console(file=io.StringIO(), width=200)


def at_cycle(monkeypatch, when, action):
    """Calls `action` once, when cycle `when` has been logged."""
    log, pending = RunLogger.cycle, [action]

    def logged(self, cycle, scalars):
        log(self, cycle, scalars)
        if cycle == when and pending:
            pending.pop()()

    monkeypatch.setattr(RunLogger, "cycle", logged)


def newest_cycle(run_dir):
    with Checkpoints(run_dir, read_only=True) as checkpoints:
        return checkpoints.cycles()[-1]


def restore(run_dir, config):
    trainer = tiny.shared_make_trainer(make_game(config), config, make_mesh())
    with Checkpoints(run_dir, read_only=True) as checkpoints:
        return restore_state(checkpoints, trainer.abstract_state(), warn=pytest.fail)
