"""Moves of chess as people write them, in standard algebraic notation (SAN). Plain Python.

A board is a dict from the names of its occupied squares to the letters of FEN.

Source: FIDE Laws of Chess (2023), appendix C.
"""

import re
from collections.abc import Iterator, Sequence

Board = dict[str, str]

FILES = "abcdefgh"
_SPELLINGS = str.maketrans("♔♕♖♗♘♙♚♛♜♝♞♟‐‑‒–—−×", "KQRBNPKQRBNP------x")
_MOVE = re.compile(
    r"([KQRBNP]?)([a-h]?)([1-8]?)[x:-]?([a-h][1-8])(?:[=/]?([QRBNqrbn])|[=/]?\(([QRBNqrbn])\))?"
)
_PAWN_TAKES = re.compile(r"([a-h])x?([a-h])")  # as in "exd", without the rank
_CASTLING = re.compile(r"[O0o](-?)[O0o](?:(\1)([O0o]))?")
_CHECKS = re.compile(r"(e\.?p\.?|(dbl|dis)?\.?ch\.?|mate|[^\w)])+$", re.IGNORECASE)
NULL_MOVES = ("--", "Z0", "0000", "@@@@", "null", "pass")
"""How programs write a move that changes nothing but the side to move."""

STRAIGHT, DIAGONAL = ((0, 1), (0, -1), (1, 0), (-1, 0)), ((1, 1), (1, -1), (-1, 1), (-1, -1))
JUMPS = tuple((x, y) for x in (-2, -1, 1, 2) for y in (-2, -1, 1, 2) if abs(x) != abs(y))
_STEPS = {"R": STRAIGHT, "B": DIAGONAL, "Q": STRAIGHT + DIAGONAL, "N": JUMPS}
_STEPS["K"] = _STEPS["Q"]


def read_san(text: str, board: Board, moves: Sequence[str]) -> list[str]:
    """Returns the legal moves, in UCI's letters, that a text can mean.

    Signs of check, capture and promotion may be missing or written as other programs do. Castling
    may have zeros or small letters, or name the rook's square, and pieces may be figurines.
    """
    text = text.strip().translate(_SPELLINGS)
    plain = text.lower().replace("-", "")
    if plain in moves:
        return [plain]
    text = _CHECKS.sub("", text)
    if castles := _CASTLING.fullmatch(text):
        return [m for m in moves if _castles(m, board) == ("c" if castles[3] else "g")]
    # A small letter names a piece where no file makes sense of it: "nf3", and "bc4" without a pawn.
    return _read_plain(text, board, moves) or _read_plain(text[:1].upper() + text[1:], board, moves)


def _read_plain(text: str, board: Board, moves: Sequence[str]) -> list[str]:
    if takes := _PAWN_TAKES.fullmatch(text):
        return [m for m in moves if m[0] + m[2] == takes[1] + takes[2] and board[m[:2]] in "Pp"]
    match = _MOVE.fullmatch(text)
    if match is None:
        return []
    piece, file, rank, target, promotion, bracketed = match.groups()
    promotion = (promotion or bracketed or "").lower()
    start = file + rank
    if start in board and not piece:
        piece = board[start].upper()
    pair = board.get(start, ""), board.get(target, "")
    if pair in (("K", "R"), ("k", "r")):  # castling, as in Chess960
        target = ("g" if target > start else "c") + target[1]
    found = [
        m
        for m in moves
        if m[2:4] == target
        and board[m[:2]].upper() == (piece or "P")
        and m[0] == (file or m[0])
        and m[1] == (rank or m[1])
        and m[4:] == promotion
    ]
    # Without its square, a king's move two squares aside is not castling.
    return [m for m in found if file or not _castles(m, board)]


