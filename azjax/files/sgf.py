"""Games of go in SGF: read, and written.

Source of the format: A. Hollosi, "SGF File Format FF[4]", https://www.red-bean.com/sgf/.
"""

import bisect
import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from azjax_envs.go import Go
from sgfmill import sgf, sgf_grammar
from sgfmill.common import format_vertex

from azjax.errors import UserError
from azjax.files.game_record import GameRecord, start_game
from azjax.files.played_game import PlayedGame, Unplayed, play_named, played_game
from azjax.files.played_positions import Line, Position
from azjax.files.sgf_parser import SgfTree, moves_of

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
    """The main line of a game of go in SGF: N moves and points that it sets up."""

    size: int
    komi: float | None  # None if the file has none
    # First come the stones that are set up before the first move. See `SgfStep`.
    players: list[int]  # [N]
    cells: list[int]  # [N], row * size + column; a pass is size * size
    nodes: list[int | None]  # [N]
    problem: str  # why the rest of the line was left out

    @property
    def steps(self) -> list[SgfStep]:
        """The moves, and the points that are set up."""
        return [*map(self.step, range(len(self.cells)))]

    def step(self, number: int) -> SgfStep:
        """Returns one of them, counted from 0."""
        cell = self.cells[number]
        point = None if cell == self.size**2 else divmod(cell, self.size)
        return SgfStep(self.players[number], point, self.nodes[number])


class SgfSource:
    """The file's game, and the node of each move."""

    def __init__(self, tree: SgfTree, nodes: Sequence[tuple[int, int]]):
        """Keeps the file's game.

        Args:
          nodes: of moves their number in the record, from 1, and that of their node.
        """
        self._tree, self._nodes = tree, nodes

    @functools.cached_property
    def game(self) -> sgf.Sgf_game:
        """The game as `sgfmill` has it, with its texts in UTF-8."""
        return sgf.Sgf_game.from_coarse_game_tree(self._tree.root, override_encoding="utf-8")

    @functools.cached_property
    def nodes(self) -> dict[int, Any]:
        """The nodes of moves, by the number of the move in the record, from 1."""
        sequence = self.game.get_main_sequence()
        return {number: sequence[node] for number, node in self._nodes}


def board_size(trees: Sequence[SgfTree]) -> int:
    """Returns the size of the first game's board; 19 where the file does not say."""
    try:
        return _size_of(_texts_of(trees[0].packed.sequence[0]))
    except (ValueError, IndexError):
        return 19


def read_game(game: Go | None, tree: SgfTree) -> Unplayed:
    """Reads a game of a file. Its komi takes the place of `game`'s own.

    Stones that are set up count as played, with passes between; so do two moves of one colour.

    Raises:
      UserError: the game cannot be read.
    """
    try:
        line = read_line(tree)
        game = game or Go(size=line.size)
    except ValueError as error:
        raise UserError(str(error)) from error
    if line.size != game.size:
        raise UserError(
            f"it is a game on {line.size}x{line.size}, and the player plays {game.name}"
        )
    rules = dataclasses.replace(game, komi=Go.komi)
    if line.komi is not None:
        game = dataclasses.replace(game, komi=line.komi)
    before = start_game(rules).positions
    actions, starts = _actions(line, before[0].mover)
    names = _vertices(line.size)
    return Unplayed(
        Line(game, rules, before, actions, [names[action] for action in actions]),
        functools.partial(_finish, tree, line, starts),
    )


def _finish(tree: SgfTree, line: SgfLine, starts: Sequence[int], record: GameRecord) -> PlayedGame:
    """Returns a game after `record`, which has the first moves of `line` up to an illegal one.

    Args:
      starts: how many moves the record of a game has before each of these steps, and at the end.

    Raises:
      UserError: it has no moves.
    """
    made = bisect.bisect_right(starts, record.num_moves) - 1  # steps
    record = record.truncate(starts[made])
    moves = zip(starts[1 : made + 1], line.nodes, strict=False)
    nodes = [(number, node) for number, node in moves if node is not None]
    problem, ended = line.problem, False
    for number in range(made, len(line.cells)):  # from the first that could not be played so
        if ended := record.current.over:
            break
        step = line.step(number)
        try:
            record = _play(record, step)
        except ValueError as error:
            problem = str(error)
            break
        if step.node is not None:
            nodes.append((record.num_moves, step.node))
    root: dict[str, list[bytes]] = tree.packed.sequence[0]
    root["SZ"] = [str(line.size).encode()]  # sgfmill does not read "9:9"
    return played_game(
        record,
        [_text(root, name) for name in ("PB", "PW")],
        ended=ended,
        problem=problem,
        result=_result(_text(root, "RE")),
        source=SgfSource(tree, nodes),
    )


