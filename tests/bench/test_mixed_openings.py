"""The benchmark that makes openings in which a player meets others."""

import importlib.util
import sys
from pathlib import Path

import pytest
from azjax_envs import make

from azjax.selfplay.openings import read_openings

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "mixed_openings.py"


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, SCRIPT.stem, module)
    spec.loader.exec_module(module)
    return module


def test_self_play_can_begin_at_the_openings(script, tmp_path):
    out = tmp_path / "openings.txt"
    options = script.Arguments(
        player="hex_5x5:policy", out=out, opponents=("random", "mc:1"), games=16, plies=6
    )
    script.main(options)
    openings = read_openings(make("hex_5x5"), out)
    # For each opponent 16 games of the player, and as many of random play.
    assert len(openings.plies) == 64
    assert 0 < openings.plies.max() <= 6
    assert len(set(out.read_text().splitlines())) > 40
    before = out.read_bytes()
    with pytest.raises(SystemExit, match="exists; choose another name"):
        script.main(options)
    assert out.read_bytes() == before
