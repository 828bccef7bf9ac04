"""What `import azjax` offers: lazily at run time, and completely to type checkers."""

import ast
import importlib
import subprocess
import sys
import types
from pathlib import Path

import pytest

import azjax
import azjax.players

HEAVY = ("jax", "flax", "optax", "orbax", "mctx", "matplotlib", "rich", "numpy")


def names_for_type_checkers(module):
    """Returns the names under `if TYPE_CHECKING:`, each explicitly exported as `x as x`."""
    tree = ast.parse(Path(module.__file__).read_text())
    (block,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    names = {}
    for node in block.body:
        if isinstance(node, ast.AnnAssign):
            names[ast.unparse(node.target)] = None
            continue
        (alias,) = node.names
        assert alias.asname == alias.name, alias.name
        names[alias.name] = node.module
    return names


@pytest.mark.parametrize("module", [azjax, azjax.players], ids=lambda module: module.__name__)
def test_type_checkers_see_what_there_is_at_run_time(module):
    names = names_for_type_checkers(module)
    assert sorted(names) == sorted(module.__all__) == sorted(dir(module))
    for name, home in names.items():
        value = getattr(module, name)
        if home is not None:
            assert value is getattr(importlib.import_module(home), name)


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
    with pytest.raises(AttributeError, match="module 'azjax' has no attribute 'nothing'"):
        azjax.nothing  # noqa: B018


def test_the_version_is_the_packages():
    assert azjax.__version__.count(".") == 2
