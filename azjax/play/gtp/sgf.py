"""Positions that GTP sets up: handicap stones, and games out of SGF files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sgfmill import sgf

_LARGEST_FILE = 2**20
_COLOURS = "bw"


def handicap_points(size: int, stones: int) -> list[tuple[int, int]]:
    """Where GTP 2, section 4.1.1, puts handicap stones: (row, column), counted from the top left.

    Raises:
      ValueError: so many have no place on a board of this size.
    """
    most = 0 if size < 7 else 9 if size % 2 and size > 7 else 4
    if not 2 <= stones <= most:
        wanted = f"from 2 to {most}" if most else "0: the board is too small"
        raise ValueError(f"{stones} handicap stones: on {size}x{size}, {wanted} are wanted")
    low = 3 if size >= 13 else 2
    high, middle = size - 1 - low, size // 2
    corners = [(high, low), (low, high), (low, low), (high, high)]
    sides = [(middle, low), (middle, high), (low, middle), (high, middle)]
    points = corners[: min(stones, 4)] + sides[: 2 * ((stones - 4) // 2) if stones > 5 else 0]
    return points + [(middle, middle)] * (stones > 4 and stones % 2)


@dataclass(frozen=True)
class Sgf:
    """What an SGF file tells of a game of go."""

    size: int
    komi: float | None  # None where the file does not say
    moves: tuple[tuple[int, tuple[int, int] | None], ...]  # (player, (row, column) or None: a pass)


def read_sgf(path: str, move_number: int | None) -> Sgf:
    """The main line of a file, up to the position before `move_number`, as GTP counts.

    Stones that are set up before the first move count as played, black's first.

    Raises:
      ValueError: the file cannot be read, is no SGF of go, or sets up stones during the game.
    """
    try:
        file = Path(path)
        if not file.is_file():  # a terminal, say, would be waited for
            raise ValueError("there is no such file")
        if file.stat().st_size > _LARGEST_FILE:
            raise ValueError("larger than a megabyte")
        game = sgf.Sgf_game.from_bytes(file.read_bytes())
        root = game.get_root()
        kind = root.get("GM") if root.has_property("GM") else 1
        komi = game.get_komi() if root.has_property("KM") else None
        moves = _moves(game)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"cannot load file: {error}") from error
    if kind != 1:
        raise ValueError("cannot load file: it is no game of go")
    setup = [move for move in moves if move[2]]
    played = [move for move in moves if not move[2]]
    if move_number is not None:
        played = played[: max(move_number - 1, 0)]
    return Sgf(game.get_size(), komi, tuple(move[:2] for move in setup + played))


def _moves(game: sgf.Sgf_game) -> list[tuple[int, tuple[int, int] | None, bool]]:
    """(player, point from the top left, whether it was set up) of the main line."""
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
