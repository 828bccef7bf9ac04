"""Shogi in text: SFEN positions, USI moves, and a board for the terminal.

Here the board is as sente sees it: cell `row * 9 + column`, row 0 is rank a and column 0 is file 9.
A cell holds the kind of its piece, with THEIRS added for gote's.
"""

import dataclasses
import re

import numpy as np

from azjax_envs.shogi import rays
from azjax_envs.shogi.board import (
    BISHOP,
    IN_HAND,
    KING,
    KNIGHT,
    LANCE,
    PAWN,
    PROMOTED,
    ROOK,
    SILVER,
    THEIRS,
    TOTAL,
)
from azjax_envs.shogi.moves import NUM_ACTION_PLANES, NUM_MOVES

_LETTERS = " PLNSGBRK"
_HAND_ORDER = "RBGSNLP"  # of SFEN, and of players
_CAN_PROMOTE = (PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK)


@dataclasses.dataclass(frozen=True)
class Position:
    """A position as SFEN gives it."""

    cells: np.ndarray  # int32 [81]
    hands: tuple[tuple[int, ...], tuple[int, ...]]  # sente's and gote's pieces, from pawns to rooks
    player: int  # 0 or 1, to move
    ply: int  # moves played before


def parse_sfen(text: str, most: int, *, strict: bool = True) -> dict[str, np.ndarray | np.int32]:
    """Reads SFEN; the number of the move may be left out.

    Args:
      most: how many plies a game has at most.
      strict: refuse a move number out of range, and missing fields; otherwise the count begins
        again, sente is to move, and the hands are empty.

    Returns:
      The arguments of `set_up`: `view` int32 [95], and int32 [] each `ply` and `player`.

    Raises:
      ValueError: where it is malformed, or no such position can be.
    """
    fields = text.split()
    if fields and not strict:
        fields += ["b", "-"][len(fields) - 1 :]
    if len(fields) not in (3, 4):
        raise wrong(text, "must hold board, side to move, hands and move number")
    cells = _parse_board(text, fields[0])
    if fields[1] not in ("b", "w"):
        raise wrong(text, f"the side to move must be b or w, not {fields[1]!r}")
    hands = _parse_hands(text, fields[2])
    number = fields[3] if len(fields) == 4 else "1"
    fits = re.fullmatch(r"[0-9]{1,4}", number) and 1 <= int(number) <= most + 1
    if not fits and not strict:
        number = "1"
    elif not fits:
        raise wrong(text, f"the move number must be from 1 to {most + 1}, not {number!r}")
    _check_pieces(text, cells, hands)
    # The codes of `view` leave no number out, and its hands begin with the rooks.
    kinds = cells % THEIRS
    codes = kinds - (kinds > KING + SILVER) + np.where(cells < THEIRS, 0, 14)
    view = np.concatenate([codes, *(hand[::-1] for hand in hands)]).astype(np.int32)
    return {"view": view, "ply": np.int32(number) - 1, "player": np.int32(fields[1] == "w")}


def to_sfen(position: Position) -> str:
    ranks = []
    for row in position.cells.reshape(9, 9):
        rank = "".join(_piece(cell) or "1" for cell in row)
        ranks.append(re.sub("1+", lambda blanks: str(len(blanks[0])), rank))
    hands = [_hand(hand, "") for hand in position.hands]
    held = hands[0] + hands[1].lower() or "-"
    return f"{'/'.join(ranks)} {'bw'[position.player]} {held} {position.ply + 1}"


def to_text(position: Position) -> str:
    """Returns the board as text: sente's pieces in capitals, each hand next to its side."""
    lines = [f"gote   {_hand(position.hands[1], ' ').lower() or '-'}", ""]
    lines.append("  ".join(f" {file}" for file in "987654321").rstrip())
    for rank, row in zip("abcdefghi", position.cells.reshape(9, 9), strict=True):
        lines.append("  ".join(f"{_piece(cell) or '.':>2}" for cell in row) + f"   {rank}")
    lines += ["", f"sente  {_hand(position.hands[0], ' ') or '-'}"]
    mover = ("sente", "gote")[position.player]
    return "\n".join([*lines, f"{mover} to move, {position.ply} played"])


def to_usi(cells: np.ndarray, player: int, action: int) -> str:
    """Returns the move in USI; the board, int32 [81], is as the player to move sees it."""
    target, plane = divmod(action, NUM_ACTION_PLANES)
    if plane >= 2 * NUM_MOVES:
        return f"{_LETTERS[plane - 2 * NUM_MOVES + PAWN]}*{_square(target, player)}"
    rows, columns = rays.STEPS[plane % NUM_MOVES]
    start = target - 9 * rows - columns
    while not cells[start]:
        start -= 9 * rows + columns
    promotes = "+" if plane >= NUM_MOVES else ""
    return _square(start, player) + _square(target, player) + promotes


