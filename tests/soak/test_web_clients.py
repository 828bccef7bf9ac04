"""The soak script of the local server, in small: it runs, and everybody is answered."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("uvicorn")

SCRIPT = Path(__file__).parent / "web_clients.py"


def test_idle_and_searching_clients_leave_the_page_fast(tmp_path):
    options = ["--player", "dots_and_boxes_3x3", "--idle", "12", "--searching", "12"]
    options += ["--simulations", "32", "--seconds", "4", "--json", str(tmp_path / "record.json")]
    subprocess.run([sys.executable, str(SCRIPT), *options], check=True, timeout=600)
    result = json.loads((tmp_path / "record.json").read_text())["result"]
    assert result["wrong"] == []
    assert result["stderr"] == ""
    assert result["pages"] > 2
    assert result["page_ms_median"] < 1000
    assert result["searches"] > 12
    assert result["searches_broken_off"] > 0
    assert result["answers_that_the_server_is_busy"] > 0
