"""A game from a file, before it is analysed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from azjax.errors import UserError
from azjax.files.game_record import GameRecord


@dataclass(frozen=True)
class PlayedGame:
    """A game of a file."""

    record: GameRecord
    title: str  # such as "A - B, 2026"; "" if the file names nobody
    ends_early: str = ""  # why later moves of the file were left out
    source: Any = None  # the file's own form, for `annotate`
    remark: str = ""  # what in the file was read in another way than it is written


def played_game(
    record: GameRecord, sides: Sequence[str], *, ended: bool, source: Any = None
) -> PlayedGame:
    """Returns a game whose file names its `sides`, and goes on although it `ended` by its rules.

    Raises:
      UserError: it has no moves.
    """
    if not record.num_moves:
        raise UserError("it has no moves")
    early = f"the game is over by its rules after {record.num_moves} moves" if ended else ""
    return PlayedGame(record, " - ".join(sides) if all(sides) else "", early, source)


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
