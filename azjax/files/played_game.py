"""A game from a file, before it is analysed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from azjax.errors import UserError
from azjax.files.game_record import GameRecord
from azjax.files.played_positions import Line, PlayedPositions, play_lines


@dataclass(frozen=True)
class PlayedGame:
    """A game of a file, or why it cannot be read."""

    record: GameRecord | None  # None if it cannot be read
    title: str = ""  # such as "A - B, 2026"; "" if the file names nobody
    error: str = ""  # why it cannot be read, in one line
    ends_early: str = ""  # why later moves of the file were left out, in one line
    result: float | None = None  # of the first player, in points, where the file tells it
    # The first player's expected results before each move, in [-1, 1], where the file tells them;
    # nan before the moves where it does not.
    values: tuple[float, ...] = ()
    remark: str = ""  # what in the file was read in another way than it is written
    path: Path = Path()  # of the file
    number: int = 1  # among the games of its file
    count: int = 1  # how many games its file has
    source: Any = None  # the file's own form, from which annotated files are written

    @property
    def where(self) -> str:
        """The file, and the game's number if there are several."""
        return f"{self.path}, game {self.number}" if self.count > 1 else str(self.path)


class Unplayed(NamedTuple):
    """A game of a file whose moves are known, but not played yet."""

    line: Line
    finish: Callable[[GameRecord], PlayedGame]  # after the legal ones; may raise a UserError
    # Whether `finish` plays a game alone sooner than a loop over its moves is compiled.
    finish_alone: bool = False

    def play(self) -> PlayedGame:
        """Plays the moves of this game alone.

        Raises:
          UserError: the game cannot be read.
        """
        if self.finish_alone or not self.line.actions:
            return self.with_positions(None)
        return self.with_positions(play_lines([self.line], lanes=1, whole=True)()[0])

    def with_positions(self, positions: PlayedPositions | None) -> PlayedGame:
        """Returns the game, given the positions of its line; None if no move of it is legal.

        Raises:
          UserError: the game cannot be read.
        """
        return self.finish(GameRecord(self.line.game, positions or self.line.before))


def played_game(
    record: GameRecord,
    sides: Sequence[str],
    *,
    ended: bool = False,
    problem: str = "",
    result: float | None = None,
    source: Any = None,
) -> PlayedGame:
    """Returns a game that was read up to its end or to a problem.

    Args:
      record: the moves before the problem.
      sides: the names of the players, "" where the file names nobody.
      ended: whether the file goes on although the game has ended by its rules.
      result: of the first player in points, such as 1, 0 or -1, where the file tells one.
      problem: why the move after those of the record cannot be read; "" if there is no problem.

    Raises:
      UserError: it has no moves.
    """
    count = record.num_moves
    if not count:
        raise UserError(problem or "it has no moves")
    if problem:
        before = f"{count} moves before it are" if count > 1 else "move before it is"
        problem = f"{problem}; the {before} read"
    elif ended:
        problem = f"the game is over by its rules after {count} moves"
    title = " - ".join(sides) if all(sides) else ""
    return PlayedGame(record, title, ends_early=problem, result=result, source=source)


def play_named(record: GameRecord, name: str, written: str = "") -> GameRecord:
    """Returns the record after the move of that name, which a file may have written in another way.

    Raises:
      UserError: the move is not legal.
    """
    for action, legal in record.legal_moves().items():
        if legal == name:
            return record.play(action, name)
    move = f": {written!r}" if written else f", {name},"
    raise UserError(f"move {record.num_moves + 1}{move} is not legal there")
