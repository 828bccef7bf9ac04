"""The state of a GTP engine: a game in which colours may move out of turn, and its clocks."""

import functools
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game
from azjax_envs.game import HasScore, legal_actions
from azjax_envs.go.game import GoState

from azjax.engine.clock import Clock, TimeControl
from azjax.engine.decision import EngineSearch
from azjax.engine.gtp.protocol import GtpError
from azjax.engine.search_reuse import LastSearch, warm_up
from azjax.errors import UserError
from azjax.files.game_record import GameRecord, Position, record_from_state, start_game
from azjax.players.engines import gtp_games
from azjax.types import Array, State

COLOURS = ("black", "white")  # player 0 has the black stones
UNMADE_PASS = ""  # the name of a pass that nobody made, between two moves of one colour
_RESIGN, _RESIGNATION = "resign", -1  # an illegal action, which loses


class SquareGame(Game[Any], Protocol):
    """A game on a square board, as all of GTP's games are."""

    @property
    def size(self) -> int:
        """Length of the board's sides."""
        ...


@dataclass(frozen=True)
class GtpGame:
    """The state of a GTP engine. Commands return another one and change nothing in place."""

    search: EngineSearch
    record: GameRecord
    undo_lengths: tuple[int, ...] = ()  # number of moves before each command that made moves
    clocks: tuple[Clock | None, Clock | None] = (None, None)  # None: no limit
    time_control: TimeControl | None = None
    last: LastSearch | None = None

    @property
    def game(self) -> SquareGame:
        """The game being played."""
        return cast(SquareGame, self.search.game)

    @property
    def current(self) -> Position:
        """The newest position."""
        return self.record.current

    def warm_up(self) -> "GtpGame":
        """Returns the same game, with all compiled that a move needs."""
        start = start_game(self.game)
        last = warm_up(self.search, start, lambda found: start.play(found.action))
        return replace(self, last=last)

    def clear(self) -> "GtpGame":
        """Returns the start of another game."""
        fresh = replace(self, record=start_game(self.game), undo_lengths=())
        return fresh.set_time(self.time_control)

    def give_turn(self, player: int) -> "GtpGame":
        """Returns the game with `player` to move.

        GTP lets a colour play twice running; in our games that takes a pass of the other side in
        between. Nobody has made that pass, so it does not count towards the end of the game. After
        two passes the game goes on with this move.
        """
        game = self.resume() if self.current.over else self
        if game.current.over:
            raise GtpError("the game is over")
        if game.current.mover == player:
            return game
        action = _actions(self.game).get("pass", -1)
        if action not in legal_actions(self.game, game.current.state):
            raise GtpError(f"illegal move: it is the turn of {COLOURS[game.current.mover]}")
        passed = game._step(action, UNMADE_PASS).resume()
        if passed.current.over:
            raise GtpError("the game is over")
        return passed

    def resume(self) -> "GtpGame":
        """Returns the game without the passes just made, if it is go and nobody has resigned."""
        now = self.current
        if not isinstance(now.state, GoState) or self.resigned():
            return self
        state = replace(now.state, passes=jnp.zeros((), jnp.uint8))
        fresh = record_from_state(self.game, state).current
        now = replace(now, state=state, over=fresh.over, returns=fresh.returns)
        record = replace(self.record, positions=(*self.record.positions[:-1], now))
        return replace(self, record=record)

    def play(self, moves: list[tuple[int, str]]) -> "GtpGame":
        """Returns the game after one command's (player, vertex)s, which one `undo` takes back."""
        after = self
        for player, vertex in moves:
            action, name = read_vertex(self.game, vertex)
            if after.only_passes_left() and name == "pass":
                continue
            in_turn = after.give_turn(player)
            legal = [_RESIGNATION, *legal_actions(self.game, in_turn.current.state)]
            if action not in legal:
                raise GtpError("illegal move")
            # A pass out of turn changes nothing: it would leave the move to the side that has it.
            if name != "pass" or in_turn is after:
                after = in_turn._step(action, name)
        return replace(after, undo_lengths=(*self.undo_lengths, self.record.num_moves))

    def only_passes_left(self) -> bool:
        """Returns whether the game ended without a resignation and has passes.

        Clients that know no limit of moves may go on then; a pass changes nothing any more.
        """
        return self.current.over and not self.resigned() and "pass" in _actions(self.game)

    def undo(self) -> "GtpGame":
        """Returns the game before the last command that made moves."""
        if not self.undo_lengths:
            raise GtpError("cannot undo")
        *earlier, num_moves = self.undo_lengths
        return replace(self, record=self.record.truncate(num_moves), undo_lengths=tuple(earlier))

    def resigned(self) -> bool:
        """Returns whether the game ended by a resignation."""
        return self.current.move == _RESIGN

    def set_time(self, control: TimeControl | None) -> "GtpGame":
        """Returns the game with other clocks for both players."""
        clock = None if control is None else control.start()
        return replace(self, time_control=control, clocks=(clock, clock))

    def set_clock(self, player: int, clock: Clock | None) -> "GtpGame":
        """Returns the game with another clock for one player."""
        clocks = (clock, self.clocks[1]) if player == 0 else (self.clocks[0], clock)
        return replace(self, clocks=clocks)

    def spend_time(self, player: int, seconds: float) -> "GtpGame":
        """Returns the game after a move that took `seconds`; `time_left` can correct it."""
        clock = self.clocks[player]
        if clock is None:
            return self
        control = self.time_control or TimeControl(0.0)
        return self.set_clock(player, control.after_move(clock, seconds))

    def _step(self, action: int, name: str) -> "GtpGame":
        return replace(self, record=self.record.play(action, name))


def check_game(game: Game) -> None:
    """Raises a UserError if GTP has no such game."""
    if not gtp_games.is_for(game):
        raise UserError(f"GTP is for {gtp_games.GAMES}, not for {game.name}")


def read_vertex(game: Game, vertex: str) -> tuple[int, str]:
    """Returns the action that a vertex names, and the name in lower case; "resign" is one too."""
    name = vertex.lower()
    if name == _RESIGN:
        return _RESIGNATION, name
    if name not in _actions(game):
        raise GtpError("invalid color or coordinate")
    return _actions(game)[name], name


@functools.lru_cache(maxsize=8)
def vertices(game: Game) -> tuple[str, ...]:
    """Returns the names of all actions, which in GTP's games are the same in every position."""
    state = jax.device_get(start_game(game).current.state)
    names = (game.action_to_string(state, action) for action in range(game.num_actions))
    return tuple(map(gtp_games.to_gtp, names))


@functools.lru_cache(maxsize=8)
def _actions(game: Game) -> dict[str, int]:
    return {name.lower(): action for action, name in enumerate(vertices(game))}


def format_score(game: GtpGame) -> str:
    """Returns the result as GTP writes it.

    That is "B+3.5" or "0", "W+R" after a resignation, and "B+" for a winner in a game without
    points.

    Raises:
      GtpError: nobody has won yet, and the game counts no points.
    """
    now = game.current
    if game.resigned():
        return f"{'BW'[1 - now.moved_by]}+R"
    if isinstance(game.game, HasScore):
        black, white = np.asarray(_score(game.game, now.state)).tolist()
        return "0" if black == white else f"{'BW'[white > black]}+{abs(black - white):g}"
    if not now.over:
        raise GtpError("cannot score")
    return "0" if now.returns[0] == now.returns[1] else f"{'BW'[now.returns[1] > 0]}+"


@functools.partial(jax.jit, static_argnums=0)
def _score(game: HasScore[Any], state: State) -> Array:
    return game.score(state)
