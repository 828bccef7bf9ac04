"""Moves of chess as people write them, compared with python-chess and Fairy-Stockfish."""

import random

import chess
import pyffish
import pytest
from azjax_envs.chess import Chess, GardnerChess

from tests.oracles.chess_positions import positions

GAME, GARDNER = Chess(), GardnerChess()
# Mates, en passant that alone stops a mate, three queens for one square, and promotions with check.
SPECIAL = [
    "6k1/5ppp/8/8/8/8/8/R6K w - - 0 1",
    "8/8/8/1k6/8/8/1P1P4/RKR5 w - - 0 1",
    "5r2/8/8/6r1/2pk2r1/8/1P1P4/2R1R1K1 w - - 0 1",
    "Q6Q/8/8/6k1/8/8/8/Q3K3 w - - 0 1",
    "r3k2r/1P4P1/8/8/8/8/1p4p1/R3K2R w KQkq - 0 1",
    "r3k2r/1P4P1/8/8/8/8/1p4p1/R3K2R b KQkq - 0 1",
    "3k4/8/8/8/8/8/8/R3K3 w Q - 0 1",
    "8/8/8/1k6/3Pp3/8/8/4KQ2 b - d3 0 1",
]


@pytest.mark.parametrize("fens", [SPECIAL, positions(80, 5)], ids=["special", "random"])
def test_all_legal_moves_have_the_names_of_python_chess(fens):
    for fen in fens:
        state, board = GAME.from_fen(fen, strict=False), chess.Board(fen)
        names = GAME.shown_moves(state)
        uci = {GAME.action_to_string(state, a): name for a, name in names.items()}
        assert uci == {move.uci(): board.san(move) for move in board.legal_moves}
        for action, name in list(names.items())[::7]:
            assert GAME.string_to_action(state, name) == action


def test_gardner_chess_has_them_too():
    start, chance = pyffish.start_fen("gardner"), random.Random(1)
    for _ in range(3):
        moves = []
        while legal := pyffish.legal_moves("gardner", start, moves):
            if len(moves) > 30:
                break
            fen = pyffish.get_fen("gardner", start, moves)
            state = GARDNER.from_fen(fen, strict=False)
            for action, name in GARDNER.shown_moves(state).items():
                uci = GARDNER.action_to_string(state, action)
                assert pyffish.get_san("gardner", fen, uci) == name, fen
            moves.append(chance.choice(legal))


CASTLES = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
OPEN = "rnbqkbnr/ppp2ppp/8/3pp3/2B1P3/2N5/PPPP1PPP/R1BQK1NR w KQkq d6 0 4"
PROMOTES = "1n5k/P7/8/8/8/8/8/7K w - - 0 1"
PASSED = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1"
BISHOPS = "4k3/8/8/8/3p4/1PB5/8/4K3 w - - 0 1"


@pytest.mark.parametrize(
    ("fen", "texts", "uci"),
    [
        (CASTLES, "O-O 0-0 o-o OO 0-0+ O–O e1g1 e1h1 Ke1g1 E1G1 O-O!? e1-g1", "e1g1"),
        (CASTLES, "O-O-O 0-0-0 o-o-o OOO e1c1 e1a1 0-0-0#", "e1c1"),
        (
            OPEN,
            "Nf3 nf3 Nf3! ♘f3 ♞f3 Ng1-f3 Ngf3 N1f3 g1f3 g1-f3 Nf3+ Nf3ch Nf3?! G1F3 Nf3=",
            "g1f3",
        ),
        (OPEN, "exd5 ed5 e4d5 e4xd5 e:d5 exd ed e4-d5 ♙xd5 e×d5 Pxd5 exd5!!", "e4d5"),
        (OPEN, "Bxd5 Bd5 bxd5 B:d5 Bc4xd5 Bxd5dblch", "c4d5"),
        (PROMOTES, "a8=Q a8Q a8=q a8q a8(Q) a8/Q a8=Q+ a7a8q a7-a8=Q a8=Q# a8=♕", "a7a8q"),
        (PROMOTES, "axb8=N axb8N ab8=n a7b8n", "a7b8n"),
        (PASSED, "exd6 exd6e.p. exd6ep ed exd6+", "e5d6"),
        (BISHOPS, "Bxd4 bxd4 Bd4 c3d4 Bxd4mate", "c3d4"),
        (BISHOPS, "b4 b3b4 b3-b4", "b3b4"),
    ],
)
def test_a_move_has_many_spellings(fen, texts, uci):
    state = GAME.from_fen(fen)
    for text in texts.split():
        action = GAME.string_to_action(state, text)
        assert GAME.action_to_string(state, action) == uci, text


