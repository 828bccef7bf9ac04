"""Games between a person and a player, as one immutable value."""

from dataclasses import dataclass, replace

import jax
from azjax_envs import Game

from azjax.files.game_record import GameRecord, Position, start_game
from azjax.players.base import Analysis, Player, follows_history, is_jittable
from azjax.players.engines.pool import DECLARED_WIN
from azjax.players.engines.uci import UciPlayer
from azjax.players.exact import MoveResults, results_at
from azjax.pytrees import expand, first
from azjax.types import Array, State


@dataclass(frozen=True)
class PlayResult:
    """Results of the finished games for one person, otherwise for the first player."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    moves: tuple[str, ...] = ()  # of the last game, finished or not


@dataclass(frozen=True)
class Session:
    """People, a player and their game. Every change returns another session."""

    player: Player
    humans: tuple[int, ...]  # the seats of people: one, both, or none to watch
    key: Array  # changes with every move of the player
    record: GameRecord  # the game being played
    earlier: PlayResult = PlayResult()  # the finished games before it
    loser: int | None = None  # the seat that gave the game up
    asks_dice: bool = False  # whether people roll the dice, and `roll` tells the outcomes

    @property
    def human(self) -> int | None:
        """The seat of the one person who plays; None without one, or with two."""
        return self.humans[0] if len(self.humans) == 1 else None

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
        return self.loser is not None or self.current.over

    @property
    def winner(self) -> int | None:
        """The seat that has won; None if nobody has."""
        first, second = self.current.returns
        if self.loser is not None:
            return 1 - self.loser
        return None if first == second else int(second > first)

    def result(self) -> PlayResult:
        """Returns the results of all games, with the current one if it is over."""
        result = replace(self.earlier, moves=self.record.moves)
        if not self.over:
            return result
        won = self.winner == (self.human or 0)
        field = "draws" if self.winner is None else "wins" if won else "losses"
        return replace(result, **{field: getattr(result, field) + 1})

    def choose(self) -> tuple[int, Analysis | None]:
        """Returns the player's move and its analysis, if it has one; the same at every call.

        The move of an engine that resigns or claims the game is negative.
        """
        _, choice_key = jax.random.split(self.key)
        if follows_history(self.player):
            history = [(each.moved_by, each.move) for each in self.record.positions[1:]]
            states = jax.device_get(expand(self.current.state))
            player = self.player
            if isinstance(player, UciPlayer):  # a game from a file may begin anywhere
                player = replace(player, start=self.record.positions[0].state)
            return int(player(choice_key, states, [history])[0]), None  # type: ignore[call-arg]
        run = _choose_jit if is_jittable(self.player) else _choose
        action, analysis = jax.device_get(run(self.player, choice_key, self.current.state))
        return int(action), analysis

    def move_results(self) -> MoveResults | None:
        """Returns the results of the current moves if the player knows them, without a batch."""
        return results_at(self.player, self.current.state)

    def play(self, action: int) -> "Session":
        """Returns the session after a move, or after an engine that resigns or claims the game."""
        mover = self.current.mover
        if action < 0:
            return self.resign(1 - mover if action == DECLARED_WIN else mover)
        key, _ = jax.random.split(self.key)
        key = self.key if mover in self.humans else key
        # Taking a move back and playing it again gives the same dice.
        dice = None if self.asks_dice else jax.random.fold_in(self.key, self.record.num_moves)
        return replace(self, key=key, record=self.record.play(action, key=dice))

    def roll(self, outcome: int) -> "Session":
        """Returns the session after an outcome of the dice."""
        return replace(self, record=self.record.roll(outcome))

    @property
    def awaits_roll(self) -> bool:
        """Whether a person is to roll the dice."""
        return self.loser is None and self.record.awaits_roll

    def resign(self, loser: int) -> "Session":
        """Returns the session after the player in seat `loser` gave up."""
        return replace(self, loser=loser)

    def undo(self) -> "Session | None":
        """Returns the session before the last move or resignation of a person; None without one."""
        if self.loser is not None:
            return replace(self, loser=None)
        positions = self.record.positions
        mine = [i for i, position in enumerate(positions) if i and position.moved_by in self.humans]
        return replace(self, record=self.record.truncate(mine[-1] - 1)) if mine else None

    def new_game(self) -> "Session":
        """Returns the session at the start of another game."""
        key, start_key = jax.random.split(self.key)
        record = start_game(self.game, start_key, dice=not self.asks_dice)
        return replace(self, key=key, record=record, earlier=self.result(), loser=None)


def start_session(
    game: Game,
    player: Player,
    *,
    humans: tuple[int, ...],
    key: Array,
    record: GameRecord | None = None,
    asks_dice: bool = False,
) -> Session:
    """Starts a first game and compiles the player, so that later timings measure its thinking.

    Args:
      humans: the seats of people, 0 or 1; both for two people at one board; none to watch.
      key: PRNG key of the start and of the player's moves.
      record: a game to go on with, which is not over.
      asks_dice: whether people roll the dice.

    Raises:
      ValueError: `humans` are no seats.
    """
    if humans not in ((), (0,), (1,), (0, 1)):
        raise ValueError(f"humans must be (), (0,), (1,) or (0, 1), not {humans!r}")
    key, start_key = jax.random.split(key)
    record = record or start_game(game, start_key, dice=not asks_dice)
    if record.awaits_roll and not asks_dice:
        record = record.roll_by(start_key)
    session = Session(player, humans, key, record, asks_dice=asks_dice)
    if is_jittable(player) and humans != (0, 1) and not session.awaits_roll:
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
