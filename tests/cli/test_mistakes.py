"""Mistakes at the command line, each with the one line that azjax says: see `mistakes.txt`.

`UPDATE_GOLDEN=1 pytest tests/cli/test_mistakes.py` writes the lines anew.
"""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from azjax.running import loop
from azjax.runs.lock import LOCK_FILES

FILE = Path(__file__).with_name("mistakes.txt")
CASES = re.findall(r"^((?:\$ printf .*\n)?)\$ (azjax .*)\n((?:[^$=\n].*)?)", FILE.read_text(), re.M)


def test_every_command_is_read():
    assert len(CASES) == len(re.findall(r"^\$ azjax", FILE.read_text(), re.MULTILINE)) > 150


@pytest.fixture(scope="module")
def folder(trained, tmp_path_factory):
    """The folder of all commands."""
    folder = tmp_path_factory.mktemp("mistakes")
    shutil.copytree(trained, folder / "run")
    shutil.copy(trained.with_name("tiny.toml"), folder)
    (folder / "empty").mkdir()
    (folder / "my run").mkdir()
    (folder / "my run" / "old").touch()
    return folder


def contents(folder):
    kept = (path for path in sorted(folder.rglob("*")) if path.name not in LOCK_FILES)
    return {path: path.read_bytes() if path.is_file() else None for path in kept}


@pytest.mark.parametrize(
    ("written", "command", "said"), CASES, ids=[f"{case[0][2:-1]} {case[1]}" for case in CASES]
)
def test_a_mistake_is_one_line(written, command, said, folder, refused, monkeypatch):
    monkeypatch.chdir(folder)
    if command.startswith("azjax train"):
        monkeypatch.setattr(loop, "run_cycles", lambda *arguments: pytest.fail("it trains"))
    if written:
        _, _, text, _, name = shlex.split(written)
        Path(name).write_text(text.replace(r"\n", "\n"))
    before = contents(folder)
    try:
        message = refused(*shlex.split(command)[1:]).rstrip("\n")
        assert contents(folder) == before
    finally:
        if written:
            Path(name).unlink()
    if not re.fullmatch(".*".join(map(re.escape, said.split("..."))), message):
        if "UPDATE_GOLDEN" not in os.environ:
            assert message == said
        old, new = (f"{written}$ {command}\n{line}".rstrip() + "\n" for line in (said, message))
        FILE.write_text(FILE.read_text().replace(old, new, 1))
