"""The dice of games of chance, and which parts of the package know none."""

import functools
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
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


def most_entries(game: Game) -> int:
    """Returns the most moves of a game; in a game of dice a roll may stand before each."""
    return 2 * game.max_steps + 1 if isinstance(game, HasChance) else game.max_steps


def mean_over_outcomes(game: Any, value: Callable[[State], Array], states: State) -> Array:
    """Returns the expected results of player 0 in states [B, ...], float32 [B].

    Before a roll each is the mean over its outcomes, and at the end the result.

    Args:
      value: the values of states [B, ...] in which a player is to move, from their perspective.
    """

    def of_first(states: State) -> Array:
        values = jnp.where(jax.vmap(game.current_player)(states) == 0, 1, -1) * value(states)
        result = jax.vmap(game.returns)(states)[:, 0]
        return jnp.where(jax.vmap(game.is_terminal)(states), result, values)

    shares, after = jax.vmap(functools.partial(outcomes, game))(states)
    by_outcome = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), after)
    values = jax.lax.map(of_first, by_outcome).T  # one outcome at a time, for the memory
    return jnp.sum(jnp.where(shares > 0, shares * values, 0.0), axis=-1)


def read_outcome(game: Any, state: State, text: str) -> int:
    """Returns the outcome of chance that a text names, such as "6-1"; "61" and "1 6" are the same.

    Args:
      state: one state in which chance is next.

    Raises:
      UserError: no possible outcome has that name.
    """
    possible = np.flatnonzero(np.asarray(game.chance_probabilities(state)) > 0).tolist()
    names = {outcome: game.outcome_to_string(state, outcome) for outcome in possible}
    for spell in (str.lower, _digits):
        found = [outcome for outcome in possible if spell(names[outcome]) == spell(text.strip())]
        if len(found) == 1 and spell(text):
            return found[0]
    raise UserError(f"{text.strip()!r} is no roll here; rolls are {', '.join(names.values())}")


def _digits(text: str) -> str:
    """Returns the faces of dice in order, "" for a text with other letters."""
    faces = re.sub(r"[\s-]", "", text)
    return "".join(sorted(faces)) if faces.isdecimal() else ""


def require_no_chance(game: Any) -> None:
    """Raises a UserError if a game has dice, where none are known."""
    if isinstance(game, HasChance):
        name = getattr(game, "name", type(game).__name__)
        raise UserError(
            f"{name} is a game of chance: engines know no dice; azjax train, pretrain, "
            "eval, match, analyse, play, web and solve do"
        )
