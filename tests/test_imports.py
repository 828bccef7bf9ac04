"""The graph of imports between packages, read from the source without importing anything."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "azjax"
PACKAGES = sorted(p.parent.name for p in ROOT.glob("*/__init__.py"))
MODULES = sorted(p.stem for p in ROOT.glob("*.py"))
TRAINING = {"training", "learning", "selfplay", "replay"}
PLAYING = {"players", "play", "web", "notebook", "evaluation", "exact"}

# (importing file, imported package): the reason.
EXCEPTIONS: dict[tuple[str, str], str] = {}


def imported(file: Path) -> set[str]:
    """Returns the packages and top modules of azjax that a file imports, also in functions."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "azjax" and len(parts) > 1:
                found.add(parts[1])
    return found & {*PACKAGES, *MODULES}


def graph() -> dict[str, set[str]]:
    edges: dict[str, set[str]] = {}
    for file in ROOT.rglob("*.py"):
        if file.parent == ROOT and file.stem == "__init__":
            continue  # lazy: a table of contents
        parts = file.relative_to(ROOT).parts
        here = parts[0].removesuffix(".py")
        edges.setdefault(here, set()).update(imported(file) - {here})
    return edges


def test_the_top_has_at_most_eight_modules():
    assert len(MODULES) <= 8, MODULES


def test_the_package_graph_has_no_cycle():
    edges, done = graph(), []
    left = set(edges)
    while left:
        free = {name for name in left if not edges[name] & left}
        assert free, {name: sorted(edges[name] & left) for name in sorted(left)}
        done += sorted(free)
        left -= free
    assert done[0] in MODULES


@pytest.mark.parametrize("package", sorted(PLAYING))
def test_what_plays_does_not_import_what_trains(package):
    for file in (ROOT / package).rglob("*.py"):
        name = str(file.relative_to(ROOT))
        for target in imported(file) & TRAINING:
            assert (name, target) in EXCEPTIONS, f"{name} imports azjax.{target}"


def test_every_exception_is_needed():
    for name, target in EXCEPTIONS:
        assert target in imported(ROOT / name)
