"""Batches of games: how they start, and how a game that has ended starts again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from azjax_envs.game import Game


class ResetStep(NamedTuple):
    """The result of a step of `auto_reset`; under `jax.vmap` every array has a leading axis."""

    state: Any  # the state to go on from: of a new game where the old one has ended
    returns: Array  # float32 [2], the result of each player if the game ended, zeros otherwise
    done: Array  # bool [], whether the game ended with this step


def init_batch(game: Game, key: Array, batch_size: int) -> Any:
    """Starts `batch_size` games.

    Args:
      game: the game.
      key: PRNG key, split for games with a random start.
      batch_size: the number of games.

    Returns:
      States, each array with a leading axis [batch_size, ...].

    Example:
        ```python
        states = init_batch(make("connect_four"), jax.random.key(0), 4096)
        ```
    """
    return jax.vmap(game.init)(jax.random.split(key, batch_size))


def auto_reset(game: Game) -> Callable[..., ResetStep]:
    """Returns a step function that starts a new game wherever the old one has ended.

    The function takes (state, action, key) of one game, where `key` is for the start of the new
    game and may be left out for games without a random start. It returns a `ResetStep`: the result
    and the end are those of the step, while the state is the one to go on from. So the final
    position itself is not seen; take `game.step` where you need it.

    Example:
        ```python
        step = jax.vmap(auto_reset(game))
        states, returns, done = step(states, actions)
        ```
    """

    def step(state: Any, action: Array, key: Array | None = None) -> ResetStep:
        after = game.step(state, action)
        done = game.is_terminal(after)
        new = jax.tree.map(lambda x, y: jnp.where(done, x, y), game.init(key), after)
        return ResetStep(state=new, returns=game.returns(after), done=done)

    return step
