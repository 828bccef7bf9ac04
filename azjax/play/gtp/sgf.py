"""Positions that GTP sets up: handicap stones, and games from SGF files.

Source of the format: A. Hollosi, "SGF File Format FF[4]", https://www.red-bean.com/sgf/.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sgfmill import sgf_grammar

_MAX_BYTES = 2**20
_COLOURS = "bw"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST_KOMI = 361
_HUNDREDTHS = 100  # a komi from here on is in hundredths


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
    file = Path(path)
    if not os.path.isfile(file):  # reading a terminal, for example, would wait
        raise ValueError("there is no such file")
    if file.stat().st_size > _MAX_BYTES:
        raise ValueError("it is larger than a megabyte")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror})") from error
    try:
        tree = sgf_grammar.parse_sgf_game(content)
    except ValueError as error:
        raise ValueError("it is not an SGF file, or only a part of one") from error
    nodes = [texts_of(node) for node in sgf_grammar.main_sequence_iter(tree)]
    root = nodes[0]
    if root.get("GM", ["1"])[0] not in ("", "1"):
        raise ValueError("it is not a game of go")
    size, setup, played = size_of(root), [], []
    for node in nodes:
        if "AB" in node or "AW" in node or "AE" in node:
            if played:
                raise ValueError("stones are set up during the game")
            for side, name in enumerate(("AB", "AW")):
                points = [p for value in node.get(name, ()) for p in _points(value, size)]
                setup += [(side, point) for point in sorted(points)]
        for side, name in enumerate(("B", "W")):
            played += [(side, _point(value, size)) for value in node.get(name, ())]
    if move_number is not None:
        played = played[: max(move_number - 1, 0)]
    return Sgf(size, komi_of(root), (*sorted(setup, key=lambda stone: stone[0]), *played))


def format_sgf(
    size: int,
    komi: float,
    moves: Sequence[tuple[int, tuple[int, int] | None]],
    result: str = "",
) -> str:
    """Returns a game as SGF.

    Args:
      size: of the board.
      komi: White's points.
      moves: (player, (row, column) from the top left, or None for a pass) of each move.
      result: such as "B+R"; "" while the game goes on.
    """
    played = [
        f";{_COLOURS[player].upper()}[{'' if at is None else _LETTERS[at[1]] + _LETTERS[at[0]]}]"
        for player, at in moves
    ]
    end = f"RE[{result}]" if result else ""
    return f"(;GM[1]FF[4]CA[UTF-8]AP[azjax]SZ[{size}]KM[{komi:g}]{end}{''.join(played)})"


def texts_of(node: dict[str, list[bytes]]) -> dict[str, list[str]]:
    """Returns the properties of a node as text."""
    return {k: [v.decode("latin-1").strip() for v in values] for k, values in node.items()}


def size_of(root: dict[str, list[str]]) -> int:
    """Returns the size of a square board; 19 where the root node does not tell.

    Raises:
      ValueError: it is not the size of a square board.
    """
    sizes = root.get("SZ", ["19"])[0].split(":")
    if len(set(sizes)) > 1 or len(sizes) > 2 or not re.fullmatch("[1-9][0-9]?", sizes[0]):
        text = _quoted(":".join(sizes))
        raise ValueError(f"the size of the board must be one number, such as 9 or 9:9, not {text}")
    return int(sizes[0])


def komi_of(root: dict[str, list[str]]) -> float | None:
    """Returns the komi of a root node; None if there is none.

    Fox counts hundredths of Chinese stones, two points each: 375 and 3.75 are 7.5 points. 650
    there are points.

    Raises:
      ValueError: it is no number, or too large.
    """
    text = root.get("KM", [""])[0].replace(",", ".")
    if not text:
        return None
    if not re.fullmatch(r"[+-]?([0-9]{1,6}(\.[0-9]*)?|\.[0-9]+)", text):
        raise ValueError(f"the komi must be a number, not {_quoted(text)}")
    komi = float(text)
    komi = komi / 100 if abs(komi) >= _HUNDREDTHS else komi
    komi = 2 * komi if komi % 0.5 == 0.25 else komi
    if abs(komi) > _MOST_KOMI:
        raise ValueError(f"the komi must be from -{_MOST_KOMI} to {_MOST_KOMI}, not {komi:g}")
    return komi


def _point(text: str, size: int) -> tuple[int, int] | None:
    """Returns (row, column) of a move; None for a pass, which old files write "tt"."""
    if not text or (text == "tt" and size < 20):
        return None
    column, row = (_LETTERS.find(letter) for letter in text) if len(text) == 2 else (-1, -1)
    if not (0 <= column < size and 0 <= row < size):
        last = _LETTERS[size - 1]
        raise ValueError(
            f"a point must be two letters from a to {last} on this board, not {_quoted(text)}"
        )
    return row, column


def _points(text: str, size: int) -> list[tuple[int, int]]:
    """Returns the points of a setup value: one, or the corners of a rectangle, "aa:cc"."""
    ends = [_point(end, size) for end in text.split(":")]
    if len(ends) > 2 or None in ends:
        raise ValueError(f"a stone that is set up needs a point, not {_quoted(text)}")
    (top, left), (bottom, right) = ends[0] or (0, 0), ends[-1] or (0, 0)
    return [(row, c) for row in range(top, bottom + 1) for c in range(left, right + 1)]


def _quoted(text: str) -> str:
    return f'"{text[:20]}"'
