"""How people write the moves of a game: chess in SAN with its numbers, others as programs do."""

from collections.abc import Sequence

import jax
from azjax_envs import Game, HasShownMoves
from azjax_envs.game import legal_actions

from azjax.files.game_record import GameRecord
from azjax.types import State


def shown_moves(game: Game, state: State) -> dict[int, str]:
    """Returns the legal actions with their names for people; `string_to_action` reads them."""
    state = jax.device_get(state)  # because naming a move may look at every part of it
    if isinstance(game, HasShownMoves):
        return game.shown_moves(state)
    return {a: game.action_to_string(state, a) for a in legal_actions(game, state)}


def shown_action(game: Game, state: State, action: int) -> str:
    """Returns the name of one legal action for people."""
    if isinstance(game, HasShownMoves):
        return game.shown_moves(jax.device_get(state))[action]
    return game.action_to_string(state, action)


def shown_move(record: GameRecord, number: int) -> str:
    """Returns the name of a record's move, counted from 1."""
    before, made = record.positions[number - 1], record.positions[number]
    if not isinstance(record.game, HasShownMoves):
        return made.move  # which it has already
    return shown_action(record.game, before.state, made.action)


def shown_line(record: GameRecord, actions: Sequence[int]) -> list[str]:
    """Returns the names of actions played from the current position, until the game is over."""
    after = record
    for action in actions:
        if after.current.over:
            break
        after = after.play(action)
    return [shown_move(after, i + 1) for i in range(record.num_moves, after.num_moves)]


def numbered(game: Game, state: State, names: Sequence[str]) -> list[str]:
    """Returns the names of moves from a position, with the numbers that people write into a line.

    They are "8. Nf3", "Nc6", "9. O-O" in chess; other games have none.
    """
    if isinstance(game, HasShownMoves):
        return game.number_moves(jax.device_get(state), names)
    return list(names)


def numbered_move(record: GameRecord, number: int) -> str:
    """Returns a record's move with its number: "8... Nc6" in chess, "16. e5" in other games.

    In a game of dice it has the roll, too: "16. 6-1: 13/7".
    """
    name = shown_move(record, number)
    if isinstance(record.game, HasShownMoves):
        return numbered(record.game, record.positions[number - 1].state, [name])[0]
    roll = roll_of(record, number)
    return f"{number}. {roll}: {name}" if roll else f"{number}. {name}"


def roll_of(record: GameRecord, number: int) -> str:
    """Returns the roll that a record's move is played by; "" in a game without dice."""
    now = record.positions[number - 1]
    for before in reversed(record.positions[:number]):
        if before.roll or before.moved_by != now.mover:
            return before.roll  # a roll of backgammon is played by several moves
    return ""


def numbered_moves(record: GameRecord) -> list[str]:
    """Returns all moves of a record with their numbers: "8. Nf3", "Nc6", "9. O-O"."""
    names = [shown_move(record, number) for number in range(1, record.num_moves + 1)]
    if isinstance(record.game, HasShownMoves):
        return numbered(record.game, record.positions[0].state, names)
    return [f"{number}. {name}" for number, name in enumerate(names, 1)]


def next_number(record: GameRecord) -> int:
    """Returns the number of the next move."""
    if isinstance(record.game, HasShownMoves):
        return int(numbered(record.game, record.current.state, ["?"])[0].partition(".")[0])
    return record.num_moves + 1
