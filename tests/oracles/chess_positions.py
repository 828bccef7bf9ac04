"""Random positions that are valid by python-chess, and observation planes built from FEN.

Rare rules occur in the positions much more often than in games.
"""

import random

import chess
import numpy as np

_WEIGHTS = {"q": 2, "r": 3, "b": 3, "n": 3, "p": 8}


def positions(number, seed):
    """Returns the FENs of `number` valid positions."""
    chance = random.Random(seed)
    found = []
    while len(found) < number:
        build = chance.choice([_scattered, _sparse, _cornered, _castling, _en_passant, _lined_up])
        board = build(chance)
        board.halfmove_clock = 0 if board.ep_square else chance.choice([0, 0, 3, 98, 99])
        board.fullmove_number = chance.randrange(60, 90)
        if board.is_valid():
            found.append(board.fen(en_passant="fen"))
    return found


def endings(number, seed):
    """Returns FENs of valid positions with the kings and one to three, mostly minor, pieces."""
    chance = random.Random(seed)
    found = []
    while len(found) < number:
        board = _kings(chance)
        for _ in range(chance.choice([0, 1, 1, 2, 2, 2, 3])):
            _put(board, chance, chance.choice("nnbbbbq" if chance.random() < 0.2 else "nnbbb"))
        if board.is_valid():
            found.append(board.fen(en_passant="fen"))
    return found


def _kings(chance):
    board = chess.Board(None)
    board.turn = chance.random() < 0.5
    for color, square in zip((True, False), chance.sample(range(64), 2), strict=True):
        board.set_piece_at(square, chess.Piece(chess.KING, color))
    return board


def _put(board, chance, letter, square=None, color=None):
    squares = [s for s in chess.SQUARES if board.piece_at(s) is None]
    if letter == "p":
        squares = [s for s in squares if 0 < chess.square_rank(s) < 7]
    square = chance.choice(squares) if square is None else square
    color = chance.random() < 0.5 if color is None else color
    board.set_piece_at(square, chess.Piece(chess.Piece.from_symbol(letter).piece_type, color))


def _fill(board, chance, number):
    for letter in chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()), k=number):
        _put(board, chance, letter)
    return board


def _scattered(chance):
    return _fill(_kings(chance), chance, chance.randrange(6, 24))


def _sparse(chance):
    return _fill(_kings(chance), chance, chance.randrange(0, 5))


def _cornered(chance):
    """Places the king to move in a corner, a queen or rook and the other king near: stalemates."""
    board = chess.Board(None)
    board.turn = chance.random() < 0.5
    _put(board, chance, "k", chance.choice([0, 7, 56, 63]), board.turn)
    near = [chess.square(f, r) for f in range(8) for r in range(8)]
    king = board.king(board.turn)
    near = [s for s in near if 2 <= chess.square_distance(s, king) <= 3]
    at, other = chance.sample(near, 2)
    _put(board, chance, "k", at, not board.turn)
    _put(board, chance, chance.choice("qqrn"), other, not board.turn)
    return board


def _castling(chance):
    board = chess.Board(None)
    board.turn = chance.random() < 0.5
    rights = 0
    for color, rank in ((True, 0), (False, 7)):
        _put(board, chance, "k", chess.square(4, rank), color)
        for file in (0, 7):
            if chance.random() < 0.8:
                _put(board, chance, "r", chess.square(file, rank), color)
                if chance.random() < 0.8:
                    rights |= chess.BB_SQUARES[chess.square(file, rank)]
    board.castling_rights = rights
    return _fill(board, chance, chance.randrange(0, 9))


def _en_passant(chance):
    """Places a pawn after its double step, with others next to it.

    Often a rider and the king are on a line through it.
    """
    board = chess.Board(None)
    board.turn = chance.random() < 0.5
    rank, forward = (4, 1) if board.turn else (3, -1)
    file = chance.randrange(8)
    kept = {chess.square(file, rank + forward), chess.square(file, rank + 2 * forward)}
    pawn = chess.square(file, rank)
    _put(board, chance, "p", pawn, not board.turn)
    for side in (-1, 1):
        if 0 <= file + side < 8 and chance.random() < 0.7:
            _put(board, chance, "p", chess.square(file + side, rank), board.turn)
    board.ep_square = chess.square(file, rank + forward)
    line = chance.choice([(0, 1), (1, 1), (1, -1), (1, 0)])
    origin = pawn if chance.random() < 0.7 else chess.square(max(0, file - 1), rank)
    _line(board, chance, origin, line, kept)
    free = [s for s in chess.SQUARES if board.piece_at(s) is None and s not in kept]
    for color in (True, False):
        if board.king(color) is None:
            _put(board, chance, "k", free.pop(chance.randrange(len(free))), color)
    _fill(board, chance, chance.randrange(0, 6))
    for square in kept:
        board.remove_piece_at(square)
    return board


