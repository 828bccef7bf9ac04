"""UCI and USI: limits of a search, and commands that come during it."""

import math

import pyffish
import pytest
from azjax_envs import make

from azjax.engine.clock import Clock
from azjax.engine.uci import go as go_module
from azjax.engine.uci.go import read_go
from azjax.engine.uci.position import read_position
from azjax.engine.uci.server import serve_uci
from azjax.files.game_record import start_game
from azjax.players.engines.uci_games import DIALECTS
from tests.oracles.clients import IdleProgress, IdleSearch, Script, best_moves, uci_output

GARDNER = make("gardner_chess")
START = pyffish.start_fen("gardner")


class SlowScript(Script):
    """Lines with pauses: the next comes after `after` more steps of the search."""

    def __init__(self, lines, after=3):
        super().__init__(lines)
        self._after, self._left = after, after

    def waiting(self):
        self._left -= 1
        return self._left < 0

    def next(self):
        self._left = self._after
        return super().next()


def typed(lines, max_nodes=10**9, dialect="uci", simulations=4):
    """Returns the output for lines that come slowly."""
    written, game = [], {"uci": GARDNER, "usi": make("shogi")}[dialect]
    search = IdleSearch(game, max_nodes, simulations)
    serve_uci(DIALECTS[dialect], game, lambda megabytes: search, SlowScript(lines), written.append)
    return "".join(written).splitlines()


def nodes_of(lines):
    return [int(line.split()[6]) for line in lines if line.startswith("info depth")]


def order(lines):
    words = [line.split()[0] for line in lines]
    return [w for w, before in zip(words, [None, *words], strict=False) if w != before]


def test_only_stop_ends_an_infinite_search():
    lines = typed(["go infinite", "isready", "hello", "ponderhit", "isready", "stop", "isready"])
    assert order(lines)[:4] == ["info", "readyok", "info", "readyok"]
    assert order(lines)[-2:] == ["bestmove", "readyok"]
    assert len(best_moves(lines)) == 1
    assert any("unknown command hello" in line for line in lines)


def test_a_full_tree_waits_for_stop():
    lines = typed(["go infinite", "isready", "stop", "isready"], max_nodes=3)
    assert order(lines) == ["info", "readyok", "bestmove", "readyok"]


def test_the_limits_hold_after_ponderhit():
    lines = typed(["go ponder nodes 50", "isready", "ponderhit", "isready"])
    assert order(lines)[-2:] == ["bestmove", "readyok"]
    assert len(best_moves(lines)) == 1
    assert nodes_of(lines)[-1] >= 50
    missed = typed(["go ponder nodes 50", "isready", "stop", "isready"])
    assert len(best_moves(missed)) == 1


@pytest.mark.parametrize("dialect", ["uci", "usi"])
def test_a_ponderhit_without_a_limit_uses_the_players_simulations(dialect):
    """A search until the tree is full would lose on time."""
    lines = ["go ponder", "isready", "ponderhit"]
    lines = typed(lines, max_nodes=10**5, dialect=dialect, simulations=5000)
    assert len(best_moves(lines)) == 1
    assert nodes_of(lines)[-1] == 5000


@pytest.mark.parametrize("dialect", ["uci", "usi"])
def test_a_ponderhit_may_bring_the_limits(dialect, monkeypatch):
    """ShogiHome's early ponder sends the time with the hit."""
    limits = []

    def record_seconds(progress, *, simulations=math.inf, seconds=math.inf, since=None):
        limits.append(seconds)
        return continue_search(progress, simulations=simulations)

    continue_search = go_module.continue_search
    monkeypatch.setattr(go_module, "continue_search", record_seconds)
    hit = "ponderhit btime 50000 wtime 50000 byoyomi 3000 nodes 5000"
    lines = typed(["go ponder", "isready", hit], dialect=dialect)
    assert len(best_moves(lines)) == 1
    assert nodes_of(lines)[-1] == 5000
    assert limits == [math.inf, pytest.approx(50 / 25 + 3 - 0.05)]
    endless = typed(["go ponder", "ponderhit infinite", "isready", "stop", "isready"])
    assert order(endless)[-2:] == ["bestmove", "readyok"]
    assert endless.count("readyok") == 2


class LateScript(Script):
    """Lines that came a while ago, because the engine was busy."""

    @property
    def arrived(self):
        return super().arrived - 10.0


@pytest.mark.parametrize(("milliseconds", "in_time"), [(9_990, False), (10_100, True)])
def test_the_time_counts_from_the_arrival_of_the_command(milliseconds, in_time):
    written = []
    search = IdleSearch(GARDNER, 10**9, 4)
    lines = LateScript(["position startpos", f"go movetime {milliseconds}"])
    serve_uci(DIALECTS["uci"], GARDNER, lambda megabytes: search, lines, written.append)
    lines = "".join(written).splitlines()
    assert (nodes_of(lines)[-1] > 0) == in_time
    assert len(best_moves(lines)) == 1
    times = [int(line.split()[4]) for line in lines if line.startswith("info depth")]
    assert 10_000 <= times[-1] < 11_000


def test_a_full_tree_of_the_last_search_is_reported_at_once(monkeypatch):
    full = IdleProgress(IdleSearch(GARDNER, 5), start_game(GARDNER).current.state, (), 4)
    monkeypatch.setattr(IdleSearch, "start", lambda self, state, **rest: full)
    lines = typed(["go infinite", "isready", "stop"], max_nodes=5)
    assert order(lines) == ["info", "readyok", "bestmove"]
    assert nodes_of(lines) == [4]


