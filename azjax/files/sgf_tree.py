"""Positions that GTP sets up: handicap stones, and games from SGF files.

Source of the format: A. Hollosi, "SGF File Format FF[4]", https://www.red-bean.com/sgf/.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from azjax_envs.go import Go
from sgfmill import sgf_grammar
from sgfmill.common import format_vertex

from azjax.files.game_record import Position

_MAX_BYTES = 2**20
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOST_KOMI = 361
_HUNDREDTHS = 100  # a komi from here on is in hundredths

Point = tuple[int, int]
"""(row, column), counted from the top left."""


def handicap_points(size: int, stones: int) -> list[Point]:
    """Returns the points of handicap stones, after GTP 2, section 4.1.1.

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


class SgfMove(NamedTuple):
    """A move of a file, or a stone that it sets up."""

    player: int
    point: Point | None  # None: a pass
    node: int | None  # its number in the main line; None of a stone that is set up


class Sgf(NamedTuple):
    """The main line of a game of go in SGF."""

    size: int
    komi: float | None  # None if the file has none
    moves: list[SgfMove]


def read_tree(tree: Any, *, sets_up_later: bool) -> Sgf:
    """Reads a game that `sgfmill.sgf_grammar` has parsed.

    `sets_up_later` lets stones be set up during the game; those removed stay then.

    Raises:
      ValueError: it is not a game of go, or has a size, a komi or a point that cannot be.
    """
    nodes = [texts_of(node) for node in sgf_grammar.main_sequence_iter(tree)]
    root = nodes[0]
    if root.get("GM", ["1"])[0] not in ("", "1"):
        raise ValueError("it is not a game of go")
    size, komi = size_of(root), _komi_of(root)
    moves: list[SgfMove] = []
    for number, node in enumerate(nodes):
        played = bool(moves) and moves[-1].node is not None
        if played and not sets_up_later and {"AB", "AW", "AE"} & node.keys():
            raise ValueError("stones are set up during the game")
        for player, name in enumerate(("AB", "AW")):
            points = [point for value in node.get(name, ()) for point in _points(value, size)]
            moves += [SgfMove(player, point, None) for point in sorted(points)]
        for player, name in enumerate("BW"):
            points = [_point(value, size) for value in node.get(name, ())]
            moves += [SgfMove(player, point, number) for point in points]
    return Sgf(size, komi, moves)


def read_sgf(path: str, move_number: int | None) -> Sgf:
    """Reads the main line of a file; stones that are set up count as played, black's first.

    Args:
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
    game = read_tree(tree, sets_up_later=False)
    setup = sorted((move for move in game.moves if move.node is None), key=lambda x: x.player)
    played = [move for move in game.moves if move.node is not None]
    if move_number is not None:
        played = played[: max(move_number - 1, 0)]
    return game._replace(moves=setup + played)


def vertex_of(point: Point | None, size: int) -> str:
    """Returns the name of a point in GTP and in our game, such as "D4", or "pass"."""
    return format_vertex(None if point is None else (size - 1 - point[0], point[1]))


def format_sgf(game: Go, positions: Sequence[Position], result: str = "") -> str:
    """Returns the moves that led to `positions` as SGF, and a result such as "B+R"."""
    size, moves = game.size, []
    for position in positions:
        row, column = divmod(position.action, size)
        point = _LETTERS[column] + _LETTERS[row] if row < size else ""  # a pass
        moves.append(f";{'BW'[position.moved_by]}[{point}]")
    end = f"RE[{result}]" if result else ""
    return f"(;GM[1]FF[4]CA[UTF-8]AP[azjax]SZ[{size}]KM[{game.komi:g}]{end}{''.join(moves)})"


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


def _komi_of(root: dict[str, list[str]]) -> float | None:
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


def _point(text: str, size: int) -> Point | None:
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


def _points(text: str, size: int) -> list[Point]:
    """Returns the points of a setup value: one, or the corners of a rectangle, "aa:cc"."""
    ends = [_point(end, size) for end in text.split(":")]
    if len(ends) > 2 or None in ends:
        raise ValueError(f"a stone that is set up needs a point, not {_quoted(text)}")
    (top, left), (bottom, right) = ends[0] or (0, 0), ends[-1] or (0, 0)
    return [(row, c) for row in range(top, bottom + 1) for c in range(left, right + 1)]


def _quoted(text: str) -> str:
    return f'"{text[:20]}"'
