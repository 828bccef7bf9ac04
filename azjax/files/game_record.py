"""A game with its history, as one immutable value on the host."""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance
from azjax_envs.game import legal_actions
from azjax_envs.sampling import weighted_action
from azjax_envs.xla_cpu import jit_for_few_calls

from azjax.chance import read_outcome
from azjax.compact_states import drop_unobserved
from azjax.errors import UserError
from azjax.files.played_positions import Line, PlayedPositions, Position, play_lines
from azjax.types import Array, State


@dataclass(frozen=True)
class GameRecord:
    """A game and all its positions so far. Every change returns another record."""

    game: Game
    positions: Sequence[Position]  # from the start; never empty

    @property
    def current(self) -> Position:
        """The newest position."""
        return self.positions[-1]

    @property
    def num_moves(self) -> int:
        """Number of moves made."""
        return len(self.positions) - 1

    @property
    def moves(self) -> tuple[str, ...]:
        """The names of the moves made."""
        played = self.positions
        if isinstance(played, PlayedPositions):
            return (*(position.move for position in played.line.before[1:]), *played.line.moves)
        return tuple(position.move for position in played[1:])

    def legal_moves(self) -> dict[int, str]:
        """Returns the legal actions of the current position, with their names."""
        # In numpy, because naming a move may look at every part of the state.
        state = jax.device_get(self.current.state)
        return {a: self.game.action_to_string(state, a) for a in legal_actions(self.game, state)}

    def play(
        self, action: int, move: str | None = None, *, key: Array | None = None
    ) -> "GameRecord":
        """Returns the record after one more action.

        Args:
          action: the action; an illegal one loses at once, as in every game.
          move: its name, if the caller knows it; otherwise the game is asked.
          key: PRNG key of the dice after the action, in a game of chance.
        """
        now = self.current
        name = self.game.action_to_string(now.state, action) if move is None else move
        after = _position(*_step(self.game, now.state, np.int32(action)))
        after = _with_dice(self.game, after, key)
        return self.append(replace(after, move=name, moved_by=now.mover, action=action))

    @property
    def awaits_roll(self) -> bool:
        """Whether the dice are to be rolled before a move can be made."""
        game = self.game
        return isinstance(game, HasChance) and bool(game.is_chance(self.current.state))

    def roll(self, outcome: int | Array) -> "GameRecord":
        """Returns the record after an outcome of the dice, which changes the newest position."""
        rolled = _after_roll(self.game, self.current, int(outcome))
        return replace(self, positions=(*self.positions[:-1], rolled))

    def roll_by(self, key: Array) -> "GameRecord":
        """Returns the record after the dice, rolled by a PRNG key, if they are to be rolled."""
        rolled = _with_dice(self.game, self.current, key)
        return replace(self, positions=(*self.positions[:-1], rolled))

    def play_all(self, actions: Sequence[int], moves: Sequence[str]) -> "GameRecord":
        """Returns the record after several actions, up to the first illegal one or the end.

        One compiled call plays all of them, so a game of go takes some milliseconds.

        Args:
          actions: in order.
          moves: their names.
        """
        if not actions or self.current.over:
            return self
        line = Line(self.game, self.game, tuple(self.positions), actions, moves)
        (made,) = play_lines([line], lanes=1, whole=True)()
        return self if made is None else replace(self, positions=made)

    def stacked(self) -> tuple[State, np.ndarray, np.ndarray]:
        """Returns the moves as numpy arrays, N of them, at least one.

        Returns:
          The states [N, ...] before each without what only the rules need, see `drop_unobserved`,
          who made it, int32 [N], and the actions, int32 [N].
        """
        whole = self.positions
        if isinstance(whole, PlayedPositions) and len(whole.line.before) == 1:
            return whole.observed, whole.movers, np.array(whole.line.actions, np.int32)
        made = itertools.pairwise(whole)
        rows = [(before.state, before.mover, after.action) for before, after in made]
        states, movers, actions = jax.tree.map(lambda *x: np.stack(x), *jax.device_get(rows))
        return (
            drop_unobserved(self.game, states),
            movers.astype(np.int32),
            actions.astype(np.int32),
        )

    def append(self, position: Position) -> "GameRecord":
        """Returns the record with one more position."""
        return replace(self, positions=(*self.positions, position))

    def truncate(self, num_moves: int) -> "GameRecord":
        """Returns the record of the first `num_moves` moves."""
        if num_moves >= self.num_moves:
            return self
        return replace(self, positions=self.positions[: num_moves + 1])

    def move_names(self, actions: Sequence[int]) -> list[str]:
        """Returns the names of actions played from the current position, until the game is over."""
        record = self
        for action in actions:
            if record.current.over:
                break
            record = record.play(action)
        return list(record.moves[self.num_moves :])


