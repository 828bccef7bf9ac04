"""The soak script of hostile files, in small."""

import json
import subprocess
import sys
from pathlib import Path


def test_hostile_files_are_refused_in_one_line_or_loaded_correctly(tmp_path):
    script, record = Path(__file__).with_name("files.py"), tmp_path / "record.json"
    command = [sys.executable, str(script), "--files", "400", "--seed", "1", "--json", str(record)]
    subprocess.run(command, check=True, timeout=600, capture_output=True)
    results = json.loads(record.read_text())["results"]
    assert set(results) == {"config", "player"}
    for result in results.values():
        assert result["wrong"] == 0
        assert result["loaded"] > 0
        assert result["refused"] > 300
