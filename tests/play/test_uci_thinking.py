"""UCI: commands that come while it thinks."""

import pyffish
from azjax_envs import make

from azjax.play.uci_desk import DIALECTS
from azjax.play.uci_face import serve_uci
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


def typed(lines, nodes=10**9):
    said = []
    make_thinker = lambda megabytes: Idle(GARDNER, nodes=nodes)  # noqa: E731
    serve_uci(DIALECTS["uci"], GARDNER, make_thinker, Typing(lines), said.append)
    return "".join(said).splitlines()


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
    nodes = [int(line.split()[6]) for line in lines if line.startswith("info depth")]
    assert nodes[-1] >= 50
    missed = typed(["go ponder nodes 50", "isready", "stop", "isready"])
    assert len(best_moves(missed)) == 1


def test_what_is_for_later_waits_for_a_limit_and_ends_what_has_none():
    limited = typed(["go nodes 500", "position startpos moves b2b3", "go nodes 600", "isready"])
    nodes = [int(line.split()[6]) for line in limited if line.startswith("info depth")]
    moves = best_moves(limited)
    assert nodes[-1] == 600
    assert 500 in nodes
    assert moves[0] in pyffish.legal_moves("gardner", START, [])
    assert moves[1] in pyffish.legal_moves("gardner", START, ["b2b3"])
    endless = typed(["go infinite", "position startpos moves b2b3", "go infinite", "quit"])
    assert len(best_moves(endless)) == 2
    assert best_moves(endless)[1] in pyffish.legal_moves("gardner", START, ["b2b3"])


def test_the_end_of_the_input_ends_only_what_has_no_limit():
    nodes = [int(x.split()[6]) for x in typed(["go nodes 5000"]) if x.startswith("info depth")]
    assert nodes[-1] == 5000
    assert len(best_moves(typed(["go infinite"]))) == 1
    assert len(best_moves(typed(["go nodes 1000000000000", "quit"]))) == 1