def start_game(game: Game, key: Array | None = None, *, dice: bool = True) -> GameRecord:
    """Returns the record of a game without moves.

    Args:
      key: PRNG key for games that begin at random, and for the first dice.
      dice: whether the first dice are rolled by the key.
    """
    start = _position(*_fixed_start(game)) if key is None else _position(*_start(game, key))
    return GameRecord(game, (_with_dice(game, start, key if dice else None),))


def record_from_state(game: Game, state: State) -> GameRecord:
    """Returns a record that begins with any state of the game."""
    return GameRecord(game, (_position(state, _facts_jit(game, state)),))


_Facts = tuple[Array, Array, Array]


@functools.partial(jax.jit, static_argnums=0)
def _start(game: Game, key: Array | None) -> tuple[State, _Facts]:
    state = game.init(key)
    return state, _facts(game, state)


@functools.lru_cache(maxsize=64)
def _fixed_start(game: Game) -> tuple[State, "_Facts"]:
    return jax.device_get(_start(game, None))


@functools.partial(jit_for_few_calls, static_argnums=0)
def _step(game: Game, state: State, action: Array) -> tuple[State, _Facts]:
    state = game.step(state, action)
    return state, _facts(game, state)


def _facts(game: Game, state: State) -> _Facts:
    return game.current_player(state), game.is_terminal(state), game.returns(state)


_facts_jit = jax.jit(_facts, static_argnums=0)


def _with_dice(game: Game, position: Position, key: Array | None) -> Position:
    """Returns the position after the dice, if they are to be rolled."""
    if key is None or not isinstance(game, HasChance) or not game.is_chance(position.state):
        return position
    outcome = weighted_action(key, game.chance_probabilities(position.state))
    return _after_roll(game, position, int(outcome))


def _after_roll(game: Game, position: Position, outcome: int) -> Position:
    assert isinstance(game, HasChance)
    state = game.chance_step(position.state, jnp.int32(outcome))
    mover, over, returns = jax.device_get(_facts_jit(game, state))
    return replace(
        position,
        state=state,
        mover=int(mover),
        over=bool(over),
        returns=(float(returns[0]), float(returns[1])),
        roll=game.outcome_to_string(position.state, outcome),
    )


def _position(state: State, facts: _Facts) -> Position:
    mover, over, returns = jax.device_get(facts)
    return Position(state, int(mover), bool(over), (float(returns[0]), float(returns[1])))


def replay(game: Game, moves: Sequence[str | int], *, start: State | None = None) -> GameRecord:
    """Returns the record of a game.

    Args:
      moves: as text or as actions. In a game of dice each roll stands before its moves, as text
        with a colon: "6-1:", "13/7", "8/7".
      start: the position before the first move; None for the game's own start.

    Raises:
      UserError: a move or a roll is not possible there, or comes after the end; the message tells
        its number.
    """
    record = start_game(game) if start is None else record_from_state(game, start)
    for move in moves:
        number = record.num_moves + 1
        if record.current.over:
            raise UserError(f"move {number}, {move}, comes after the end of the game")
        if record.awaits_roll or (isinstance(move, str) and move.endswith(":")):
            record = roll_named(record, str(move))
            continue
        legal = record.legal_moves()
        if isinstance(move, str):
            try:
                action = int(game.string_to_action(jax.device_get(record.current.state), move))
            except ValueError as error:
                raise UserError(f"move {number}: {error}") from error
        else:
            action = int(move)
        if action not in legal:
            raise UserError(f"move {number}: action {action} is not legal there")
        record = record.play(action, legal[action])
    return record


def roll_named(record: GameRecord, text: str) -> GameRecord:
    """Returns the record after the roll that a text with a colon names, such as "6-1:".

    Raises:
      UserError: no dice are to be rolled there, or they have no such roll; the message tells the
        number of the next move.
    """
    number = record.num_moves + 1
    if not record.awaits_roll:
        raise UserError(f"move {number}: {text!r} is a roll, and no dice are to be rolled there")
    if not text.endswith(":"):
        raise UserError(f"move {number}: a roll must stand before {text!r}, as in '6-1: 13/7'")
    try:
        return record.roll(read_outcome(record.game, record.current.state, text[:-1]))
    except UserError as error:
        raise UserError(f"move {number}: {error}") from error
