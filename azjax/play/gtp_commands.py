"""GTP's commands: each from a table to the table after it, with an answer on the way."""

from __future__ import annotations

import importlib.metadata
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from azjax_envs import Game

from azjax.play.clock import Clock
from azjax.play.findings import Findings
from azjax.play.gtp_search import decide, info_line
from azjax.play.gtp_setup import handicap_points, read_sgf
from azjax.play.gtp_table import COLOURS, Refusal, Table, score, vertices
from azjax.play.lines import Lines
from azjax.play.thinking import keep_thinking

_DIGITS = 10
_INTERVAL_S = 0.5

Say = Callable[[str], None]


@dataclass(frozen=True)
class Talk:
    """Where the answer to one command goes."""

    number: str  # the command's id, or nothing
    lines: Lines
    say: Say

    def answer(self, text: str) -> None:
        first, *rest = text.split("\n")
        # An empty line would end the answer.
        self.say("\n".join([f"={self.number} {first}", *filter(str.strip, rest)]) + "\n\n")


def commands_of(game: Game) -> dict[str, Callable[..., Table]]:
    """The commands that make sense in a game."""
    return _COMMANDS | (_GO_COMMANDS if hasattr(game, "komi") else {})


def _protocol_version(table: Table, talk: Talk) -> Table:
    talk.answer("2")
    return table


def _name(table: Table, talk: Talk) -> Table:
    talk.answer("azjax")
    return table


def _version(table: Table, talk: Talk) -> Table:
    talk.answer(importlib.metadata.version("azjax"))
    return table


def _list_commands(table: Table, talk: Talk) -> Table:
    talk.answer("\n".join(commands_of(table.game)))
    return table


def _known_command(table: Table, talk: Talk, name: str) -> Table:
    talk.answer("true" if name in commands_of(table.game) else "false")
    return table


def _list_games(table: Table, talk: Talk) -> Table:
    """Quarry asks this, and takes an engine that does not answer for one of go."""
    talk.answer(_kind(table.game))
    return table


def _set_game(table: Table, talk: Talk, name: str) -> Table:
    if name.lower() != _kind(table.game).lower():
        raise Refusal("unsupported game")
    talk.answer("")
    return table


def _kind(game: Game) -> str:
    return game.name.partition("_")[0].capitalize()


def _quit(table: Table, talk: Talk) -> Table:
    talk.answer("")
    return table


def _boardsize(table: Table, talk: Talk, size: str) -> Table:
    if _number(size) != table.game.size:
        raise Refusal("unacceptable size")
    talk.answer("")
    return table.cleared()


def _clear_board(table: Table, talk: Talk) -> Table:
    talk.answer("")
    return table.cleared()


def _komi(table: Table, talk: Talk, komi: str) -> Table:
    table = _with_komi(table, komi)
    talk.answer("")
    return table


def _play(table: Table, talk: Talk, colour: str, vertex: str) -> Table:
    table = table.played([(_seat(colour), vertex)])
    talk.answer("")
    return table


def _undo(table: Table, talk: Talk) -> Table:
    table = table.undone()
    talk.answer("")
    return table


def _showboard(table: Table, talk: Talk) -> Table:
    now = table.now
    whose = "the game is over" if now.over else f"{COLOURS[now.mover]} to move"
    talk.answer(f"\n{table.game.to_string(now.state)}\n{whose}")
    return table


def _final_score(table: Table, talk: Talk) -> Table:
    talk.answer(score(table))
    return table


def _time_settings(table: Table, talk: Talk, main: str, overtime: str, stones: str) -> Table:
    left, period, moves = _seconds(main), _seconds(overtime), _number(stones)
    after = Clock(period, moves=moves) if moves else None
    first = Clock(left) if left or after is None else after
    if period and not moves:
        first = after = None  # GTP's way to say that there is no limit
    talk.answer("")
    return replace(table, main_time=first, overtime=after, clocks=(first, first))


def _time_left(table: Table, talk: Talk, colour: str, seconds: str, stones: str) -> Table:
    seat, clock = _seat(colour), Clock(_seconds(seconds), moves=_number(stones))
    talk.answer("")
    return table.timed(seat, clock)


def _fixed_handicap(table: Table, talk: Talk, stones: str) -> Table:
    if len(table.path) > 1:
        raise Refusal("board not empty")
    try:
        points = handicap_points(table.game.size, _number(stones))
    except ValueError as error:
        raise Refusal(f"invalid number of stones: {error}") from error
    vertices = [_vertex(table.game, *point) for point in points]
    table = table.played([(0, vertex) for vertex in vertices])
    talk.answer(" ".join(vertices))
    return table


