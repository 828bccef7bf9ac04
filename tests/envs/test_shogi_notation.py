"""SFEN, USI and the board in text."""

import numpy as np
import pytest

from tests.oracles.shogi import cshogi
from tests.oracles.shogi_batches import GAME, advance, agree, batch, masks, play_line, row, start

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL"


def test_every_legal_action_round_trips():
    """Moves of random games have the names that cshogi gives, and are read back from them."""
    rng = np.random.default_rng(0)
    states, board = batch([start()]), cshogi.Board()
    drops = promotions = 0
    while not states.over[0] and board.move_number < 200:
        legal = np.flatnonzero(masks(states)[0])
        state = row(states, 0)
        names = [GAME.action_to_string(state, action) for action in legal]
        assert sorted(names) == sorted(cshogi.move_to_usi(move) for move in board.legal_moves)
        assert GAME.to_sfen(state) == board.sfen()
        drops += sum("*" in name for name in names)
        promotions += sum("+" in name for name in names)
        if board.move_number % 10 == 0:
            assert [GAME.string_to_action(state, name) for name in names] == legal.tolist()
        chosen = rng.integers(len(legal))
        states = advance(states, legal[chosen : chosen + 1])
        board.push_usi(names[chosen])
    assert drops > 1000
    assert promotions > 100


def test_sfen_round_trips():
    """Returns positions of random games, with hands and promoted pieces of both sides."""
    referees = agree(20, 5, lambda referee, moves, rng: moves[rng.integers(len(moves))], plies=150)
    for referee in referees:
        sfen = referee.board.sfen()
        state = GAME.from_sfen(sfen)
        assert GAME.to_sfen(state) == sfen
        assert GAME.current_player(state) == referee.player
        assert state.ply == referee.ply


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (f"{START} b -", f"{START} b - 1"),
        (f"  {START}   b - 12 ", f"{START} b - 12"),
        ("k8/9/9/9/9/9/9/9/K8 w p2P18p 3".replace("18p", "b"), "k8/9/9/9/9/9/9/9/K8 w 2Pbp 3"),
        ("k8/9/9/9/9/9/9/9/K8 b 18p", "k8/9/9/9/9/9/9/9/K8 b 18p 1"),
        ("k8/9/9/9/9/9/9/9/K8 b PPP", "k8/9/9/9/9/9/9/9/K8 b 3P 1"),
        ("k8/1234/9/9/9/9/9/9/K8 b -".replace("1234", "1233"), "k8/9/9/9/9/9/9/9/K8 b - 1"),
    ],
)
def test_sfen_may_be_written_otherwise(text, same):
    assert GAME.to_sfen(GAME.from_sfen(text)) == same


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "board, side to move, hands and move number"),
        (START, "board, side to move, hands and move number"),
        (f"{START} b - 1 2", "board, side to move, hands and move number"),
        (f"{START}/9 b - 1", "9 ranks, not 10"),
        (f"{START[:-10]} b - 1", "9 ranks, not 8"),
        (START.replace("1r5b1", "1r5b2") + " b - 1", "rank b must have 9 squares, not 10"),
        (START.replace("1r5b1", "1r5b") + " b - 1", "rank b must have 9 squares, not 8"),
        (
            START.replace("1r5b1", "1r5b0") + " b - 1",
            "must consist of pieces and numbers, not '1r5b0'",
        ),
        (
            START.replace("1r5b1", "1r5b+") + " b - 1",
            "must consist of pieces and numbers, not '1r5b",
        ),
        (START.replace("1r5b1", "1q5b1") + " b - 1", "'q' is no piece"),
        (START.replace("1r5b1", "1+g5b1") + " b - 1", "G does not promote"),
        (START.replace("1r5b1", "1+k5b1") + " b - 1", "K does not promote"),
        (f"{START} black - 1", "must be b or w, not 'black'"),
        (f"{START} b x 1", "the hands must be like"),
        (f"{START} b K 1", "the hands must be like"),
        (f"{START} b 0P 1", "the hands must be like"),
        (f"{START} b 2 1", "the hands must be like"),
        (f"{START} b - one", "the move number must be from 1 to 513, not 'one'"),
        (f"{START} b - 0", "the move number must be from 1 to 513, not '0'"),
        (f"{START} b - 514", "the move number must be from 1 to 513, not '514'"),
        (f"{START} b P 1", "there are 19 P, more than 18"),
        ("k8/9/9/9/9/9/9/9/K8 b 3R 1", "there are 3 R, more than 2"),
        ("k7+r/9/9/9/9/9/9/9/K8 b 2R 1", "there are 3 R, more than 2"),
        ("9/9/9/9/9/9/9/9/K8 b - 1", "gote must have one king, not 0"),
        ("k8/9/9/9/9/9/9/9/KK7 b - 1", "sente must have one king, not 2"),
        ("k8/9/9/4P4/4P4/9/9/9/K8 b - 1", "sente has two pawns on a file"),
        ("k8/9/9/4p4/9/4p4/9/9/K8 b - 1", "gote has two pawns on a file"),
        ("k3P4/9/9/9/9/9/9/9/K8 b - 1", "sente has a P that could never move on"),
        ("k8/9/9/9/9/9/9/9/K3l4 b - 1", "gote has a L that could never move on"),
        ("k8/9/9/9/9/9/9/4n4/K8 b - 1", "gote has a N that could never move on"),
        ("k8/9/9/9/9/9/9/9/R3K4 b - 1", "the side that is not to move is in check"),
        ("k7R/9/9/9/9/9/9/9/4K4 b - 1", "the side that is not to move is in check"),
        ("kK7/9/9/9/9/9/9/9/9 w - 1", "the side that is not to move is in check"),
    ],
)
def test_malformed_or_impossible(text, reason):
    with pytest.raises(ValueError, match="not a shogi position") as error:
        GAME.from_sfen(text)
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


def test_promoted_pawns_share_a_file():
    sfen = "k8/9/9/4P4/4+P4/9/9/9/K8 b - 1"
    assert GAME.to_sfen(GAME.from_sfen(sfen)) == sfen


def test_moves_in_text():
    state, _ = play_line(["7g7f", "3c3d"])
    move = GAME.string_to_action(state, " 8h2b+ ")
    assert GAME.action_to_string(state, move) == "8h2b+"
    after = row(advance(batch([state]), [move]), 0)
    drop_later, _ = play_line(["7g7f", "3c3d", "8h2b+", "3a2b"])
    assert GAME.action_to_string(drop_later, GAME.string_to_action(drop_later, "b*5e")) == "B*5e"
    with pytest.raises(ValueError, match=r"'8h2b\+' is not legal here; legal: .*3a2b"):
        GAME.string_to_action(after, "8h2b+")


def test_hands_in_text():
    state = GAME.from_sfen("k8/9/9/9/4+p4/9/9/9/K8 w RB2Pbp 7")
    text = GAME.to_string(state)
    assert text.startswith("gote   b p\n")
    assert "\nsente  R B P2\n" in text
    assert text.endswith("gote to move, 6 played")
    assert " +p   .   .   .   .   e" in text
