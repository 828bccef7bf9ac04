"""Batches of games: `init_batch` starts them, `auto_reset` restarts games that have ended."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, overload

import jax
import jax.numpy as jnp
from jax import Array

from azjax_envs.chance import draw_chance
from azjax_envs.game import Game, HasChance


class ResetStep(NamedTuple):
    """The result of one step of `auto_reset`; under `jax.vmap` every array has a leading axis."""

    state: Any  # the next state; the start of a new game if the old one has ended
    returns: Array  # float32 [2], the result of each player if the game ended, zeros otherwise
    done: Array  # bool [], whether the game ended with this step


class FinalStep(NamedTuple):
    """The result of one step of `auto_reset` with `keep_final`."""

    state: Any  # as in `ResetStep`
    returns: Array  # float32 [2]
    done: Array  # bool []
    final: Any  # the state after the action, before a new game starts; where `done`, the last one


def init_batch(game: Game, key: Array, batch_size: int) -> Any:
    """Returns the start of `batch_size` games.

    The PRNG key is split into one for each game. Only games of chance and games with a random start
    use it. In a game of chance the first dice are rolled.

    Returns:
      A batch of states: every array has shape [batch_size, ...].

    Example:
        ```python
        states = init_batch(make("connect_four"), jax.random.key(0), 4096)
        ```
    """
    states = jax.vmap(game.init)(jax.random.split(key, batch_size))
    if not isinstance(game, HasChance):
        return states
    return draw_chance(game, jax.random.fold_in(key, batch_size), states)


@overload
def auto_reset(game: Game, *, keep_final: Literal[False] = False) -> Callable[..., ResetStep]: ...


@overload
def auto_reset(game: Game, *, keep_final: Literal[True]) -> Callable[..., FinalStep]: ...


def auto_reset(game: Game, *, keep_final: bool = False) -> Callable[..., ResetStep | FinalStep]:
    """Returns a step function that starts a new game when the old one has ended.

    The returned function steps one unbatched game. `returns` and `done` describe the game that was
    stepped. `state` is the state to continue from.

    Args:
      keep_final: whether to return also the state that the action led to, which `state` no longer
        is where a new game has started.

    Returns:
      A function (state, action, key=None) -> `ResetStep`, or `FinalStep` with `keep_final`.
      `action` is an integer []. `key` is the PRNG key of the new game and of chance; it may be
      omitted unless the game has a random start or chance. In a game of chance the dice after the
      action are rolled in `state`, and not in `final`.

    Example:
        ```python
        step = jax.vmap(auto_reset(game))
        states, returns, done = step(states, actions)
        ```
    """

    def step(state: Any, action: Array, key: Array | None = None) -> ResetStep | FinalStep:
        after = game.step(state, action)
        done = game.is_terminal(after)
        start_key = key
        if isinstance(game, HasChance):
            if key is None:
                raise ValueError(f"{game.name} is a game of chance: each step needs a PRNG key")
            start_key = jax.random.fold_in(key, 1)
        new = jax.tree.map(lambda x, y: jnp.where(done, x, y), game.init(start_key), after)
        if isinstance(game, HasChance) and key is not None:
            new = draw_chance(game, key, new)
        result = ResetStep(state=new, returns=game.returns(after), done=done)
        return FinalStep(*result, final=after) if keep_final else result

    return step
