"""The soak scripts of run directories, in small."""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent


def run(script, *options, record):
    command = [sys.executable, str(FOLDER / script), *options, "--json", str(record)]
    done = subprocess.run(command, timeout=600, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(record.read_text())["results"]


def test_every_flipped_bit_is_detected_or_harmless(tmp_path):
    results = run("flips.py", "--flips", "12", record=tmp_path / "record.json")
    assert results["wrong"] == 0
    assert sum(count for count in results.values() if isinstance(count, int)) == 12


def test_a_killed_run_ends_like_one_never_stopped(tmp_path):
    options = ["--kills", "2", "--cycles", "40", "--seconds", "1"]
    results = run("kills.py", *options, record=tmp_path / "record.json")
    assert sum(results["kills"].values()) == 2
    assert results["arrays_that_differ"] == 0
    assert results["arrays"] > 20
