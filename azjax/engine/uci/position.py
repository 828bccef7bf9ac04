"""The `position` command of UCI and USI: sent before each move, followed from the last one."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
from azjax_envs import Game

from azjax.files import positions
from azjax.files.game_record import GameRecord, record_from_state, start_game
from azjax.players.engines.uci_games import Dialect


@dataclass(frozen=True)
class ClientGame:
    """A game as the client sends it: where it begins, and the moves since."""

    start: str  # "startpos", or a position in text
    record: GameRecord | None = None  # None until it is needed
    remark: str = ""  # how a position was read that is not quite right


def read_position(
    game: Game, dialect: Dialect, words: Sequence[str], last: ClientGame | None
) -> ClientGame:
    """Reads the words after `position`: `[startpos | NOTATION ...] [moves ...]`.

    As in other engines, the notation's name may be missing or written twice, and a position may
    have rights and counters that cannot be.

    Moves that the `last` position has in common with this one are not played again.

    Raises:
      ValueError: says in one line what is wrong.
    """
    start, _, rest = f"{' '.join(words)} ".partition("moves ")
    start = re.sub(rf"^({dialect.notation} )+", "", start).strip()
    if not start or start == dialect.notation:
        raise ValueError(f"expected startpos, or {dialect.notation} and a position, then moves")
    moves, remark = rest.split(), ""
    if last is not None and last.record is not None and last.start == start:
        record = last.record
    elif start == "startpos":
        record = start_game(game)
    else:
        state, remark = positions.read_position(game, start)
        record = record_from_state(game, state)
    pairs = zip(moves, record.moves, strict=False)
    common = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
    record = record.truncate(common)
    for move in moves[common:]:
        alive = revive(record, dialect)
        # In numpy, because finding a move by its name may name all legal moves.
        action = game.string_to_action(jax.device_get(alive.current.state), move)
        record = record.append(alive.play(action, move).current)
    return ClientGame(start, record, remark)


def revive(record: GameRecord, dialect: Dialect) -> GameRecord:
    """Returns the record with a game that is drawn, or over by its history, continued as a new one.

    Clients decide when a game is over, and need not claim a repetition, for example. So the game
    goes on here without its past, also where our rules know a winner (shogi's perpetual check), and
    without the material to mate. Mate and stalemate remain the end, because there is no move.
    """
    now = record.current
    if not now.over:
        return record
    text = dialect.write(record.game, now.state).split()
    # Without the fields that count moves, so that the counts begin again.
    start = dialect.read(record.game, " ".join(text[: dialect.fields]), strict=False)
    fresh = record_from_state(record.game, start).current
    if fresh.over:
        return record
    fresh = replace(fresh, move=now.move, moved_by=now.moved_by)
    return replace(record, positions=(*record.positions[:-1], fresh))
