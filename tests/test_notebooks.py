"""The notebooks run from top to bottom with small settings, and are saved with real outputs."""

import json
import os
import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("anywidget")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]
LARGEST = 1 << 20
PATIENCE_S = 600  # for one cell, on a busy machine


def read(path):
    return nbformat.read(path, as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_figures_of_the_half_hour_are_the_records():
    card = json.loads((ROOT / "benchmarks/results/connect_four_2_cores/report.json").read_text())
    mistakes = {player["name"]: player["mistakes"] for player in card["players"]}
    (notebook,) = (path for path in NOTEBOOKS if path.stem.startswith("04"))
    said = (
        f"{mistakes['search:64']} mistakes with 64 simulations, and {mistakes['policy']} with the "
        f"policy alone. UCT with 1,000 simulations makes {mistakes['uct:1000']}"
    )
    assert said in notebook.read_text()


def test_there_are_five():
    assert [name[:2] for name in NAMES] == ["01", "02", "03", "04", "05"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
# These warnings come from the client's own libraries.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_they_run(path, tmp_path, monkeypatch):
    monkeypatch.setenv("AZJAX_FAST", "1")
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")
    # The kernel imports the tested package, wherever it starts.
    paths = [str(ROOT), str(ROOT / "envs"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    notebook = read(path)
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    client = nbclient.NotebookClient(
        notebook,
        timeout=PATIENCE_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()  # raises where a cell does
    assert all(cell.execution_count for cell in code_cells(notebook))
    assert len(list(tmp_path.glob("runs/*/metrics.jsonl"))) == (path.stem != "02_the_games")
    # The small run makes every kind of output that is saved.
    assert kinds(notebook) == kinds(read(path))


def kinds(notebook):
    """Returns the MIME types of each cell's outputs."""
    return [
        {mime for output in cell.outputs for mime in output.get("data", {})}
        for cell in code_cells(notebook)
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_they_are_saved_with_their_outputs(path):
    assert path.stat().st_size < LARGEST
    notebook = read(path)
    nbformat.validate(notebook)
    cells = code_cells(notebook)
    counts = [cell.execution_count for cell in cells]
    assert counts == list(range(1, len(cells) + 1))  # run once, from top to bottom
    outputs = [output for cell in cells for output in cell.outputs]
    assert not any(output.output_type == "error" for output in outputs)
    assert not any(output.get("name") == "stderr" for output in outputs)
    assert cells[-1].outputs
    images = [mime for found in kinds(notebook) for mime in found if mime == "text/html"]
    assert images
    # The outputs contain nothing of the machine that ran them.
    assert not re.search(r"/(tmp|home|root|work|Users)/", path.read_text())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_they_open_in_colab(path):
    """The first cell has a form field for the repository's address, and installs from there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    first, install = read(path).cells[:2]
    assert "**What you will learn**" in first.source
    lines = install.source.splitlines()
    assert lines[0].startswith("# @title ")
    (field,) = re.findall(r"# @param (\{.*\})$", install.source, flags=re.MULTILINE)
    assert 'repository = ""  # @param' in install.source
    assert re.match(r'\{type:"string", placeholder:"[^"]+"\}$', field)
    assert lines[6] == 'if "google.colab" in sys.modules:'
    # pip must not replace Colab's jax and numpy, and git must not wait for a password.
    assert lines[-1] == (
        '    %pip install --quiet {" ".join(kept)} "azjax[notebook] @ git+{repository}"'
    )
    assert 'for name in ("jax", "numpy")]' in lines[-2]
    assert '    os.environ["GIT_TERMINAL_PROMPT"] = "0"' in install.source
    assert "notebook" in project["optional-dependencies"]
    assert f"notebooks/{path.name}" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_links_between_them_lead_somewhere(path):
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    for link in re.findall(r"\]\((?!http)([^)]+)\)", text):
        assert (path.parent / link).exists(), link
