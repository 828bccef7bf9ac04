"""GTP's commands: functions that return the game afterwards and the answer."""

import functools
import importlib.metadata
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from azjax_envs import Game
from azjax_envs.game import legal_actions
from azjax_envs.go import Go

from azjax.engine.clock import TimeControl
from azjax.engine.gtp.analysis import analyze, choose_move, genmove_analyze
from azjax.engine.gtp.game import COLOURS, UNMADE_PASS, GtpGame, format_score, read_vertex, vertices
from azjax.engine.gtp.handicap import handicap_points
from azjax.engine.gtp.protocol import GtpError, Reply, read_number, read_player, read_seconds
from azjax.engine.search_analysis import SearchAnalysis
from azjax.files.read import read_tree
from azjax.files.sgf import Point, SgfLine, format_sgf, read_line, vertex_of
from azjax.players.engines.gtp_games import kind_of

Answered = tuple[GtpGame, str]
Command = Callable[..., Answered | GtpGame]
"""`command(game, reply, *arguments)` returns the game afterwards and the answer.

A command that writes its answer by `reply`, while it searches, returns the game alone."""

_WORSE = 0.1  # by so much a move must be worse than a pass to end a clean-up


def commands_for(game: Game) -> dict[str, Command]:
    """Returns the commands that a game supports."""
    return _COMMANDS | (_GO_COMMANDS if isinstance(game, Go) else {})


def _always(text: str) -> Command:
    """Returns a command with one answer."""
    return lambda game, reply: (game, text)


def _set_game(game: GtpGame, reply: Reply, name: str) -> Answered:
    if name.lower() != kind_of(game.game):
        raise GtpError("unsupported game")
    return game, ""


def _boardsize(game: GtpGame, reply: Reply, width: str, height: str = "") -> Answered:
    """Checks the size. HexGui sends two numbers, and KataGo's clients may do so."""
    if {read_number(width), read_number(height or width)} != {game.game.size}:
        raise GtpError("unacceptable size")
    return game.clear(), ""


def _showboard(game: GtpGame, reply: Reply) -> Answered:
    now = game.current
    whose = "the game is over" if now.over else f"{COLOURS[now.mover]} to move"
    return game, f"\n{game.game.to_string(now.state)}\n{whose}"


def _time_settings(game: GtpGame, reply: Reply, main: str, overtime: str, stones: str) -> Answered:
    control = TimeControl(read_seconds(main), read_seconds(overtime), read_number(stones))
    # In GTP, overtime without stones means that there is no limit.
    return game.set_time(control if control.moves or not control.period else None), ""


def _kgs_time_settings(game: GtpGame, reply: Reply, system: str, *numbers: str) -> Answered:
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
    return game.set_time(control if numbers else None), ""


def _time_left(game: GtpGame, reply: Reply, colour: str, seconds: str, stones: str) -> Answered:
    control = game.time_control or TimeControl(0.0)
    clock = control.clock(read_seconds(seconds), read_number(stones))
    return game.set_clock(read_player(colour), clock), ""


def _genmove(game: GtpGame, reply: Reply, colour: str) -> Answered:
    if game.only_passes_left():
        return game.play([(read_player(colour), "pass")]), "pass"
    game, _ = choose_move(game, read_player(colour), reply.lines.arrived)
    return game, vertices(game.game)[game.current.action]


def _reg_genmove(game: GtpGame, reply: Reply, colour: str) -> Answered:
    """Answers the same move each time, without a clock, and does not play it."""
    fresh = replace(game, clocks=(None, None), last=None)
    after, analysis = choose_move(fresh, read_player(colour), reply.lines.arrived)
    return replace(game, last=after.last), vertices(game.game)[analysis.action]


def _fixed_handicap(game: GtpGame, reply: Reply, stones: str) -> Answered:
    _check_empty(game)
    try:
        points = handicap_points(game.game.size, read_number(stones))
    except ValueError as error:
        raise GtpError(f"invalid number of stones: {error}") from error
    return _place(game, points)


def _place_free_handicap(game: GtpGame, reply: Reply, stones: str) -> Answered:
    """Places as many stones as there are points for them; GTP allows fewer than asked for."""
    _check_empty(game)
    size, wanted = game.game.size, read_number(stones)
    if not 2 <= wanted < size**2:
        raise GtpError(f"invalid number of stones: it must be from 2 to {size**2 - 1}")
    for fewer in range(wanted, 1, -1):
        try:
            return _place(game, handicap_points(size, fewer))
        except ValueError:
            continue
    middle = size // 2  # a board that is too small for handicap points
    return _place(game, [(middle, middle), (0, 0)])


def _place(game: GtpGame, points: Sequence[Point]) -> Answered:
    names = [vertex_of(point, game.game.size) for point in points]
    return game.play([(0, name) for name in names]), " ".join(names)


def _set_free_handicap(game: GtpGame, reply: Reply, *names: str) -> Answered:
    _check_empty(game)
    actions = {read_vertex(game.game, name)[0] for name in names}
    if len(actions) < max(len(names), 2) or not actions <= set(range(game.game.size**2)):
        raise GtpError("bad vertex list: it must have at least two different points")
    return game.play([(0, name) for name in names]), ""


def _check_empty(game: GtpGame) -> None:
    if game.record.num_moves:
        raise GtpError("board not empty")


