"""GTP's commands for go: komi, handicaps, files, the status of stones, and the clean-up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from azjax_envs.game import legal_actions

from azjax.play.gtp.analysis import choose_move
from azjax.play.gtp.game import UNMADE_PASS, GtpGame, read_vertex, vertices
from azjax.play.gtp.protocol import GtpError, Reply, read_number, read_player
from azjax.play.gtp.sgf import format_sgf, handicap_points, read_sgf
from azjax.search.analysis import SearchAnalysis

Command = Callable[..., GtpGame]
"""`command(game, reply, *arguments)`: answers by `reply` and returns the game afterwards."""

_WORSE = 0.1  # by so much a move must be worse than a pass to end a clean-up


def _komi(game: GtpGame, reply: Reply, komi: str) -> GtpGame:
    game = _with_komi(game, komi)
    reply.answer("")
    return game


def _fixed_handicap(game: GtpGame, reply: Reply, stones: str) -> GtpGame:
    _check_empty(game)
    try:
        points = handicap_points(game.game.size, read_number(stones))
    except ValueError as error:
        raise GtpError(f"invalid number of stones: {error}") from error
    return _place(game, reply, points)


def _place_free_handicap(game: GtpGame, reply: Reply, stones: str) -> GtpGame:
    """Places as many stones as there are points for them; GTP allows fewer than asked for."""
    _check_empty(game)
    size, wanted = game.game.size, read_number(stones)
    if not 2 <= wanted < size**2:
        raise GtpError(f"invalid number of stones: it must be from 2 to {size**2 - 1}")
    for fewer in range(wanted, 1, -1):
        try:
            return _place(game, reply, handicap_points(size, fewer))
        except ValueError:
            continue
    middle = size // 2  # a board that is too small for handicap points
    return _place(game, reply, [(middle, middle), (0, 0)])


def _place(game: GtpGame, reply: Reply, points: Sequence[tuple[int, int]]) -> GtpGame:
    names = [_vertex(game, *point) for point in points]
    game = game.play([(0, name) for name in names])
    reply.answer(" ".join(names))
    return game


def _set_free_handicap(game: GtpGame, reply: Reply, *names: str) -> GtpGame:
    _check_empty(game)
    actions = {read_vertex(game.game, name)[0] for name in names}
    if len(actions) < max(len(names), 2) or not actions <= set(range(game.game.size**2)):
        raise GtpError("bad vertex list: it must have at least two different points")
    game = game.play([(0, name) for name in names])
    reply.answer("")
    return game


def _check_empty(game: GtpGame) -> None:
    if game.record.num_moves:
        raise GtpError("board not empty")


def _loadsgf(game: GtpGame, reply: Reply, path: str, move_number: str = "") -> GtpGame:
    try:
        file = read_sgf(path, read_number(move_number) if move_number else None)
    except ValueError as error:
        raise GtpError(f"cannot load file: {error}") from error
    if file.size != game.game.size:
        raise GtpError(f"cannot load file: unacceptable size, {file.size}")
    game = (game if file.komi is None else _with_komi(game, str(file.komi))).clear()
    for number, (player, point) in enumerate(file.moves, 1):
        vertex = "pass" if point is None else _vertex(game, *point)
        try:
            game = game.play([(player, vertex)])
        except GtpError as error:
            raise GtpError(f"cannot load file: move {number}: {error}") from error
    reply.answer("")
    return game


def _printsgf(game: GtpGame, reply: Reply) -> GtpGame:
    size = game.game.size
    made = [p for p in game.record.positions[1:] if p.move != UNMADE_PASS]
    moves = [
        (p.moved_by, divmod(p.action, size) if p.action < size**2 else None)
        for p in made
        if p.action >= 0  # a resignation is no move
    ]
    reply.answer(format_sgf(size, cast(Any, game.game).komi, moves))
    return game


def _final_status_list(game: GtpGame, reply: Reply, status: str) -> GtpGame:
    """All stones on the board are alive, as in `final_score`."""
    if status.lower() not in ("alive", "dead", "seki"):
        raise GtpError("syntax error: the status must be alive, dead or seki")
    stones = np.flatnonzero(_stones(game)) if status.lower() == "alive" else []
    reply.answer(" ".join(vertices(game.game)[point] for point in stones))
    return game


def _genmove_cleanup(game: GtpGame, reply: Reply, colour: str) -> GtpGame:
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
    reply.answer(vertices(game.game)[game.current.action])
    return game


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


def _vertex(game: GtpGame, row: int, column: int) -> str:
    return vertices(game.game)[row * game.game.size + column]


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


def _analyze_commands(game: GtpGame, reply: Reply) -> GtpGame:
    """Answers GoGui, which shows these in a menu."""
    reply.answer(
        "string/Final Score/final_score\n"
        "plist/Living Stones/final_status_list alive\n"
        "move/Best Move/reg_genmove %c\n"
        "string/Processor Time/cputime"
    )
    return game


GO_COMMANDS: dict[str, Command] = {
    "komi": _komi,
    "fixed_handicap": _fixed_handicap,
    "place_free_handicap": _place_free_handicap,
    "set_free_handicap": _set_free_handicap,
    "loadsgf": _loadsgf,
    "printsgf": _printsgf,
    "final_status_list": _final_status_list,
    "kgs-genmove_cleanup": _genmove_cleanup,
    "gogui-analyze_commands": _analyze_commands,
}
