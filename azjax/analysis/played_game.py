"""A game from a file, before it is analysed."""

from dataclasses import dataclass
from typing import Any

from azjax.errors import UserError
from azjax.play.game_record import GameRecord


@dataclass(frozen=True)
class PlayedGame:
    """A game of a file."""

    record: GameRecord
    title: str  # such as "A - B, 2026"; "" if the file names nobody
    ends_early: str = ""  # why later moves of the file were left out
    source: Any = None  # the file's own form, for `annotate`


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
