"""Games of backgammon in match files (.mat) and in SGF: read, and written as match files.

The doubling cube is left out, as in the rules: what can be moved does not depend on it. Sources of
the formats: what GNU Backgammon writes and reads; A. Hollosi, "SGF File Format FF[4]",
https://www.red-bean.com/sgf/backgammon.html.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from azjax_envs.backgammon import Backgammon
from sgfmill import sgf_grammar

from azjax.errors import UserError
from azjax.files.game_record import GameRecord, roll_named, start_game
from azjax.files.played_game import PlayedGame, played_game
from azjax.files.sgf_parser import SgfTree

BAR, OFF = 25, 0  # as points that a checker comes from and goes to
_GAME = re.compile(r"^[ \t]*Game[ \t]+\d+[ \t]*$", re.MULTILINE)
_NAMES = re.compile(
    r"^ *(?P<left>[^\s:][^:\n]*?) *: *\d+ +(?P<right>[^\s:][^:\n]*?) *: *\d+ *$", re.MULTILINE
)
_HEAD = 500  # characters of a game in which its players are named
_POINT = r"(?:bar|off|\d{1,2})"
_MOVE = rf"{_POINT}(?:/{_POINT}\*?)+(?:\([1-4]\))?"
_ENTRY = re.compile(
    rf"(?P<dice>[1-6]{{2}}):(?P<moves>(?:\s*{_MOVE})*)"
    r"|Doubles => (?P<cube>[1-9]\d{0,3})|(?P<drop>Drops?)\b|Wins\s+(?P<won>\d{1,4})",
    re.IGNORECASE,
)
_RIGHT = 20  # the column from which on an entry is the right player's
_WIDTH = 31  # of the left player's column
_LEGAL = re.compile(rf"({_POINT})/({_POINT})")  # a move of one checker, as the game names it
_SGF_TURN = re.compile(r"([1-6])([1-6])((?:[a-z][a-z]){0,4})")


class Turn(NamedTuple):
    """A roll and what was played by it."""

    dice: str  # such as "61"
    hops: tuple[tuple[int, int], ...]  # from and to, as the mover counts the points


class _Line(NamedTuple):
    """What a file tells of a game."""

    turns: Sequence[Turn]  # of both players in turn, from the first to move on
    sides: Sequence[str]  # names, in the same order
    result: int | None  # of the first player in points, without the cube
    problem: str = ""  # why later turns are left out


def split_mat(text: str) -> Iterator[str]:
    """Yields the games of a match file."""
    starts = [found.end() for found in _GAME.finditer(text)]
    for start, end in itertools.pairwise([*starts, len(text)]):
        yield text[start:end]


def read_mat(game: Backgammon | None, text: str) -> PlayedGame:
    """Returns a game of a match file, or raises a UserError."""
    turns: list[Turn] = []
    names = _NAMES.search(text[:_HEAD].expandtabs())
    first, cube, dropped = 0, 1, False
    result: int | None = None
    for line in text.split("\n"):
        for entry in _ENTRY.finditer(line.expandtabs()):
            right = entry.start() >= _RIGHT
            if entry["dice"]:
                first = first if turns else int(right)
                turns.append(Turn(entry["dice"], tuple(_hops(entry["moves"]))))
            elif entry["cube"]:
                cube = int(entry["cube"])
            elif entry["drop"]:
                dropped = True
            else:
                points = _points(int(entry["won"]), cube, dropped)
                result = points if right == bool(first) else -points
    sides = [names["left"], names["right"]] if names else ["", ""]
    return _played(game, _Line(turns, sides[::-1] if first else sides, result))


def read_sgf(game: Backgammon | None, tree: SgfTree) -> PlayedGame:
    """Returns a game of a file in SGF, or raises a UserError."""
    nodes = [
        {name: [value.decode("utf-8").strip() for value in values] for name, values in node.items()}
        for node in sgf_grammar.main_sequence_iter(tree.root)
    ]
    root = {name: values[0] for name, values in nodes[0].items()}
    if root.get("GM") != "6":
        raise UserError("it is not a game of backgammon")
    turns: list[Turn] = []
    first, doubles, dropped = "", 0, False
    problem = "the file ends within the game" if tree.cut else ""
    for node in nodes:
        if not node.keys().isdisjoint(("AB", "AW", "AE")):
            problem = f"the file sets up a position after turn {len(turns)}"
            break
        for colour, value in [(side, v) for side in "BW" for v in node.get(side, ())]:
            doubles += value == "double"
            dropped |= value == "drop"
            if found := _SGF_TURN.fullmatch(value):
                first = first or colour
                pairs = re.findall("..", found[3])
                hops = [(_sgf_point(colour, a), _sgf_point(colour, b)) for a, b in pairs]
                turns.append(Turn(found[1] + found[2], tuple(hops)))
    first = first or "B"
    result = None
    if won := re.match(r"([BW])\+(\d{1,4})", root.get("RE", "")):
        result = _points(int(won[2]), 2 ** (doubles - dropped), dropped) * (-1) ** (won[1] != first)
    sides = [root.get(f"P{colour}", "") for colour in (first, "BW".replace(first, ""))]
    return _played(game, _Line(turns, sides, result, problem))


def format_mat(
    record: GameRecord, sides: Sequence[str] = ("first", "second"), *, loser: int | None = None
) -> str:
    """Returns a game as a match file, which GNU Backgammon and other programs read.

    Args:
      sides: the names of both players, the first to move before the other.
      loser: the player who gave up; None if nobody did.
    """
    first, second = ("".join(c for c in side if c not in ":\n") for side in sides)
    entries = []
    for position, after in itertools.pairwise(record.positions):
        if position.roll:
            entries.append(f"{position.roll.replace('-', '')}:")
        if after.move != "pass":
            entries[-1] += " " + re.sub(r"\(\d\)", "", after.move)
    last = record.current
    if last.roll:
        entries.append(f"{last.roll.replace('-', '')}:")
    lines = [" 1 point match", "", " Game 1", f" {first} : 0".ljust(_WIDTH) + f" {second} : 0"]
    for number, (left, right) in enumerate(_pairs(entries), 1):
        lines.append(f"{number:3}) {left.ljust(_WIDTH - 5)} {right}".rstrip())
    if last.over or loser is not None:
        points = round(3 * abs(last.returns[0])) if last.over else 1
        won = f"Wins {points} point" + "s" * (points > 1)
        first_won = last.returns[0] > 0 if last.over else loser == 1
        lines.append(" " * (6 if first_won else _WIDTH + 6) + won)
    return "\n".join(lines) + "\n"


def play_turn(record: GameRecord, turn: Turn) -> GameRecord:
    """Returns the record after a roll and the moves of its checkers, one after another.

    Raises:
      UserError: the roll is not possible, or cannot be played so.
    """
    number = record.num_moves + 1
    rolled = roll_named(record, f"{max(turn.dice)}-{min(turn.dice)}:")
    played = _play_hops(rolled, turn.hops)
    if played is None:
        moves = " ".join(f"{_name(a)}/{_name(b)}" for a, b in turn.hops) or "nothing"
        raise UserError(f"move {number}: {turn.dice[0]}-{turn.dice[1]} cannot be played by {moves}")
    return played


def _play_hops(record: GameRecord, hops: tuple[tuple[int, int], ...]) -> GameRecord | None:
    """Returns the record after hops in any order, each by one die or several; None if none does."""
    if not hops:
        if record.awaits_roll or record.current.over:
            return record
        legal = record.legal_moves()
        return record.play(*next(iter(legal.items()))) if {*legal.values()} == {"pass"} else None
    if record.awaits_roll or record.current.over:
        return None
    legal = {name: action for action, name in record.legal_moves().items()}
    for start, end in dict.fromkeys(hops):
        ways = []
        for name, action in legal.items():
            found = _LEGAL.match(name)
            if found and _point(found[1]) == start and _point(found[2]) >= end:
                # First those that need no other die, then those that hit nothing on the way.
                to = _point(found[2])
                ways.append((to > end, to > end and "*" in name, to, action, name))
        for _, _, to, action, name in sorted(ways):
            left = list(hops)
            left.remove((start, end))
            rest = [*left, (to, end)] if to > end else left
            played = _play_hops(record.play(action, name), tuple(rest))
            if played is not None:
                return played
    return None


def _played(game: Backgammon | None, line: _Line) -> PlayedGame:
    record, problem, ended = start_game(game or Backgammon()), line.problem, False
    for turn in line.turns:
        if ended := record.current.over:
            break
        try:
            record = play_turn(record, turn)
        except UserError as error:
            problem = str(error)
            break
    return played_game(record, line.sides, ended=ended, problem=problem, result=line.result)


def _points(won: int, cube: int, dropped: bool) -> int:
    """Returns the points without the cube: 1, 2 or 3."""
    return 1 if dropped else min(3, max(1, won // cube))


def _hops(moves: str) -> Iterator[tuple[int, int]]:
    """Yields where checkers go by moves such as "13/8*/7" and "6/4(2)"."""
    for move in moves.split():
        route, _, times = move.rstrip(")").partition("(")
        points = [_point(name) for name in route.replace("*", "").split("/")]
        yield from list(itertools.pairwise(points)) * int(times or 1)


def _point(name: str) -> int:
    return int(name) if name.isdigit() else {"bar": BAR, "off": OFF}[name.lower()]


def _name(point: int) -> str:
    return {BAR: "bar", OFF: "off"}.get(point, str(point))


def _sgf_point(colour: str, letter: str) -> int:
    """Returns the point of a letter as the mover counts; White's point 1 is "a"."""
    if letter in "yz":
        return BAR if letter == "y" else OFF
    number = ord(letter) - ord("a") + 1
    return number if colour == "W" else 25 - number


def _pairs(entries: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from itertools.zip_longest(entries[::2], entries[1::2], fillvalue="")
