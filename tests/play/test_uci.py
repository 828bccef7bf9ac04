"""UCI and USI: what go means, positions, and any nonsense."""

import math
import re
import types

import cshogi
import cshogi.usi
import pyffish
import pytest
from azjax_envs import make
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from azjax.errors import UserError
from azjax.play.clock import Clock
from azjax.play.lines import TOO_LONG
from azjax.play.uci_face import DIALECTS, serve_uci
from azjax.play.uci_go import read_go
from azjax.play.uci_info import centipawns
from tests.oracles.clients import Idle, Script

GARDNER = make("gardner_chess")
START = pyffish.start_fen("gardner")


def say(lines, game=GARDNER, dialect="uci"):
    """All that is said to lines that come at once."""
    said = []
    serve_uci(DIALECTS[dialect], game, lambda megabytes: Idle(game), Script(lines), said.append)
    text = "".join(said)
    assert text.endswith("\n") or not text
    return text.splitlines()


def best(lines):
    return [line.split()[1] for line in lines if line.startswith("bestmove")]


# What is said.


def test_greeting_and_readiness():
    lines = say(["uci", "isready", "quit", "isready"])
    assert lines[0].startswith("id name azjax")
    assert "option name UCI_Variant type combo default gardner var gardner" in lines
    assert lines[-2:] == ["uciok", "readyok"]


def test_the_introduction_does_not_wait_for_the_rules():
    """XBoard takes an engine that says nothing for ten seconds for one of another protocol."""
    nothing_but_a_name = types.SimpleNamespace(name="gardner_chess")
    assert say(["uci", "ucinewgame", "quit"], nothing_but_a_name)[-1] == "uciok"


def test_a_search_says_what_it_finds():
    lines = say(["setoption name uci_showwdl value true", "position startpos", "go nodes 7"])
    info = r"info depth 1 time \d+ nodes (\d+) nps \d+ score cp 37 wdl 375 500 125 pv (\S+)"
    found = [re.fullmatch(info, line) for line in lines[:-1]]
    assert found[-1][1] == "7"
    assert lines[-1] == f"bestmove {found[-1][2]}"
    assert found[-1][2] in pyffish.legal_moves("gardner", START, [])
    assert "wdl" not in say(["go nodes 7"])[0]


def test_centipawns_are_leelas():
    assert [centipawns(v) for v in (-1, 0, 0.5, 1)] == [-12780, 0, 89, 12780]
    assert centipawns(1.01) == 12780


def test_moves_are_played_from_the_start_and_from_positions():
    fen = "4k/P4/5/5/4K w - - 0 1"
    positions = [
        "startpos",
        "startpos moves b2b3",
        "startpos moves b2b3 d4d3",
        "startpos moves b2b3 b4b3",  # illegal: the pawn is blocked
        "startpos moves b2b3 d4d3",
        "startpos moves c2c3",
        f"fen {fen}",
        f"fen {fen} moves a4a5q e5e4",
    ]
    lines = say([x for p in positions for x in (f"position {p}", "go nodes 1")])
    moves = best(lines)
    assert len(moves) == len(positions)
    for position, move in zip(positions, moves, strict=True):
        start, _, played = position.partition(" moves ")
        start = START if start == "startpos" else start.removeprefix("fen ")
        if "b4b3" in played:
            assert move == "(none)"
        else:
            assert move in pyffish.legal_moves("gardner", start, played.split())
    assert sum("'b4b3' is not legal here" in line for line in lines) == 1


def test_a_draw_that_nobody_claimed_is_played_on():
    """Three times the same position; our rules end the game, and clients need not."""
    fen = "1n2k/5/5/5/1N2K w - - 0 1"
    moves = "b1a3 b5c3 a3b1 c3b5 " * 2
    lines = say([f"position fen {fen} moves {moves}", "go nodes 1"])
    assert best(lines)[0] in pyffish.legal_moves("gardner", fen, moves.split())
    more = say([f"position fen {fen} moves {moves} b1c3 b5a3", "go nodes 1"])
    legal = pyffish.legal_moves("gardner", fen, [*moves.split(), "b1c3", "b5a3"])
    assert best(more)[0] in legal


