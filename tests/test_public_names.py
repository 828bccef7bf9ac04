"""What `import azjax` offers: lazily at run time, and completely to type checkers."""

import ast
import compileall
import importlib
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import azjax
import azjax.network
import azjax.notebook
import azjax.players

HEAVY = ("jax", "flax", "optax", "orbax", "mctx", "matplotlib", "rich", "numpy")


def names_for_type_checkers(module):
    """Returns the names in the package's stub, each explicitly exported as `x as x`."""
    names = {}
    for node in ast.parse(Path(module.__file__).with_suffix(".pyi").read_text()).body:
        if isinstance(node, ast.AnnAssign):
            assert ast.unparse(node.target) == "__version__"
            continue
        (alias,) = node.names
        assert alias.asname == alias.name, alias.name
        names[alias.name] = node.module
    return names


LAZY = (azjax, azjax.players, azjax.network, azjax.notebook)


@pytest.mark.parametrize("module", LAZY, ids=lambda module: module.__name__)
def test_type_checkers_see_what_there_is_at_run_time(module):
    names = names_for_type_checkers(module)
    assert sorted(names) == sorted(module.__all__) == sorted(dir(module))
    for name, home in names.items():
        value = getattr(module, name)
        if home is not None:
            assert value is getattr(importlib.import_module(f"{module.__name__}.{home}"), name)


@pytest.mark.parametrize("module", ["azjax", "azjax.players"])
def test_the_import_is_cheap(module):
    script = f"import sys, {module}; print(*(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []


def test_search_is_the_package():
    assert isinstance(azjax.search, types.ModuleType)
    assert callable(azjax.search.search)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No azjax attribute nothing"):
        azjax.nothing  # noqa: B018


def test_the_version_is_the_packages():
    assert azjax.__version__.count(".") == 2


def test_names_are_found_where_only_compiled_files_are_shipped(tmp_path):
    def without_caches(folder, names):
        return {"__pycache__"} & {*names}

    package = Path(azjax.__file__).parent
    shutil.copytree(package, tmp_path / "azjax", ignore=without_caches)
    compileall.compile_dir(tmp_path / "azjax", quiet=1, legacy=True)
    for source in (tmp_path / "azjax").rglob("*.py"):
        source.unlink()
    script = """
import azjax, azjax.network, azjax.notebook, azjax.players
assert azjax.__file__.endswith(".pyc"), azjax.__file__
for package in azjax, azjax.players, azjax.network, azjax.notebook:
    print(*sorted(dir(package)))
azjax.UserError, azjax.Config, azjax.search.search, azjax.players.RandomPlayer, azjax.__version__
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{package.parent / 'envs'}"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [" ".join(sorted(names_for_type_checkers(m))) for m in LAZY]
