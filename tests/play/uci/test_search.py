"""UCI and USI: commands that come while it thinks."""

import math

import pyffish
import pytest
from azjax_envs import make

from azjax.config import SearchConfig
from azjax.play.uci import search as uci_search
from azjax.play.uci.engine import DIALECTS
from azjax.play.uci.server import serve_uci
from tests.oracles.clients import Idle, Script, best_moves

GARDNER = make("gardner_chess")
START = pyffish.start_fen("gardner")


class Typing(Script):
    """Lines with pauses: nothing waits before the search has done `after` steps more."""

    def __init__(self, lines, after=3):
        super().__init__(lines)
        self._after, self._left = after, after

    def waiting(self):
        self._left -= 1
        return self._left < 0

    def next(self):
        self._left = self._after
        return super().next()


def typed(lines, nodes=10**9, dialect="uci", simulations=4):
    said, game = [], {"uci": GARDNER, "usi": make("shogi")}[dialect]
    config = SearchConfig(num_simulations=simulations)
    make_thinker = lambda megabytes: Idle(game, nodes=nodes, config=config)  # noqa: E731
    serve_uci(DIALECTS[dialect], game, make_thinker, Typing(lines), said.append)
    return "".join(said).splitlines()


def nodes_of(lines):
    return [int(line.split()[6]) for line in lines if line.startswith("info depth")]


def order(lines):
    words = [line.split()[0] for line in lines]
    return [w for w, before in zip(words, [None, *words], strict=False) if w != before]


def test_infinite_ends_with_stop_alone():
    lines = typed(["go infinite", "isready", "hello", "ponderhit", "isready", "stop", "isready"])
    assert order(lines)[:4] == ["info", "readyok", "info", "readyok"]
    assert order(lines)[-2:] == ["bestmove", "readyok"]
    assert len(best_moves(lines)) == 1
    assert any("unknown command hello" in line for line in lines)


def test_a_full_tree_waits_for_stop_as_well():
    lines = typed(["go infinite", "isready", "stop", "isready"], nodes=4)
    assert order(lines) == ["info", "readyok", "bestmove", "readyok"]


def test_ponderhit_begins_the_limits():
    lines = typed(["go ponder nodes 50", "isready", "ponderhit", "isready"])
    assert order(lines)[-2:] == ["bestmove", "readyok"]
    assert len(best_moves(lines)) == 1
    assert nodes_of(lines)[-1] >= 50
    missed = typed(["go ponder nodes 50", "isready", "stop", "isready"])
    assert len(best_moves(missed)) == 1


@pytest.mark.parametrize("dialect", ["uci", "usi"])
def test_a_ponderhit_without_any_limit_stops_at_the_players_own(dialect):
    """Not at a full tree, which would lose on time."""
    lines = ["go ponder", "isready", "ponderhit"]
    lines = typed(lines, nodes=10**5, dialect=dialect, simulations=5000)
    assert len(best_moves(lines)) == 1
    assert nodes_of(lines)[-1] == 5000


@pytest.mark.parametrize("dialect", ["uci", "usi"])
def test_a_ponderhit_may_tell_the_limits(dialect, monkeypatch):
    """ShogiHome's early ponder: the time is told with the hit, and not before."""
    seconds = []

    def keep(thinking, *, simulations=math.inf, seconds=math.inf, asked=seconds):
        asked.append(seconds)
        return keep_thinking(thinking, simulations=simulations)

    keep_thinking = uci_search.keep_thinking
    monkeypatch.setattr(uci_search, "keep_thinking", keep)
    hit = "ponderhit btime 50000 wtime 50000 byoyomi 3000 nodes 5000"
    lines = typed(["go ponder", "isready", hit], dialect=dialect)
    assert len(best_moves(lines)) == 1
    assert nodes_of(lines)[-1] == 5000
    assert seconds == [math.inf, pytest.approx(50 / 25 + 3 - 0.1)]
    endless = typed(["go ponder", "ponderhit infinite", "isready", "stop", "isready"])
    assert order(endless)[-2:] == ["bestmove", "readyok"]
    assert endless.count("readyok") == 2


def test_what_is_for_later_waits_for_a_limit_and_ends_what_has_none():
    limited = typed(["go nodes 500", "position startpos moves b2b3", "go nodes 600", "isready"])
    nodes = nodes_of(limited)
    moves = best_moves(limited)
    assert nodes[-1] == 600
    assert 500 in nodes
    assert moves[0] in pyffish.legal_moves("gardner", START, [])
    assert moves[1] in pyffish.legal_moves("gardner", START, ["b2b3"])
    endless = typed(["go infinite", "position startpos moves b2b3", "go infinite", "quit"])
    assert len(best_moves(endless)) == 2
    assert best_moves(endless)[1] in pyffish.legal_moves("gardner", START, ["b2b3"])


def test_the_end_of_the_input_ends_only_what_has_no_limit():
    assert nodes_of(typed(["go nodes 5000"]))[-1] == 5000
    assert len(best_moves(typed(["go infinite"]))) == 1
    assert len(best_moves(typed(["go nodes 1000000000000", "quit"]))) == 1
