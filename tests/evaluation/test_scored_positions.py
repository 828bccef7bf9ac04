"""The scored positions of connect four that come with azjax, against a solver of others."""

import importlib.resources
import json

import pytest

bitbully = pytest.importorskip("bitbully")

FILES = ("connect_four.jsonl", "connect_four_classes.jsonl")


@pytest.mark.parametrize("name", FILES)
def test_scores_are_those_of_a_perfect_solver(name):
    """Every fortieth position; its plies and classes differ from those of the next."""
    solver = bitbully.BitBully()
    file = importlib.resources.files("azjax.evaluation") / "data" / name
    lines = [json.loads(line) for line in file.read_text().splitlines()][::40]
    assert len(lines) >= 48
    for line in lines:
        board = bitbully.Board([int(column) - 1 for column in line["moves"]])
        found = solver.score_all_moves(board)
        assert [found.get(column) for column in range(7)] == line["scores"], line["moves"]
