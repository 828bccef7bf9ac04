"""Files of saved players."""

import pytest

from azjax.players import compact_weights
from azjax.players.weights_file import save_player
from tests.players.saved_players import ABOUT, network


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "player.safetensors"
    config, _, variables = network()
    save_player(path, config, variables, ABOUT)
    return path


@pytest.fixture
def file_with_8_bits(tmp_path, monkeypatch):
    """A file whose policy's and trunk's kernels count as large."""
    monkeypatch.setattr(compact_weights, "LARGE", 100)
    path = tmp_path / "eight.safetensors"
    config, _, variables = network()
    save_player(path, config, variables, ABOUT)
    return path
