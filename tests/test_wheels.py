"""The wheels of azjax and of the games alone: pip installs one or the other, never a mixture."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parent.parent


def run(*command, cwd=None, **environment):
    """Returns what a command prints; it must succeed."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Returns the wheels of azjax and of the games alone, built without the network."""
    folder = tmp_path_factory.mktemp("wheels")
    for project in (ROOT, ROOT / "envs"):
        run("-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=project)
    games, azjax = sorted(folder.glob("*.whl"))
    assert "+games" in games.name
    return azjax, games


def modules(wheel):
    """Returns the files of a wheel that are imported or read: all but its metadata."""
    names = zipfile.ZipFile(wheel).namelist()
    return {name for name in names if ".dist-info/" not in name}


def test_the_games_alone_are_azjaxs_games(wheels):
    azjax, games = map(modules, wheels)
    assert games == {name for name in azjax if name.startswith("azjax_envs/")}
    assert azjax - games == {name for name in azjax if name.startswith("azjax/")}


def test_either_replaces_the_other_and_leaves_nothing(wheels, tmp_path):
    venv.create(tmp_path, with_pip=False)
    (python,) = tmp_path.glob("*/python")
    (site,) = tmp_path.glob("lib/python*/site-packages")

    def pip(*arguments):
        run("-m", "pip", "--python", python, *arguments)

    def installed():
        files = [path.relative_to(site) for path in site.rglob("*") if path.is_file()]
        return {path.as_posix() for path in files if ".dist-info" not in path.parts[0]}

    azjax, games = wheels
    for wheel in (azjax, games, azjax):
        pip("install", "--no-index", "--no-deps", "--no-compile", wheel)
        assert installed() == modules(wheel)
        assert (python.parent / "azjax").exists() == (wheel == azjax)
    pip("uninstall", "--yes", "azjax")
    assert not list(site.iterdir())


def test_every_game_is_in_the_wheel_of_the_games(wheels, tmp_path):
    zipfile.ZipFile(wheels[1]).extractall(tmp_path)
    program = "import azjax_envs as e; print(e.__file__, *map(e.make, e.available_games()))"
    said = run("-c", program, cwd=tmp_path, PYTHONPATH=str(tmp_path))
    assert said.startswith(str(tmp_path))
    assert "Shogi" in said