def test_mate_leaves_no_move():
    lines = say(["position fen k4/5/1K3/5/4R w - - 0 1 moves e1e5", "go nodes 3"])
    assert best(lines) == ["(none)"]
    assert "the game is over" in lines[0]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("position", "startpos, or fen and a position"),
        ("position fen", "startpos, or fen"),
        ("position fen 1/2 w", "it must have 4 to 6 fields"),
        ("position startpos moves e2e9", "'e2e9' is not legal here"),
        (TOO_LONG, "the line is too long"),
    ],
)
def test_after_a_position_that_cannot_be_there_is_none(line, complaint):
    lines = say([line, "go nodes 1", "position startpos", "go nodes 1"])
    assert complaint in lines[0]
    assert lines[0].startswith("info string ")
    assert best(lines)[0] == "(none)"
    assert best(lines)[1] != "(none)"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("hello", "unknown command hello"),
        ("setoption name Hash value 0", "Hash must be from 1 to"),
        ("setoption name Hash value many", "Hash must be from 1 to"),
        ("setoption name Wisdom value 5", "no option Wisdom"),
        ("setoption name UCI_Variant value chess", "plays gardner, and no other variant"),
        ("setoption", "there is no option"),
    ],
)
def test_other_mistakes_change_nothing(line, complaint):
    before, after = best(say(["go nodes 1"])), say([line, "go nodes 1"])
    assert complaint in after[0]
    assert best(after) == before


def test_other_games_are_refused():
    with pytest.raises(UserError, match="UCI is for chess and gardner_chess, not for go_5x5"):
        serve_uci(DIALECTS["uci"], make("go_5x5"), lambda megabytes: None, Script([]), print)


def test_hash_is_asked_of_the_thinker():
    asked = []

    def make_thinker(megabytes):
        asked.append(megabytes)
        return Idle(GARDNER)

    lines = ["setoption name Hash value 64", "setoption name hash value 65537", "isready", "go"]
    serve_uci(DIALECTS["uci"], GARDNER, make_thinker, Script(lines), lambda text: None)
    assert asked == [64]


# What `go` means.


