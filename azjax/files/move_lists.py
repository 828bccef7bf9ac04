"""Games as lists of moves, a game a line, as the game names its moves."""

import re
from dataclasses import replace

import jax
from azjax_envs import Game

from azjax.errors import UserError
from azjax.files.game_record import GameRecord, record_from_state, roll_named, start_game
from azjax.files.played_game import PlayedGame, played_game
from azjax.files.positions import read_position

_NUMBER = re.compile(r"^\d+\.+")  # as in "1. f5 d6" and "2...d3"
_RESULTS = {"1-0", "0-1", "1/2-1/2", "*"}
_POSITION = re.compile(r"(?:position\s+)?((?:startpos|fen|sfen)\b.*?)(?:\s+moves\b|$)")


def read_list(game: Game, line: str) -> PlayedGame:
    """Returns the game of a line, or raises a UserError.

    The moves stand apart ("f5 d6"), may have numbers ("1. f5 d6"), or have nothing between them
    ("f5d6", "44444423"). Such a line may end with a score, as sets of positions of connect four
    do. A line of UCI or USI begins with its position. In a game of dice each roll stands before the
    moves that it is played by, with a colon: "6-1: 13/7 8/7 4-2: 8/4 6/4".
    """
    record, remark = start_game(game), ""
    if position := _POSITION.match(line):
        line = line[position.end() :]
        if not position[1].startswith("startpos"):
            try:
                state, remark = read_position(game, position[1])
            except ValueError as error:
                raise UserError(str(error)) from error
            record = record_from_state(game, state)
    words = [word for text in re.split(r"[\s,]+", line) if (word := _NUMBER.sub("", text))]
    words = words[:-1] if words and words[-1] in _RESULTS else words
    problem = ""
    for number, word in enumerate(words):
        if record.current.over:
            problem = f"move {record.num_moves + 1}, {word}, comes after the end of the game"
            break
        before = record
        if word.endswith(":") or record.awaits_roll:
            record, problem = _roll(record, word)
        else:
            record, problem = _play(record, word)
        is_score = len(words) == 2 and re.fullmatch(r"-?\d+", words[1])
        if problem or (number == 0 and is_score and record.num_moves > before.num_moves + 1):
            break
    return replace(played_game(record, [], problem=problem), remark=remark)


def _roll(record: GameRecord, word: str) -> tuple[GameRecord, str]:
    """Returns the record after the roll that a word names, and what is wrong with it."""
    try:
        return roll_named(record, word), ""
    except UserError as error:
        return record, str(error)


def _play(record: GameRecord, word: str) -> tuple[GameRecord, str]:
    """Returns the record after a word of one or several moves, and why they end early."""
    game, state = record.game, jax.device_get(record.current.state)
    try:
        return record.play(int(game.string_to_action(state, word))), ""
    except ValueError as error:
        problem = f"move {record.num_moves + 1}: {error}"
    after, rest = record, word.lower()
    while rest and not after.current.over:
        names = {name.lower(): action for action, name in after.legal_moves().items()}
        found = max((name for name in names if rest.startswith(name)), key=len, default="")
        if not found:
            break
        after, rest = after.play(names[found]), rest[len(found) :]
    if after.num_moves < record.num_moves + 2:  # not moves without spaces
        return record, problem
    number, rest = after.num_moves + 1, word[len(word) - len(rest) :]
    if rest and after.current.over:
        return after, f"move {number}, {rest[:20]}, comes after the end of the game"
    return after, f"move {number}: {rest[:20]!r} is not legal there" if rest else ""
