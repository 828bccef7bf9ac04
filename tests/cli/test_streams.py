"""The command line where output, platforms and paths are not what they mostly are."""

import os
import subprocess
import sys
from shlex import quote

import pytest

from azjax import devices
from azjax.cli import main as cli
from azjax.cli.arguments import summary
from tests import tiny

AZJAX = f"{sys.executable} -m azjax.cli"


def shell(line, **environment):
    """Runs a line of a shell, and returns the exit code, the output and the errors."""
    chosen = {"PYTHONWARNINGS": "ignore", "JAX_PLATFORMS": "cpu"} | environment
    done = subprocess.run(
        ["bash", "-c", line.replace("azjax", AZJAX)],
        env=os.environ | chosen,
        capture_output=True,
        timeout=tiny.PATIENCE_S,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.parametrize(
    "line",
    [
        "azjax --help | head -1",
        "azjax export --help | head -1",
        "azjax --help | true",
        "azjax solve nothing --help | true",
    ],
)
def test_a_reader_that_stops_early_is_no_error(line):
    code, out, err = shell(line)
    assert (code, err) == (0, "")
    assert out == "" or out.startswith("usage")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux alone has this device")
def test_output_that_cannot_be_written_is_one_line():
    code, _, err = shell("azjax --help > /dev/full")
    assert (code, err) == (2, "azjax: No space left on device\n")


def test_closed_output_is_no_error():
    assert shell("azjax --help >&-") == (0, "", "")
    assert shell("azjax nonsense >&- 2>&-")[0] == 2


@pytest.mark.parametrize(
    "name",
    ["k\u00e4se.txt", "\u5c06\u68cb.txt", os.fsdecode(b"\xff.txt")],
    ids=["umlaut", "kanji", "bytes"],
)
def test_paths_that_the_output_cannot_encode(name, tmp_path):
    (tmp_path / name).write_text("a1 b1\n")
    line = f"azjax analyse {quote(str(tmp_path))}/* --player hex_5x5:1"
    code, out, err = shell(line, PYTHONIOENCODING="ascii")
    assert (code, err.strip()) == (0, "")
    assert out.splitlines()[-1].startswith(str(tmp_path))


@pytest.mark.parametrize("platform", ["cuda", "nonsense", "cpu,nonsense"])
def test_a_platform_that_is_not_here_is_one_line(platform):
    line = "azjax match random random --game hex_2x2 --games 2"
    code, _, err = shell(line, JAX_PLATFORMS=platform)
    assert code == 2
    assert err.startswith(f"azjax: JAX_PLATFORMS={platform}: JAX finds no device to compute on")
    assert "JAX_PLATFORMS=cpu computes on the CPU" in err
    assert err.count("\n") == 1


def test_errors_of_other_kinds_are_shown(monkeypatch):
    def fail(arguments):
        raise AssertionError("a mistake of azjax")

    monkeypatch.setitem(cli.COMMANDS, "export", fail)
    with pytest.raises(AssertionError, match="a mistake of azjax"):
        cli.main(["export"])
    assert devices.why_no_device(AssertionError()) is None


def test_without_docstrings():
    code, out, err = shell("azjax --help", PYTHONOPTIMIZE="2")
    assert (code, err) == (0, "")
    assert "usage: azjax COMMAND" in out
    assert summary(cli.COMMANDS["export"]).startswith("Write a run's player into one file")


def test_a_run_directory_is_text(tmp_path, monkeypatch, capsys):
    """No checkpoint could be written to others, which shows only after the first cycles."""
    monkeypatch.chdir(tmp_path)
    file = tiny.write_config(tmp_path / "tiny.toml")
    for name in (os.fsdecode(b"\xff"), "two\nlines"):
        assert cli.main(["train", str(file), "--run-dir", name]) == 2
        assert "the name of a run's directory must be readable text" in capsys.readouterr().err
        assert not os.path.exists(name)


def test_a_first_tilde_is_the_home_directory(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = tiny.write_config(tmp_path / "tiny.toml")
    (tmp_path / "home" / "x").mkdir(parents=True)
    (tmp_path / "home" / "x" / "old").touch()
    assert cli.main(["train", str(file), "--run-dir=~/x"]) == 2
    assert f"{tmp_path}/home/x is not empty" in capsys.readouterr().err
    assert cli.main(["web", "hex_5x5", "--out=~/nowhere/x", "--games", "0"]) == 2
    assert not (tmp_path / "~").exists()
