import chess
import numpy as np
import pytest
from azjax_envs.chess import Chess

from tests.oracles import chess_players as players
from tests.oracles.chess_batches import (
    LANES,
    action_of,
    assert_illegal_actions_lose,
    load,
    look,
    observe,
    perft,
)
from tests.oracles.chess_games import play, scripted
from tests.oracles.chess_positions import endings, kinds, planes, positions
from tests.oracles.chess_referees import ChessReferee

GAME = Chess()
KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"
ROOK_ENDING = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"
RACE = "6k1/PPPP4/8/8/8/8/pppp4/6K1 w - - 0 1"
OPEN = "r3k2r/p1p1p1p1/8/1P1P1P1P/p1p1p1p1/8/1P1P1P1P/R3K2R w KQkq - 0 1"

MOVES = {f"castling {side}{color}" for side in "KQ" for color in (0, 1)}
MOVES |= {f"promotion {piece}{color}" for piece in "nbrq" for color in (0, 1)}
MOVES |= {f"en passant {color}" for color in (0, 1)}


@pytest.mark.parametrize(
    ("times", "seed"),
    [(1, 0), *(pytest.param(3, seed, marks=pytest.mark.slow) for seed in range(1, 10))],
)
def test_python_chess(times, seed):
    """Plays random games, 34 for each slow seed, and games that reach what random play misses."""
    groups = [
        (players.any_move, chess.STARTING_FEN, 8 + 13 * (times - 1)),
        (players.sharp, chess.STARTING_FEN, 3 * times),
        (players.sharp, OPEN, 6 * times),
        (players.sharp, RACE, 6 * times),
        (players.quiet, chess.STARTING_FEN, 2 * times),
        (players.endless, chess.STARTING_FEN, times),
        (players.to_and_fro, chess.STARTING_FEN, 4 * times),
    ]
    choosers = [chooser for chooser, _, games in groups for _ in range(games)]
    fens = [fen for _, fen, games in groups for _ in range(games)]
    referees = [ChessReferee(fen) for fen in fens]
    lengths, met = play(GAME, referees, choosers, fens=fens, seed=seed)
    ends = {"insufficient material", "clock", "repetition", "cut", "mate"}
    missing = (MOVES | ends) - met
    assert not missing
    assert max(lengths) == GAME.max_steps


@pytest.mark.parametrize(
    ("number", "seed"), [(4 * LANES, 0), pytest.param(100 * LANES, 1, marks=pytest.mark.slow)]
)
def test_any_position(number, seed):
    """Compares the legal moves and the end of random positions, before and after a move."""
    fens = positions(number, seed)
    met = set().union(*(kinds(chess.Board(fen)) for fen in fens))
    assert met >= {"check", "double check", "pin", "mate", "stalemate", "en passant"}
    assert met >= {
        f"castling {side}{c}{bar}" for side in "KQ" for c in "01" for bar in ("", " barred")
    }
    assert met >= {
        "en passant out of check",
        "en passant, pinned",
        "en passant, two men on a rank",
        "en passant, the captured pawn shields the king",
    }
    agree_over_two_plies(fens, players.sharp)


def test_any_ending():
    """Some material suffices to mate and some does not; captures lead to both."""
    fens = endings(3 * LANES, 0)
    dead = [chess.Board(fen).is_insufficient_material() for fen in fens]
    assert 0.3 < np.mean(dead) < 0.7

    def captures(referee, moves, chance):
        board = referee.board
        return chance.choice([m for m in moves if board.is_capture(m)] or moves)

    agree_over_two_plies(fens, captures)


def agree_over_two_plies(fens, chooser):
    for start in range(0, len(fens), LANES):
        part = fens[start : start + LANES]
        referees = [ChessReferee(fen) for fen in part]
        play(GAME, referees, [chooser] * len(part), seed=start, fens=part, plies=3)


@pytest.mark.parametrize(
    ("fen", "counts"),
    [
        (chess.STARTING_FEN, [20, 400, 8902, 197281]),
        (KIWIPETE, [48, 2039, 97862]),
        (ROOK_ENDING, [14, 191, 2812, 43238]),
    ],
)
def test_published_perft(fen, counts):
    assert perft(GAME, fen, len(counts)) == counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fen", "counts"),
    [
        (chess.STARTING_FEN, [20, 400, 8902, 197281, 4865609]),
        (KIWIPETE, [48, 2039, 97862, 4085603]),
        (ROOK_ENDING, [14, 191, 2812, 43238, 674624]),
    ],
)
def test_published_perft_deeper(fen, counts):
    assert perft(GAME, fen, len(counts)) == counts


