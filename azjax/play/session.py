"""A person and a player at one table: the game at hand, from its start, as one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
from azjax_envs import Game
from azjax_envs.game import legal_actions

from azjax.play.position import Position, first_position, next_position
from azjax.players.base import Analysis, Player
from azjax.types import Array


@dataclass(frozen=True)
class PlayResult:
    """What came of the finished games, from the person's seat; the first player's when watching."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    moves: tuple[str, ...] = ()  # of the last game, finished or not


@dataclass(frozen=True)
class Session:
    """All there is at the table. Nothing changes in place: moves return another session."""

    game: Game
    player: Player
    human: int | None  # the person's seat; None where a person only watches
    key: Array  # another one after every move of the player's
    path: tuple[Position, ...]  # the game at hand, from its start
    earlier: PlayResult = PlayResult()  # the finished games before it

    @property
    def now(self) -> Position:
        return self.path[-1]

    def legal(self) -> dict[int, str]:
        """The legal actions and their names."""
        state = self.now.state
        return {a: self.game.action_to_string(state, a) for a in legal_actions(self.game, state)}

    def result(self) -> PlayResult:
        """All games so far, the one at hand included if it is over."""
        result = replace(self.earlier, moves=tuple(p.move for p in self.path[1:]))
        if not self.now.over:
            return result
        mine = self.now.returns[self.human or 0]
        field = "wins" if mine > 0 else "losses" if mine < 0 else "draws"
        return replace(result, **{field: getattr(result, field) + 1})

    def opinion(self) -> tuple[int, Analysis | None]:
        """The player's move here, and its analysis if it has one; the same if asked twice."""
        _, opinion_key = jax.random.split(self.key)
        run = _consult_jit if self.player.jittable else _consult
        action, analysis = jax.device_get(run(self.player, opinion_key, self.now.state))
        return int(action), analysis

    def played(self, action: int) -> Session:
        """After the person's move, or the player's."""
        now = self.now
        after = next_position(self.game, now, action)
        key, _ = jax.random.split(self.key)
        key = self.key if now.mover == self.human else key
        return replace(self, key=key, path=(*self.path, after))

    def undone(self) -> Session | None:
        """Back to the person's last decision; None where there is none."""
        mine = [i for i, position in enumerate(self.path) if i and position.by == self.human]
        return replace(self, path=self.path[: mine[-1]]) if mine else None

    def new_game(self) -> Session:
        key, start_key = jax.random.split(self.key)
        path = (first_position(self.game, start_key),)
        return replace(self, key=key, path=path, earlier=self.result())


def open_session(game: Game, player: Player, *, human: int | None, key: Array) -> Session:
    """The start of a first game. Compiles, so that thinking times are the player's own later.

    Raises:
      ValueError: `human` is no seat.
    """
    if human not in (None, 0, 1):
        raise ValueError(f"human must be 0 (first to move), 1, or None to watch, not {human!r}")
    key, start_key = jax.random.split(key)
    session = Session(game, player, human, key, (first_position(game, start_key),))
    if player.jittable:
        session.opinion()
    return session


def _consult(player: Player, key: Array, state: Any) -> tuple[Array, Analysis | None]:
    """One call for the move and its reasons, so that one compilation serves both."""
    states = jax.tree.map(lambda x: x[None], state)
    if hasattr(player, "analyse"):
        analysis = jax.tree.map(lambda x: x[0], player.analyse(key, states))
        return analysis.action, analysis
    return player(key, states)[0], None


_consult_jit = jax.jit(_consult)