def _loadsgf(game: GtpGame, reply: Reply, path: str, move_number: str = "") -> Answered:
    """Plays the main line of a file, and with `move_number` only the moves before that one."""
    most = max(read_number(move_number) - 1, 0) if move_number else None
    try:
        tree = read_tree(Path(path))
        line = read_line(tree)
        if tree.cut:
            raise GtpError("it is not an SGF file, or only a part of one")
        if line.size != game.game.size:
            raise GtpError(f"unacceptable size, {line.size}")
        game = (game if line.komi is None else _with_komi(game, str(line.komi))).clear()
        return _play_line(game, line, most), ""
    except (ValueError, GtpError) as error:
        raise GtpError(f"cannot load file: {error}") from error


def _play_line(game: GtpGame, line: SgfLine, most: int | None) -> GtpGame:
    made = 0
    for number, (player, point, node) in enumerate(line.steps, 1):
        if node is None and made:
            raise GtpError("stones are set up during the game")
        if node is not None and made == most:
            return game
        try:
            game = game.play([(player, vertex_of(point, line.size))])
        except GtpError as error:
            raise GtpError(f"move {number}: {error}") from error
        made += node is not None
    if line.problem:
        raise GtpError(line.problem)
    return game


def _printsgf(game: GtpGame, reply: Reply) -> Answered:
    # A resignation is no move.
    made = [p for p in game.record.positions[1:] if p.move != UNMADE_PASS and p.action >= 0]
    return game, format_sgf(cast(Go, game.game), made)


def _final_status_list(game: GtpGame, reply: Reply, status: str) -> Answered:
    """All stones on the board are alive, as in `final_score`."""
    if status.lower() not in ("alive", "dead", "seki"):
        raise GtpError("syntax error: the status must be alive, dead or seki")
    stones = np.flatnonzero(_stones(game)) if status.lower() == "alive" else []
    return game, " ".join(vertices(game.game)[point] for point in stones)


def _genmove_cleanup(game: GtpGame, reply: Reply, colour: str) -> Answered:
    """Plays on where players do not agree on dead stones: no pass while another move is as good.

    So dead stones are captured, as captures cost nothing in a count of area.
    """
    player, passing = read_player(colour), game.game.size**2
    game = game.resume().give_turn(player)
    moves = [
        a for a in legal_actions(game.game, game.current.state) if not _is_eye(game, player, a)
    ]

    def pick(analysis: SearchAnalysis) -> int:
        best = next((a for a in analysis.ranked_actions() if a != passing), passing)
        values = analysis.action_values
        worse = analysis.visits[passing] and values[best] < values[passing] - _WORSE
        return passing if worse else best

    game, _ = choose_move(game, player, reply.lines.arrived, root_actions=moves, pick=pick)
    return game, vertices(game.game)[game.current.action]


def _is_eye(game: GtpGame, player: int, action: int) -> bool:
    """Returns whether all neighbours of a point have the player's stones."""
    size = game.game.size
    if action == size**2:
        return False
    around = np.pad(_stones(game).reshape(size, size), 1, constant_values=player + 1)
    row, column = divmod(action, size)
    cross = (row, row + 1, row + 1, row + 2), (column + 1, column, column + 2, column + 1)
    return bool((around[cross] == player + 1).all())


def _stones(game: GtpGame) -> np.ndarray:
    """Returns 0 for an empty point, 1 for a black stone, 2 for a white one, int32 [size * size]."""
    return np.asarray(game.game.view(game.current.state)) % 3


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


_FOR_GOGUI = (  # which shows these in a menu
    "string/Final Score/final_score\n"
    "plist/Living Stones/final_status_list alive\n"
    "move/Best Move/reg_genmove %c\n"
    "string/Processor Time/cputime"
)


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
    "version": lambda game, reply: (game, importlib.metadata.version("azjax")),
    "list_commands": lambda game, reply: (game, "\n".join(commands_for(game.game))),
    "known_command": lambda game, reply, name: (game, str(name in commands_for(game.game)).lower()),
    # Quarry takes an engine without this command for a go engine.
    "list_games": lambda game, reply: (game, kind_of(game.game).capitalize()),
    "set_game": _set_game,
    "hexgui-analyze_commands": _always(""),  # HexGui asks every engine for commands of its own
    "quit": _always(""),
    "boardsize": _boardsize,
    "clear_board": lambda game, reply: (game.clear(), ""),
    "play": lambda game, reply, colour, vertex: (game.play([(read_player(colour), vertex)]), ""),
    "genmove": _genmove,
    "undo": lambda game, reply: (game.undo(), ""),
    "showboard": _showboard,
    "final_score": lambda game, reply: (game, format_score(game)),
    "time_settings": _time_settings,
    "kgs-time_settings": _kgs_time_settings,
    "time_left": _time_left,
    "cputime": lambda game, reply: (game, f"{time.process_time():.3f}"),
    "reg_genmove": _reg_genmove,
    "lz-analyze": analyze,
    "lz-genmove_analyze": genmove_analyze,
    "kata-analyze": functools.partial(analyze, kata=True),
    "kata-genmove_analyze": functools.partial(genmove_analyze, kata=True),
}

_GO_COMMANDS: dict[str, Command] = {
    "komi": lambda game, reply, komi: (_with_komi(game, komi), ""),
    "fixed_handicap": _fixed_handicap,
    "place_free_handicap": _place_free_handicap,
    "set_free_handicap": _set_free_handicap,
    "loadsgf": _loadsgf,
    "printsgf": _printsgf,
    "final_status_list": _final_status_list,
    "kgs-genmove_cleanup": _genmove_cleanup,
    "gogui-analyze_commands": lambda game, reply: (game, _FOR_GOGUI),
}
