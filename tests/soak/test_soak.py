"""The programs of `benchmarks/soak`, in small."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks" / "soak"


@pytest.fixture
def run(tmp_path):
    """Returns a function that runs a program, and returns its record."""

    def run(script, options):
        record = tmp_path / "record.json"
        command = [sys.executable, str(FOLDER / script), *options.split(), "--json", str(record)]
        done = subprocess.run(command, timeout=600, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(record.read_text())

    return run


def test_every_flipped_bit_is_detected_or_harmless(run):
    results = run("flips.py", "--flips 12")["results"]
    assert results["wrong"] == 0
    assert sum(count for count in results.values() if isinstance(count, int)) == 12


def test_a_killed_run_ends_like_one_never_stopped(run):
    results = run("kills.py", "--kills 2 --cycles 40 --seconds 1")["results"]
    assert sum(results["kills"].values()) == 2
    assert results["arrays_that_differ"] == 0
    assert results["arrays"] > 20


def test_hostile_files_are_refused_in_one_line_or_loaded_correctly(run):
    results = run("files.py", "--files 400 --seed 1")["results"]
    assert set(results) == {"config", "player"}
    for result in results.values():
        assert result["wrong"] == 0
        assert result["loaded"] > 0
        assert result["refused"] > 300


def test_idle_and_searching_clients_leave_the_page_fast(run):
    pytest.importorskip("uvicorn")
    clients = "--idle 12 --searching 12 --simulations 32 --seconds 4"
    result = run("web_clients.py", f"--player dots_and_boxes_3x3 {clients}")["result"]
    assert result["wrong"] == []
    assert result["stderr"] == ""
    assert result["pages"] > 2
    assert result["page_ms_median"] < 1000
    assert result["searches"] > 12
    assert result["searches_broken_off"] > 0
    assert result["answers_that_the_server_is_busy"] > 0


def test_engines_survive_nonsense_and_long_use(run):
    results = run("engines.py", "--lines 300 --games 1 --searches 3 --plies 20")["results"]
    assert set(results) == {"gtp", "uci", "usi"}
    for result in results.values():
        assert result["stderr"] == ""
        assert result["plies_of_the_game_after_them"] > 10
        assert result["growth_percent"] < 5


def test_engines_play_by_the_clock(run):
    """Only the machine's speed decides the times, so they are not tested here."""
    options = "--games gardner_chess go_9x9 --milliseconds 50 --moves 4 --seconds 5 --matches 1"
    record = run("clocks.py", f"{options} --plies 8 --blocks 1 --channels 16 --burners 1")
    assert record["movetime"]["gardner_chess 50 ms"]["moves"] == 4
    (game,) = record["games"]["go_9x9 5 s + 0.1 s"]
    assert game["plies"] == 8
