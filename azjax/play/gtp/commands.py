"""GTP's commands: functions that take a game, answer, and return the game afterwards."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from azjax_envs import Game

from azjax.play.clock import Clock
from azjax.play.gtp.analysis import analyze, choose_move, genmove_analyze
from azjax.play.gtp.game import COLOURS, GtpGame, SquareGame, format_score, vertices
from azjax.play.gtp.protocol import GtpError, Reply, read_number, read_player, read_seconds
from azjax.play.gtp.sgf import handicap_points, read_sgf
from azjax.players.engines.gtp_games import kind_of

Command = Callable[..., GtpGame]
"""`command(game, reply, *arguments)`: answers by `reply` and returns the game afterwards."""


def commands_for(game: Game) -> dict[str, Command]:
    """Returns the commands that a game supports."""
    return _COMMANDS | (_GO_COMMANDS if hasattr(game, "komi") else {})


def _always(text: str) -> Command:
    """Returns a command with one answer."""

    def command(game: GtpGame, reply: Reply) -> GtpGame:
        reply.answer(text)
        return game

    return command


def _version(game: GtpGame, reply: Reply) -> GtpGame:
    reply.answer(importlib.metadata.version("azjax"))
    return game


def _list_commands(game: GtpGame, reply: Reply) -> GtpGame:
    reply.answer("\n".join(commands_for(game.game)))
    return game


def _known_command(game: GtpGame, reply: Reply, name: str) -> GtpGame:
    reply.answer("true" if name in commands_for(game.game) else "false")
    return game


def _list_games(game: GtpGame, reply: Reply) -> GtpGame:
    """Answers Quarry, which takes an engine without this command for a go engine."""
    reply.answer(kind_of(game.game).capitalize())
    return game


def _set_game(game: GtpGame, reply: Reply, name: str) -> GtpGame:
    if name.lower() != kind_of(game.game):
        raise GtpError("unsupported game")
    reply.answer("")
    return game


def _boardsize(game: GtpGame, reply: Reply, width: str, height: str = "") -> GtpGame:
    """Checks the size. HexGui sends two numbers, and KataGo's clients may do so."""
    if {read_number(width), read_number(height or width)} != {game.game.size}:
        raise GtpError("unacceptable size")
    reply.answer("")
    return game.clear()


def _clear_board(game: GtpGame, reply: Reply) -> GtpGame:
    reply.answer("")
    return game.clear()


def _komi(game: GtpGame, reply: Reply, komi: str) -> GtpGame:
    game = _with_komi(game, komi)
    reply.answer("")
    return game


def _play(game: GtpGame, reply: Reply, colour: str, vertex: str) -> GtpGame:
    game = game.play([(read_player(colour), vertex)])
    reply.answer("")
    return game


def _undo(game: GtpGame, reply: Reply) -> GtpGame:
    game = game.undo()
    reply.answer("")
    return game


def _showboard(game: GtpGame, reply: Reply) -> GtpGame:
    now = game.current
    whose = "the game is over" if now.over else f"{COLOURS[now.mover]} to move"
    reply.answer(f"\n{game.game.to_string(now.state)}\n{whose}")
    return game


def _final_score(game: GtpGame, reply: Reply) -> GtpGame:
    reply.answer(format_score(game))
    return game


def _time_settings(game: GtpGame, reply: Reply, main: str, overtime: str, stones: str) -> GtpGame:
    left, period, moves = read_seconds(main), read_seconds(overtime), read_number(stones)
    after = Clock(period, moves=moves) if moves else None
    first = Clock(left) if left or after is None else after
    if period and not moves:
        first = after = None  # in GTP, this means that there is no limit
    reply.answer("")
    return replace(game, main_time=first, overtime=after, clocks=(first, first))


def _time_left(game: GtpGame, reply: Reply, colour: str, seconds: str, stones: str) -> GtpGame:
    player, clock = read_player(colour), Clock(read_seconds(seconds), moves=read_number(stones))
    reply.answer("")
    return game.set_clock(player, clock)


def _fixed_handicap(game: GtpGame, reply: Reply, stones: str) -> GtpGame:
    if game.record.num_moves:
        raise GtpError("board not empty")
    try:
        points = handicap_points(game.game.size, read_number(stones))
    except ValueError as error:
        raise GtpError(f"invalid number of stones: {error}") from error
    vertices = [_vertex(game.game, *point) for point in points]
    game = game.play([(0, vertex) for vertex in vertices])
    reply.answer(" ".join(vertices))
    return game


def _loadsgf(game: GtpGame, reply: Reply, path: str, move_number: str = "") -> GtpGame:
    try:
        file = read_sgf(path, read_number(move_number) if move_number else None)
    except ValueError as error:
        raise GtpError(str(error)) from error
    if file.size != game.game.size:
        raise GtpError(f"cannot load file: unacceptable size, {file.size}")
    game = (game if file.komi is None else _with_komi(game, str(file.komi))).clear()
    for number, (player, point) in enumerate(file.moves, 1):
        vertex = "pass" if point is None else _vertex(game.game, *point)
        try:
            game = game.play([(player, vertex)])
        except GtpError as error:
            raise GtpError(f"cannot load file: move {number}: {error}") from error
    reply.answer("")
    return game


def _genmove(game: GtpGame, reply: Reply, colour: str) -> GtpGame:
    if game.only_passes_left():
        game = game.play([(read_player(colour), "pass")])
        reply.answer("pass")
        return game
    game, analysis = choose_move(game, read_player(colour), reply.lines.arrived)
    reply.answer(vertices(game.game)[analysis.action])
    return game


def _vertex(game: SquareGame, row: int, column: int) -> str:
    return vertices(game)[row * game.size + column]


def _with_komi(game: GtpGame, text: str) -> GtpGame:
    """Returns the game with another komi, for which a search is to be compiled again.

    The network has the same shapes and never sees komi.
    """
    try:
        komi = float(text)
        rules = replace(cast(Any, game.game), komi=komi)
    except ValueError as error:
        raise GtpError("syntax error: komi must be a number from -361 to 361") from error
    if rules == game.game:
        return game
    # Without the old tree, because there may not be memory for two.
    record = replace(game.record, game=rules)
    return replace(game, search=game.search.with_game(rules), record=record, last=None)


SEARCHES = frozenset({"genmove", "lz-analyze", "lz-genmove_analyze"})
"""The commands that need a compiled search."""

_COMMANDS: dict[str, Command] = {
    "protocol_version": _always("2"),
    "name": _always("azjax"),
    "version": _version,
    "list_commands": _list_commands,
    "known_command": _known_command,
    "list_games": _list_games,
    "set_game": _set_game,
    "hexgui-analyze_commands": _always(""),  # HexGui asks every engine for commands of its own
    "quit": _always(""),
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
_GO_COMMANDS: dict[str, Command] = {
    "komi": _komi,
    "fixed_handicap": _fixed_handicap,
    "loadsgf": _loadsgf,
}
