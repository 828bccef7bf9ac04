"""The soak scripts of engines, in small: they run, and the engines answer all that they must."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
pytestmark = pytest.mark.slow  # tests/play sends nonsense and clocks, too


def run(script, *options, record):
    command = [sys.executable, str(FOLDER / script), *options, "--json", str(record)]
    subprocess.run(command, check=True, timeout=600, capture_output=True)
    return json.loads(record.read_text())


def test_engines_survive_nonsense_and_long_use(tmp_path):
    options = ["--lines", "300", "--games", "1", "--searches", "3", "--plies", "20"]
    results = run("engines.py", *options, record=tmp_path / "record.json")["results"]
    assert set(results) == {"gtp", "uci", "usi"}
    for result in results.values():
        assert result["stderr"] == ""
        assert result["plies_of_the_game_after_them"] > 10
        assert result["growth_percent"] < 5


def test_engines_play_by_the_clock(tmp_path):
    """Only the machine's speed decides the times, so they are not tested here."""
    options = "--games gardner_chess go_9x9 --milliseconds 50 --moves 4 --seconds 5 --matches 1"
    options += " --plies 8 --blocks 1 --channels 16 --burners 1"
    record = run("clocks.py", *options.split(), record=tmp_path / "record.json")
    assert record["movetime"]["gardner_chess 50 ms"]["moves"] == 4
    (game,) = record["games"]["go_9x9 5 s + 0.1 s"]
    assert game["plies"] == 8
