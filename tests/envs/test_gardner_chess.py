import random

import numpy as np
import pyffish
import pytest
from azjax_envs.chess import GardnerChess

from tests.oracles import chess_players as players
from tests.oracles.chess_batches import (
    LANES,
    action_of,
    assert_illegal_actions_lose,
    assert_same,
    load,
    look,
    observe,
    perft,
    step,
)
from tests.oracles.chess_games import play, scripted
from tests.oracles.chess_positions import planes
from tests.oracles.chess_referees import GardnerReferee

GAME = GardnerChess()
START = "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1"
PROMOTIONS = {f"promotion {piece}{color}" for piece in "nbrq" for color in (0, 1)}


@pytest.mark.parametrize(
    ("games", "seed"),
    [(6, 0), *(pytest.param(100, seed, marks=pytest.mark.slow) for seed in (1, 2, 3))],
)
def test_fairy_stockfish(games, seed):
    """Plays random games, one of the greatest length, and some with moves back and forth."""
    choosers = [players.any_move] * games
    choosers += [players.endless, players.to_and_fro, players.to_and_fro]
    referees = [GardnerReferee() for _ in choosers]
    lengths, met = play(GAME, referees, choosers, seed=seed)
    rare = {"mate", "stalemate"} | PROMOTIONS if games > 6 else set()
    missing = rare | {"insufficient material", "repetition", "cut"}
    missing -= met
    assert not missing
    assert max(lengths) == GAME.max_steps


@pytest.mark.parametrize(
    ("number", "seed"), [(LANES, 0), pytest.param(20 * LANES, 1, marks=pytest.mark.slow)]
)
def test_any_position(number, seed):
    fens, met = positions(number, seed)
    assert met >= {"check", "mate", "dead"} | ({"stalemate"} if number > LANES else set())
    for start in range(0, number, LANES):
        part = fens[start : start + LANES]
        referees = [GardnerReferee(fen) for fen in part]
        play(GAME, referees, [players.any_move] * len(part), seed=start, fens=part, plies=3)


def positions(number, seed):
    """Returns FENs of valid positions, and the ends that they reach."""
    chance = random.Random(seed)
    found, met = [], set()
    while len(found) < number:
        fen = _men(chance)
        turns = {turn: f"{fen} {turn} - - {chance.choice([0, 7, 98, 99])} 30" for turn in "wb"}
        turn, other = chance.choice(["wb", "bw"])
        if pyffish.gives_check("gardner", turns[other], []):
            continue  # the side that does not move is in check
        check = pyffish.gives_check("gardner", turns[turn], [])
        if not pyffish.legal_moves("gardner", turns[turn], []):
            met.add("mate" if check else "stalemate")
        dead = all(pyffish.has_insufficient_material("gardner", turns[turn], []))
        met |= {name for name, seen in {"check": check, "dead": dead}.items() if seen}
        found.append(turns[turn])
    return found, met


def _men(chance):
    squares = ["1"] * 25
    kings = chance.sample(range(25), 2)
    for letter, square in zip("Kk", kings, strict=True):
        squares[square] = letter
    for square in chance.sample(range(25), chance.choice([1, 1, 2, 3, 4, 6, 9, 12])):
        if square not in kings:
            pawns = "PPPppp" if 5 <= square < 20 else ""
            squares[square] = chance.choice("NBRQQnbrqq" + pawns)
    rows = ["".join(squares[i : i + 5]) for i in range(0, 25, 5)]
    for run in (5, 4, 3, 2):
        rows = [row.replace("1" * run, str(run)) for row in rows]
    return "/".join(rows)


def test_published_perft():
    assert perft(GAME, START, 4) == [7, 53, 506, 4775]


@pytest.mark.slow
def test_published_perft_deeper():
    assert perft(GAME, START, 5) == [7, 53, 506, 4775, 52512]


# A start, a line, after how many plies the game ends, and why.
LINES = [
    ("4k/5/3p1/3P1/N3K w - - 0 1", "e1d1 e5d5 d1e1 d5e5 " * 3, 8, "repetition"),
    ("4k/5/5/R4/4K w - - 99 60", "a2a5", 1, "clock"),
    ("4k/5/4K/5/R4 w - - 99 60", "a1a5", 1, "mate"),
    ("4k/P4/5/5/4K w - - 0 1", "a4a5n", 1, "insufficient material"),
    ("4k/P4/5/5/4K w - - 0 1", "a4a5b", 1, "insufficient material"),
    ("k4/5/1K3/2Q2/5 w - - 0 1", "c2c4", 1, "stalemate"),
]


def test_lines():
    fens = [fen for fen, *_ in LINES]
    referees = [GardnerReferee(fen) for fen in fens]
    choosers = [scripted(line) for _, line, _, _ in LINES]
    lengths, _ = play(GAME, referees, choosers, fens=fens)
    for (fen, line, length, reason), seen, referee in zip(LINES, lengths, referees, strict=True):
        assert seen == length, (fen, line)
        assert reason in referee.met, (fen, line)


