"""The positions of a game at hand, one after the other, with what a host needs to know of each."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from azjax_envs import Game

from azjax.types import Array


@dataclass(frozen=True)
class Position:
    """A position of the game at hand, and the move that led to it."""

    state: Any
    mover: int
    over: bool
    returns: tuple[float, float]
    move: str = ""
    by: int = -1  # the seat that played `move`; -1 at the start


def first_position(game: Game, key: Array | None = None) -> Position:
    """The start of a game."""
    return _look(*_start(game, key))


def position_of(game: Game, state: Any) -> Position:
    """A position that no move has led to."""
    return _look(state, _facts_jit(game, state))


def next_position(game: Game, position: Position, action: int, move: str | None = None) -> Position:
    """The position after an action; `move` is its name, looked up if it is not told."""
    name = game.action_to_string(position.state, action) if move is None else move
    after = _look(*_step(game, position.state, np.int32(action)))
    return replace(after, move=name, by=position.mover)


@functools.partial(jax.jit, static_argnums=0)
def _start(game: Game, key: Array | None) -> tuple[Any, tuple[Array, ...]]:
    state = game.init(key)
    return state, _facts(game, state)


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, state: Any, action: Array) -> tuple[Any, tuple[Array, ...]]:
    state = game.step(state, action)
    return state, _facts(game, state)


def _facts(game: Game, state: Any) -> tuple[Array, ...]:
    return game.current_player(state), game.is_terminal(state), game.returns(state)


_facts_jit = jax.jit(_facts, static_argnums=0)


def _look(state: Any, facts: tuple[Array, ...]) -> Position:
    mover, over, returns = jax.device_get(facts)
    return Position(state, int(mover), bool(over), (float(returns[0]), float(returns[1])))
