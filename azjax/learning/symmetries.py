"""Data augmentation: every position is shown to the network under a random symmetry."""

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
    ownership: Array | None = None,
) -> tuple[Array, Array, Array, Array | None]:
    """Transforms each example by a symmetry of its own, drawn uniformly.

    Args:
      observations: float [B, height, width, channels].
      policies: float [B, A].
      masks: legal actions, bool [B, A].
      ownership: of each cell, float [B, height * width], or None.
    """
    if game.num_symmetries == 1:
        return observations, policies, masks, ownership
    batch = observations.shape[0]
    choice = jax.random.randint(key, (batch,), 0, game.num_symmetries)
    symmetries = game.symmetries()
    cells = jnp.asarray(np.asarray(symmetries.cells))[choice]  # [B, height * width]
    actions = jnp.asarray(np.asarray(symmetries.actions))[choice]  # [B, A]
    flat = observations.reshape(batch, -1, observations.shape[-1])
    turned = jnp.take_along_axis(flat, cells[:, :, None], axis=1).reshape(observations.shape)
    return (
        turned,
        jnp.take_along_axis(policies, actions, axis=1),
        jnp.take_along_axis(masks, actions, axis=1),
        None if ownership is None else jnp.take_along_axis(ownership, cells, axis=1),
    )
