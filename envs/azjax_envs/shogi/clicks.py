"""Which cells a person clicks to play a move of shogi."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.shogi import rays
from azjax_envs.shogi.board import IN_HAND
from azjax_envs.shogi.moves import NUM_ACTION_PLANES, NUM_MOVES

CHOICES = ("", "+")
CELL_NAMES = (
    *(f"{9 - column}{row}" for row in "abcdefghi" for column in range(9)),
    *(f"{letter}*" for letter in 2 * "RBGSNLP"),
)
_STEPS = np.array(rays.STEPS)
_FAR = 9


def clicks(cells: Array | np.ndarray, player: Array) -> Array:
    """Returns the clicks that enter each action, int32 [num_actions, 3].

    A row holds the cell that the piece leaves (a hand's cell for a drop), the cell that it enters,
    both in the numbers of `view`, and 1 for a promotion. `cells`, int32 [81], are the board as the
    player to move sees it.
    """
    # A piece comes from the first cell behind the target that is not empty.
    behind, inside = _behind()
    taken = (cells != 0)[behind] & inside
    steps = jnp.min(jnp.where(taken, np.arange(1, _FAR), _FAR - 1), axis=-1)  # [81, moves]
    starts = np.arange(81)[:, None] - steps * (_STEPS @ np.array([9, 1]))[None]
    starts = jnp.clip(starts, 0, 80)
    starts = jnp.where(player == 0, starts, 80 - starts)
    # Drops are numbered from the pawns up, the cells of a hand from the rooks down.
    hands = 81 + len(IN_HAND) * player.astype(jnp.int32) + np.arange(len(IN_HAND))[::-1]
    hands = jnp.broadcast_to(hands, (81, len(IN_HAND)))
    starts = jnp.concatenate([starts, starts, hands], axis=1)
    targets = jnp.where(player == 0, np.arange(81), np.arange(81)[::-1])
    targets = jnp.broadcast_to(targets[:, None], starts.shape)
    planes = np.arange(NUM_ACTION_PLANES)
    promotes = (planes >= NUM_MOVES) & (planes < 2 * NUM_MOVES)
    choices = jnp.broadcast_to(promotes.astype(np.int32), starts.shape)
    return jnp.stack([starts, targets, choices], axis=-1).reshape(-1, 3).astype(jnp.int32)


def _behind() -> tuple[np.ndarray, np.ndarray]:
    """Returns the cells behind each, nearest first, and whether they are on the board.

    They are int and bool [81, moves, 8].
    """
    distance = np.arange(1, _FAR)[:, None]
    cell = np.stack(np.divmod(np.arange(81), 9), axis=-1)[:, None, None]
    at = cell - distance * _STEPS[:, None]
    inside = np.all((at >= 0) & (at < 9), axis=-1)
    return np.where(inside, at @ np.array([9, 1]), 0), inside
