import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import numpy as np
from azjax_envs import make, to_svg
from azjax_envs.gymnasium import to_gymnasium
from azjax_envs.openspiel import to_openspiel
from azjax_envs.pettingzoo import to_pettingzoo
from azjax_envs.pgx.adapters import to_pgx

ENVS = Path(__file__).parents[2] / "envs"


def test_importing_touches_no_device_and_brings_jax_alone():
    """The platform does not exist, so that any use of a device fails."""
    program = """
import sys
from azjax_envs import available_games, make
games = [make(name) for name in available_games()]
games[0].svg_board(), games[0].symmetries()
ours = {"flax", "mctx", "optax", "chex", "orbax", "tyro", "rich", "matplotlib", "azjax"}
assert not ours & set(sys.modules), ours & set(sys.modules)
import jax
try:
    games[0].init()
except RuntimeError:
    print("no device was there")
"""
    environment = os.environ | {"JAX_PLATFORMS": "no_such_platform"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "no device was there"


def test_installs_alone():
    games, azjax = (
        tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for folder in (ENVS, ENVS.parent)
    )
    # One name, so that pip replaces one by the other; another version, so that it does not skip it.
    assert games["name"] == azjax["name"]
    assert games["version"] == azjax["version"] + "+games"
    assert games["requires-python"] == azjax["requires-python"]
    assert games["dependencies"] == ["jax>=0.9.0"]
    assert games["dependencies"][0] in azjax["dependencies"]
    assert (ENVS / "LICENSE").is_file()
    assert (ENVS / "azjax_envs" / "py.typed").is_file()


def test_readme_runs(capsys):
    snippets = re.findall(r"```python\n(.*?)```", (ENVS / "README.md").read_text(), re.DOTALL)
    assert len(snippets) == 5
    namespace = {}
    for snippet in snippets:
        exec(compile(snippet, "envs/README.md", "exec"), namespace)
    said = capsys.readouterr().out
    finished, won = map(int, re.search(r"(\d+) games finished, (\d+) of them won", said).groups())
    assert 1024 * 3 < finished < 1024 * 15
    assert 0 < won <= finished
    learned = re.search(r"score against random: ([\d.]+)%", said)
    assert float(learned[1]) > 75
    assert "pgx has mancala with 6144 legal moves" in said
    assert "1  O . X" in said
    assert "legal: b1 a2 c2 a3 b3 c3" in said
    assert namespace["drawing"].startswith("<svg")


def test_the_calls_of_every_library_run():
    """Each column of the README's table is a program, whose lines may be values or statements."""
    section = (ENVS / "README.md").read_text().split("## In the loops")[1].split("\n## ")[0]
    rows = [line.split("|")[2:7] for line in section.splitlines()]
    rows = [row for row in rows if len(row) == 5 and any("`" in cell for cell in row)]
    columns = list(zip(*rows, strict=True))
    assert [len(rows), len(columns)] == [9, 5]
    names = {"key": jax.random.key(0), "make": make, "to_svg": to_svg}
    names |= {call.__name__: call for call in (to_pgx, to_pettingzoo, to_gymnasium, to_openspiel)}
    values = []
    for column in columns:
        values.append([])
        for code in (cell.strip(" `") for cell in column if "`" in cell):
            kind = "exec" if re.match(r"[\w, ]+ = ", code) else "eval"
            values[-1].append(eval(compile(code, "envs/README.md", kind), names))
    ours, pgx, _, gym, spiel = values
    assert ours[3] == spiel[3] == 1
    # The opponent of Gymnasium has answered.
    assert [*map(np.sum, (ours[4], pgx[4], gym[3])), len(spiel[4])] == [120, 120, 119, 120]