def _square(cell: int, player: int) -> str:
    row, column = divmod(cell if player == 0 else 80 - cell, 9)
    return f"{9 - column}{'abcdefghi'[row]}"


def _piece(cell: int) -> str:
    """Returns the piece as SFEN writes it, or an empty text."""
    owner, kind = divmod(int(cell), THEIRS)
    if kind == 0:
        return ""
    name = "+" + _LETTERS[kind - PROMOTED] if kind > KING else _LETTERS[kind]
    return name.lower() if owner else name


def _hand(counts: tuple[int, ...], between: str) -> str:
    """Returns the pieces in hand from the rooks down, in capitals, with numbers above one.

    It is `R2P` as in SFEN, or `R P2` for people.
    """
    parts = []
    for letter in _HAND_ORDER:
        count = counts[_LETTERS.index(letter) - 1]
        number = str(count) if count > 1 else ""
        if count:
            parts.append(letter + number if between else number + letter)
    return between.join(parts)


def _parse_board(text: str, board: str) -> np.ndarray:
    ranks = board.split("/")
    if len(ranks) != 9:
        raise wrong(text, f"the board must have 9 ranks, not {len(ranks)}")
    cells = []
    for rank, row in zip(ranks, "abcdefghi", strict=True):
        pieces = re.findall(r"\+?[A-Za-z]|[1-9]", rank)
        if "".join(pieces) != rank:
            raise wrong(text, f"rank {row} must consist of pieces and numbers, not {rank!r}")
        before = len(cells)
        for piece in pieces:
            cells += [0] * int(piece) if piece.isdigit() else [_parse_piece(text, piece)]
        if len(cells) - before != 9:
            raise wrong(text, f"rank {row} must have 9 squares, not {len(cells) - before}")
    return np.array(cells, np.int32)


def _parse_piece(text: str, piece: str) -> int:
    letter = piece[-1].upper()
    kind = _LETTERS.find(letter)
    if kind < 1:
        raise wrong(text, f"{piece!r} is no piece; the pieces are P, L, N, S, G, B, R and K")
    if piece[0] == "+":
        if kind not in _CAN_PROMOTE:
            raise wrong(text, f"{piece!r} is no piece: {letter} does not promote")
        kind += PROMOTED
    return kind + (THEIRS if piece[-1].islower() else 0)


def _parse_hands(text: str, hands: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    counts = np.zeros((2, len(IN_HAND)), int)
    if hands != "-":
        pieces = re.findall(r"([1-9][0-9]?)?([PLNSGBRplnsgbr])", hands)
        if not pieces or "".join(number + letter for number, letter in pieces) != hands:
            raise wrong(text, f"the hands must be like 'R2Pb3p' or '-', not {hands!r}")
        for number, letter in pieces:
            counts[int(letter.islower()), _LETTERS.index(letter.upper()) - 1] += int(number or 1)
    first, second = (tuple(int(count) for count in side) for side in counts)
    return first, second


def _check_pieces(text: str, cells: np.ndarray, hands) -> None:
    """Raises ValueError if the position is impossible."""
    kinds = cells % THEIRS
    plain = np.where(kinds > KING, kinds - PROMOTED, kinds)
    for side, name in ((0, "sente"), (1, "gote")):
        is_theirs = cells // THEIRS == side
        kings = int(np.sum(is_theirs & (kinds == KING)))
        if kings != 1:
            raise wrong(text, f"{name} must have one king, not {kings}")
        grid = np.where(is_theirs, kinds, 0).reshape(9, 9)
        if np.any(np.sum(grid == PAWN, axis=0) > 1):
            raise wrong(text, f"{name} has two pawns on a file")
        ahead = grid if side == 0 else grid[::-1]
        for kind, rows in ((PAWN, 1), (LANCE, 1), (KNIGHT, 2)):
            if np.any(ahead[:rows] == kind):
                raise wrong(text, f"{name} has a {_LETTERS[kind]} that could never move on")
    for kind in IN_HAND:
        count = int(np.sum(plain == kind)) + hands[0][kind - 1] + hands[1][kind - 1]
        if count > TOTAL[kind]:
            raise wrong(text, f"there are {count} {_LETTERS[kind]}, more than {TOTAL[kind]}")


def wrong(text: str, reason: str) -> ValueError:
    """Returns the error for a text that is no position."""
    return ValueError(f"not a shogi position, {text!r}: {reason}")
