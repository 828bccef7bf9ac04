"""UCI: what is said, positions, and what go means."""

import functools
import math
import re
import types

import pyffish
import pytest
from azjax_envs import make

from azjax.errors import UserError
from azjax.play.clock import Clock
from azjax.play.stdin import TOO_LONG
from azjax.play.uci.engine import DIALECTS
from azjax.play.uci.go import read_go
from azjax.play.uci.info import centipawns
from azjax.play.uci.server import serve_uci
from tests.oracles.clients import Idle, Script, best_moves, uci_says

GARDNER = make("gardner_chess")
START = pyffish.start_fen("gardner")
say = functools.partial(uci_says, game=GARDNER)


# What is said.


def test_greeting_and_readiness():
    lines = say(["uci", "isready", "quit", "isready"])
    assert lines[0].startswith("id name azjax")
    assert "option name UCI_Variant type combo default gardner var gardner" in lines
    assert lines[-2:] == ["uciok", "readyok"]


def test_the_introduction_does_not_wait_for_the_rules():
    """XBoard takes an engine that says nothing for ten seconds for one of another protocol."""
    nothing_but_a_name = types.SimpleNamespace(name="gardner_chess")
    assert say(["uci", "ucinewgame", "quit"], game=nothing_but_a_name)[-1] == "uciok"


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
    moves = best_moves(lines)
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
    assert best_moves(lines)[0] in pyffish.legal_moves("gardner", fen, moves.split())
    more = say([f"position fen {fen} moves {moves} b1c3 b5a3", "go nodes 1"])
    legal = pyffish.legal_moves("gardner", fen, [*moves.split(), "b1c3", "b5a3"])
    assert best_moves(more)[0] in legal


def test_mate_leaves_no_move():
    lines = say(["position fen k4/5/1K3/5/4R w - - 0 1 moves e1e5", "go nodes 3"])
    assert best_moves(lines) == ["(none)"]
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
    assert best_moves(lines)[0] == "(none)"
    assert best_moves(lines)[1] != "(none)"


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
    before, after = best_moves(say(["go nodes 1"])), say([line, "go nodes 1"])
    assert complaint in after[0]
    assert best_moves(after) == before


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
        assert go.infinite == ("infinite" in words)
    assert read_go(["ponder"], "wb", 0, 32).simulations == 32
    assert read_go(["ponder", "btime", "5100"], "bw", 0, 32).seconds == pytest.approx(0.104)


@pytest.mark.parametrize(
    ("words", "moves"),
    [
        ("searchmoves e2e4 d2d4", ("e2e4", "d2d4")),
        ("infinite searchmoves e2e4 e7e8q nodes 5", ("e2e4", "e7e8q")),
        ("searchmoves", ()),
        ("nodes 5", ()),
    ],
)
def test_moves_to_search(words, moves):
    assert read_go(words.split(), "wb", 0, 32).moves == moves


@pytest.mark.parametrize("word", ["nodes 6", "movetime 1", "depth 1", "mate 3", "infinite"])
def test_the_best_move_is_one_that_was_to_be_searched(word):
    first = best_moves(say(["go nodes 6"]))[0]
    some = [move for move in pyffish.legal_moves("gardner", START, []) if move != first][-2:]
    lines = say([f"go {word} searchmoves a1a1 {' '.join(some)} hello", "stop"])
    assert best_moves(lines)[0] in some
    assert not any("searchmoves" in line for line in lines)
    none = say([f"go {word} searchmoves a1a1", "stop"])
    assert best_moves(none) == [first]
    assert "info string searchmoves: none of them is legal" in none[0]


@pytest.mark.parametrize("limit", ["mate 3", "mate", "depth 0", "depth 1", "depth 500", "depth x"])
def test_every_search_ends_with_a_best_move(limit):
    (move,) = best_moves(say([f"go {limit}"]))
    assert move in pyffish.legal_moves("gardner", START, [])


def test_a_clock_is_never_overdrawn():
    for left in (0.0, 0.05, 0.5, 100.0):
        for moves in (0, 1, 40):
            for each in (0.0, 1.0):
                clock = Clock(left, increment=5.0, moves=moves, each=each)
                assert 0 < clock.for_move() <= max(left + each - 0.1, 0.01)
