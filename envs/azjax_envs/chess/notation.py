"""Chess in text: FEN, UCI's names of moves, and a board for the terminal. Plain numpy."""

import functools
import re

import numpy as np
from numpy.typing import ArrayLike

from azjax_envs.bitboard import Lanes
from azjax_envs.chess import actions, san
from azjax_envs.chess.state import CLOCK, ChessState

FILES = "abcdefgh"
_PIECES = ".PNBRQKpnbrqk"  # by their codes in `view`
_RIGHTS = "KQkq"  # in the order of the bits of `castling`, seen by White
_MOVES = 9999  # the highest move number that is taken


def parse_fen(text: str, size: int, *, strict: bool = True) -> dict[str, np.ndarray | np.int32]:
    """Reads FEN with four to six fields; the clock and the move number may be left out: 0 1.

    Args:
      strict: refuse what `_mended` mends.

    Returns:
      The arguments of `set_up`: `view` int32 [size * size], and int32 [] each `ply`, `castling`,
      `passed` and `clock`.

    Raises:
      ValueError: in one line, if it is malformed or if no game can come to such a position. It does
        not tell whether the side that is not to move is in check.
    """
    fields = text.split()
    if not strict:
        fields = _mended(fields, size)
    if not 4 <= len(fields) <= 6:
        raise error(
            text,
            "it must have 4 to 6 fields (board, side to move, castling, en passant, halfmove "
            f"clock, move number), not {len(fields)}",
        )
    placement, turn, castling, passed, clock, move = fields + ["0", "1"][len(fields) - 4 :]
    grid = _read_board(text, placement, size)
    if turn not in ("w", "b"):
        raise error(text, f"the side to move must be w or b, not {turn!r}")
    is_white = turn == "w"
    mover = grid if is_white else np.char.swapcase(grid)[::-1]
    _require_possible(text, grid)
    numbers = {
        "castling": _read_castling(text, castling, grid, is_white),
        "passed": _read_passed(text, passed, mover, is_white),
        "clock": _number(text, "halfmove clock", clock, 0, CLOCK),
        "ply": 2 * _number(text, "move number", move, 1, _MOVES) - 1 - is_white,
    }
    view = np.array([_PIECES.index(piece) for piece in grid.reshape(-1)], np.int32)
    return {"view": view} | {name: np.int32(n) for name, n in numbers.items()}


def _mended(fields: list[str], size: int) -> list[str]:
    """Returns the fields of a FEN without rights, squares and counters that cannot be.

    Fields may be missing after the board, and the operations of EPD may follow four of them.
    Castling may be missing, in any order, or in the letters of files (Shredder-FEN). Rights without
    king and rook are dropped, and so is an en-passant square that no pawn has just passed. A clock
    out of range begins again, and so does a move number.
    """
    if not fields:
        return fields
    board, *rest = fields[:4] if fields[-1].endswith(";") else fields
    turn = rest.pop(0).lower() if rest else "w"
    castling = rest.pop(0) if rest and re.fullmatch("-|[KQkqA-Ha-h]+", rest[0]) else "-"
    passed = rest.pop(0) if rest and re.fullmatch("-|[a-h][1-8]", rest[0]) else "-"
    numbers = {}
    for default, high in (("0", CLOCK), ("1", _MOVES)):
        given = rest.pop(0) if rest else default
        fits = re.fullmatch("[0-9]{1,9}", given) and int(default) <= int(given) <= high
        numbers[default] = given if fits else default
    grid = _read_board(" ".join(fields), board, size)
    files = castling.translate(str.maketrans("HAha", "KQkq"))
    kept = [right for right in _RIGHTS if right in files and size == 8 and _can_castle(grid, right)]
    is_white = turn == "w"
    mover = grid if is_white else np.char.swapcase(grid)[::-1]
    if size != 8 or not _may_capture(mover, passed, is_white):
        passed = "-"
    return [board, turn, "".join(kept) or "-", passed, *numbers.values(), *rest]


