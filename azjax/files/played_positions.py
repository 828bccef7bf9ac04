"""Positions of recorded games, whose moves one compiled loop plays, of several games at once."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax import pytrees
from azjax.compact_states import drop_unobserved
from azjax.types import Array, State

LANES = 32
"""Games of one loop. Twice as many were no faster on a core (AMD EPYC, 2026-11-29)."""
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


class Line(NamedTuple):
    """Moves of a game that are to be played."""

    game: Game
    rules: Game  # the game, or one that differs in what only results depend on
    before: Sequence[Position]  # the first move is made in the last one
    actions: Sequence[int]  # [N]
    moves: Sequence[str]  # [N], their names


class PlayedPositions(Sequence[Position]):
    """Positions of moves that were played at once, as rows of arrays.

    Each becomes a `Position` when it is first asked for: making all takes longer than playing.
    """

    def __init__(self, line: Line, states: State, movers: np.ndarray, last: Position):
        """Keeps what was played.

        Args:
          line: the N moves, N >= 1.
          states: numpy arrays [N, ...], before each move. They are whole, or as `drop_unobserved`
            leaves them. Then the moves are played again when another state than the last is asked.
          movers: int32 [N], who made each move.
          last: the position after all moves.
        """
        self.line, self.states, self.movers, self.last = line, states, movers, last
        self._made: dict[int, Position] = {}

    def __len__(self) -> int:
        return len(self.line.before) + len(self.line.actions)

    @overload
    def __getitem__(self, index: int) -> Position: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Position, ...]: ...
    def __getitem__(self, index: int | slice) -> Position | tuple[Position, ...]:
        size = len(self)
        if isinstance(index, int) and index in (-1, size - 1):
            return self.last  # which needs no other state
        numbers = range(size)[index]
        if isinstance(numbers, range):
            return tuple(self[number] for number in numbers)
        row = numbers - len(self.line.before)
        if row < 0:
            return self.line.before[numbers]
        # Searches go on where positions are the same objects.
        return self._made.get(row) or self._made.setdefault(row, self._make(row))

    def _make(self, row: int) -> Position:
        return Position(
            state=pytrees.take(self._whole_states, row + 1),
            mover=int(self.movers[row + 1]),
            over=False,  # since a move follows
            returns=(0.0, 0.0),
            move=self.line.moves[row],
            moved_by=int(self.movers[row]),
            action=self.line.actions[row],
        )

    @property
    def observed(self) -> State:
        """The states [N, ...] before each move, without what only the rules need."""
        return drop_unobserved(self.line.game, self.states) if self._are_whole else self.states

    @property
    def _are_whole(self) -> bool:
        return jax.tree.structure(self.states) == jax.tree.structure(self.last.state)

    @functools.cached_property
    def _whole_states(self) -> State:
        if self._are_whole:
            return self.states
        (again,) = play_lines([self.line], lanes=1, whole=True)()
        assert again is not None
        return again.states


def play_together(lines: Sequence[Line]) -> Callable[[], list[PlayedPositions | None]]:
    """Begins to play the moves of many games, as `play_lines` does.

    Games of one length are played together, since the longest of `LANES` decides how long they
    take. One program is compiled for all games of the same rules with at most 256 moves.
    """
    by_rules: dict[Game, list[int]] = {}
    for number, line in enumerate(lines):
        if line.actions:
            by_rules.setdefault(line.rules, []).append(number)
    begun: list[tuple[list[int], Callable[[], list[PlayedPositions | None]]]] = []
    for numbers in by_rules.values():
        numbers.sort(key=lambda number: len(lines[number].actions))
        for start in range(0, len(numbers), LANES):
            chosen = numbers[start : start + LANES]
            begun.append((chosen, play_lines([lines[number] for number in chosen])))

    def wait() -> list[PlayedPositions | None]:
        found: list[PlayedPositions | None] = [None] * len(lines)
        for numbers, played in begun:
            for number, positions in zip(numbers, played(), strict=True):
                found[number] = positions
        return found

    return wait


def play_lines(
    lines: Sequence[Line], *, lanes: int = LANES, whole: bool = False
) -> Callable[[], list[PlayedPositions | None]]:
    """Begins to play the moves of games, each up to its first illegal move or its end.

    Args:
      lines: of at most `lanes` games of the same rules, each with one move or more.
      lanes: of the compiled program.
      whole: whether the positions keep what only the rules need.

    Returns:
      A function that waits for the positions; None for a game whose first move is not legal.
    """
    rules = lines[0].rules
    sizes = [min(len(line.actions), rules.max_steps) for line in lines]
    plies = min(-(-max(sizes) // _PLIES) * _PLIES, rules.max_steps)
    actions = np.zeros((plies, lanes), np.int32)
    for lane, (line, size) in enumerate(zip(lines, sizes, strict=True)):
        actions[:size, lane] = line.actions[:size]
    padded = np.array(sizes + [0] * (lanes - len(lines)), np.int32)
    states = [line.before[-1].state for line in lines]
    states += states[:1] * (lanes - len(lines))
    starts = jax.tree.map(lambda *x: np.stack(x), *jax.device_get(states))
    played = _play(rules, starts, actions, padded, whole=whole)
    return lambda: _positions(lines, played)


class _Played(NamedTuple):
    """What the loop of B games with at most T moves gives."""

    counts: Array  # int32 [B], moves that were played
    states: State  # [T, B, ...], before each move; None for what is not kept
    movers: Array  # int32 [T, B]
    last: State  # [B, ...], after the last move
    mover: Array  # int32 [B], then to move
    over: Array  # bool [B]


@functools.partial(jax.jit, static_argnums=0, static_argnames="whole")
def _play(game: Game, states: State, actions: Array, sizes: Array, *, whole: bool) -> _Played:
    """Plays the first `sizes` [B] of `actions` [T, B] from `states` [B, ...]."""
    moving = jax.vmap(game.current_player)

    def kept(states: State) -> tuple[State, Array]:
        return states if whole else drop_unobserved(game, states), moving(states)

    def ply(carry: Any) -> Any:
        number, counts, states, rows = carry
        action = actions[number]
        rows = jax.tree.map(lambda all_, x: all_.at[number].set(x), rows, kept(states))
        legal = jax.vmap(lambda state, action: game.legal_action_mask(state)[action])
        plays = (counts == number) & (number < sizes) & legal(states, action)
        states = pytrees.where(plays, jax.vmap(game.step)(states, action), states)
        return number + 1, counts + plays, states, rows

    def goes_on(carry: Any) -> Array:
        number, counts, *_ = carry
        return jnp.any((counts == number) & (number < sizes))

    shapes = jax.eval_shape(kept, states)
    rows = jax.tree.map(lambda x: jnp.zeros((len(actions), *x.shape), x.dtype), shapes)
    carry = (jnp.int32(0), jnp.zeros_like(sizes), states, rows)
    _, counts, last, (before, movers) = jax.lax.while_loop(goes_on, ply, carry)
    return _Played(counts, before, movers, last, moving(last), jax.vmap(game.is_terminal)(last))


@functools.partial(jax.jit, static_argnums=0)
def _returns(game: Game, states: State) -> Array:
    """Returns the results [B, 2] of states [B, ...]."""
    return jax.vmap(game.returns)(states)


def _positions(lines: Sequence[Line], played: _Played) -> list[PlayedPositions | None]:
    found: _Played = jax.device_get(played)
    over = {lines[lane].game for lane in range(len(lines)) if found.over[lane]}
    returns = {game: np.asarray(_returns(game, played.last)) for game in over}
    made: list[PlayedPositions | None] = []
    for lane, (line, count) in enumerate(zip(lines, found.counts.tolist(), strict=False)):
        if not count:
            made.append(None)
            continue
        # Copies, as a view would keep the arrays of all games.
        states, movers, last = jax.tree.map(
            np.array,
            (
                jax.tree.map(lambda x, i=lane, n=count: x[:n, i], found.states),
                found.movers[:count, lane],
                pytrees.take(found.last, lane),
            ),
        )
        ended = bool(found.over[lane])
        first, second = returns[line.game][lane].tolist() if ended else (0.0, 0.0)
        end = Position(
            state=last,
            mover=int(found.mover[lane]),
            over=ended,
            returns=(first, second),
            move=line.moves[count - 1],
            moved_by=int(movers[-1]),
            action=line.actions[count - 1],
        )
        line = line._replace(actions=line.actions[:count], moves=line.moves[:count])
        made.append(PlayedPositions(line, states, movers, end))
    return made