def test_searches_follow_the_game(monkeypatch):
    """Each search with a clock continues the last one's tree, if the game went on from there."""
    calls = []
    start = IdleSearch.start

    def recorded(self, state, *, root_actions=(), after=None, moves=None):
        calls.append((after is not None, moves))
        return start(self, state, root_actions=root_actions)

    monkeypatch.setattr(IdleSearch, "start", recorded)
    moves = ["b2b3", "a4b3", "a2b3", "c4b3"]
    record = read_position(GARDNER, DIALECTS["uci"], ["startpos", "moves", *moves], None).record
    actions = [position.action for position in record.positions[1:]]
    assert actions[0] in record.truncate(0).legal_moves()
    uci_output(
        [
            "position startpos",
            "go movetime 1000",  # before `isready`: there is no memory yet
            f"position startpos moves {' '.join(moves[:2])}",
            "go movetime 1000",
            f"position startpos moves {' '.join(moves)}",
            "go movetime 1000",
            "go movetime 1000",  # the same position again
            "position startpos moves b2b3",  # before the last position
            "go movetime 1000",
            "ucinewgame",
            "position startpos moves b2b3",
            "go movetime 1000",
            "go nodes 1",  # without a clock a search begins anew
        ],
        GARDNER,
    )
    assert calls == [
        (False, None),
        (True, actions[:2]),
        (True, actions[2:]),
        (True, []),
        (True, None),
        (True, None),
        (True, None),
    ]


def test_later_commands_wait_for_a_limit_and_end_a_search_without_one():
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


def test_the_end_of_the_input_ends_only_a_search_without_a_limit():
    assert nodes_of(typed(["go nodes 5000"]))[-1] == 5000
    assert len(best_moves(typed(["go infinite"]))) == 1
    assert len(best_moves(typed(["go nodes 1000000000000", "quit"]))) == 1


@pytest.mark.parametrize(
    ("words", "player", "simulations", "seconds"),
    [
        ("", 0, 32, math.inf),
        ("nodes 7", 0, 7, math.inf),
        ("movetime 250", 0, math.inf, 0.25),
        ("nodes 7 movetime 250", 0, 7, 0.25),
        ("wtime 50000 btime 1000 winc 500 binc 0", 0, math.inf, 50 / 25 + 0.5 - 0.05),
        ("wtime 50000 btime 1000 winc 500 binc 0", 1, math.inf, 0.01),
        ("wtime 8000 btime 0 movestogo 4", 0, math.inf, 1.95),
        ("wtime 0 btime 0 byoyomi 3000", 0, math.inf, 2.95),
        ("wtime -20 btime 5", 0, math.inf, 0.01),
        ("nodes many wtime", 0, 32, math.inf),
        ("searchmoves e2e4 nodes 5", 0, 5, math.inf),
        (f"nodes {'9' * 19} movetime {'9' * 5000}", 0, 10**12, math.inf),
    ],
)
def test_limits(words, player, simulations, seconds):
    go = read_go(words.split(), "wb", player, 32)
    assert go.simulations == simulations
    assert go.seconds == pytest.approx(seconds)
    assert not go.waits


def test_searches_that_wait():
    for words in ("infinite", "ponder wtime 9000 btime 9000", "ponder"):
        go = read_go(words.split(), "wb", 0, 32)
        assert go.waits
        assert go.ponders == ("ponder" in words)
        assert go.infinite == ("infinite" in words)
    assert read_go(["ponder"], "wb", 0, 32).simulations == 32
    assert read_go(["ponder", "btime", "5100"], "bw", 0, 32).seconds == pytest.approx(0.154)


@pytest.mark.parametrize(
    ("words", "moves"),
    [
        ("searchmoves e2e4 d2d4", ("e2e4", "d2d4")),
        ("infinite searchmoves e2e4 e7e8q nodes 5", ("e2e4", "e7e8q")),
        ("searchmoves", ()),
        ("nodes 5", ()),
    ],
)
def test_searchmoves(words, moves):
    assert read_go(words.split(), "wb", 0, 32).moves == moves


@pytest.mark.parametrize("word", ["nodes 6", "movetime 1", "depth 1", "mate 3", "infinite"])
def test_the_best_move_is_one_of_searchmoves(word):
    first = best_moves(uci_output(["go nodes 6"], GARDNER))[0]
    some = [move for move in pyffish.legal_moves("gardner", START, []) if move != first][-2:]
    lines = uci_output([f"go {word} searchmoves a1a1 {' '.join(some)} hello", "stop"], GARDNER)
    assert best_moves(lines)[0] in some
    assert not any("searchmoves" in line for line in lines)
    none = uci_output([f"go {word} searchmoves a1a1", "stop"], GARDNER)
    assert best_moves(none) == [first]
    assert "info string searchmoves: none of them is legal" in none[0]


@pytest.mark.parametrize("limit", ["mate 3", "mate", "depth 0", "depth 1", "depth 500", "depth x"])
def test_every_search_ends_with_a_best_move(limit):
    (move,) = best_moves(uci_output([f"go {limit}"], GARDNER))
    assert move in pyffish.legal_moves("gardner", START, [])


def test_a_move_never_takes_more_than_the_clock():
    for left in (0.0, 0.05, 0.5, 100.0):
        for moves in (0, 1, 40):
            for each in (0.0, 1.0):
                clock = Clock(left, increment=5.0, moves=moves, each=each)
                assert 0 < clock.for_move() <= max(left + each - 0.05, 0.01)
