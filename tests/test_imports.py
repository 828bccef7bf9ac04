"""The graph of imports, read from the source without importing anything."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from docs import draw_packages

ROOT = Path(__file__).parent.parent / "azjax"
FILES = {
    ".".join(p.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): p
    for p in ROOT.rglob("*.py")
}
MODULES = sorted(p.stem for p in ROOT.glob("*.py"))
ALGORITHM = ("config", "network", "search", "selfplay", "replay", "learning", "training")
TRAINING = {"selfplay", "replay", "learning", "training", "running"}
PLAYING = {"players", "play", "engine", "web", "notebook", "evaluation", "exact"}

# (importing file, imported package): the reason.
EXCEPTIONS: dict[tuple[str, str], str] = {}


def imported_modules(file: Path) -> set[str]:
    """Returns the modules of azjax that a file imports, also in functions and for types."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else str(node.module) for name in names}
    return found & set(FILES)


def imported(file: Path) -> set[str]:
    """Returns the packages and top modules of azjax that a file imports."""
    names = imported_modules(file) - {"azjax"}
    return {name.split(".")[1] for name in names}


def graph() -> dict[str, set[str]]:
    edges: dict[str, set[str]] = {}
    for file in ROOT.rglob("*.py"):
        if file.parent == ROOT and file.stem == "__init__":
            continue  # lazy: a table of contents
        parts = file.relative_to(ROOT).parts
        here = parts[0].removesuffix(".py")
        edges.setdefault(here, set()).update(imported(file) - {here})
    return edges


def test_the_package_graph_has_no_cycle():
    """A `CycleError` names the cycle."""
    assert next(TopologicalSorter(graph()).static_order()) in MODULES


def test_no_two_modules_import_each_other_in_a_circle():
    edges = {name: imported_modules(file) for name, file in FILES.items()}
    assert "azjax.players.load" in edges["azjax.cli.web"]  # inside a function
    assert "azjax.web.verify" in edges["azjax.cli.web"]  # for types only
    TopologicalSorter(edges).prepare()


@pytest.mark.parametrize("package", sorted(PLAYING))
def test_what_plays_does_not_import_what_trains(package):
    for file in (ROOT / package).rglob("*.py"):
        name = str(file.relative_to(ROOT))
        for target in imported(file) & TRAINING:
            assert (name, target) in EXCEPTIONS, f"{name} imports azjax.{target}"


@pytest.mark.parametrize("package", ALGORITHM)
def test_the_algorithm_imports_nothing_of_the_applications(package):
    for file in (ROOT / package).rglob("*.py"):
        others = imported(file) - {*ALGORITHM, *MODULES, "devices"}
        assert not others, f"{file.relative_to(ROOT)} imports {sorted(others)}"


def test_applications_import_what_a_package_of_the_algorithm_offers():
    """Names of its `__init__`, not the modules in it."""
    applications = [x for x in ROOT.rglob("*.py") if x.relative_to(ROOT).parts[0] not in ALGORITHM]
    assert len(applications) > 100
    inside = re.compile(rf"\b(?:from|import) azjax\.(?:{'|'.join(ALGORITHM)})\.\w")
    for file in applications:
        assert not inside.findall(file.read_text()), file.relative_to(ROOT)
    assert inside.search("    from azjax.search.loop import make_loop_fn")


def test_the_picture_of_the_packages_is_true():
    """`python docs/draw_packages.py` draws it anew."""
    drawn = re.findall(r"<title>(\w+)&#45;&gt;(\w+)</title>", draw_packages.PICTURE.read_text())
    assert set(drawn) == draw_packages.arrows(draw_packages.imports())
    assert ("search", "network") in drawn


def test_the_algorithm_is_imported_alone():
    """Nothing that its imports import is of the applications either."""
    shared = {"azjax", "azjax.devices", *(f"azjax.{name}" for name in (*ALGORITHM, *MODULES))}
    script = (
        "import sys, azjax.training.trainer\n"
        "print(*{'.'.join(x.split('.')[:2]) for x in sys.modules if x.split('.')[0] == 'azjax'})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) - shared == set()


def test_every_exception_is_needed():
    for name, target in EXCEPTIONS:
        assert target in imported(ROOT / name)


@pytest.mark.parametrize(
    "surgery", ["jax._src", "import jaxlib", "from jaxlib", "ctypes", "unraisablehook"]
)
def test_nothing_reaches_into_the_insides_of_others(surgery):
    assert [name for name, file in FILES.items() if surgery in file.read_text()] == []


def test_training_is_imported_where_there_is_no_fcntl():
    """As on Windows."""
    script = "import sys; sys.modules['fcntl'] = None; import azjax, azjax.running.loop"
    subprocess.run([sys.executable, "-c", script], check=True)
