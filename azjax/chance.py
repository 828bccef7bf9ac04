"""The dice of games of chance, and which parts of the package know none."""

from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game, HasChance
from azjax_envs.sampling import choose_weighted

from azjax.errors import UserError
from azjax.types import Array, State


def roll(game: Any, word: Array, state: State) -> State:
    """Returns one state of a game of chance after an outcome, if chance is next.

    Args:
      word: random bits that decide, uint32 [].
    """
    return game.chance_step(state, choose_weighted(word, game.chance_probabilities(state)))


def outcomes(game: Game, state: State) -> tuple[Array, State]:
    """Returns the probabilities, float32 [K], and the states [K, ...] after the next chance.

    Where chance is not next, the first is the state itself, with the probability 1. Without chance
    in the rules, K is 1.
    """
    if not isinstance(game, HasChance):
        return jnp.ones(1), jax.tree.map(lambda x: x[None], state)
    shares = game.chance_probabilities(state)
    numbers = jnp.arange(len(shares))
    states = jax.vmap(game.chance_step, in_axes=(None, 0))(state, numbers)
    certain = (numbers == 0).astype(shares.dtype)
    return jnp.where(game.is_chance(state), shares, certain), states


def require_no_chance(game: Any) -> None:
    """Raises a UserError if a game has dice, where none are known."""
    if isinstance(game, HasChance):
        name = getattr(game, "name", type(game).__name__)
        raise UserError(
            f"{name} is a game of chance: engines, analysis, files and pages know no dice; azjax "
            "train, eval, match, play in a terminal and solve do"
        )
