"""Positions in text: FEN of chess and SFEN of shogi, with one reader for all who give them."""

import itertools

from azjax_envs import Game

from azjax.files.game_record import start_game
from azjax.types import State

_NOTATIONS = ("FEN", "SFEN")
_PREFIXES = ("position", "fen", "sfen", "startpos")


def notation_of(game: Game) -> str | None:
    """Returns how positions of a game are written, "FEN" or "SFEN"; None if they have no text."""
    return next((name for name in _NOTATIONS if hasattr(game, f"from_{name.lower()}")), None)


def read_position(game: Game, text: str) -> tuple[State, str]:
    """Returns a position, and a remark if it had to be mended: rights and counters that cannot be.

    The text may begin with "position", "fen" or "sfen", as commands of UCI and USI do, and fields
    may be missing after the board. Without a board it is the start of the game.

    Raises:
      ValueError: the text is no position, or the game's positions have no text.
    """
    notation = notation_of(game)
    if notation is None:
        raise ValueError(f"positions of {game.name} have no text; give the moves from the start")
    words = itertools.dropwhile(lambda word: word.lower() in _PREFIXES, text.split())
    fields = " ".join(words)
    if not fields:
        return start_game(game).current.state, ""
    from_text, to_text = (getattr(game, f"{way}_{notation.lower()}") for way in ("from", "to"))
    try:
        return from_text(fields), ""
    except ValueError as error:
        try:
            mended = to_text(from_text(fields, strict=False))
            return from_text(mended), f"{error}; it is read as {mended}"
        except ValueError:
            raise error from None
