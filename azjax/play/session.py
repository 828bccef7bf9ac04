"""Games between a person and a player, as one immutable value."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
from azjax_envs import Game

from azjax.play.game_record import GameRecord, Position, start_game
from azjax.players.base import Analysis, Player
from azjax.pytrees import expand, first
from azjax.types import Array, State


@dataclass(frozen=True)
class PlayResult:
    """Results of the finished games for the person, or for the first player when watching."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    moves: tuple[str, ...] = ()  # of the last game, finished or not


@dataclass(frozen=True)
class Session:
    """A person, a player and their game. Every change returns another session."""

    player: Player
    human: int | None  # the person's seat; None if the person only watches
    key: Array  # changes with every move of the player
    record: GameRecord  # the game being played
    earlier: PlayResult = PlayResult()  # the finished games before it
    resigned: bool = False  # whether the person gave the game up

    @property
    def game(self) -> Game:
        """The game being played."""
        return self.record.game

    @property
    def current(self) -> Position:
        """The newest position."""
        return self.record.current

    @property
    def over(self) -> bool:
        """Whether the game has ended, by its rules or by a resignation."""
        return self.resigned or self.current.over

    def result(self) -> PlayResult:
        """Returns the results of all games, with the current one if it is over."""
        result = replace(self.earlier, moves=self.record.moves)
        if not self.over:
            return result
        mine = -1.0 if self.resigned else self.current.returns[self.human or 0]
        field = "wins" if mine > 0 else "losses" if mine < 0 else "draws"
        return replace(result, **{field: getattr(result, field) + 1})

    def choose(self) -> tuple[int, Analysis | None]:
        """Returns the player's move and its analysis, if it has one; the same at every call."""
        _, choice_key = jax.random.split(self.key)
        run = _choose_jit if self.player.jittable else _choose
        action, analysis = jax.device_get(run(self.player, choice_key, self.current.state))
        return int(action), analysis

    def play(self, action: int) -> Session:
        """Returns the session after a move of the person or the player."""
        key, _ = jax.random.split(self.key)
        key = self.key if self.current.mover == self.human else key
        return replace(self, key=key, record=self.record.play(action))

    def resign(self) -> Session:
        """Returns the session after the person gave up."""
        return replace(self, resigned=True)

    def undo(self) -> Session | None:
        """Returns the session before the person's last move or resignation; None without one."""
        if self.resigned:
            return replace(self, resigned=False)
        positions = self.record.positions
        mine = [i for i, position in enumerate(positions) if i and position.moved_by == self.human]
        return replace(self, record=self.record.truncate(mine[-1] - 1)) if mine else None

    def new_game(self) -> Session:
        """Returns the session at the start of another game."""
        key, start_key = jax.random.split(self.key)
        record = start_game(self.game, start_key)
        return replace(self, key=key, record=record, earlier=self.result(), resigned=False)


def start_session(game: Game, player: Player, *, human: int | None, key: Array) -> Session:
    """Starts a first game and compiles the player, so that later timings measure its thinking.

    Args:
      game: the game.
      player: the opponent.
      human: the person's seat, 0 or 1; None to watch.
      key: PRNG key of the start and of the player's moves.

    Raises:
      ValueError: `human` is not a seat.
    """
    if human not in (None, 0, 1):
        raise ValueError(f"human must be 0 (first to move), 1, or None to watch, not {human!r}")
    key, start_key = jax.random.split(key)
    session = Session(player, human, key, start_game(game, start_key))
    if player.jittable:
        session.choose()
    return session


def _choose(player: Player, key: Array, state: State) -> tuple[Array, Analysis | None]:
    """Returns the move and its analysis by one call, so that one compilation serves both."""
    states = expand(state)
    if hasattr(player, "analyse"):
        analysis = first(player.analyse(key, states))
        return analysis.action, analysis
    return player(key, states)[0], None


_choose_jit = jax.jit(_choose)
