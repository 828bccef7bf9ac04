"""Data augmentation: every position is shown to the network under a random symmetry."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.types import Array


def random_symmetries(
    game: Game,
    key: Array,
    observations: Array,
    policies: Array,
    masks: Array,
    targets: Any = None,
) -> tuple[Array, Array, Array, Any]:
    """Transforms each example by a symmetry of its own, drawn uniformly.

    Args:
      observations: float [B, height, width, channels].
      policies: float [B, A].
      masks: legal actions, bool [B, A].
      targets: a pytree of arrays [B, ...]. Those [B, height, width, ...] are turned as the board,
        other ones [B, ..., A] as the policy, and the rest stays.
    """
    if game.num_symmetries == 1:
        return observations, policies, masks, targets
    batch = observations.shape[0]
    choice = jax.random.randint(key, (batch,), 0, game.num_symmetries)
    symmetries = game.symmetries()
    cells = jnp.asarray(np.asarray(symmetries.cells))[choice]  # [B, height * width]
    actions = jnp.asarray(np.asarray(symmetries.actions))[choice]  # [B, A]

    def turn_board(x: Array) -> Array:
        flat = x.reshape(batch, cells.shape[1], -1)
        return jnp.take_along_axis(flat, cells[:, :, None], axis=1).reshape(x.shape)

    def turn(x: Array) -> Array:
        if x.shape[1:3] == game.observation_shape[:2]:
            return turn_board(x)
        if x.shape[1:][-1:] != (game.num_actions,):
            return x
        rows = actions.reshape(batch, *[1] * (x.ndim - 2), -1)
        return jnp.take_along_axis(x, rows, axis=-1)

    return (
        turn_board(observations),
        jnp.take_along_axis(policies, actions, axis=1),
        jnp.take_along_axis(masks, actions, axis=1),
        jax.tree.map(turn, targets),
    )
