"""The README's snippets run, and its commands exist."""

import re
import tomllib
from pathlib import Path

import pytest

from azjax.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
SHELL = "\n".join(re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL))


@pytest.mark.parametrize("snippet", PYTHON, ids=lambda text: text.split("\n")[0])
def test_python_snippets_run(snippet, tmp_path, monkeypatch):
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})


def test_shell_snippet_trains_resumes_and_reports(tmp_path, monkeypatch, capsys):
    """The training script's snippet: its commands on a shortened run of another name."""
    monkeypatch.chdir(tmp_path)
    config = str(ROOT / "configs" / "tic_tac_toe.toml")
    run = str(tmp_path / "runs" / "short")
    small = [
        "--selfplay.parallel_games",
        "8",
        "--learning.batch-size",
        "8",
        "--replay.min-positions",
        "64",
    ]
    small += ["--network.channels", "16", "--learning.updates-per-cycle", "1"]
    small += ["--search.num-simulations", "4", "--evaluation.every", "0", "--cycles", "3"]
    assert COMMANDS["train"]([config, "--run-dir", run, *small]) is None
    COMMANDS["eval"]([f"{run}:4", "--against", "random", "--games", "8"])
    COMMANDS["match"]([f"{run}:4", f"{run}:policy", "--games", "8"])
    COMMANDS["report"]([run, "--simulations", "4", "--games", "8", "--beside", "random"])
    assert (tmp_path / "runs" / "short" / "report.json").is_file()
    assert "mistakes" in capsys.readouterr().out


def test_there_is_a_snippet_for_each_use():
    assert len(PYTHON) == 2
    assert "azjax train" in SHELL


def test_commands_and_files_named_exist():
    commands = re.findall(r"^azjax (\w+)", SHELL, flags=re.MULTILINE)
    assert set(commands) <= set(COMMANDS)
    assert set(commands) >= {
        "train",
        "resume",
        "report",
        "rate",
        "eval",
        "match",
        "play",
        "gtp",
        "uci",
        "usi",
        "solve",
        "bench",
    }
    for name in re.findall(r"configs/[\w/]+\.toml", README):
        tomllib.loads((ROOT / name).read_text())
    targets = re.findall(r"^make (\w+)", SHELL, flags=re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text()
    assert targets == ["train", "test"]
    assert all(f"\n{target}:" in makefile for target in targets)
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_ci_runs_the_readme_test_command():
    assert "make test" in (ROOT / ".ci" / "run").read_text()