def write_san(move: str, board: Board, moves: Sequence[str], size: int) -> str:
    """Returns the name of a legal move; `moves` are all legal ones, in UCI's letters."""
    start, target, promotion = move[:2], move[2:4], move[4:].upper()
    piece = board[start].upper()
    later = after(move, board)
    if side := _castles(move, board):
        name = "O-O" if side == "g" else "O-O-O"
    else:
        takes = target in board or (piece == "P" and start[0] != target[0])
        if piece == "P":
            name = start[0] if takes else ""
        else:
            name = piece + _distinction(start, _twins(move, board, moves))
        name += "x" * takes + target + (f"={promotion}" if promotion else "")
    their_white = not board[start].isupper()
    if not in_check(later, their_white, size):
        return name
    passed = start[0] + str((int(start[1]) + int(target[1])) // 2)
    is_double = piece == "P" and abs(int(start[1]) - int(target[1])) == 2
    return name + (
        "+" if _can_escape(later, their_white, size, passed if is_double else "") else "#"
    )


def _castles(move: str, board: Board) -> str:
    """Returns the file that the king castles to, "g" or "c", or ""."""
    is_king = board[move[:2]] in "Kk"
    return move[2] if is_king and abs(ord(move[0]) - ord(move[2])) == 2 else ""


def _twins(move: str, board: Board, moves: Sequence[str]) -> list[str]:
    """Returns the squares of the other pieces of the same kind that can go to the same square."""
    others = [m for m in moves if m[2:4] == move[2:4] and m[:2] != move[:2]]
    return [m[:2] for m in others if board[m[:2]] == board[move[:2]]]


def _distinction(start: str, twins: list[str]) -> str:
    if not twins:
        return ""
    if all(twin[0] != start[0] for twin in twins):
        return start[0]
    return start[1] if all(twin[1] != start[1] for twin in twins) else start


def after(move: str, board: Board) -> Board:
    """Returns the board after a move in UCI's letters."""
    start, target = move[:2], move[2:4]
    later = {square: piece for square, piece in board.items() if square != start}
    piece = board[start]
    if piece in "Pp" and start[0] != target[0] and target not in board:  # en passant
        later.pop(target[0] + start[1], None)
    if side := _castles(move, board):
        rook, corner = ("f", "h") if side == "g" else ("d", "a")
        later[rook + start[1]] = later.pop(corner + start[1])
    promoted = move[4:].upper() if piece.isupper() else move[4:]
    later[target] = promoted or piece
    return later


def _reached(square: str, board: Board, size: int) -> Iterator[str]:
    """Yields the squares that the piece on a square attacks."""
    piece = board[square]
    column, rank = FILES.index(square[0]), int(square[1])
    steps = _STEPS.get(piece.upper()) or [(x, 1 if piece == "P" else -1) for x in (-1, 1)]
    for x, y in steps:
        for distance in range(1, size if piece in "QRBqrb" else 2):
            to_column, to_rank = column + distance * x, rank + distance * y
            if not (0 <= to_column < size and 1 <= to_rank <= size):
                break
            yield (target := f"{FILES[to_column]}{to_rank}")
            if target in board:
                break


def in_check(board: Board, white: bool, size: int) -> bool:
    king = next(square for square, piece in board.items() if piece == ("K" if white else "k"))
    theirs = [square for square, piece in board.items() if piece.isupper() != white]
    return any(king in _reached(square, board, size) for square in theirs)


def _can_escape(board: Board, white: bool, size: int, passed: str) -> bool:
    """Returns whether a side in check has a move; `passed` is a square of en passant, or ""."""
    for start, piece in board.items():
        if piece.isupper() != white:
            continue
        reached = _reached(start, board, size)
        targets = [t for t in reached if t not in board or board[t].isupper() != white]
        if piece in "Pp":
            targets = [t for t in targets if t in board or t == passed]
            targets += _pushes(start, board, white, size)
        if any(not in_check(after(start + t, board), white, size) for t in targets):
            return True
    return False


def _pushes(start: str, board: Board, white: bool, size: int) -> Iterator[str]:
    rank = int(start[1])
    for _ in range(2 if size == 8 and rank == (2 if white else 7) else 1):
        rank += 1 if white else -1
        if (target := f"{start[0]}{rank}") in board:
            break
        yield target
