"""GTP's commands: functions that take a game, answer, and return the game afterwards."""

from __future__ import annotations

import functools
import importlib.metadata
import time
from dataclasses import replace

from azjax_envs import Game
from azjax_envs.go import Go

from azjax.play.clock import TimeControl
from azjax.play.gtp.analysis import analyze, choose_move, genmove_analyze
from azjax.play.gtp.game import COLOURS, GtpGame, format_score, vertices
from azjax.play.gtp.go_commands import GO_COMMANDS, Command
from azjax.play.gtp.protocol import GtpError, Reply, read_number, read_player, read_seconds
from azjax.players.engines.gtp_games import kind_of


def commands_for(game: Game) -> dict[str, Command]:
    """Returns the commands that a game supports."""
    return _COMMANDS | (GO_COMMANDS if isinstance(game, Go) else {})


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
    control = TimeControl(read_seconds(main), read_seconds(overtime), read_number(stones))
    # In GTP, overtime without stones means that there is no limit.
    game = game.set_time(control if control.moves or not control.period else None)
    reply.answer("")
    return game


def _kgs_time_settings(game: GtpGame, reply: Reply, system: str, *numbers: str) -> GtpGame:
    """Sets the time as servers of go name it, with Japanese overtime too."""
    counts = {"none": 0, "absolute": 1, "canadian": 3, "byoyomi": 3}
    if len(numbers) != counts.get(system.lower()):
        raise GtpError(
            "syntax error: expected none, absolute MAIN, canadian MAIN PERIOD MOVES, or byoyomi "
            "MAIN PERIOD PERIODS"
        )
    main, period, moves = (*numbers, "0", "0", "0")[:3]
    control = TimeControl(read_seconds(main), read_seconds(period), read_number(moves))
    if system.lower() == "byoyomi":
        control = replace(control, moves=min(control.moves, 1), counts_periods=True)
    if not numbers:
        control = None
    game = game.set_time(control)
    reply.answer("")
    return game


def _time_left(game: GtpGame, reply: Reply, colour: str, seconds: str, stones: str) -> GtpGame:
    control = game.time_control or TimeControl(0.0)
    clock = control.clock(read_seconds(seconds), read_number(stones))
    game = game.set_clock(read_player(colour), clock)
    reply.answer("")
    return game


def _cputime(game: GtpGame, reply: Reply) -> GtpGame:
    reply.answer(f"{time.process_time():.3f}")
    return game


def _genmove(game: GtpGame, reply: Reply, colour: str) -> GtpGame:
    if game.only_passes_left():
        game = game.play([(read_player(colour), "pass")])
        reply.answer("pass")
        return game
    game, _ = choose_move(game, read_player(colour), reply.lines.arrived)
    reply.answer(vertices(game.game)[game.current.action])
    return game


def _reg_genmove(game: GtpGame, reply: Reply, colour: str) -> GtpGame:
    """Answers the same move each time, without a clock, and does not play it."""
    fresh = replace(game, clocks=(None, None), last=None)
    after, analysis = choose_move(fresh, read_player(colour), reply.lines.arrived)
    reply.answer(vertices(game.game)[analysis.action])
    return replace(game, last=after.last)


SEARCHES = frozenset(
    {
        *("genmove", "reg_genmove", "kgs-genmove_cleanup", "lz-analyze", "lz-genmove_analyze"),
        *("kata-analyze", "kata-genmove_analyze"),
    }
)
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
    "kgs-time_settings": _kgs_time_settings,
    "time_left": _time_left,
    "cputime": _cputime,
    "reg_genmove": _reg_genmove,
    "lz-analyze": analyze,
    "lz-genmove_analyze": genmove_analyze,
    "kata-analyze": functools.partial(analyze, kata=True),
    "kata-genmove_analyze": functools.partial(genmove_analyze, kata=True),
}