def _result(text: str) -> int | None:
    """Returns Black's result by a file's RE, such as "B+3.5", "W+R", "0" and "Draw"."""
    if found := re.match(r"\s*([BW])\+", text, re.IGNORECASE):
        return 1 if found[1] in "Bb" else -1
    return 0 if text.strip().lower() in ("0", "draw", "jigo") else None


def _actions(line: SgfLine, mover: int) -> tuple[list[int], list[int]]:
    """Returns the actions of a line before the first point that is set up after a move.

    Args:
      mover: the player who begins.

    Returns:
      The actions, with passes between two moves of one colour; and how many of them come before
      each step of the line, and at the end.
    """
    nodes = line.nodes
    first = next((i for i, node in enumerate(nodes) if node is not None), len(nodes))
    end = nodes.index(None, first) if None in nodes[first:] else len(nodes)
    if line.players[:end] == [mover, 1 - mover] * (end // 2) + [mover] * (end % 2):
        return line.cells[:end], [*range(end + 1)]
    actions: list[int] = []
    starts = [0]
    for player, cell in zip(line.players[:end], line.cells, strict=False):
        actions += [cell] if player == mover else [line.size**2, cell]
        mover = 1 - player
        starts.append(len(actions))
    return actions, starts


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
    root = _texts_of(tree.packed.sequence[0])
    if root.get("GM", ["1"])[0] not in ("", "1"):
        raise ValueError("it is not a game of go")
    size, komi = Go(size=_size_of(root)).size, _komi_of(root)
    line = SgfLine(size, komi, [], [], [], "the file ends within the game" if tree.cut else "")
    board: dict[Point, int] = {}  # what is set up before the first move
    number = 0  # of the node
    try:
        for part in tree.main_line():
            if isinstance(part, str):
                if not line.cells:
                    _add(line, _placed(board))
                number += _add_run(line, part, number)
            else:
                _add_node(line, _texts_of(part), number, board)
                number += 1
    except ValueError as error:
        line = line._replace(problem=str(error))
    if not line.cells:
        _add(line, _placed(board))
    return line


def _add_node(
    line: SgfLine, node: dict[str, list[str]], number: int, board: dict[Point, int]
) -> None:
    """Adds a node to a line, or to the board that is set up before its first move."""
    edits = [] if node.keys().isdisjoint(_SETUP) else list(_edits(node, line.size))
    moves = [
        SgfStep(player, _point(value, line.size), number)
        for player, name in enumerate("BW")
        for value in node.get(name, ())
    ]
    if line.cells:
        _add(line, [SgfStep(player, point, None) for point, player in edits])
    else:
        board |= dict(edits)
        _add(line, _placed(board) if moves else [])
    _add(line, moves)


def _add(line: SgfLine, steps: Sequence[SgfStep]) -> None:
    for player, point, node in steps:
        line.players.append(player)
        line.cells.append(line.size**2 if point is None else _cell(point, line.size))
        line.nodes.append(node)


def _add_run(line: SgfLine, run: str, number: int) -> int:
    """Adds moves whose first node has this number, and returns how many.

    Raises:
      ValueError: one is no point of the board; those before it are added.
    """
    moves, cells = moves_of(run), _cells(line.size)
    wrong = next((point for _, point in moves if point not in cells), None)
    known = moves if wrong is None else [*itertools.takewhile(lambda x: x[1] in cells, moves)]
    line.cells.extend([cells[point] for _, point in known])
    line.players.extend(["BW".index(colour) for colour, _ in known])
    line.nodes.extend(range(number, number + len(known)))
    if wrong is not None:
        _point(wrong, line.size)
    return len(known)


@functools.cache
def _cells(size: int) -> dict[str, int]:
    """Returns the number of each point as SGF writes it, and of a pass."""
    points = {
        column + row: i * size + j
        for i, row in enumerate(_LETTERS[:size])
        for j, column in enumerate(_LETTERS[:size])
    }
    return points | {"": size**2, "tt": size**2}


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


def _text(node: dict[str, list[bytes]], name: str) -> str:
    return sgf_grammar.simpletext_value(node[name][0]).decode("utf-8") if name in node else ""


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
