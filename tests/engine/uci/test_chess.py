"""UCI: positions of chess as other programs send them, checked by python-chess."""

import types

import chess
import pytest
from azjax_envs import make

from azjax.engine.uci.go import best_move
from azjax.engine.uci.position import read_position
from azjax.players.engines.uci_games import DIALECTS
from tests.oracles.clients import best_moves, uci_output

CHESS = make("chess")


def answer(fen, *more):
    return uci_output([f"position fen {fen}", "go nodes 2", *more], CHESS)


@pytest.mark.parametrize(
    ("fen", "read"),
    [
        (
            "1r4k1/b2b1Rpr/p2P3p/1ppB4/8/2B5/PP1q1PPP/2R3K1 w Qq - 0 1",
            "1r4k1/b2b1Rpr/p2P3p/1ppB4/8/2B5/PP1q1PPP/2R3K1 w - - 0 1",
        ),
        (
            "rnbqkbnr/pppppppp/8/8/P7/8/1PPPPPPP/RNBQKBNR w KQkq a3 0 1",
            "rnbqkbnr/pppppppp/8/8/P7/8/1PPPPPPP/RNBQKBNR w KQkq - 0 1",
        ),
        ("r3k2r/8/8/8/8/8/8/R3K2R w HAha - 0 1", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b qkQKK - 3 9", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 9"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w  - 0 1", "r3k2r/8/8/8/8/8/8/R3K2R w - - 0 1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w - - 150 0", "r3k2r/8/8/8/8/8/8/R3K2R w - - 0 1"),
    ],
)
def test_rights_and_counters_that_cannot_be(fen, read):
    """Elsewhere these positions are refused, as `from_fen` in Python refuses them."""
    remark, *rest = answer(fen)
    assert remark.startswith("info string position: FEN")
    assert remark.endswith(f"it is read as {read}")
    assert chess.Move.from_uci(best_moves(rest)[0]) in chess.Board(read).legal_moves
    with pytest.raises(ValueError, match="FEN"):
        CHESS.from_fen(fen)
    assert CHESS.to_fen(CHESS.from_fen(fen, strict=False)) == read


def test_without_the_material_to_mate_the_game_goes_on():
    """The client claims the draw, or does not."""
    fen = "8/8/4k3/8/8/2B1K3/8/b7 w - - 0 1"
    for moves in ("", " moves c3a1 e6d6"):
        board = chess.Board(fen)
        for move in moves.split()[1:]:
            board.push_uci(move)
        (move,) = best_moves(answer(fen + moves))
        assert chess.Move.from_uci(move) in board.legal_moves
    assert bool(CHESS.is_terminal(CHESS.from_fen(fen)))


@pytest.mark.parametrize("fen", ["8/8/8/8/8/5k2/q7/7K w - - 0 1 moves h1g1 a2g2"])
@pytest.mark.parametrize("go", ["go ponder wtime 1000 btime 1000", "go infinite"])
def test_a_finished_game_waits_for_the_client(fen, go):
    lines = uci_output([f"position fen {fen}", go, "isready", "stop", "isready"], CHESS)
    assert lines == ["info depth 0 score mate 0", "readyok", "bestmove (none)", "readyok"]
    hit = uci_output([f"position fen {fen}", "go ponder", "ponderhit", "isready"], CHESS)
    assert hit == ["info depth 0 score mate 0", "bestmove (none)", "readyok"]


@pytest.mark.parametrize(
    ("moves", "line", "answered"),
    [
        ("f2f3 e7e5", "g2g4 d8h4", "g2g4"),  # the answer mates
        ("f2f3 e7e5", "g2g4 d8g5", "g2g4 ponder d8g5"),
        ("f2f3 e7e5 g2g4", "d8h4", "d8h4"),
    ],
)
def test_no_ponder_move_ends_the_game(moves, line, answered):
    record = read_position(CHESS, DIALECTS["uci"], f"startpos moves {moves}".split(), None).record
    words = f"startpos moves {moves} {line}".split()
    ahead = read_position(CHESS, DIALECTS["uci"], words, None).record
    actions = [position.action for position in ahead.positions[record.num_moves + 1 :]]
    analysis = types.SimpleNamespace(action=0, principal_variation=lambda action: tuple(actions))
    assert best_move(record, analysis) == answered
