"""Draws azjax's packages and what they import: python docs/draw_packages.py

`apt install graphviz` first. `tests/test_imports.py` compares the picture with the imports.
"""

import ast
import subprocess
from pathlib import Path

AZJAX = Path(__file__).parent.parent / "azjax"
PICTURE = Path(__file__).parent / "images" / "packages.svg"
ALGORITHM = ("config", "network", "search", "selfplay", "replay", "learning", "training")
SHARED = ("devices", "jaxprs", "pretrained")  # as the modules at the top; pretrained is data


def imports() -> dict[str, set[str]]:
    """Returns for each package those that it imports."""
    packages = {file.parent.name for file in AZJAX.glob("*/__init__.py")} - {*SHARED}
    found: dict[str, set[str]] = {package: set() for package in packages}
    for package in packages:
        for file in (AZJAX / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.ImportFrom):
                    parts = [*str(node.module).split("."), ""]
                    if parts[0] == "azjax" and parts[1] in packages - {package}:
                        found[package].add(parts[1])
    return found


def arrows(found: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Returns the imports without those that a longer way leads to."""

    def below(package: str) -> set[str]:
        return found[package].union(*map(below, found[package]))

    return {
        (package, other)
        for package, others in found.items()
        for other in others - set().union(*map(below, others))
    }


def drawing(found: dict[str, set[str]]) -> str:
    """Returns the graph in graphviz's language, with the applications above the algorithm."""
    fill = {name: "#dbeafe" if name in ALGORITHM else "#f1f5f9" for name in sorted(found)}
    lines = [f'{name} [fillcolor="{color}"]' for name, color in fill.items()]
    lines += [f"{a} -> {b}" for a, b in sorted(arrows(found))]
    style = (
        'bgcolor="white" nodesep=0.25 ranksep=0.35\n'
        'node [shape=box style="rounded,filled" fontname="sans-serif" fontsize=13 '
        'color="#64748b" height=0.35 margin="0.12,0.05"]\n'
        'edge [color="#64748b" arrowsize=0.6]\n'
    )
    return f"digraph packages {{\n{style}" + "\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    graph = drawing(imports())
    made = subprocess.run(["dot", "-Tsvg"], input=graph, text=True, capture_output=True, check=True)
    PICTURE.write_text(made.stdout)
