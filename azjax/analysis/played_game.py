"""A game from a file, before it is analysed."""

from dataclasses import dataclass
from typing import Any

from azjax.play.game_record import GameRecord


@dataclass(frozen=True)
class PlayedGame:
    """A game of a file."""

    record: GameRecord
    title: str  # such as "A - B, 2026"; "" if the file names nobody
    ends_early: str = ""  # why later moves of the file were left out
    source: Any = None  # the file's own form, for `annotate`
