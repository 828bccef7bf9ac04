"""Lines of moves in SAN, read without the rules: many times as fast as asking them at each move.

Only plain SAN and UCI's letters are read, and moves are not known to be legal afterwards.
"""

import re
from collections.abc import Sequence

from azjax_envs.chess.san import DIAGONAL, FILES, JUMPS, STRAIGHT, Board, after, in_check

_SIZE = 8
_MOVE = re.compile(r"([KQRBN]?)([a-h]?)([1-8]?)x?([a-h][1-8])(?:=?([QRBNqrbn]))?")
_CASTLING = {"O-O": "g", "0-0": "g", "O-O-O": "c", "0-0-0": "c"}


def _way(square: str, step: tuple[int, int], far: int) -> tuple[str, ...]:
    """Returns the squares that steps in one direction lead to, the nearest first."""
    column, rank = FILES.index(square[0]), int(square[1])
    places = [(column + i * step[0], rank + i * step[1]) for i in range(1, far + 1)]
    return tuple(f"{FILES[x]}{y}" for x, y in places if 0 <= x < _SIZE and 1 <= y <= _SIZE)


_SQUARES = [f"{file}{rank}" for file in FILES for rank in range(1, _SIZE + 1)]
_RIDES = {"R": STRAIGHT, "B": DIAGONAL, "Q": STRAIGHT + DIAGONAL}
_WAYS = {  # by piece and square: lines of squares from which it comes, if none before is occupied
    (piece, square): tuple(filter(None, (_way(square, step, far) for step in steps)))
    for far, kinds in ((_SIZE, _RIDES), (1, {"N": JUMPS, "K": STRAIGHT + DIAGONAL}))
    for piece, steps in kinds.items()
    for square in _SQUARES
}


def read_plain_line(texts: Sequence[str], board: Board, *, white: bool) -> list[str]:
    """Returns moves in UCI's letters, up to the first text that is not plain or not clear.

    Args:
      texts: moves in a row, in SAN or in UCI's letters.
      board: before the first of them.
      white: whether White makes it.
    """
    line: list[str] = []
    for text in texts:
        move = _read_move(text.rstrip("+#!?"), board, white)
        if move is None:
            break
        line.append(move)
        board, white = after(move, board), not white
    return line


def _read_move(text: str, board: Board, white: bool) -> str | None:
    if side := _CASTLING.get(text):
        return _castling(side, board, white)
    match = _MOVE.fullmatch(text)
    if match is None:
        return None
    piece, file, rank, target, promotion = match.groups()
    if (taken := board.get(target)) and (taken.isupper() == white or taken in "Kk"):
        return None
    if not piece and file and rank:
        starts = [file + rank]
        piece = board.get(starts[0], "").upper()
        if piece == "K" and abs(ord(file) - ord(target[0])) == 2:
            move = _castling(target[0], board, white)
            return move if move == starts[0] + target else None
    elif piece:
        starts = _starts(piece if white else piece.lower(), target, board)
        starts = [s for s in starts if s[0] == (file or s[0]) and s[1] == (rank or s[1])]
        if len(starts) > 1:
            starts = [s for s in starts if not in_check(after(s + target, board), white, _SIZE)]
    else:
        piece, starts = "P", _pawns(file, target, board, white)
    promotes = piece == "P" and target[1] == ("8" if white else "1")
    if len(starts) != 1 or not piece or promotes != bool(promotion):
        return None
    if board[starts[0]].isupper() != white:
        return None
    return f"{starts[0]}{target}{promotion.lower() if promotion else ''}"


def _castling(side: str, board: Board, white: bool) -> str | None:
    rank, rook = "1" if white else "8", "h" if side == "g" else "a"
    ours = board.get(f"e{rank}"), board.get(f"{rook}{rank}")
    return f"e{rank}{side}{rank}" if ours == (("K", "R") if white else ("k", "r")) else None


def _starts(piece: str, target: str, board: Board) -> list[str]:
    """Returns the squares of pieces, as FEN writes them, that reach a square."""
    found = []
    for way in _WAYS[piece.upper(), target]:
        first = next((square for square in way if square in board), None)
        if first and board[first] == piece:
            found.append(first)
    return found


def _pawns(file: str, target: str, board: Board, white: bool) -> list[str]:
    """Returns the square of the pawn that goes to a square; `file` is "" if it does not capture."""
    pawn, back = ("P", -1) if white else ("p", 1)
    ranks = [int(target[1]) + back]
    if not file and target[1] == ("4" if white else "5"):
        ranks.append(ranks[0] + back)
    starts = [f"{file or target[0]}{rank}" for rank in ranks]
    first = next((square for square in starts if square in board), None)
    return [first] if first and board[first] == pawn else []