@pytest.mark.parametrize(
    ("fen", "text", "says"),
    [
        (OPEN, "Ke3", "'Ke3' is not legal here; legal: .*Nf3"),
        (OPEN, "Nd5x", "'Nd5x' is not legal here"),
        (OPEN, "O-O", "is not legal here"),
        (CASTLES, "Kg1", "is not legal here"),
        (PROMOTES, "a8", "is not legal here; legal: .*a8=Q"),
        (OPEN, "--", "'--' is a null move"),
        (OPEN, "0000", "'0000' is a null move"),
        ("4k3/8/8/8/8/5N2/8/1N2K3 w - - 0 1", "Nd2", "'Nd2' is not clear: it can be N.d2 or N.d2"),
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "Kg8", "cannot be played: the game is over"),
    ],
)
def test_moves_that_are_refused(fen, text, says):
    with pytest.raises(ValueError, match=says):
        GAME.string_to_action(GAME.from_fen(fen), text)


def test_what_python_chess_reads_is_read_alike():
    chance, agreed = random.Random(3), 0
    for fen in positions(60, 11):
        state, board = GAME.from_fen(fen, strict=False), chess.Board(fen)
        for move in list(board.legal_moves)[::4]:
            name = board.san(move)
            at = chance.randrange(len(name))
            for text in (
                name,
                name[:at] + name[at + 1 :],
                name[:at] + chance.choice("xa1K") + name[at:],
            ):
                try:
                    expected = board.parse_san(text).uci()
                except ValueError:
                    continue
                found = GAME.action_to_string(state, GAME.string_to_action(state, text))
                assert found == expected, (fen, text)
                agreed += 1
    assert agreed > 150


def test_moves_are_numbered_as_players_do():
    state = GAME.from_fen(OPEN)
    assert GAME.number_moves(state, ["Nf3", "Nc6", "O-O"]) == ["4. Nf3", "Nc6", "5. O-O"]
    after = GAME.step(state, GAME.string_to_action(state, "Nf3"))
    assert GAME.number_moves(after, ["Nc6", "O-O"]) == ["4... Nc6", "5. O-O"]


def played_at_random(seed, plies):
    """Returns the moves of a game in UCI's letters and in SAN, by python-chess."""
    board, chance = chess.Board(), random.Random(seed)
    ucis, sans = [], []
    while len(ucis) < plies and not board.is_game_over():
        move = chance.choice([*board.legal_moves])
        ucis.append(move.uci())
        sans.append(board.san(move))
        board.push(move)
    return ucis, sans


def test_lines_are_read_as_python_chess_does():
    start = GAME.init()
    for seed in range(60):
        ucis, sans = played_at_random(seed, 300)
        line = GAME.read_line(start, sans)
        assert [name for _, name in line] == ucis
        assert GAME.read_line(start, ucis) == line


def test_actions_of_a_line_are_those_of_its_moves_one_by_one():
    for fen in SPECIAL:
        state = GAME.from_fen(fen, strict=False)
        for action, name in GAME.shown_moves(state).items():
            assert GAME.read_line(state, [name]) == [(action, GAME.action_to_string(state, action))]


@pytest.mark.parametrize(
    ("fen", "text"),
    [
        (OPEN, "nf3"),
        (OPEN, "exd"),
        (OPEN, "Ng1-f3"),
        (OPEN, "Nd2"),
        (OPEN, "e4e5x"),
        (CASTLES, "Kh1"),
        (CASTLES, "e1h1"),
        (CASTLES, "e1g2"),
        (PROMOTES, "a8"),
        (PROMOTES, "a8K"),
        (BISHOPS, "Bxc3"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "O-O-O"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "e1g1"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "e8e7"),
        ("4k3/8/8/8/8/8/8/1N2KN2 w - - 0 1", "Nd2"),
    ],
)
def test_lines_end_where_a_move_is_not_plain(fen, text):
    state = GAME.from_fen(fen, strict=False)
    assert GAME.read_line(state, [text, "e4"]) == []


def test_lines_end_where_a_king_would_be_taken():
    texts = ["Nc3", "a6", "Nb5", "a5", "Nxc7", "a4", "Nxe8", "a3", "Nf3"]
    assert len(GAME.read_line(GAME.init(), texts)) == 6
