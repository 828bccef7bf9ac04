"""Positions that GTP sets up: handicap stones, and games from SGF files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sgfmill import sgf

_MAX_BYTES = 2**20
_COLOURS = "bw"


def handicap_points(size: int, stones: int) -> list[tuple[int, int]]:
    """Returns the points of handicap stones, after GTP 2, section 4.1.1.

    Args:
      size: of the board.
      stones: how many.

    Returns:
      (row, column) of each stone, counted from the top left.

    Raises:
      ValueError: a board of this size cannot have that many handicap stones.
    """
    most = 0 if size < 7 else 9 if size % 2 and size > 7 else 4
    if not 2 <= stones <= most:
        allowed = f"from 2 to {most}" if most else "none, as the board is too small"
        raise ValueError(f"{stones} handicap stones: on {size}x{size} there can be {allowed}")
    low = 3 if size >= 13 else 2
    high, middle = size - 1 - low, size // 2
    corners = [(high, low), (low, high), (low, low), (high, high)]
    sides = [(middle, low), (middle, high), (low, middle), (high, middle)]
    points = corners[: min(stones, 4)] + sides[: 2 * ((stones - 4) // 2) if stones > 5 else 0]
    return points + [(middle, middle)] * (stones > 4 and stones % 2)


@dataclass(frozen=True)
class Sgf:
    """A game of go from an SGF file."""

    size: int
    komi: float | None  # None if the file has none
    moves: tuple[tuple[int, tuple[int, int] | None], ...]  # (player, (row, column) or None: a pass)


def read_sgf(path: str, move_number: int | None) -> Sgf:
    """Reads the main line of a file.

    Stones that are set up before the first move count as played, black's first.

    Args:
      path: the file.
      move_number: as in GTP, the line ends before this move; None for the whole line.

    Raises:
      ValueError: the file cannot be read, is not an SGF of go, or sets up stones during the game.
    """
    try:
        file = Path(path)
        if not file.is_file():  # reading a terminal, for example, would wait
            raise ValueError("there is no such file")
        if file.stat().st_size > _MAX_BYTES:
            raise ValueError("it is larger than a megabyte")
        game = sgf.Sgf_game.from_bytes(file.read_bytes())
        root = game.get_root()
        kind = root.get("GM") if root.has_property("GM") else 1
        komi = game.get_komi() if root.has_property("KM") else None
        moves = _moves(game)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"cannot load file: {error}") from error
    if kind != 1:
        raise ValueError("cannot load file: it is not a game of go")
    setup = [move for move in moves if move[2]]
    played = [move for move in moves if not move[2]]
    if move_number is not None:
        played = played[: max(move_number - 1, 0)]
    return Sgf(game.get_size(), komi, tuple(move[:2] for move in setup + played))


def _moves(game: sgf.Sgf_game) -> list[tuple[int, tuple[int, int] | None, bool]]:
    """Returns (player, point from the top left, whether it was set up) of the main line."""
    size, moves = game.get_size(), []
    for number, node in enumerate(game.get_main_sequence()):
        if node.has_setup_stones():
            if number:
                raise ValueError("stones are set up during the game")
            black, white, _ = node.get_setup_stones()
            stones = [(0, p) for p in sorted(black)] + [(1, p) for p in sorted(white)]
            moves += [(side, (size - 1 - row, column), True) for side, (row, column) in stones]
        colour, point = node.get_move()
        if colour is not None:
            at = None if point is None else (size - 1 - point[0], point[1])
            moves.append((_COLOURS.index(colour), at, False))
    return moves
