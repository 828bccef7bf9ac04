"""Help texts, the version, and configs by name."""

import contextlib
import importlib.metadata
import re
import subprocess
import sys

import pytest

from azjax.cli import main as cli
from azjax.cli.main import COMMANDS
from azjax.config.toml import load_config, shipped_configs
from azjax.running import loop as train_module
from tests import tiny


def test_help_begins_with_play(capsys):
    assert cli.main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("  azjax play connect_four ")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command, capsys):
    with contextlib.suppress(SystemExit):
        assert cli.main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"usage: azjax {command}" in out
    # A positional argument is called by what it is, not by its type.
    assert not re.search(r"^usage: .* (STR|PATH|\{[^}]*STR)( |$)", out, flags=re.MULTILINE)


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag, capsys):
    assert cli.main([flag]) == 0
    assert capsys.readouterr().out == f"azjax {importlib.metadata.version('azjax')}\n"


def test_python_dash_m_is_the_command():
    command = [sys.executable, "-m", "azjax.cli", "trian"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=tiny.PATIENCE_S)
    assert done.returncode == 2
    assert done.stderr.startswith("azjax: unknown command trian; did you mean train?")


def test_a_shipped_config_is_found_by_name_from_any_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained = []
    monkeypatch.setattr(
        train_module, "train", lambda config, run, **_: trained.append((config, run))
    )
    assert cli.main(["train", "papers/tic_tac_toe_small", "--seed", "7"]) == 0
    ((config, run),) = trained
    assert config.seed == 7
    assert config.search.algorithm == "puct"
    assert str(run) == "runs/tic_tac_toe_small"


def test_a_folder_in_the_way_hides_no_config(tmp_path, monkeypatch):
    expected = load_config("tic_tac_toe")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tic_tac_toe").mkdir()
    assert load_config("tic_tac_toe") == expected


def test_every_shipped_config_loads():
    configs = shipped_configs()
    assert {"tic_tac_toe", "connect_four", "gpu/connect_four", "papers/go"} <= configs.keys()
    for name, path in configs.items():
        assert load_config(name) == load_config(path)
