"""The benchmark of won openings: its openings, and two perfect players in it."""

import importlib.util
import json
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

pytest.importorskip("bitbully")

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "connect_four_openings.py"


@pytest.fixture
def script(monkeypatch):
    spec = importlib.util.spec_from_file_location(SCRIPT.stem, SCRIPT)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, SCRIPT.stem, module)
    spec.loader.exec_module(module)
    return module


def test_openings_are_all_positions(script):
    openings = script.all_openings(4)
    counts = np.bincount([len(moves) for moves in openings])
    assert counts.tolist() == [1, 7, 49, 238, 1120]


class PerfectPlayer:
    """Finds the moves of a position from its stones."""

    def __init__(self, script):
        self.script, self.solver = script, script.BitBully()

    def __call__(self, key, states):
        boards = np.asarray(jax.vmap(self.script.GAME.observe)(states))
        return np.array([self.best(board) for board in boards], np.int32)

    def best(self, board):
        own, other = board[:, :, 0] > 0, board[:, :, 1] > 0
        first = own if own.sum() == other.sum() else other
        stones = np.where(own | other, np.where(first, 1, 2), 0)
        position = self.script.Board(stones.tolist())
        if position.is_game_over():
            return 0
        scores = self.solver.score_all_moves(position)
        return max(scores, key=scores.get)


def test_perfect_play_wins_all_won_openings(script, monkeypatch, tmp_path):
    monkeypatch.setattr(script, "load_player", lambda *_, **__: PerfectPlayer(script))
    monkeypatch.setattr(script, "choose", lambda player, key, states, _: player(key, states))
    file = tmp_path / "openings.json"
    script.main(script.Arguments("perfect", plies=1, json=file))
    found = json.loads(file.read_text())
    # The centre wins for the first player, the outermost four columns for the second.
    assert (found["openings"], found["won"], found["not_won"]) == (6, 6, [])
    assert found["by_side"]["first"] == {"openings": 2, "won": 2}
    assert found["won_from_the_empty_board"]
    assert found["first_mistakes_by_ply"] == {}


def test_every_win_given_away_has_a_first_mistake(script, monkeypatch, tmp_path):
    def leftmost(key, states):
        mask = np.asarray(jax.vmap(script.GAME.legal_action_mask)(states))
        return mask.argmax(-1).astype(np.int32)

    monkeypatch.setattr(script, "load_player", lambda *_, **__: leftmost)
    monkeypatch.setattr(script, "choose", lambda player, key, states, _: player(key, states))
    file = tmp_path / "openings.json"
    script.main(script.Arguments("leftmost", plies=1, json=file))
    found = json.loads(file.read_text())
    assert found["won"] + found["drawn"] + found["lost"] == found["openings"]
    # The first column draws or loses from the empty board, at once.
    assert "1" in found["not_won"] or "" in found["not_won"]
    for counts in ("first_mistakes_by_ply", "first_mistakes_by_winning_moves"):
        assert sum(found[counts].values()) == len(found["not_won"]) > 0
    assert found["first_mistakes_by_ply"]["0"] == 1
    # Stopped early, a game has the mistakes up to there.
    script.main(script.Arguments("leftmost", plies=1, until=2, json=file))
    cut, by_ply = json.loads(file.read_text()), found["first_mistakes_by_ply"]
    early = {ply: count for ply, count in by_ply.items() if int(ply) < 2}
    assert cut["first_mistakes_by_ply"] == early
    assert early != by_ply
    assert cut["won"] == cut["openings"] - sum(early.values())
    assert (cut["drawn"], cut["lost"]) == (None, None)
