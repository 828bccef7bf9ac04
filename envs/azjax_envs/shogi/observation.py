"""Observations of a shogi position for a network: AlphaZero's planes."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.shogi.board import IN_HAND, KINDS, NUM_PLANES, THEIRS, TOTAL, count_in_hand, unpack

POSITIONS = 8
REPETITIONS = 3
PLANES = 2 * len(KINDS) + REPETITIONS + 2 * len(IN_HAND)  # of one position
CHANNELS = POSITIONS * PLANES + 2


def observe(past: Array, player: Array, progress: Array) -> Array:
    """Returns the observation, float32 [9, 9, 362]; `azjax_envs.shogi.Shogi` lists the channels.

    Args:
      past: uint32 [8, 18], the latest positions, newest first, each from its player to move.
      player: int32 [], to move.
      progress: float32 [], the plies played as a fraction of the longest game.
    """
    away = np.arange(POSITIONS) % 2 == 1  # those in which the other player was to move
    planes = jax.vmap(_planes)(past, away)  # [8, 81, 45]
    planes = jnp.moveaxis(planes, 0, 1).reshape(81, -1)
    last = jnp.stack([(player == 0).astype(jnp.float32), progress])
    planes = jnp.concatenate([planes, jnp.broadcast_to(last, (81, 2))], axis=1)
    return planes.reshape(9, 9, CHANNELS)


def exchange_sides(observation: Array) -> Array:
    """Returns an observation as the other player has it: turned, with the players exchanged."""
    order = np.arange(CHANNELS)
    sets = order[:-2].reshape(POSITIONS, PLANES)  # a view, so that `order` changes
    for first, width in ((0, len(KINDS)), (2 * len(KINDS) + REPETITIONS, len(IN_HAND))):
        both = sets[:, first : first + 2 * width]
        both[:] = np.roll(both, width, axis=1)
    other = observation[::-1, ::-1][..., order]
    return jnp.where(np.arange(CHANNELS) == CHANNELS - 2, 1 - other, other)


def _planes(position: Array, away: Array) -> Array:
    """Returns the planes of one position, float32 [81, 45]; turns it first if `away`."""
    cells = unpack(position[: 3 * NUM_PLANES].reshape(NUM_PLANES, 3))
    cells = jnp.where(away, jnp.where(cells > 0, cells ^ THEIRS, 0)[::-1], cells)
    hands = position[3 * NUM_PLANES : 3 * NUM_PLANES + 2]
    hands = jnp.where(away, hands[::-1], hands)
    kinds = np.array([*KINDS, *(kind + THEIRS for kind in KINDS)], np.int32)
    times = position[-1].astype(jnp.int32) == np.arange(1, REPETITIONS + 1)
    held = jnp.stack([count_in_hand(hands[i], kind) for i in (0, 1) for kind in IN_HAND])
    held = held.astype(jnp.float32) / np.array([TOTAL[kind] for kind in IN_HAND] * 2, np.float32)
    everywhere = jnp.concatenate([times.astype(jnp.float32), held])
    on_cells = (cells[:, None] == kinds[None]).astype(jnp.float32)
    everywhere = jnp.broadcast_to(everywhere, (81, everywhere.shape[0]))
    return jnp.concatenate([on_cells, everywhere], axis=1)