# A position, a move that is legal there, and one that is not (or none).
RULES = [
    ("both castlings", "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1 e1c1", ""),
    ("both for Black", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8g8 e8c8", ""),
    ("rights that are lost", "r3k2r/8/8/8/8/8/8/R3K2R w Qk - 0 1", "e1c1", "e1g1"),
    ("out of check", "r3k2r/8/8/8/8/8/4r3/R3K2R w KQ - 0 1", "e1e2", "e1g1 e1c1"),
    ("through attack", "4k3/8/8/8/8/5r2/8/R3K2R w KQ - 0 1", "e1c1", "e1g1"),
    ("into attack", "4k3/8/8/8/8/2r3r1/8/R3K2R w KQ - 0 1", "e1e2", "e1g1 e1c1"),
    ("an attacked rook", "4k3/8/8/8/8/r6r/8/R3K2R w KQ - 0 1", "e1g1 e1c1", ""),
    ("b1 may be attacked", "4k3/8/8/8/8/1r6/8/R3K2R w KQ - 0 1", "e1c1", ""),
    ("b1 may not be taken", "4k3/8/8/8/8/8/8/RN2K2R w KQ - 0 1", "e1g1", "e1c1"),
    ("a pawn's attack bars", "4k3/8/8/8/8/8/4p3/R3K2R w KQ - 0 1", "e1e2", "e1g1 e1c1"),
    ("en passant", "4k3/8/8/3pPp2/8/8/8/4K3 w - d6 0 1", "e5d6", "e5f6"),
    ("en passant for Black", "4k3/8/8/8/3pPp2/8/8/4K3 b - e3 0 1", "d4e3 f4e3", ""),
    ("two men leave a rank", "8/8/8/K2pP2r/8/8/8/7k w - d6 0 1", "e5e6", "e5d6"),
    ("two pawns may capture", "8/8/8/K1PpP2r/8/8/8/7k w - d6 0 1", "e5d6 c5d6", ""),
    ("pinned along the capture", "4k3/8/5b2/4P3/3K4/8/8/8 w - - 0 1", "e5f6", "e5e6"),
    ("pinned on a diagonal", "4k2b/8/8/3pP3/3K4/8/8/8 w - d6 0 1", "d4d5", "e5d6"),
    ("pinned on that diagonal", "4k3/2b5/8/3pP3/5K2/8/8/8 w - d6 0 1", "e5d6", "e5e6"),
    ("the captured pawn shields", "4k1b1/8/8/3pP3/8/1K6/8/8 w - d6 0 1", "e5e6", "e5d6"),
    ("out of the pawn's check", "4k3/8/8/3pP3/4K3/8/8/8 w - d6 0 1", "e5d6", "e5e6"),
    ("promotions", "3r3k/2P5/8/8/8/8/8/K7 w - - 0 1", "c7c8q c7c8n c7d8r c7d8b", ""),
    ("a pinned pawn", "8/K2P3r/8/8/8/8/8/7k w - - 0 1", "a7a8", "d7d8q d7d8n"),
    ("double check", "4k3/8/5N2/8/8/8/4R3/4K3 b - - 0 1", "e8f7 e8d8", "e8e7"),
    ("only the king moves", "r3k3/8/3N4/8/8/8/4R3/4K3 b q - 0 1", "e8d8 e8f8 e8d7", "a8d8 e8c8"),
    ("not along the ray", "k7/8/8/8/8/8/8/r3K3 w - - 0 1", "e1d2 e1f2", "e1f1 e1d1"),
]


def test_rules():
    states = load(GAME, [fen for _, fen, _, _ in RULES])
    masks = look(GAME, states)["mask"]
    for (name, fen, legal, illegal), mask in zip(RULES, masks, strict=False):
        board = chess.Board(fen)
        assert np.flatnonzero(mask).tolist() == sorted(
            action_of(move.uci(), board.turn, 8) for move in board.legal_moves
        ), name
        assert all(mask[action_of(move, board.turn, 8)] for move in legal.split()), name
        assert not any(mask[action_of(move, board.turn, 8)] for move in illegal.split()), name


KNIGHTS = "g1f3 g8f6 f3g1 f6g8 "
# A start, a line, after how many plies the game ends, and why.
LINES = [
    ("", KNIGHTS * 3, 8, "repetition"),
    (
        "",
        "g1f3 g8f6 b1c3 b8c6 c3b1 c6b8 f3g1 f6g8 b1c3 b8c6 g1f3 g8f6 f3g1 f6g8 c3b1 c6b8",
        16,
        "repetition",
    ),
    ("", "g1f3 b8c6 f3g1 c6b8 b1a3 g8h6 a3b1 h6g8", 8, "repetition"),
    ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "a1b1 e8d8 b1a1 d8e8 " * 4, 9, "repetition"),
    ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1e2 e8e7 e2e1 e7e8 " * 4, 10, "repetition"),
    ("4k3/8/8/8/8/8/8/R3K2R w - - 0 1", "a1b1 e8d8 b1a1 d8e8 " * 4, 8, "repetition"),
    # The double step that can be answered en passant is another position than what follows it,
    ("4k1n1/3p4/8/4P3/8/8/8/4K1N1 b - - 0 1", "d7d5 " + KNIGHTS * 4, 10, "repetition"),
    # one that cannot be is the same,
    ("4k1n1/3p4/8/5P2/8/8/8/4K1N1 b - - 0 1", "d7d5 " + KNIGHTS * 4, 9, "repetition"),
    # and so is one that only a pinned pawn could answer.
    ("4k1n1/3p4/8/K3P2r/8/8/8/6N1 b - - 0 1", "d7d5 " + KNIGHTS * 4, 9, "repetition"),
    ("7k/8/6K1/8/8/8/8/R7 w - - 99 80", "a1a8", 1, "mate on move 100"),
    ("r7/8/8/8/8/6k1/8/7K b - - 99 80", "a8a1", 1, "mate on move 100"),
    ("7k/8/6K1/8/8/8/8/R7 w - - 99 80", "a1b1", 1, "clock"),
    ("7k/8/5K2/8/8/8/8/6Q1 w - - 99 80", "g1g6", 1, "stalemate"),
    ("7k/8/6K1/8/8/8/8/R7 w - - 98 80", "a1b1 h8g8 b1b8", 2, "clock"),
    ("7k/8/6K1/8/8/8/P7/R7 w - - 99 80", "a2a4 h8g8 a1b1 g8h8 b1b8", 5, "mate"),
    ("7k/8/6K1/8/8/8/p7/R7 w - - 99 80", "a1a2 h8g8 a2a8", 3, "mate"),
    ("", "e2e4 e7e5 f1c4 b8c6 d1h5 g8f6 h5f7", 7, "mate"),
    ("", "f2f3 e7e5 g2g4 d8h4", 4, "mate"),
    ("6rk/6pp/8/6N1/8/8/8/K7 w - - 0 1", "g5f7", 1, "mate"),
    ("7k/5Q2/8/6K1/8/8/8/8 w - - 0 1", "g5g6", 1, "stalemate"),
    ("4k3/8/8/8/8/8/4p3/4K3 w - - 0 1", "e1e2", 1, "insufficient material"),
    ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8n", 1, "insufficient material"),
    ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8b", 1, "insufficient material"),
    ("2b4k/1P6/8/8/8/8/8/4K3 w - - 0 1", "b7c8n", 1, "insufficient material"),
]


