"""The luck of the dice in self-play, which is taken out of the results that are learned.

Most of what a single game's result tells is luck. A roll is as lucky as the value after it is
greater than the mean over all rolls. This has the mean 0, so results less the luck of their rolls
have the same expectation, and vary less: GNU Backgammon's variance reduction of rollouts, or the
advantage sum of Zinkevich et al. 2006.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp

from azjax.chance import outcomes
from azjax.pytrees import take, where
from azjax.search.model import Evaluate, mask_logits
from azjax.types import Array, Params, State

_MOST_MOVES = 4  # of a turn, as after a double in backgammon; longer turns are valued there


def roll_luck(
    game: Any, evaluate: Evaluate, params: Params, before: State, after: State, *, block: int
) -> Array:
    """Returns how much better N rolls were than the mean over all rolls, float32 [N].

    The value of a roll is that of the position where a turn of the network's policy ends. Networks
    value the positions before dice better than those after them. It can be wrong: any function of
    the position leaves the expectation as it is.

    Args:
      game: a game of chance.
      before: the positions before the dice, [N, ...]; others have no luck.
      after: the positions after them, [N, ...], whose movers' luck it is.
      block: how many positions the network looks at together.
    """
    is_roll = jax.vmap(game.is_chance)(before)
    shares, rolled = jax.vmap(functools.partial(outcomes, game))(before)
    shares = jnp.where(is_roll[:, None], shares, 0.0)
    needed = shares > 0
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rolled)
    values = _values_after_turns(game, evaluate, params, flat, needed.reshape(-1), block)
    values = values.reshape(needed.shape)
    is_after = jax.vmap(jax.vmap(_is_same, (None, 0)))(after, rolled)
    came = jnp.argmax(needed & is_after, axis=1)
    luck = jnp.take_along_axis(values, came[:, None], axis=1)[:, 0]
    luck = jnp.where(is_roll, luck - jnp.sum(shares * values, axis=1), 0.0)
    return jnp.where(jax.vmap(game.current_player)(after) == 0, luck, -luck)


def _is_same(state: State, other: State) -> Array:
    """Returns whether two states are equal, bool []."""
    parts = jax.tree.map(lambda x, y: jnp.all(x == y), state, other)
    return functools.reduce(jnp.logical_and, jax.tree.leaves(parts))


def _values_after_turns(
    game: Any, evaluate: Evaluate, params: Params, states: State, needed: Array, block: int
) -> Array:
    """Returns player 0's values where turns from states [M, ...] end, float32 [M].

    Only those that are `needed`, bool [M], are computed; the others are 0. Turns have different
    numbers of moves, so each step takes the next unfinished ones.
    """
    count = needed.shape[0]
    block = min(block, count)

    def look(carry: tuple[State, Array, Array, Array]) -> tuple[State, Array, Array, Array]:
        states, unfinished, moves, values = carry
        (rows,) = jnp.nonzero(unfinished, size=block, fill_value=count)
        some, made = take((states, moves), jnp.minimum(rows, count - 1))
        logits, value = evaluate(params, jax.random.key(0), some)
        over = jax.vmap(game.is_terminal)(some)
        ends = over | jax.vmap(game.is_chance)(some) | (made == _MOST_MOVES)
        value = jnp.where(jax.vmap(game.current_player)(some) == 0, value, -value)
        value = jnp.where(over, jax.vmap(game.returns)(some)[:, 0], value)
        legal = jax.vmap(game.legal_action_mask)(some)
        moved = jax.vmap(game.step)(some, jnp.argmax(mask_logits(logits, legal), axis=-1))
        # `rows` is beyond the end where fewer than a block are unfinished; those are dropped.
        return (
            jax.tree.map(lambda x, y: x.at[rows].set(y), states, where(ends, some, moved)),
            unfinished.at[rows].set(~ends),
            moves.at[rows].set(made + 1),
            values.at[rows].set(jnp.where(ends, value, 0.0)),
        )

    start = (states, needed, jnp.zeros(count, jnp.int32), jnp.zeros(count))
    return jax.lax.while_loop(lambda carry: jnp.any(carry[1]), look, start)[3]
