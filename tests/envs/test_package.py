import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

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
