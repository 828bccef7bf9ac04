"""A game as GTP's commands change it: stones in any order, moves taken back, clocks."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from azjax_envs import Game
from azjax_envs.game import legal_actions

from azjax.errors import UserError
from azjax.play.clock import Clock
from azjax.play.position import Position, first_position, next_position
from azjax.players.engines import gtp_games as gtp_names
from azjax.search.anytime import Thinker

COLOURS = ("black", "white")  # player 0 has the black stones
_RESIGN, _RESIGNATION = "resign", -1  # an illegal action, which loses


class Refusal(Exception):
    """What is wrong with a command, in GTP's words where it has some."""


@dataclass(frozen=True)
class Table:
    """All there is at the table. Nothing changes in place: commands return another one."""

    thinker: Thinker
    path: tuple[Position, ...]  # the game at hand, from its start
    turns: tuple[int, ...] = ()  # how long the path was before each command that added to it
    clocks: tuple[Clock | None, Clock | None] = (None, None)  # None: no limit
    main_time: Clock | None = None  # with which games begin
    overtime: Clock | None = None  # what comes after it, again and again

    @property
    def game(self) -> Game:
        return self.thinker.game

    @property
    def now(self) -> Position:
        return self.path[-1]

    def cleared(self) -> Table:
        clocks = (self.main_time, self.main_time)
        return replace(self, path=(first_position(self.game),), turns=(), clocks=clocks)

    def in_turn(self, seat: int) -> Table:
        """With `seat` to move: where it is not, the other side passes.

        GTP lets a colour play twice running; in our games that is what a pass is. Two passes would
        end the game, so a pass of this side's before it is taken back instead: the board and the
        side to move are the same.
        """
        if self.now.over:
            raise Refusal("the game is over")
        if self.now.mover == seat:
            return self
        if self.now.by == seat and self.now.move == "pass":
            return replace(self, path=(*self.path, self.path[-2]))
        action = _actions(self.game).get("pass", -1)
        if action not in legal_actions(self.game, self.now.state):
            raise Refusal(f"illegal move: it is the turn of {COLOURS[self.now.mover]}")
        table = self._after(action, "pass")
        if table.now.over:
            raise Refusal("illegal move: the game would be over, as the other side has to pass")
        return table

    def played(self, moves: list[tuple[int, str]]) -> Table:
        """After moves of one command, (seat, vertex) each; `undo` takes them back together."""
        table = self
        for seat, vertex in moves:
            action, name = read_vertex(self.game, vertex)
            if table.passes_only() and name == "pass":
                continue
            there = table.in_turn(seat)
            legal = [_RESIGNATION, *legal_actions(self.game, there.now.state)]
            if action not in legal:
                raise Refusal("illegal move")
            # Who passes out of turn leaves the move to the other side, which has it already.
            if name != "pass" or there is table:
                table = there._after(action, name)
        return replace(table, turns=(*self.turns, len(self.path)))

    def passes_only(self) -> bool:
        """Whether the game has come to its end by itself, in a game that knows a pass.

        Programs that know no limit of moves may go on; a pass changes nothing any more.
        """
        return self.now.over and not self.resigned() and "pass" in _actions(self.game)

    def undone(self) -> Table:
        if not self.turns:
            raise Refusal("cannot undo")
        *turns, length = self.turns
        return replace(self, path=self.path[:length], turns=tuple(turns))

    def resigned(self) -> bool:
        return self.now.move == _RESIGN

    def timed(self, seat: int, clock: Clock | None) -> Table:
        clocks = list(self.clocks)
        clocks[seat] = clock
        return replace(self, clocks=tuple(clocks))

    def spent(self, seat: int, seconds: float) -> Table:
        """After a move that took so long, as far as nobody else keeps the time."""
        clock = self.clocks[seat]
        if clock is None:
            return self
        left, moves = clock.left - seconds, max(clock.moves - 1, 0)
        if left <= 0 or (clock.moves and not moves):
            return self.timed(seat, self.overtime or replace(clock, left=0.0))
        return self.timed(seat, replace(clock, left=left, moves=moves))

    def _after(self, action: int, name: str) -> Table:
        return replace(self, path=(*self.path, next_position(self.game, self.now, action, name)))


def open_table(thinker: Thinker) -> Table:
    """The start of a first game.

    Raises:
      UserError: the game's board is not one that GTP knows.
    """
    require_game(thinker.game)
    return Table(thinker, (first_position(thinker.game),))


def require_game(game: Game) -> None:
    """UserError where a game's board is not one that GTP knows."""
    if not gtp_names.is_for(game):
        raise UserError(f"GTP is for {gtp_names.GAMES}, not for {game.name}")


def read_vertex(game: Game, vertex: str) -> tuple[int, str]:
    """The action that a vertex names, and its name in small letters; "resign" is an action too."""
    name = vertex.lower()
    if name == _RESIGN:
        return _RESIGNATION, name
    if name not in _actions(game):
        raise Refusal("invalid color or coordinate")
    return _actions(game)[name], name


@functools.lru_cache(maxsize=8)
def vertices(game: Game) -> tuple[str, ...]:
    """The names of all actions, which are the same in every position of GTP's games."""
    state = jax.device_get(first_position(game).state)
    names = (game.action_to_string(state, action) for action in range(game.num_actions))
    return tuple(map(gtp_names.to_gtp, names))


@functools.lru_cache(maxsize=8)
def _actions(game: Game) -> dict[str, int]:
    return {name.lower(): action for action, name in enumerate(vertices(game))}


def score(table: Table) -> str:
    """The result as GTP writes it: "B+3.5", "0", "W+R" after a resignation, and "B+" where a game
    has winners, but no points.

    Raises:
      Refusal: nobody has won yet, and the game counts no points.
    """
    now = table.now
    if table.resigned():
        return f"{'BW'[1 - now.by]}+R"
    if hasattr(table.game, "score"):
        black, white = np.asarray(_score(table.game, now.state)).tolist()
        return "0" if black == white else f"{'BW'[white > black]}+{abs(black - white):g}"
    if not now.over:
        raise Refusal("cannot score")
    return "0" if now.returns[0] == now.returns[1] else f"{'BW'[now.returns[1] > 0]}+"


@functools.partial(jax.jit, static_argnums=0)
def _score(game: Game, state: Any) -> jax.Array:
    return game.score(state)