def _lined_up(chance):
    """Places several riders on lines with the king to move, with at most one piece between."""
    board = _kings(chance)
    king = board.king(board.turn)
    for _ in range(chance.randrange(1, 4)):
        line = chance.choice([(0, 1), (1, 0), (1, 1), (1, -1)])
        _line(board, chance, king, line, {king})
    return _fill(board, chance, chance.randrange(0, 8))


def _line(board, chance, origin, line, kept):
    """Places a rider of the opponent on one side of `origin`.

    On the other side it places the king, unless it is already on the board, and perhaps a piece
    between them.
    """
    step = chance.choice([1, -1])
    near = _ray(origin, line, step)
    far = _ray(origin, line, -step)
    rider = chance.choice("rq" if 0 in line else "bq")
    free = [s for s in near if s not in kept and board.piece_at(s) is None]
    if not free:
        return
    at = chance.choice(free)
    _put(board, chance, rider, at, not board.turn)
    if board.king(board.turn) is None:
        free = [s for s in far if s not in kept and board.piece_at(s) is None]
        if free:
            _put(board, chance, "k", chance.choice(free), board.turn)
    elif chance.random() < 0.7:
        free = [s for s in near[: near.index(at)] if board.piece_at(s) is None and s not in kept]
        if free:
            _put(board, chance, chance.choice("nbrq"), chance.choice(free), board.turn)


def _ray(origin, line, step):
    found = []
    rank, file = chess.square_rank(origin), chess.square_file(origin)
    while True:
        rank, file = rank + step * line[0], file + step * line[1]
        if not (0 <= rank < 8 and 0 <= file < 8):
            return found
        found.append(chess.square(file, rank))


def kinds(board):
    """Returns the rare rules that apply in a position."""
    if len(board.checkers()) == 2:
        yield "double check"
    elif board.is_check():
        yield "check"
    own = board.occupied_co[board.turn] & ~board.kings
    if any(board.is_pinned(board.turn, square) for square in chess.scan_forward(own)):
        yield "pin"
    passing = list(board.generate_pseudo_legal_ep())
    legal = [move for move in passing if board.is_legal(move)]
    if legal:
        yield "en passant"
    if legal and board.is_check():
        yield "en passant out of check"
    king = board.king(board.turn)
    for move in passing:
        if move not in legal and not board.is_check():
            if board.is_pinned(board.turn, move.from_square):
                yield "en passant, pinned"
            elif chess.square_rank(king) == chess.square_rank(move.from_square):
                yield "en passant, two men on a rank"
            else:
                yield "en passant, the captured pawn shields the king"
    for file, side in ((7, "K"), (0, "Q")):
        home = 0 if board.turn else 7
        if board.castling_rights & chess.BB_SQUARES[chess.square(file, home)]:
            move = chess.Move(king, chess.square(6 if file else 2, home))
            can = board.is_legal(move)
            yield f"castling {side}{int(board.turn)}" + ("" if can else " barred")
    if not any(board.legal_moves):
        yield "mate" if board.is_check() else "stalemate"


def planes(fens, repeats, size, plies):
    """Returns AlphaZero's planes of the newest position, float32 [size, size, channels].

    Args:
      fens: the FENs of the latest positions, the newest first.
      repeats: the number of earlier occurrences of each position.
      size: the size of the board.
      plies: the largest number of plies of a game.
    """
    _, turn, castling, _, clock, number = fens[0].split()
    found = []
    mine, theirs = ("PNBRQK", "pnbrqk") if turn == "w" else ("pnbrqk", "PNBRQK")
    for age in range(8):
        grid = np.full((size, size), ".")
        if age < len(fens):
            grid = _grid(fens[age].split()[0], turn == "w")
        found += [grid == letter for letter in mine + theirs]
        for times in (1, 2):
            found.append(np.full((size, size), age < len(fens) and repeats[age] >= times))
    ply = 2 * int(number) - 2 + (turn == "b")
    numbers = [turn == "b", ply / plies]
    if size == 8:
        rights = "KQkq" if turn == "w" else "kqKQ"
        numbers += [right in castling for right in rights]
    numbers.append(int(clock) / 100)
    found += [np.full((size, size), number) for number in numbers]
    return np.stack(found, axis=-1).astype(np.float32)


def _grid(board, is_white):
    for digit in range(1, 9):
        board = board.replace(str(digit), "." * digit)
    rows = [list(row) for row in board.split("/")]
    return np.array(rows if is_white else rows[::-1])
