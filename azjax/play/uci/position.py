"""The position of a UCI or USI client: told anew before each move, followed from the last one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
from azjax_envs import Game

from azjax.play.position import Position, first_position, next_position, position_of

_LONGEST_VARIATION = 16


@dataclass(frozen=True)
class Notation:
    """How a dialect writes positions."""

    name: str  # the games have `from_NAME` and `to_NAME`
    fields: int  # that tell the position; those behind them count moves


FEN, SFEN = Notation("fen", 4), Notation("sfen", 3)


@dataclass(frozen=True)
class Line:
    """A game as a client told it: where it began, and the positions since."""

    start: str  # "startpos", or a position in text
    path: tuple[Position, ...]

    @property
    def now(self) -> Position:
        return self.path[-1]


def first_line(game: Game) -> Line:
    """The start of a game."""
    return Line("startpos", (first_position(game),))


def read_position(game: Game, notation: Notation, words: Sequence[str], last: Line | None) -> Line:
    """The words behind `position`: `[startpos | NOTATION ...] [moves ...]`.

    Args:
      game: the game.
      notation: of positions in text.
      words: what the client said.
      last: the position before; of the moves, only what it has not is played.

    Raises:
      ValueError: in one line, what is wrong.
    """
    text = " ".join(words)
    found = re.fullmatch(rf"(startpos|{notation.name} (.*?))(?: ?moves\b ?(.*))?", text)
    if found is None:
        raise ValueError(f"startpos, or {notation.name} and a position, are wanted, then moves")
    start, moves = (found[2] or found[1]).strip(), (found[3] or "").split()
    if last is not None and last.start == start:
        path = list(last.path)
    elif found[2] is None:
        path = [first_position(game)]
    else:
        path = [position_of(game, getattr(game, f"from_{notation.name}")(start))]
    same = 0
    while same < min(len(moves), len(path) - 1) and path[same + 1].move == moves[same]:
        same += 1
    del path[same + 1 :]
    for move in moves[same:]:
        now = revived(game, notation, path[-1])
        # In numpy, for all legal moves are put into words to find one.
        action = game.string_to_action(jax.device_get(now.state), move)
        path.append(replace(next_position(game, now, action), move=move))
    return Line(start, tuple(path))


def revived(game: Game, notation: Notation, position: Position) -> Position:
    """The position, and where the game has ended but a move is left, the same without a past.

    Clients decide when a game is over, by a repetition, say, and need not claim it: then it goes on
    here as a game that begins, also where our rules know a winner (shogi's perpetual check). Mate
    and stalemate stay what they are, as nothing can be played.
    """
    if not position.over:
        return position
    text = getattr(game, f"to_{notation.name}")(position.state).split()
    # The fields that count moves are left out: they begin anew.
    fresh = position_of(
        game, getattr(game, f"from_{notation.name}")(" ".join(text[: notation.fields]))
    )
    return position if fresh.over else replace(fresh, move=position.move, by=position.by)


def principal_variation(game: Game, position: Position, actions: Sequence[int]) -> list[str]:
    """The names of moves that are played one after the other from a position."""
    names = []
    for action in actions[:_LONGEST_VARIATION]:
        if position.over:
            break
        position = next_position(game, position, action)
        names.append(position.move)
    return names
