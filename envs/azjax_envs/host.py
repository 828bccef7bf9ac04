"""One game on the host, step by step, for the interfaces of other libraries."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.chance import draw_chance
from azjax_envs.game import Game, HasChance, observe_as
from azjax_envs.svg import to_svg

RENDER_MODES = ("ansi", "svg")


class Position(NamedTuple):
    """A state, and what the game's methods say of it, as numpy arrays."""

    state: Any
    observations: np.ndarray  # float32 [2, height, width, channels], from each player's seat
    mask: np.ndarray  # int8 [num_actions]
    player: np.ndarray  # int32 []
    over: np.ndarray  # bool []
    returns: np.ndarray  # float32 [2]


def start(game: Game, seed: int = 0) -> Position:
    """Returns the first position; only games with a random start use the seed."""
    return _to_host(_start(game, jax.random.key(seed)))


def step(game: Game, position: Position, action: int) -> Position:
    """Returns the position after an action; an illegal one loses."""
    return _to_host(_step(game, position.state, np.int32(action)))


def roll(game: Game, position: Position, draw: Callable[[], int]) -> Position:
    """Returns the position after chance, if that is next; `draw` returns a seed for it."""
    if chance_of(game, position) is None:
        return position
    return _to_host(_roll(game, position.state, jax.random.key(draw())))


def chance_of(game: Game, position: Position) -> np.ndarray | None:
    """Returns the probabilities of outcomes, float32 [K]; None if the next event is not chance."""
    if not isinstance(game, HasChance):
        return None
    is_chance, probabilities = jax.device_get(_chance(game, position.state))
    return probabilities if is_chance else None


def chance_step(game: HasChance, position: Position, outcome: int) -> Position:
    """Returns the position after an outcome of chance."""
    return _to_host(_chance_step(game, position.state, np.int32(outcome)))


def render(game: Game, position: Position, mode: str | None) -> str | None:
    """Returns the board as text ("ansi") or as an SVG document ("svg"); None without a mode."""
    if mode is None:
        return None
    return to_svg(game, position.state) if mode == "svg" else game.to_string(position.state)


def require_mode(mode: str | None) -> None:
    """Raises ValueError unless `render` knows the mode."""
    if mode is not None and mode not in RENDER_MODES:
        raise ValueError(f"render_mode must be None, 'ansi' or 'svg', not {mode!r}")


@functools.partial(jax.jit, static_argnums=0)
def _start(game: Game, key: Array) -> tuple:
    return _look(game, game.init(key))


@functools.partial(jax.jit, static_argnums=0)
def _step(game: Game, state: Any, action: Array) -> tuple:
    return _look(game, game.step(state, action))


@functools.partial(jax.jit, static_argnums=0)
def _roll(game: Game, state: Any, key: Array) -> tuple:
    return _look(game, draw_chance(game, key, state))


@functools.partial(jax.jit, static_argnums=0)
def _chance(game: HasChance, state: Any) -> tuple[Array, Array]:
    return game.is_chance(state), game.chance_probabilities(state)


@functools.partial(jax.jit, static_argnums=0)
def _chance_step(game: Any, state: Any, outcome: Array) -> tuple:
    return _look(game, game.chance_step(state, outcome))


def _look(game: Game, state: Any) -> tuple:
    """Returns the fields of `Position`, on the device."""
    return (
        state,
        jnp.stack([observe_as(game, state, player) for player in (0, 1)]),
        game.legal_action_mask(state).astype(jnp.int8),
        game.current_player(state),
        game.is_terminal(state),
        game.returns(state),
    )


def _to_host(fields: tuple) -> Position:
    state, *seen = jax.device_get(fields)
    return Position(state, *map(np.array, seen))  # copies, because JAX's own cannot be written to
