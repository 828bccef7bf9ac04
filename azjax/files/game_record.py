"""A game with its history, as one immutable value on the host."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasChance
from azjax_envs.game import legal_actions
from azjax_envs.sampling import weighted_action
from azjax_envs.xla_cpu import jit_for_few_calls

from azjax.chance import read_outcome
from azjax.errors import UserError
from azjax.types import Array, State

_PLIES = 256  # lengths of games are rounded up to a multiple, so that few programs are compiled


@dataclass(frozen=True)
class Position:
    """One position of a game, and the move that led to it."""

    state: State
    mover: int  # the player to move
    over: bool
    returns: tuple[float, float]
    move: str = ""  # the name of the move that led here; "" at the start
    moved_by: int = -1  # the player who made that move; -1 at the start
    action: int = -1  # that move's action; -1 at the start
    roll: str = ""  # the dice that were rolled here; "" before that, and in a game without dice


class PlayedPositions(Sequence[Position]):
    """Positions of moves that were played at once, as rows of arrays.

    Each becomes a `Position` when it is first asked for: making all takes longer than playing.
    """

    def __init__(
        self,
        before: Sequence[Position],
        states: State,
        facts: "_Facts",
        actions: Sequence[int],
        moves: Sequence[str],
    ):
        """Keeps what was played.

        Args:
          before: the positions before the first of the moves.
          states: numpy arrays [T, ...], T >= N, after each move.
          facts: the player to move, whether the game is over and the returns, [T, ...].
          actions: [N]
          moves: [N], their names.
        """
        self.before, self.states, self.facts = before, states, facts
        self.actions, self.moves = actions, moves
        self._made: dict[int, Position] = {}

    def __len__(self) -> int:
        return len(self.before) + len(self.actions)

    @overload
    def __getitem__(self, index: int) -> Position: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Position, ...]: ...
    def __getitem__(self, index: int | slice) -> Position | tuple[Position, ...]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return tuple(self[number] for number in numbers)
        row = numbers - len(self.before)
        if row < 0:
            return self.before[numbers]
        # Searches go on where positions are the same objects.
        return self._made.get(row) or self._made.setdefault(row, self._make(row))

    def _make(self, row: int) -> Position:
        movers, overs, returns = self.facts
        first, second = returns[row].tolist()
        return Position(
            state=jax.tree.map(lambda x: x[row], self.states),
            mover=int(movers[row]),
            over=bool(overs[row]),
            returns=(first, second),
            move=self.moves[row],
            moved_by=int(movers[row - 1]) if row else self.before[-1].mover,
            action=self.actions[row],
        )


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
        return tuple(position.move for position in self.positions[1:])

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
        padded = np.zeros(-(-len(actions) // _PLIES) * _PLIES, np.int32)
        padded[: len(actions)] = actions
        played = _play_all(self.game, self.current.state, padded, np.int32(len(actions)))
        states, facts, count = jax.device_get(played)
        before = tuple(self.positions)
        made = PlayedPositions(before, states, facts, actions[:count], moves[:count])
        return replace(self, positions=made)

    def stacked(self) -> tuple[State, np.ndarray, np.ndarray]:
        """Returns the positions as numpy arrays [num_moves + 1, ...].

        Returns:
          The states, the players to move, and the actions that led there, -1 at the start.
        """
        whole = self.positions
        later = whole if isinstance(whole, PlayedPositions) else None
        rows = [(x.state, x.mover, x.action) for x in (later.before if later else whole)]
        found = jax.tree.map(lambda *x: np.stack(x), *jax.device_get(rows))
        if later is None:
            return found
        size = len(later.actions)
        more = (later.states, later.facts[0], np.array(later.actions, np.int32))
        return jax.tree.map(lambda x, y: np.concatenate([x, y[:size]]), found, more)

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


@functools.partial(jax.jit, static_argnums=0)
def _play_all(game: Game, state: State, actions: Array, size: Array) -> tuple[State, _Facts, Array]:
    """Returns the states and the facts [T, ...] after the first `size` actions [T].

    The third result is how many actions were played, up to the first illegal one.
    """

    def is_next(carry: Any) -> Array:
        number, state, _ = carry
        return (number < size) & game.legal_action_mask(state)[actions[number]]

    def ply(carry: Any) -> Any:
        number, state, made = carry
        state = game.step(state, actions[number])
        after = (state, _facts(game, state))
        made = jax.tree.map(lambda all_, x: all_.at[number].set(x), made, after)
        return number + 1, state, made

    shapes = jax.eval_shape(lambda: (state, _facts(game, state)))
    made = jax.tree.map(lambda x: jnp.zeros((len(actions), *x.shape), x.dtype), shapes)
    count, _, (states, facts) = jax.lax.while_loop(is_next, ply, (jnp.int32(0), state, made))
    return states, facts, count


def _facts(game: Game, state: State) -> _Facts:
    return game.current_player(state), game.is_terminal(state), game.returns(state)


_facts_jit = jax.jit(_facts, static_argnums=0)


def _with_dice(game: Game, position: Position, key: Array | None) -> Position:
    """Returns the position after the dice, if they are to be rolled."""
    if not isinstance(game, HasChance) or key is None or not game.is_chance(position.state):
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