def format_fen(size: int, state: ChessState) -> str:
    """Returns the FEN, with all six fields, of a state in numpy."""
    is_white = bool(state.ply % 2 == 0)
    ranks = ["".join(row) for row in _letters(size, state)]
    board = "/".join(re.sub(r"\.+", lambda run: str(len(run[0])), rank) for rank in ranks)
    bits = _turn_rights(int(state.castling), is_white)
    castling = "".join(letter for i, letter in enumerate(_RIGHTS) if bits >> i & 1) or "-"
    passed = "-" if state.passed == size**2 else _square_name(size, int(state.passed), is_white)
    turn = "w" if is_white else "b"
    return f"{board} {turn} {castling} {passed} {state.clock} {state.ply // 2 + 1}"


def action_to_uci(size: int, state: ChessState, action: int) -> str:
    """Returns the move in UCI, such as e2e4, e1g1 (castling) or e7e8q, from a state in numpy.

    Raises:
      ValueError: if the action leads off the board.
    """
    start, plane = divmod(int(action), actions.num_planes(size))
    target = int(actions.targets(size)[start, plane]) if 0 <= start < size**2 else -1
    if target < 0:
        raise ValueError(f"action {action} leads off the board")
    under = plane - actions.first_underpromotion(size)
    promotion = actions.UNDERPROMOTIONS[under // 3] if under >= 0 else ""
    if not promotion and target < size and _unpack(size, state.pieces[1])[start]:
        promotion = "q"
    is_white = bool(state.ply % 2 == 0)
    return _square_name(size, start, is_white) + _square_name(size, target, is_white) + promotion


@functools.cache
def actions_by_name(size: int, *, is_white: bool) -> dict[str, int]:
    """Returns the actions of all moves that a side may ever make, by their names in UCI.

    Those that take a pawn to the last row have a name with "q" and one without.
    """
    found = {}
    for start, planes in enumerate(actions.targets(size)):
        for plane in np.flatnonzero(planes >= 0):
            ends = (_square_name(size, square, is_white) for square in (start, planes[plane]))
            name = "".join(ends)
            under = int(plane) - actions.first_underpromotion(size)
            promotions = [actions.UNDERPROMOTIONS[under // 3]] if under >= 0 else ["", "q"]
            action = start * len(planes) + int(plane)
            found |= {name + promotion: action for promotion in promotions}
    return found


def to_board(size: int, state: ChessState) -> san.Board:
    """Returns the letters of the pieces by the names of their squares."""
    grid = _letters(size, state)
    names = {f"{FILES[x]}{size - y}": str(grid[y, x]) for y in range(size) for x in range(size)}
    return {name: letter for name, letter in names.items() if letter != "."}


def to_text(size: int, state: ChessState) -> str:
    """Returns the board from White's side, capitals for White's pieces, and whose turn it is."""
    rows = _letters(size, state)
    lines = [" ".join([str(size - i), *row]) for i, row in enumerate(rows)]
    turn = "White" if state.ply % 2 == 0 else "Black"
    return "\n".join([*lines, " ".join([" ", *FILES[:size]]), f"{turn} to move"])


def _square_name(size: int, square: int, is_white: bool) -> str:
    """Returns the name of a square that the side to move counts from its far left."""
    row, column = divmod(int(square), size)
    return f"{FILES[column]}{size - row if is_white else row + 1}"


def _letters(size: int, state: ChessState) -> np.ndarray:
    """Returns the letters of FEN from White's side, str [size, size]; a point if empty."""
    own, pawns, knights, diagonal, straight, kings = (_unpack(size, b) for b in state.pieces)
    kinds = {
        "p": pawns,
        "n": knights,
        "b": diagonal & ~straight,
        "r": straight & ~diagonal,
        "q": diagonal & straight,
        "k": kings,
    }
    letters = np.full(size**2, ".")
    for letter, squares in kinds.items():
        letters[squares] = letter
    is_white = state.ply % 2 == 0
    letters = np.where(own == is_white, np.char.upper(letters), letters).reshape(size, size)
    return letters if is_white else letters[::-1]


def _read_board(text: str, placement: str, size: int) -> np.ndarray:
    """Returns the letters of the board from White's side, str [size, size]."""
    ranks = placement.split("/")
    if len(ranks) != size:
        raise error(text, f"the board must have {size} ranks, not {len(ranks)}")
    for number, rank in zip(range(size, 0, -1), ranks, strict=True):
        wrong = re.search(rf"[^pnbrqkPNBRQK1-{size}]", rank)
        if wrong:
            raise error(
                text,
                f"rank {number} has {wrong[0]!r}; pieces are pnbrqk or PNBRQK, and runs of empty "
                f"squares 1 to {size}",
            )
        if re.search(r"\d\d", rank):
            raise error(text, f"rank {number} has two numbers in a row; write their sum")
    rows = [re.sub(r"\d", lambda digit: "." * int(digit[0]), rank) for rank in ranks]
    for number, row in zip(range(size, 0, -1), rows, strict=True):
        if len(row) != size:
            raise error(text, f"rank {number} must have {size} squares, not {len(row)}")
    return np.array([list(row) for row in rows])


def _require_possible(text: str, grid: np.ndarray) -> None:
    for name, king in (("White", "K"), ("Black", "k")):
        number = int((grid == king).sum())
        if number != 1:
            raise error(text, f"{name} must have one king, not {number}")
    if (np.char.lower(grid[[0, -1]]) == "p").any():
        raise error(text, f"no pawn may stand on rank 1 or {len(grid)}")


def _read_castling(text: str, castling: str, grid: np.ndarray, is_white: bool) -> int:
    if len(grid) != 8:
        if castling != "-":
            raise error(text, f"there is no castling here: write -, not {castling!r}")
        return 0
    if castling == "-":
        return 0
    if not re.fullmatch("K?Q?k?q?", castling):
        raise error(text, f"castling must be - or some of KQkq in this order, not {castling!r}")
    for right in castling:
        if not _can_castle(grid, right):
            row, corner = _corner(right)
            squares = f"e{8 - row} and a rook on {FILES[corner]}{8 - row}"
            raise error(text, f"castling {right} needs a king on {squares}")
    bits = sum(1 << _RIGHTS.index(right) for right in castling)
    return _turn_rights(bits, is_white)


def _corner(right: str) -> tuple[int, int]:
    """Returns row and column of the rook of a castling right."""
    return 7 if right.isupper() else 0, 7 if right in "Kk" else 0


def _can_castle(grid: np.ndarray, right: str) -> bool:
    """Returns whether king and rook of a castling right stand where they began."""
    row, corner = _corner(right)
    king, rook = "KR" if right.isupper() else "kr"
    return grid[row, 4] == king and grid[row, corner] == rook


def _turn_rights(bits: int, is_white: bool) -> int:
    """Converts castling rights from White's view to that of the side to move, and back."""
    return bits if is_white else bits >> 2 | (bits & 3) << 2


def _read_passed(text: str, passed: str, mover: np.ndarray, is_white: bool) -> int:
    size = len(mover)
    if passed == "-":
        return size * size
    if size != 8:
        raise error(text, f"there is no en passant here: write -, not {passed!r}")
    rank = 6 if is_white else 3
    if not re.fullmatch(f"[a-h]{rank}", passed):
        raise error(text, f"en passant must be - or a square on rank {rank}, not {passed!r}")
    if not _may_capture(mover, passed, is_white):
        raise error(text, f"en passant on {passed}: no pawn has just passed that square")
    return 2 * size + FILES.index(passed[0])


def _may_capture(mover: np.ndarray, passed: str, is_white: bool) -> bool:
    """Returns whether a pawn may have just passed a square such as "e3" on 8x8."""
    column = FILES.find(passed[0])
    return passed[1:] == ("6" if is_white else "3") and [*mover[1:4, column]] == [".", ".", "p"]


def _number(text: str, name: str, value: str, low: int, high: int) -> int:
    if not re.fullmatch("[0-9]{1,9}", value) or not low <= int(value) <= high:
        raise error(text, f"the {name} must be {low} to {high}, not {value!r}")
    return int(value)


def error(text: str, problem: str) -> ValueError:
    shown = text if len(text) <= 100 else text[:97] + "..."
    return ValueError(f"FEN {shown!r}: {problem}")


def _unpack(size: int, words: ArrayLike) -> np.ndarray:
    """Unpacks uint32 [W] into bool [size * size]."""
    return Lanes(size, size).unpack(np.asarray(words)).reshape(-1)