@pytest.mark.parametrize(
    ("words", "player", "simulations", "seconds"),
    [
        ("", 0, 32, math.inf),
        ("nodes 7", 0, 7, math.inf),
        ("movetime 250", 0, math.inf, 0.25),
        ("nodes 7 movetime 250", 0, 7, 0.25),
        ("wtime 50000 btime 1000 winc 500 binc 0", 0, math.inf, 50 / 25 + 0.5 - 0.1),
        ("wtime 50000 btime 1000 winc 500 binc 0", 1, math.inf, 0.01),
        ("wtime 8000 btime 0 movestogo 4", 0, math.inf, 1.9),
        ("wtime 0 btime 0 byoyomi 3000", 0, math.inf, 2.9),
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


def test_without_limit():
    for words in ("infinite", "ponder wtime 9000 btime 9000", "ponder"):
        go = read_go(words.split(), "wb", 0, 32)
        assert go.waits
        assert go.ponders == ("ponder" in words)
    assert read_go(["ponder", "btime", "5100"], "bw", 0, 32).seconds == pytest.approx(0.104)


def test_a_clock_is_never_overdrawn():
    for left in (0.0, 0.05, 0.5, 100.0):
        for moves in (0, 1, 40):
            for each in (0.0, 1.0):
                clock = Clock(left, increment=5.0, moves=moves, each=each)
                assert 0 < clock.for_move() <= max(left + each - 0.1, 0.01)


# Commands that come while it thinks.


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
    assert len(best(lines)) == 1
    assert any("unknown command hello" in line for line in lines)


def test_a_full_tree_waits_for_stop_as_well():
    lines = typed(["go infinite", "isready", "stop", "isready"], nodes=4)
    assert order(lines) == ["info", "readyok", "bestmove", "readyok"]


def test_ponderhit_begins_the_limits():
    lines = typed(["go ponder nodes 50", "isready", "ponderhit", "isready"])
    assert order(lines)[-2:] == ["bestmove", "readyok"]
    assert len(best(lines)) == 1
    nodes = [int(line.split()[6]) for line in lines if line.startswith("info depth")]
    assert nodes[-1] >= 50
    missed = typed(["go ponder nodes 50", "isready", "stop", "isready"])
    assert len(best(missed)) == 1


def test_what_is_for_later_waits_for_a_limit_and_ends_what_has_none():
    limited = typed(["go nodes 500", "position startpos moves b2b3", "go nodes 600", "isready"])
    nodes = [int(line.split()[6]) for line in limited if line.startswith("info depth")]
    moves = best(limited)
    assert nodes[-1] == 600
    assert 500 in nodes
    assert moves[0] in pyffish.legal_moves("gardner", START, [])
    assert moves[1] in pyffish.legal_moves("gardner", START, ["b2b3"])
    endless = typed(["go infinite", "position startpos moves b2b3", "go infinite", "quit"])
    assert len(best(endless)) == 2
    assert best(endless)[1] in pyffish.legal_moves("gardner", START, ["b2b3"])


def test_the_end_of_the_input_ends_only_what_has_no_limit():
    nodes = [int(x.split()[6]) for x in typed(["go nodes 5000"]) if x.startswith("info depth")]
    assert nodes[-1] == 5000
    assert len(best(typed(["go infinite"]))) == 1
    assert len(best(typed(["go nodes 1000000000000", "quit"]))) == 1


# Any nonsense.

NUMBERS = st.one_of(
    st.integers(-5, 30).map(str), st.sampled_from(["9" * 5000, "1e999", "nan", "٣", "", "²"])
)
WORDS = st.one_of(
    st.sampled_from(
        ["startpos", "fen", "sfen", "moves", "infinite", "ponder", "nodes", "movetime"]
    ),
    st.sampled_from(["wtime", "btime", "winc", "binc", "movestogo", "byoyomi", "depth", "mate"]),
    st.sampled_from(["searchmoves", "name", "value"]),
    st.sampled_from(["b2b3", "d4d3", "a1a1", "7g7f", "P*5e", "Hash", "UCI_ShowWDL", "true", START]),
    NUMBERS,
    st.text(max_size=8),
)
COMMANDS = ["uci", "usi", "isready", "ucinewgame", "usinewgame", "position", "go", "stop"]
COMMANDS += ["ponderhit", "setoption", "debug"]
LINES = st.one_of(
    st.tuples(st.sampled_from(COMMANDS), st.lists(WORDS, max_size=6)).map(
        lambda c: " ".join([c[0], *c[1]])
    ),
    st.sampled_from(["position startpos", "go nodes 2", "position startpos moves b2b3", "stop"]),
    st.text(max_size=30),
    st.binary(max_size=30).map(lambda b: b.decode("latin-1")),
    st.just(TOO_LONG),
).map(lambda line: line if line is TOO_LONG else line.replace("\n", " "))


def no_quit(line):
    return line is TOO_LONG or line.split() != ["quit"]


@pytest.mark.parametrize(
    ("dialect", "examples"),
    [
        ("uci", 10),
        pytest.param("uci", 100, marks=pytest.mark.slow),
        pytest.param("usi", 100, marks=pytest.mark.slow),
    ],
)
def test_nonsense_a_hundred_lines_each(dialect, examples):
    """Each search has one best move; in the end the program is as it was."""
    game = {"uci": GARDNER, "usi": make("shogi")}[dialect]
    searches = 0

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(LINES.filter(no_quit), min_size=100, max_size=100))
    def obeys(lines):
        nonlocal searches
        end = ["stop", "position startpos", "isready", "go nodes 3"]
        said = say([*lines, *end], game, dialect)
        asked = [x.split() for x in [*lines, *end] if x is not TOO_LONG and x.split()[:1] == ["go"]]
        mates = sum(words[1:2] == ["mate"] for words in asked) if dialect == "usi" else 0
        assert len(best(said)) == len(asked) - mates
        assert said.count("readyok") == sum(
            x is not TOO_LONG and x.split()[:1] == ["isready"] for x in [*lines, *end]
        )
        assert best(said)[-1] == best(say(["go nodes 3"], game, dialect))[0]
        first = r"(info|bestmove|readyok|uciok|usiok|id|option|checkmate)( |$)"
        assert all(re.match(first, line) for line in said)
        searches += len(asked)

    obeys()
    assert searches > 3 * examples


# Shogi.


@pytest.mark.slow
def test_usi_speaks_of_shogi():
    shogi = make("shogi")
    lines = say(["usi", "isready", "usinewgame", "position startpos moves 7g7f"], shogi, "usi")
    assert "usiok" in lines
    assert "option name USI_Hash type spin default 256 min 1 max 65536" in lines
    assert "readyok" in lines
    fen = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
    positions = ["startpos moves 7g7f", f"sfen {fen} moves 7g7f 3c3d 8h2b+"]
    lines = [x for p in positions for x in (f"position {p}", "go btime 0 wtime 0 byoyomi 1")]
    moves = best(say([*lines, "go mate infinite", "gameover win"], shogi, "usi"))
    for position, move in zip(positions, moves, strict=True):
        board = cshogi.Board()
        for played in position.split(" moves ")[1].split():
            board.push_usi(played)
        assert move in [cshogi.move_to_usi(legal) for legal in board.legal_moves]
    assert say(["go mate infinite"], shogi, "usi") == ["checkmate notimplemented"]
    mated = "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"
    assert best(say([f"position sfen {mated}", "go"], shogi, "usi")) == ["resign"]
