"""Games of go in SGF: read, and written.

Source of the format: A. Hollosi, "SGF File Format FF[4]", https://www.red-bean.com/sgf/.
"""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np
from azjax_envs.go import Go
from sgfmill import sgf, sgf_grammar
from sgfmill.common import format_vertex

from azjax.errors import UserError
from azjax.files.game_record import GameRecord, Position, start_game
from azjax.files.played_game import PlayedGame, play_named, played_game
from azjax.files.sgf_parser import SgfTree

COLOURS = "bw"
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SETUP = ("AB", "AW", "AE")
_EMPTY = 2  # of a point, where 0 is black and 1 is white
_MOST_KOMI = 361
_HUNDREDTHS = 100  # a komi from here on is in hundredths

Point = tuple[int, int]
"""(row, column), counted from the top left."""


class SgfStep(NamedTuple):
    """A move of a file, or a point that it sets up."""

    player: int  # of a point that is set up to be empty, 2
    point: Point | None  # None: a pass
    node: int | None  # its number in the main line; None of a point that is set up


class SgfLine(NamedTuple):
    """The main line of a game of go in SGF."""

    size: int
    komi: float | None  # None if the file has none
    steps: list[SgfStep]  # first the stones that are set up before the first move
    problem: str  # why the rest of the line was left out


@dataclass(frozen=True)
class SgfSource:
    """The file's game, and the node of each move."""

    game: sgf.Sgf_game
    nodes: dict[int, Any]  # by the number of the move in the record, from 1


def board_size(trees: Sequence[SgfTree]) -> int:
    """Returns the size of the first game's board; 19 where the file does not say."""
    try:
        return _size_of(_texts_of(trees[0].root.sequence[0]))
    except (ValueError, IndexError):
        return 19


def read_game(game: Go | None, tree: SgfTree) -> PlayedGame:
    """Returns a game of a file, or raises a UserError. Its komi takes the place of `game`'s own.

    Stones that are set up count as played, with passes between; so do two moves of one colour.
    """
    try:
        line = read_line(tree)
        game = game or Go(size=line.size)
    except ValueError as error:
        raise UserError(str(error)) from error
    size, problem = line.size, line.problem
    if size != game.size:
        raise UserError(f"it is a game on {size}x{size}, and the player plays {game.name}")
    if line.komi is not None:
        game = dataclasses.replace(game, komi=line.komi)
    tree.root.sequence[0]["SZ"] = [str(size).encode()]  # sgfmill does not read "9:9"
    opened = sgf.Sgf_game.from_coarse_game_tree(tree.root, override_encoding="utf-8")
    sequence = opened.get_main_sequence()
    record, starts = _play_moves(start_game(game), line.steps)
    nodes: dict[int, Any] = {
        after: sequence[step.node]
        for step, after in zip(line.steps, starts[1:], strict=False)
        if step.node is not None
    }
    ended = False
    for step in line.steps[len(starts) - 1 :]:  # from the first that could not be played so
        if ended := record.current.over:
            break
        try:
            after = _play(record, step)
        except ValueError as error:
            problem = str(error)
            break
        if step.node is not None:
            nodes[after.num_moves] = sequence[step.node]
        record = after
    sides = [_text(sequence[0], name) for name in ("PB", "PW")]
    return played_game(
        record,
        sides,
        ended=ended,
        problem=problem,
        result=_result(_text(sequence[0], "RE")),
        source=SgfSource(opened, nodes),
    )


def _result(text: str) -> int | None:
    """Returns Black's result by a file's RE, such as "B+3.5", "W+R", "0" and "Draw"."""
    if found := re.match(r"\s*([BW])\+", text, re.IGNORECASE):
        return 1 if found[1] in "Bb" else -1
    return 0 if text.strip().lower() in ("0", "draw", "jigo") else None


def _play_moves(record: GameRecord, steps: Sequence[SgfStep]) -> tuple[GameRecord, list[int]]:
    """Plays the moves before the first set-up or illegal move at once.

    Returns:
      The record, and how many moves it has before each step that was played, and at the end.
    """
    size, mover = record.game.observation_shape[0], record.current.mover
    actions: list[int] = []
    starts = [0]
    for step in itertools.takewhile(lambda step: step.node is not None, steps):
        passes = [] if step.player == mover else [size * size]
        actions += [*passes, size * size if step.point is None else _cell(step.point, size)]
        mover = 1 - step.player
        starts.append(len(actions))
    names = _vertices(size)
    played = record.play_all(actions, [names[action] for action in actions])
    starts = [start for start in starts if start <= played.num_moves]
    return played.truncate(starts[-1]), starts


