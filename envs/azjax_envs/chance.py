"""`draw_chance`: rolls the dice of games of chance."""

from typing import Any

import jax
from jax import Array

from azjax_envs.game import Game, HasChance
from azjax_envs.sampling import weighted_action


def draw_chance(game: Game, key: Array, states: Any) -> Any:
    """Returns the states after an outcome of chance, each drawn by its probabilities.

    One key serves a whole batch, as in `random_action`. States in which a player is to move, or
    the game is over, stay as they are, and so do all states of a game without chance.

    Args:
      states: one state, or a batch of states with any leading axes.

    Example:
        ```python
        states = draw_chance(game, key, jax.vmap(game.step)(states, actions))
        ```
    """
    if not isinstance(game, HasChance):
        return states
    probabilities, chance_step = game.chance_probabilities, game.chance_step
    single = jax.tree.leaves(jax.eval_shape(game.init))[0]
    for _ in range(jax.tree.leaves(states)[0].ndim - single.ndim):
        probabilities, chance_step = jax.vmap(probabilities), jax.vmap(chance_step)
    return chance_step(states, weighted_action(key, probabilities(states)))
