"""The `position` command of UCI and USI: sent before each move, followed from the last one."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
from azjax_envs import Game

from azjax.play.game_record import GameRecord, record_from_state, start_game


@dataclass(frozen=True)
class Notation:
    """How a dialect writes positions."""

    name: str  # games have `from_NAME` and `to_NAME`
    fields: int  # that describe the position; the fields after them count moves


FEN, SFEN = Notation("fen", 4), Notation("sfen", 3)


@dataclass(frozen=True)
class ClientGame:
    """A game as the client sends it: where it begins, and the moves since."""

    start: str  # "startpos", or a position in text
    record: GameRecord | None = None  # None until it is needed


def read_position(
    game: Game, notation: Notation, words: Sequence[str], last: ClientGame | None
) -> ClientGame:
    """Reads the words after `position`: `[startpos | NOTATION ...] [moves ...]`.

    Args:
      game: the game.
      notation: how positions are written.
      words: the words.
      last: the previous position. Moves that it has in common with this one are not played again.

    Raises:
      ValueError: says in one line what is wrong.
    """
    text = " ".join(words)
    match = re.fullmatch(rf"(startpos|{notation.name} (.*?))(?: ?moves\b ?(.*))?", text)
    if match is None:
        raise ValueError(f"expected startpos, or {notation.name} and a position, then moves")
    start, moves = (match[2] or match[1]).strip(), (match[3] or "").split()
    if last is not None and last.record is not None and last.start == start:
        record = last.record
    elif match[2] is None:
        record = start_game(game)
    else:
        record = record_from_state(game, getattr(game, f"from_{notation.name}")(start))
    pairs = zip(moves, record.moves, strict=False)
    common = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
    record = record.truncate(common)
    for move in moves[common:]:
        alive = revive(record, notation)
        # In numpy, because finding a move by its name may name all legal moves.
        action = game.string_to_action(jax.device_get(alive.current.state), move)
        record = record.append(alive.play(action, move).current)
    return ClientGame(start, record)


def revive(record: GameRecord, notation: Notation) -> GameRecord:
    """Returns the record with a game that is over by its history continued as a new one.

    Clients decide when a game is over, and need not claim a repetition, for example. So the game
    goes on here without its past, also where our rules know a winner (shogi's perpetual check).
    Mate and stalemate remain the end, because there is no move to play.
    """
    now = record.current
    if not now.over:
        return record
    text = getattr(record.game, f"to_{notation.name}")(now.state).split()
    # Without the fields that count moves, so that the counts begin again.
    start = getattr(record.game, f"from_{notation.name}")(" ".join(text[: notation.fields]))
    fresh = record_from_state(record.game, start).current
    if fresh.over:
        return record
    fresh = replace(fresh, move=now.move, moved_by=now.moved_by)
    return replace(record, positions=(*record.positions[:-1], fresh))
