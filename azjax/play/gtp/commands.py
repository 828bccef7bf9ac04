"""GTP's commands: each from a table to the table after it, with an answer on the way."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import replace

from azjax_envs import Game

from azjax.play.clock import Clock
from azjax.play.gtp.analysis import analyze, genmove_analyze
from azjax.play.gtp.game import COLOURS, Refusal, Table, score, vertices
from azjax.play.gtp.protocol import Talk, read_number, read_seat, read_seconds
from azjax.play.gtp.search import decide
from azjax.play.gtp.sgf import handicap_points, read_sgf
from azjax.players.engines.gtp_games import kind_of


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
    talk.answer(kind_of(table.game).capitalize())
    return table


def _set_game(table: Table, talk: Talk, name: str) -> Table:
    if name.lower() != kind_of(table.game):
        raise Refusal("unsupported game")
    talk.answer("")
    return table


def _analyze_commands(table: Table, talk: Talk) -> Table:
    """HexGui asks this before it plays, and cannot read a refusal: there are none."""
    talk.answer("")
    return table


def _quit(table: Table, talk: Talk) -> Table:
    talk.answer("")
    return table


def _boardsize(table: Table, talk: Talk, width: str, height: str = "") -> Table:
    """HexGui tells both, and KataGo's clients may."""
    if {read_number(width), read_number(height or width)} != {table.game.size}:
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
    table = table.played([(read_seat(colour), vertex)])
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
    left, period, moves = read_seconds(main), read_seconds(overtime), read_number(stones)
    after = Clock(period, moves=moves) if moves else None
    first = Clock(left) if left or after is None else after
    if period and not moves:
        first = after = None  # GTP's way to say that there is no limit
    talk.answer("")
    return replace(table, main_time=first, overtime=after, clocks=(first, first))


def _time_left(table: Table, talk: Talk, colour: str, seconds: str, stones: str) -> Table:
    seat, clock = read_seat(colour), Clock(read_seconds(seconds), moves=read_number(stones))
    talk.answer("")
    return table.timed(seat, clock)


def _fixed_handicap(table: Table, talk: Talk, stones: str) -> Table:
    if len(table.path) > 1:
        raise Refusal("board not empty")
    try:
        points = handicap_points(table.game.size, read_number(stones))
    except ValueError as error:
        raise Refusal(f"invalid number of stones: {error}") from error
    vertices = [_vertex(table.game, *point) for point in points]
    table = table.played([(0, vertex) for vertex in vertices])
    talk.answer(" ".join(vertices))
    return table


def _loadsgf(table: Table, talk: Talk, path: str, move_number: str = "") -> Table:
    try:
        file = read_sgf(path, read_number(move_number) if move_number else None)
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
        table = table.played([(read_seat(colour), "pass")])
        talk.answer("pass")
        return table
    table, findings = decide(table, read_seat(colour), tell=lambda findings: None)
    talk.answer(vertices(table.game)[findings.action])
    return table


def _vertex(game: Game, row: int, column: int) -> str:
    return vertices(game)[row * game.size + column]


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


INTRODUCTION: dict[str, Callable[..., Table]] = {
    "protocol_version": _protocol_version,
    "name": _name,
    "version": _version,
    "list_commands": _list_commands,
    "known_command": _known_command,
    "list_games": _list_games,
    "set_game": _set_game,
    "hexgui-analyze_commands": _analyze_commands,
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
    "lz-analyze": analyze,
    "lz-genmove_analyze": genmove_analyze,
}
_GO_COMMANDS: dict[str, Callable[..., Table]] = {
    "komi": _komi,
    "fixed_handicap": _fixed_handicap,
    "loadsgf": _loadsgf,
}
