"""Which squares a person clicks to play a move of chess."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.chess import actions
from azjax_envs.chess.board import from_words, unpack, wide_sets
from azjax_envs.chess.state import ChessState

CHOICES = ("", "q", *actions.UNDERPROMOTIONS)


@wide_sets()
def clicks(size: int, state: ChessState) -> Array:
    """Returns the clicks that enter each action, int32 [num_actions, 3].

    A row holds the square that the piece leaves and the one that it enters, in White's numbers, and
    the index in CHOICES of the piece that a pawn becomes.
    """
    planes, cells = actions.num_planes(size), size * size
    targets = np.maximum(actions.targets(size), 0).astype(np.int32)
    starts = np.broadcast_to(np.arange(cells, dtype=np.int32)[:, None], targets.shape)
    squares = np.stack([starts, targets])
    turned = (size - 1 - squares // size) * size + squares % size
    squares = jnp.where(state.ply % 2 == 0, squares, turned)
    pawns = unpack(from_words(state.pieces[1], size), size)
    under = np.arange(planes) - actions.first_underpromotion(size)
    chosen = np.broadcast_to(np.where(under >= 0, 2 + under // 3, 0), targets.shape)
    queens = pawns.reshape(-1)[:, None] & (targets < size) & (chosen == 0)
    choices = jnp.where(queens, 1, chosen.astype(np.int32))
    return jnp.stack([*squares, choices], axis=-1).reshape(-1, 3)


def cell_names(size: int) -> tuple[str, ...]:
    return tuple(f"{file}{size - row}" for row in range(size) for file in "abcdefgh"[:size])
