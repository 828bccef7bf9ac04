"""UCI: the introduction, positions and options."""

import functools
import re
import types

import pyffish
import pytest
from azjax_envs import make

from azjax.engine.stdin import TOO_LONG
from azjax.engine.uci.go import to_centipawns
from azjax.engine.uci.server import serve_uci
from azjax.errors import UserError
from azjax.players.engines.uci_games import DIALECTS
from tests.oracles.clients import IdleSearch, Script, best_moves, uci_output

GARDNER = make("gardner_chess")
START = pyffish.start_fen("gardner")
output = functools.partial(uci_output, game=GARDNER)


def test_greeting_and_readiness():
    lines = output(["uci", "isready", "quit", "isready"])
    assert lines[0].startswith("id name azjax")
    assert "option name UCI_Variant type combo default gardner var gardner" in lines
    assert lines[-2:] == ["uciok", "readyok"]


def test_the_introduction_does_not_wait_for_the_rules():
    """XBoard gives up on an engine that is silent for ten seconds."""
    without_rules = types.SimpleNamespace(name="gardner_chess")
    assert output(["uci", "ucinewgame", "quit"], game=without_rules)[-1] == "uciok"


def test_info_lines_of_a_search():
    lines = output(["setoption name uci_showwdl value true", "position startpos", "go nodes 7"])
    info = r"info depth 1 time \d+ nodes (\d+) nps \d+ score cp 37 wdl 375 500 125 pv (\S+)"
    found = [re.fullmatch(info, line) for line in lines[:-1]]
    assert found[-1][1] == "7"
    assert lines[-1] == f"bestmove {found[-1][2]}"
    assert found[-1][2] in pyffish.legal_moves("gardner", START, [])
    assert "wdl" not in output(["go nodes 7"])[0]


def test_centipawns_are_leela_chess_zeros():
    assert [to_centipawns(v) for v in (-1, 0, 0.5, 1)] == [-12780, 0, 89, 12780]
    assert to_centipawns(1.01) == 12780


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
    lines = output([x for p in positions for x in (f"position {p}", "go nodes 1")])
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


def test_a_draw_that_nobody_claimed_goes_on():
    """Our rules end a game at the third repetition; clients need not."""
    fen = "1n2k/5/5/5/1N2K w - - 0 1"
    moves = "b1a3 b5c3 a3b1 c3b5 " * 2
    lines = output([f"position fen {fen} moves {moves}", "go nodes 1"])
    assert best_moves(lines)[0] in pyffish.legal_moves("gardner", fen, moves.split())
    more = output([f"position fen {fen} moves {moves} b1c3 b5a3", "go nodes 1"])
    legal = pyffish.legal_moves("gardner", fen, [*moves.split(), "b1c3", "b5a3"])
    assert best_moves(more)[0] in legal


def test_mate_leaves_no_move():
    lines = output(["position fen k4/5/1K3/5/4R w - - 0 1 moves e1e5", "go nodes 3"])
    assert lines == ["info depth 0 score mate 0", "bestmove (none)"]
    stalemate = "position fen k4/2Q2/5/5/4K b - - 0 1"
    assert output([stalemate, "go nodes 3"]) == ["info depth 0 score cp 0", "bestmove (none)"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("position", "expected startpos, or fen and a position"),
        ("position fen", "expected startpos, or fen"),
        ("position fen 1/2 w", "it must have 4 to 6 fields"),
        ("position fen 4k/P4/5/5/4K w - - 0 1 2 3 4", "it must have 4 to 6 fields"),
        ("position fen 4k/P4/5/5/5 w - - 0 0", "White must have one king, not 0"),
        ("position startpos moves e2e9", "'e2e9' is not legal here"),
        (TOO_LONG, "the line is too long"),
    ],
)
def test_after_an_invalid_position_there_is_no_move(line, complaint):
    lines = output([line, "go nodes 1", "position startpos", "go nodes 1"])
    assert complaint in lines[0]
    assert lines[0].startswith("info string ")
    assert best_moves(lines)[0] == "(none)"
    assert best_moves(lines)[1] != "(none)"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("hello", "unknown command hello"),
        ("setoption name Hash value 0", "Hash must be a whole number from 1 to"),
        ("setoption name Hash value many", "Hash must be a whole number from 1 to"),
        ("setoption name Wisdom value 5", "no option Wisdom; the options are Hash, MultiPV, Thr"),
        ("setoption name UCI_ShowWDL value 1", "option UCI_ShowWDL must be true or false"),
        ("setoption name MultiPV value 0", "option MultiPV must be a whole number from 1 to 500"),
        ("setoption name UCI_Variant value chess", "option UCI_Variant must be gardner"),
        ("setoption", "there is no option"),
    ],
)
def test_other_errors_change_nothing(line, complaint):
    before, after = best_moves(output(["go nodes 1"])), output([line, "go nodes 1"])
    assert complaint in after[0]
    assert best_moves(after) == before


def test_several_best_moves_with_their_chances():
    """Checked by python-chess with the real search, see test_clients.py."""
    lines = output(["setoption name MultiPV value 3", "go nodes 7"])
    assert "depth 1 multipv 1 time" in lines[0]


@pytest.mark.parametrize("option", ["Threads value 4", "Ponder value true", "Hash value 64"])
def test_usual_options_are_taken_quietly(option):
    assert output([f"setoption name {option}"]) == []


@pytest.mark.parametrize(
    ("position", "read"),
    [
        ("4k/P4/5/5/4K w - - 101 0", "4k/P4/5/5/4K w - - 0 1"),
        ("4k/P4/5/5/4K w - - 0 0", "4k/P4/5/5/4K w - - 0 1"),
        ("4k/P4/5/5/4K w KQ a3 - -", "4k/P4/5/5/4K w - - 0 1"),
        ("4k/P4/5/5/4K w", "4k/P4/5/5/4K w - - 0 1"),
    ],
)
def test_positions_that_are_not_quite_right_are_mended(position, read):
    remark, *rest = output([f"position fen {position}", "go nodes 1"])
    assert remark.startswith("info string position: FEN")
    assert remark.endswith(f"it is read as {read}")
    assert best_moves(rest)[0] in pyffish.legal_moves("gardner", read, [])


def test_the_word_fen_may_be_missing_or_written_twice():
    fen = "4k/P4/5/5/4K w - - 0 1"
    one, none, two = (
        best_moves(output([f"position {p}{fen}", "go"])) for p in ("fen ", "", "fen fen ")
    )
    assert one == none == two != ["(none)"]


def test_other_games_are_errors():
    with pytest.raises(UserError, match="UCI is for chess and gardner_chess, not for go_5x5"):
        serve_uci(DIALECTS["uci"], make("go_5x5"), lambda megabytes: None, Script([]), print)


def test_hash_is_the_size_of_the_search():
    sizes = []

    def make_search(megabytes):
        sizes.append(megabytes)
        return IdleSearch(GARDNER)

    lines = ["setoption name Hash value 64", "setoption name hash value 65537", "isready", "go"]
    serve_uci(DIALECTS["uci"], GARDNER, make_search, Script(lines), lambda text: None)
    assert sizes == [64]
