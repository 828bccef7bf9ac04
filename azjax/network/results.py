"""The results of a game that a value head tells apart, and their expectation."""

import jax.numpy as jnp
import numpy as np
from azjax_envs import Game, HasResults

from azjax.config import NetworkConfig
from azjax.errors import UserError
from azjax.types import Array

Results = tuple[float, ...]
"""K results in points, the greatest first, each with both signs. Three are win, draw and loss."""
WIN_DRAW_LOSS: Results = (1.0, 0.0, -1.0)


def told_apart(game: Game, config: NetworkConfig) -> Results:
    """Returns the results that a network's value head and its targets tell apart.

    Raises:
      UserError: the value head is of results, and the game names none.
    """
    if config.value_head != "results":
        return WIN_DRAW_LOSS
    if not isinstance(game, HasResults):
        raise UserError(
            f'network.value_head = "results": {game.name} has no other results than win, draw and '
            'loss; use "wdl"'
        )
    return tuple(game.results)


def expected_result(outcome: Array, results: Results = WIN_DRAW_LOSS) -> Array:
    """Returns the expected result in [-1, 1], float32 [...].

    Args:
      outcome: chances of K results, float32 [..., K]; of a win, a draw and a loss by default.
      results: the K results, of which the greatest stands for 1.
    """
    if len(results) == 3:
        return outcome[..., 0] - outcome[..., 2]
    return jnp.sum(outcome * shares_of_greatest(results, outcome.ndim), axis=-1)


def shares_of_greatest(results: Results, ndim: int = 1) -> np.ndarray:
    """Returns K results divided by the greatest one, float32 [..., K] of `ndim` axes."""
    shares = np.array(results, np.float32) / np.float32(results[0])
    return shares.reshape(*[1] * (ndim - 1), -1)