def _loadsgf(table: Table, talk: Talk, path: str, move_number: str = "") -> Table:
    try:
        file = read_sgf(path, _number(move_number) if move_number else None)
    except ValueError as error:
        raise Refusal(str(error)) from error
    if file.size != table.game.size:
        raise Refusal(f"cannot load file: unacceptable size, {file.size}")
    table = (table if file.komi is None else _with_komi(table, str(file.komi))).cleared()
    for seat, point in file.moves:
        try:
            table = table.played([(seat, "pass" if point is None else _vertex(table.game, *point))])
        except Refusal as refusal:
            raise Refusal(f"cannot load file: move {len(table.turns) + 1}: {refusal}") from refusal
    talk.answer("")
    return table


def _genmove(table: Table, talk: Talk, colour: str) -> Table:
    if table.passes_only():
        table = table.played([(_seat(colour), "pass")])
        talk.answer("pass")
        return table
    table, findings = decide(table, _seat(colour), tell=lambda findings: None)
    talk.answer(vertices(table.game)[findings.action])
    return table


def _genmove_analyze(table: Table, talk: Talk, *arguments: str) -> Table:
    seat, interval = _analysis_arguments(table, arguments)
    if table.passes_only():
        talk.say(f"={talk.number}\nplay pass\n\n")
        return table.played([(seat, "pass")])
    table.in_turn(seat)  # what is wrong is said before the answer begins
    talk.say(f"={talk.number}\n")
    told = time.monotonic()

    def tell(findings: Callable[[], Findings]) -> None:
        nonlocal told
        if time.monotonic() - told >= interval:
            told = time.monotonic()
            talk.say(info_line(table.game, findings()))

    table, findings = decide(table, seat, tell)
    talk.say(f"{info_line(table.game, findings)}play {vertices(table.game)[findings.action]}\n\n")
    return table


def _analyze(table: Table, talk: Talk, *arguments: str) -> Table:
    """Thinks until the next line comes."""
    seat, interval = _analysis_arguments(table, arguments)
    there = table.in_turn(seat)
    talk.say(f"={talk.number}\n")
    told = time.monotonic()
    thinking = table.thinker.start(there.now.state)
    for later in keep_thinking(thinking):
        thinking = later
        if talk.lines.waiting():
            break
        if time.monotonic() - told >= interval:
            told = time.monotonic()
            talk.say(info_line(table.game, thinking.findings()))
    talk.say(info_line(table.game, thinking.findings()))
    talk.lines.wait()
    talk.say("\n")
    return table


def _vertex(game: Game, row: int, column: int) -> str:
    return vertices(game)[row * game.size + column]


def _analysis_arguments(table: Table, arguments: Sequence[str]) -> tuple[int, float]:
    """[COLOUR] [[interval] CENTISECONDS]: (seat, seconds)."""
    words = list(arguments)
    seat = _seat(words.pop(0)) if words and words[0].lower() in _SEATS else table.now.mover
    if words[:1] == ["interval"]:
        words.pop(0)
    if len(words) > 1:
        raise Refusal("syntax error: a color and an interval in centiseconds are wanted")
    return seat, _number(words[0]) / 100 if words else _INTERVAL_S


def _with_komi(table: Table, text: str) -> Table:
    """The game rebuilt with another komi. The network has the same shape, and never sees it."""
    try:
        komi = float(text)
        game = replace(table.game, komi=komi)
    except ValueError as error:
        raise Refusal("syntax error: komi must be a number from -361 to 361") from error
    if game == table.game:
        return table
    table = replace(table, thinker=table.thinker.playing(game))
    table.thinker.warm_up()
    return table


_SEATS = {"b": 0, "black": 0, "w": 1, "white": 1}


def _seat(colour: str) -> int:
    if colour.lower() not in _SEATS:
        raise Refusal("invalid color or coordinate")
    return _SEATS[colour.lower()]


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < _DIGITS):
        raise Refusal("syntax error: a whole number is wanted")
    return int(text)


def _seconds(text: str) -> float:
    """Whole numbers by the protocol, but clients tell of fractions, and of less than nothing."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not abs(seconds) < math.inf:
        raise Refusal("syntax error: a number of seconds is wanted")
    return max(seconds, 0.0)


INTRODUCTION: dict[str, Callable[..., Table]] = {
    "protocol_version": _protocol_version,
    "name": _name,
    "version": _version,
    "list_commands": _list_commands,
    "known_command": _known_command,
    "list_games": _list_games,
    "set_game": _set_game,
    "quit": _quit,
}
_COMMANDS: dict[str, Callable[..., Table]] = INTRODUCTION | {
    "boardsize": _boardsize,
    "clear_board": _clear_board,
    "play": _play,
    "genmove": _genmove,
    "undo": _undo,
    "showboard": _showboard,
    "final_score": _final_score,
    "time_settings": _time_settings,
    "time_left": _time_left,
    "lz-analyze": _analyze,
    "lz-genmove_analyze": _genmove_analyze,
}
_GO_COMMANDS: dict[str, Callable[..., Table]] = {
    "komi": _komi,
    "fixed_handicap": _fixed_handicap,
    "loadsgf": _loadsgf,
}
