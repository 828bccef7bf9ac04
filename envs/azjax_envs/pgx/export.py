"""The environment of pgx that `adapters.to_pgx` returns; importing this module needs pgx."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pgx
from jax import Array
from pgx._src.struct import dataclass  # pgx requires it for states and exports it nowhere else

from azjax_envs import svg
from azjax_envs.chance import draw_chance
from azjax_envs.game import Game, HasChance, observe_as


@functools.cache
def environment_class(game: Game) -> type[pgx.Env]:
    """Returns the class of `game` as a pgx environment; pgx identifies environments by class."""

    start = jax.device_get(jax.jit(game.init)())
    blank = np.zeros(game.observation_shape, np.float32)

    @dataclass
    class State(pgx.State):
        current_player: Array
        observation: Array
        rewards: Array
        terminated: Array
        truncated: Array
        legal_action_mask: Array
        _step_count: Array
        _first: Array  # int32 [], the player who moves first
        _x: Any  # the game's own state

        env_id = game.name

        def to_svg(self, *, color_theme: str | None = None, scale: float | None = None) -> str:
            """Returns the drawing of the position; for a batch, that of the first one."""
            lanes = np.ndim(self.current_player)
            return svg.to_svg(game, jax.tree.map(lambda leaf: leaf[(0,) * lanes], self._x))

        def save_svg(self, filename: Any, **options: Any) -> None:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(self.to_svg(**options))

    class Environment(pgx.Env):
        id = game.name
        version = "azjax"
        num_players = 2
        num_actions = game.num_actions
        observation_shape = game.observation_shape

        def _init(self, key: Array) -> State:
            first = jax.random.bernoulli(key).astype(jnp.int32)
            x = draw_chance(game, key, jax.tree.map(jnp.asarray, start))
            return State(
                current_player=game.current_player(x) ^ first,
                observation=jnp.asarray(blank),
                rewards=jnp.zeros(2, jnp.float32),
                terminated=jnp.zeros((), jnp.bool_),
                truncated=jnp.zeros((), jnp.bool_),
                legal_action_mask=game.legal_action_mask(x),
                _step_count=jnp.zeros((), jnp.int32),
                _first=first,
                _x=x,
            )

        def _step(self, state: State, action: Array, key: Array | None) -> State:
            x = game.step(state._x, action)
            if isinstance(game, HasChance):
                if key is None:
                    raise ValueError(f"{game.name} is a game of chance: step needs a PRNG key")
                x = draw_chance(game, key, x)
            returns = game.returns(x)
            return state.replace(
                current_player=game.current_player(x) ^ state._first,
                rewards=jnp.where(state._first == 1, returns[::-1], returns),
                terminated=game.is_terminal(x),
                legal_action_mask=game.legal_action_mask(x),
                _x=x,
            )

        def _observe(self, state: State, player_id: Array) -> Array:
            return observe_as(game, state._x, player_id ^ state._first)

    return Environment
