"""Docstrings of public functions exist and do not begin with a dtype."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {"azjax": ROOT / "azjax", "azjax_envs": ROOT / "envs" / "azjax_envs"}
DTYPE = re.compile(r"(float|u?int|bfloat|bool|str|key)\d*\b[ \[(,:]", re.IGNORECASE)


def public_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yields the functions and classes at the top of a module, and these classes' methods."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_functions(node)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_docstring_begins_with_a_dtype(package):
    found, count = [], 0
    for file in sorted(PACKAGES[package].rglob("*.py")):
        for node in public_functions(ast.parse(file.read_text())):
            text = ast.get_docstring(node)
            count += text is not None
            if text and (DTYPE.match(text) or text.startswith("[")):
                found.append(f"{file.relative_to(ROOT)}:{node.lineno} {node.name}: {text[:60]}")
    assert count > 100
    assert not found, "\n".join(found)