def test_lines():
    """Games end by repetition, clock, mate and material as in python-chess and in books."""
    fens = [fen or chess.STARTING_FEN for fen, *_ in LINES]
    referees = [ChessReferee(fen) for fen in fens]
    choosers = [scripted(line) for _, line, _, _ in LINES]
    lengths, _ = play(GAME, referees, choosers, fens=fens)
    for (fen, line, length, reason), seen, referee in zip(LINES, lengths, referees, strict=True):
        assert seen == length, (fen, line)
        assert reason in referee.met, (fen, line)


@pytest.mark.parametrize(
    ("men", "dead"),
    [
        ("k7/8/8/8/8/8/8/K7", True),
        ("k7/8/8/8/8/8/8/KN6", True),
        ("kn6/8/8/8/8/8/8/K7", True),
        ("k7/8/8/8/8/8/8/KB6", True),
        ("k7/8/8/8/8/8/8/K1B1B3", True),
        ("k1b1b3/8/8/8/8/8/8/KB6", True),
        ("kb1b4/8/8/8/8/8/8/KB6", False),
        ("kb6/8/8/8/8/8/8/KB6", False),
        ("k1b5/8/8/8/8/8/8/KB6", True),
        ("k7/8/8/8/8/8/8/KBB5", False),
        ("k7/8/8/8/8/8/8/KNN5", False),
        ("kn6/8/8/8/8/8/8/KN6", False),
        ("kn6/8/8/8/8/8/8/KB6", False),
        ("k7/8/8/8/8/8/8/KBN5", False),
        ("k7/8/8/8/8/8/7P/K7", False),
        ("k7/8/8/8/8/8/7R/K7", False),
        ("k7/8/8/8/8/8/7Q/K7", False),
    ],
)
def test_insufficient_material(men, dead):
    for turn in "wb":
        fen = f"{men} {turn} - - 0 1"
        assert chess.Board(fen).is_insufficient_material() == dead
        assert bool(GAME.is_terminal(GAME.from_fen(fen))) == dead


def test_planes():
    """Builds the observation again from FEN; python-chess counts the repetitions."""
    referees = [ChessReferee() for _ in range(12)]
    histories = [[] for _ in referees]
    met = set()

    def watch(ply, states, referees):
        for history, referee in zip(histories, referees, strict=True):
            if referee.plies == ply == len(history):
                history.insert(0, (referee.fen(), referee.occurrences() - 1))
        if ply % 11 in (0, 1, 6):
            seen = observe(GAME, states)
            for i, history in enumerate(histories):
                if len(history) == ply + 1:
                    fens, repeats = zip(*history[:8], strict=True)
                    expected = planes(fens, repeats, 8, 512)
                    np.testing.assert_allclose(seen[i], expected, rtol=1e-6)
                    met.update((fens[0].split()[1], times) for times in repeats)

    play(GAME, referees, [players.to_and_fro] * 12, seed=5, watch=watch, plies=80)
    assert met >= {(turn, times) for turn in "wb" for times in (0, 1)}


def test_illegal_action_loses():
    wrong = [-1, 0, 64 * 73, 2**31 - 1, -(2**31), action_of("e2e5", True, 8), 51 * 73 + 71]
    moves = (action_of(move, True, 8) for move in ("d2d4", "e2e4"))
    assert_illegal_actions_lose(GAME, wrong, *moves)