@functools.cache
def _vertices(size: int) -> list[str]:
    """Returns the names of all actions on a board."""
    points = [divmod(cell, size) for cell in range(size * size)]
    return [vertex_of(point, size) for point in (*points, None)]


def _cell(point: Point, size: int) -> int:
    return point[0] * size + point[1]


def _play(record: GameRecord, step: SgfStep) -> GameRecord:
    """Returns the record after a step.

    Raises:
      ValueError: the move is not legal, or another stone is there.
    """
    size = record.game.observation_shape[0]
    if step.node is None and step.point is not None:
        point = _cell(step.point, size)
        view = np.asarray(record.game.view(jax.device_get(record.current.state))).ravel() % 3
        there = int(view[point] - 1) % 3
        if there == step.player:
            return record
        if there != _EMPTY or step.player == _EMPTY:
            where = vertex_of(step.point, size)
            raise ValueError(f"the file changes the stone on {where} after move {record.num_moves}")
    if record.current.mover != step.player:
        record = play_named(record, "pass")
    return play_named(record, vertex_of(step.point, size))


def read_line(tree: SgfTree) -> SgfLine:
    """Reads the main line of a game.

    Raises:
      ValueError: it is not a game of go, or has a size or a komi that cannot be.
    """
    nodes = [_texts_of(node) for node in sgf_grammar.main_sequence_iter(tree.root)]
    root = nodes[0]
    if root.get("GM", ["1"])[0] not in ("", "1"):
        raise ValueError("it is not a game of go")
    size, komi = Go(size=_size_of(root)).size, _komi_of(root)
    steps: list[SgfStep] = []
    problem = "the file ends within the game" if tree.cut else ""
    board: dict[Point, int] = {}  # what is set up before the first move
    try:
        for number, node in enumerate(nodes):
            edits = [] if node.keys().isdisjoint(_SETUP) else list(_edits(node, size))
            moves = [
                SgfStep(player, _point(value, size), number)
                for player, name in enumerate("BW")
                for value in node.get(name, ())
            ]
            if not steps:
                board |= dict(edits)
            else:
                steps += [SgfStep(player, point, None) for point, player in edits]
            steps += _placed(board) + moves if moves and not steps else moves
    except ValueError as error:
        problem = str(error)
    return SgfLine(size, komi, steps or _placed(board), problem)


def _edits(node: dict[str, list[str]], size: int) -> Iterator[tuple[Point, int]]:
    for player, name in enumerate(_SETUP):
        for value in node.get(name, ()):
            for point in _points(value, size):
                yield point, player


def _placed(board: dict[Point, int]) -> list[SgfStep]:
    """Returns the stones as they are played: by turns, so that few passes come between."""
    stones = [[p for p, player in sorted(board.items()) if player == side] for side in (0, 1)]
    return [
        SgfStep(player, point, None)
        for pair in itertools.zip_longest(*stones)
        for player, point in enumerate(pair)
        if point is not None
    ]


def format_sgf(game: Go, positions: Sequence[Position], result: str = "") -> str:
    """Returns the moves that led to `positions` as SGF, and a result such as "B+R"."""
    size, moves = game.size, []
    for position in positions:
        row, column = divmod(position.action, size)
        point = _LETTERS[column] + _LETTERS[row] if row < size else ""  # a pass
        moves.append(f";{'BW'[position.moved_by]}[{point}]")
    end = f"RE[{result}]" if result else ""
    return f"(;GM[1]FF[4]CA[UTF-8]AP[azjax]SZ[{size}]KM[{game.komi:g}]{end}{''.join(moves)})"


def add_comment(node: Any, text: str) -> None:
    """Adds a paragraph to the comment of a node, which may have several."""
    old = node.get_raw_list("C") if node.has_property("C") else []
    parts = [sgf_grammar.text_value(value).decode("utf-8") for value in old]
    node.set("C", "\n\n".join([*parts, text]))


def vertex_of(point: Point | None, size: int) -> str:
    """Returns the name of a point in GTP and in our game, such as "D4", or "pass"."""
    return format_vertex(None if point is None else (size - 1 - point[0], point[1]))


def _text(node: Any, name: str) -> str:
    if not node.has_property(name):
        return ""
    return sgf_grammar.simpletext_value(node.get_raw(name)).decode("utf-8")


def _texts_of(node: dict[str, list[bytes]]) -> dict[str, list[str]]:
    """Returns the properties of a node as text."""
    return {k: [v.decode("utf-8").strip() for v in values] for k, values in node.items()}


def _size_of(root: dict[str, list[str]]) -> int:
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
