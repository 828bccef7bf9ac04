"""Compares the rules with cshogi in random games, steered games and constructed positions."""

import collections

import numpy as np
import pytest

from tests.oracles.shogi import Referee, cshogi
from tests.oracles.shogi_batches import (
    GAME,
    SIZE,
    advance,
    agree,
    assert_agree,
    batch,
    masks,
    play_line,
    row,
    start,
)
from tests.oracles.shogi_positions import (
    PAWN_DROPS,
    PROMOTIONS,
    cornered_position,
    random_position,
)


def perft(states, depth):
    """Returns the number of lines of a given number of moves."""
    total = 0
    for begin in range(0, len(states.ply), SIZE):
        chunk = row(states, slice(begin, begin + SIZE))
        legal = masks(chunk)
        parents, actions = np.nonzero(legal)
        if depth > 1:
            total += perft(advance(row(chunk, parents), actions), depth - 1)
        else:
            total += len(parents)
    return total


@pytest.mark.parametrize(("depth", "lines"), [(1, 30), (2, 900), (3, 25470), (4, 719731)])
def test_perft(depth, lines):
    assert perft(batch([start()]), depth) == lines


def anything(referee, moves, rng):
    return moves[rng.integers(len(moves))]


def ends(referees):
    """Returns the number of games by kind of end."""
    found = collections.Counter()
    for referee in referees:
        if not list(referee.board.legal_moves):
            found["mate"] += 1
        elif referee.over and referee.occurrences() == 4:
            found["perpetual" if referee.result else "repetition"] += 1
        elif referee.over:
            found["cut"] += 1
    return found


def test_random_games():
    found = ends(agree(100, 0, anything))
    assert found["mate"] >= 20
    assert found["cut"] >= 5


@pytest.mark.slow
def test_many_random_games():
    agree(400, 1, anything)


def back_and_forth(referee, moves, rng):
    """The piece that moved last often goes back, so positions repeat."""
    last = referee.played[-2] if len(referee.played) >= 2 else "...."
    back = last[2:4] + last[:2]
    return back if back in moves and rng.random() < 0.9 else anything(referee, moves, rng)


def following(referee, moves, rng):
    """A rook follows the king along its row, which gives perpetual check, or nearly."""
    king = cshogi.SQUARE_NAMES[referee.board.king_square(1 - referee.player)]
    checks = [m for m in moves if m[2] == king[0] and m[0] != king[0] and m[1] == m[3]]
    checks = checks if rng.random() < 0.95 else []
    return back_and_forth(referee, checks or moves, rng)


def test_games_of_repetitions():
    found = ends(agree(40, 2, back_and_forth, plies=120))
    assert found["repetition"] >= 20


ROOKS = "3k5/9/9/9/9/9/9/9/5K2R b r 1"


@pytest.mark.parametrize("sfen", [ROOKS, cshogi.rotate_sfen(ROOKS)])
def test_games_of_checks(sfen):
    referees = agree(60, 3, following, plies=120, sfen=sfen)
    losers = [(0, 1)[r.result > 0] for r in referees if ends([r])["perpetual"]]
    assert losers.count(0) >= 3
    assert losers.count(1) >= 3
    assert ends(referees)["repetition"] >= 3


@pytest.mark.parametrize("name", PAWN_DROPS)
def test_pawn_drops(name):
    sfen, move, legal = PAWN_DROPS[name]
    state, referee = play_line([], sfen)
    assert (move in referee.moves().values()) == legal
    if legal:
        play_line([move], sfen)
    else:
        with pytest.raises(ValueError, match="not legal"):
            GAME.string_to_action(state, move)


@pytest.mark.parametrize("name", PROMOTIONS)
def test_promotions(name):
    sfen, moves = PROMOTIONS[name]
    state, _ = play_line([], sfen)
    legal = np.flatnonzero(masks(batch([state]))[0])
    found = [GAME.action_to_string(state, action) for action in legal]
    assert sorted(move for move in found if move[:2] == moves[:2]) == sorted(moves.split())


def hold(make_position, count, seed):
    """Compares random positions, and counts the cases that they cover."""
    rng = np.random.default_rng(seed)
    seen = collections.Counter()
    states, referees = [], []
    while len(states) < count:
        sfen = make_position(rng)
        try:
            states.append(GAME.from_sfen(sfen))
        except ValueError as error:
            if "not to move is in check" in str(error):
                seen["left in check"] += 1
                assert _is_left_in_check(sfen)
        else:
            assert not _is_left_in_check(sfen)
            referees.append(Referee(sfen))
    states = batch(states)
    legal = masks(states)
    for i, referee in enumerate(referees):
        assert_agree(states, i, referee, legal[i])
        assert GAME.to_sfen(row(states, i)) == referee.board.sfen()
        seen[_pawn_drop(referee.board)] += 1
        seen["in check"] += referee.board.is_check()
    return seen


def _is_left_in_check(sfen):
    """Returns whether the side that is not to move is in check, in a position valid otherwise."""
    board, side, *others = sfen.split()
    board = cshogi.Board(" ".join([board, "wb"["bw".index(side)], *others]))
    kings = [divmod(board.king_square(color), 9) for color in cshogi.COLORS]
    # cshogi does not count a king's attack on the other as check.
    return board.is_check() or max(abs(a - b) for a, b in zip(*kings, strict=True)) == 1


def _pawn_drop(board):
    """Returns cshogi's verdict on a pawn drop before the king that nothing else forbids."""
    side = board.turn
    king = board.king_square(1 - side)
    ahead = 1 if side == cshogi.BLACK else -1
    if not 0 <= king % 9 + ahead < 9 or not board.pieces_in_hand[side][0] or board.is_check():
        return "no drop"
    own_pawn = cshogi.BPAWN if side == cshogi.BLACK else cshogi.WPAWN
    on_file = board.pieces[king // 9 * 9 : king // 9 * 9 + 9]
    if board.pieces[king + ahead] != cshogi.NONE or own_pawn in on_file:
        return "no drop"
    drop = f"P*{king // 9 + 1}{'abcdefghi'[king % 9 + ahead]}"
    names = [cshogi.move_to_usi(move) for move in board.legal_moves]
    return "check by a pawn" if drop in names else "mate by a pawn"


def test_random_positions():
    seen = hold(random_position, 500, seed=0)
    assert seen["left in check"] >= 100
    assert seen["in check"] >= 50


def test_random_pawn_drops():
    seen = hold(cornered_position, 1000, seed=0)
    assert seen["mate by a pawn"] >= 80
    assert seen["check by a pawn"] >= 500


@pytest.mark.slow
@pytest.mark.parametrize("make_position", [random_position, cornered_position])
def test_many_random_positions(make_position):
    hold(make_position, 20000, seed=1)
