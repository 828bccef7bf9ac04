"""The specs and processes of the tests' engines."""

import functools
import os
import shlex
import sys
import time
from pathlib import Path

from azjax.errors import UserError
from azjax.players.engines.process import find_program
from tests.absent import skip_without

ENGINE = Path(__file__).parents[2] / "oracles" / "engine.py"


def scripted(protocol, behaviour, notes, options="") -> str:
    """Returns the spec of an engine of tests/oracles/engine.py."""
    command = [sys.executable, str(ENGINE), protocol, behaviour, str(notes)]
    return f"{protocol}:{shlex.join(command)}{options}"


def needs(program: str, package: str = ""):
    return skip_without(
        _is_there(program),
        f"{program} is not installed (Debian: apt-get install {package or program})",
    )


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_for_end(pid: int, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while is_running(pid):
        assert time.monotonic() < end, f"process {pid} is still there"
        time.sleep(0.01)


def pids(notes: Path) -> list[int]:
    lines = notes.read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("pid ")]


@functools.cache
def _is_there(program: str) -> bool:
    try:
        return bool(find_program(program))
    except UserError:
        return False
