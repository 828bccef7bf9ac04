"""A run of two cycles, for the tests of commands."""

import pytest

from azjax.cli.main import main
from tests import tiny

CHANGES = {"cycles": 2, "checkpoint": {"every": 1}, "evaluation": {"every": 0}}


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A run of two cycles, each with a checkpoint. Copy it before you change it."""
    folder = tmp_path_factory.mktemp("trained")
    file = tiny.write_config(folder / "tiny.toml", **CHANGES)
    assert main(["train", str(file), "--run-dir", str(folder / "run")]) == 0
    return folder / "run"
