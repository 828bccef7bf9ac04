"""Choosers of moves for `tests.oracles.chess_games`, which meet what random play rarely meets."""

import chess


def any_move(referee, moves, chance):
    return chance.choice(moves)


def sharp(referee, moves, chance):
    """Prefers castling, en passant, promotion, check, and pawns in the middle (not on 5x5)."""
    board = referee.board
    weights = [
        1
        + 60 * (board.is_castling(move) or board.is_en_passant(move))
        + 20 * bool(move.promotion)
        + 4 * (board.piece_type_at(move.from_square) == chess.PAWN)
        + 8 * board.gives_check(move)
        for move in moves
    ]
    return chance.choices(moves, weights)[0]


def quiet(referee, moves, chance):
    """Keeps all pieces and repeats little, so that the clock decides; considers few moves."""
    calm = [move for move in moves if not referee.resets(move)] or moves
    return min(chance.sample(calm, min(5, len(calm))), key=referee.danger)


def endless(referee, moves, chance):
    """Avoids every end as long as possible, to reach the longest game; considers few moves."""

    def cost(move):
        if referee.resets(move):
            late = referee.clock() >= 80
            return 9 if referee.danger(move) == 9 else -1 if late else 2
        return 3 * referee.danger(move)

    return min(chance.sample(moves, min(4, len(moves))), key=cost)


def to_and_fro(referee, moves, chance):
    """Often takes its own last move back, so that positions are repeated."""
    if referee.plies >= 2 and chance.random() < 0.6 and referee.back() in moves:
        return referee.back()
    return chance.choice(moves)