def test_pawns_take_single_steps_and_kings_too():
    state = GAME.init()
    for text in ("a2a4", "e1g1", "e1c1", "a2b3", "b1b2", "a1a2"):
        with pytest.raises(ValueError, match="is not legal here; legal: a3, "):
            GAME.string_to_action(state, text)
    wide = GAME.from_fen("r3k/5/5/5/R3K w - - 0 1")
    with pytest.raises(ValueError, match="is not legal here"):
        GAME.string_to_action(wide, "e1c1")


def test_planes():
    """Builds the observation again from FEN, with the repetitions counted."""
    referees = [GardnerReferee() for _ in range(16)]
    histories = [[] for _ in referees]
    met = set()

    def watch(ply, states, referees):
        for history, referee in zip(histories, referees, strict=True):
            if referee.plies == ply == len(history):
                history.insert(0, referee.fen())
        if ply % 7 in (0, 1, 5):
            seen = observe(GAME, states)
            for i, history in enumerate(histories):
                if len(history) == ply + 1:
                    met.update(_compare(seen[i], history))

    play(GAME, referees, [players.to_and_fro] * 16, seed=3, watch=watch, plies=60)
    assert met >= {(turn, times) for turn in "wb" for times in (0, 1)}


def _compare(seen, history):
    places = [fen.split()[:2] for fen in history]
    repeats = [places[i + 1 :].count(place) for i, place in enumerate(places)]
    expected = planes(history[:8], repeats[:8], 5, 256)
    np.testing.assert_allclose(seen, expected, rtol=1e-6)
    return {(places[0][1], times) for times in repeats[:8]}


def test_illegal_action_loses():
    wrong = [-1, 0, 25 * 49, 2**31 - 1, -(2**31), action_of("e2e4", True, 5), 15 * 49 + 44]
    moves = (action_of(move, True, 5) for move in ("d2d3", "e2e3"))
    assert_illegal_actions_lose(GAME, wrong, *moves)


def test_every_action_has_its_own_name():
    for fen in [START, "r1b1k/1P3/5/1p1K1/R1B2 b - - 0 1", "2b1k/1P3/5/5/R3K w - - 0 1"]:
        state, white = GAME.from_fen(fen), fen.split()[1] == "w"
        for name in pyffish.legal_moves("gardner", fen, []):
            action = GAME.string_to_action(state, name)
            assert action == action_of(name, white, 5)
            assert GAME.action_to_string(state, action) == name


def test_left_and_right_may_be_exchanged():
    """In both symmetries of random positions the same moves lead to mirrored positions."""
    fens, _ = positions(LANES, 4)
    mirrored = ["/".join(row[::-1] for row in fen.split()[0].split("/")) for fen in fens]
    mirrored = [" ".join([men, *fen.split()[1:]]) for men, fen in zip(mirrored, fens, strict=True)]
    states, images = load(GAME, fens), load(GAME, mirrored)
    tables = GAME.symmetries()
    masks, others = (look(GAME, batch)["mask"] for batch in (states, images))
    np.testing.assert_array_equal(others, masks[:, tables.actions[1]])
    seen, image = (observe(GAME, batch).reshape(LANES, 25, -1) for batch in (states, images))
    np.testing.assert_array_equal(image, seen[:, tables.cells[1]])
    chance = np.random.default_rng(0)
    actions = np.array([chance.choice(np.flatnonzero(m)) if m.any() else 0 for m in others])
    after, image = step(GAME, states, tables.actions[1][actions]), step(GAME, images, actions)
    seen, image = (observe(GAME, batch).reshape(LANES, 25, -1) for batch in (after, image))
    np.testing.assert_array_equal(image, seen[:, tables.cells[1]])


def test_fen_goes_there_and_back():
    for fen in positions(100, 2)[0]:
        assert GAME.to_fen(GAME.from_fen(fen)) == fen
    assert GAME.to_fen(GAME.init()) == START
    assert_same(GAME.from_fen("rnbqk/ppppp/5/PPPPP/RNBQK w - -"), GAME.init())


@pytest.mark.parametrize(
    ("fen", "says"),
    [
        ("rnbqk/ppppp/5/PPPPP/RNBQK w KQ - 0 1", "there is no castling here: write -, not 'KQ'"),
        ("rnbqk/ppppp/5/PPPPP/RNBQK w - e4 0 1", "there is no en passant here: write -, not 'e4'"),
        ("rnbqk/ppppp/8/PPPPP/RNBQK w - - 0 1", "rank 3 has '8'; .* empty squares 1 to 5"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1", "5 ranks, not 8"),
        ("P3k/5/5/5/4K w - - 0 1", "no pawn may stand on rank 1 or 5"),
    ],
)
def test_bad_fen(fen, says):
    with pytest.raises(ValueError, match=says):
        GAME.from_fen(fen)
