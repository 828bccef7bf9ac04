import re
import xml.etree.ElementTree as ET

import chess
import jax
import numpy as np
import pytest
from azjax_envs import to_svg
from azjax_envs.chess import Chess, GardnerChess

from tests.oracles.chess_batches import LANES, action_of, assert_same, from_start, lane, step
from tests.oracles.chess_positions import positions

GAME = Chess()
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def test_every_action_has_its_own_name():
    for fen in [KIWIPETE, "r3k2r/P1P5/8/8/8/8/p6p/R3K2R b KQkq - 0 1"]:
        state, board = GAME.from_fen(fen), chess.Board(fen)
        names = {move.uci() for move in board.legal_moves}
        for name in names:
            action = GAME.string_to_action(state, name)
            assert action == action_of(name, board.turn, 8)
            assert GAME.action_to_string(state, action) == name
        for text in ("e2e5", "e1e1", "a7a8", "e8g8x", "", "O-O-O-O"):
            with pytest.raises(ValueError, match="is not legal here; legal: "):
                GAME.string_to_action(state, text)


def test_fen_goes_there_and_back():
    for fen in positions(300, 2):
        assert GAME.to_fen(GAME.from_fen(fen)) == chess.Board(fen).fen(en_passant="legal")
    start = GAME.init()
    assert GAME.to_fen(start) == chess.STARTING_FEN
    for fen in (chess.STARTING_FEN, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -"):
        assert_same(GAME.from_fen(fen), start)
    assert GAME.to_fen(GAME.from_fen("4k3/8/8/8/8/8/8/4K2R w K - 7")).endswith(" w K - 7 1")


PLACES = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR"


@pytest.mark.parametrize(
    ("fen", "says"),
    [
        ("", "4 to 6 fields .*, not 0"),
        (f"{PLACES} w KQkq - 0 1 x", "4 to 6 fields .*, not 7"),
        ("8/8/8/8/8/8/8 w - - 0 1", "8 ranks, not 7"),
        ("4k3/8/8/8/8/8/8/4K2 w - - 0 1", "rank 1 must have 8 squares, not 7"),
        ("4k3/8/8/44/8/8/8/4K3 w - - 0 1", "rank 5 has two numbers in a row"),
        ("4k3/8/8/9/8/8/8/4K3 w - - 0 1", "rank 5 has '9'; pieces are pnbrqk"),
        ("4k3/8/8/3x4/8/8/8/4K3 w - - 0 1", "rank 5 has 'x'"),
        ("8/8/8/8/8/8/8/4K3 w - - 0 1", "Black must have one king, not 0"),
        ("4k3/8/8/8/8/8/8/3KK3 w - - 0 1", "White must have one king, not 2"),
        ("4k2P/8/8/8/8/8/8/4K3 w - - 0 1", "no pawn may stand on rank 1 or 8"),
        ("4k3/8/8/8/8/8/8/p3K3 w - - 0 1", "no pawn may stand on rank 1 or 8"),
        (f"{PLACES} x KQkq - 0 1", "side to move must be w or b, not 'x'"),
        ("4k3/8/8/8/8/8/8/4RK2 w - - 0 1", "Black is in check though White is to move"),
        ("4k3/8/8/8/7b/8/8/4K3 b - - 0 1", "White is in check though Black is to move"),
        ("4k3/3P4/8/8/8/8/8/4K3 w - - 0 1", "Black is in check"),
        ("8/8/8/8/8/8/3p4/4K2k b - - 0 1", "White is in check"),
        ("4k3/8/3N4/8/8/8/8/4K3 w - - 0 1", "Black is in check"),
        ("8/8/8/3kK3/8/8/8/8 w - - 0 1", "Black is in check"),
        (f"{PLACES} w QK - 0 1", "castling must be - or some of KQkq in this order, not 'QK'"),
        (f"{PLACES} w AHah - 0 1", "castling must be"),
        ("4k3/8/8/8/8/8/8/4K2R w KQ - 0 1", "castling Q needs a king on e1 and a rook on a1"),
        ("4k2r/8/8/8/8/8/8/4K2R w k - 0 1", None),
        ("3k3r/8/8/8/8/8/8/4K2R w k - 0 1", "castling k needs a king on e8 and a rook on h8"),
        (f"{PLACES} w KQkq e3 0 1", "en passant must be - or a square on rank 6, not 'e3'"),
        (f"{PLACES} w KQkq e6 0 1", "en passant on e6: no pawn has just passed that square"),
        ("4k3/4n3/8/4p3/8/8/8/4K3 w - e6 0 1", "en passant on e6"),
        ("4k3/8/8/4p3/8/8/8/4K3 w - e6 0 1", None),
        (f"{PLACES} w KQkq - 101 80", "halfmove clock must be 0 to 100, not '101'"),
        (f"{PLACES} w KQkq - -1 1", "halfmove clock must be 0 to 100, not '-1'"),
        (f"{PLACES} w KQkq - 0 0", "move number must be 1 to 9999, not '0'"),
        (f"{PLACES} w KQkq - 0 x", "move number must be 1 to 9999, not 'x'"),
    ],
)
def test_bad_fen(fen, says):
    if says is None:
        assert not GAME.is_terminal(GAME.from_fen(fen))
        return
    with pytest.raises(ValueError, match=says) as error:
        GAME.from_fen(fen)
    assert "\n" not in str(error.value)


def test_view():
    """Checks the codes of the pieces, of the last move and of a king in check."""
    states = from_start(GAME)
    line = ["e2e4", "f7f5", "d1h5"]
    for ply, move in enumerate(line):
        states = step(GAME, states, [action_of(move, ply % 2 == 0, 8)] * LANES)
    view = jax.jit(GAME.view)
    codes = np.asarray(view(lane(states, 0))).reshape(8, 8)
    assert codes[0].tolist() == [10, 8, 9, 11, 12 + 32, 9, 8, 10]
    assert codes[1].tolist() == [7, 7, 7, 7, 7, 0, 7, 7]
    assert codes[3].tolist() == [0, 0, 0, 0, 0, 7, 0, 5 + 16]
    assert codes[4].tolist() == [0, 0, 0, 0, 1, 0, 0, 0]
    assert codes[7].tolist() == [4, 2, 3, 16, 6, 3, 2, 4]
    assert (np.asarray(view(GAME.init())) < 13).all()


@pytest.mark.parametrize("game", [GAME, GardnerChess()])
def test_drawing(game):
    """The style of the small document shows each piece by the code of its square alone."""
    text = to_svg(game, game.init())
    board = ET.fromstring(text)
    assert len(text) < 50_000
    style = board.find("{http://www.w3.org/2000/svg}style").text
    assert all(rule.startswith(f".{board.get('class')} ") for rule in style.strip().splitlines())
    for code in range(1, 13):
        name = ["pawn", "knight", "bishop", "rook", "queen", "king"][(code - 1) % 6]
        for shown in [code, code + 16] + [code + 32] * (name == "king"):
            assert re.findall(rf'\[data-code="{shown}"\] \.(\w+) {{ visibility', style) == [name]
    ids = {part.get("id") for part in board.iter()} - {None}
    used = {part.get("href") for part in board.iter()} - {None}
    assert used == {f"#{name}" for name in ids}
    assert len(used) == 6
