"""Symmetries of rectangular boards, as numpy permutations."""

from collections.abc import Sequence

import numpy as np

from azjax_envs.game import Symmetries


def dihedral(height: int, width: int) -> np.ndarray:
    """Returns the rotations and reflections of a board: 8 of a square, 4 of any other rectangle.

    Returns:
      int32 [K, height * width]. Row k holds, for each cell of the transformed board, the cell of
      the original board that moves there.
    """
    board = np.arange(height * width, dtype=np.int32).reshape(height, width)
    turns = range(4) if height == width else (0, 2)
    images = [np.rot90(flipped, turn) for flipped in (board, board[:, ::-1]) for turn in turns]
    return np.stack([image.reshape(-1) for image in images])


def on_cells(cells: np.ndarray, action_cells: np.ndarray, num_actions: int) -> Symmetries:
    """Returns the symmetries of a game whose actions belong to cells of the observation.

    Args:
      cells: int32 [K, H * W], as `dihedral` returns it.
      action_cells: int [P], the cell of each of the first P actions.
      num_actions: at least P. No symmetry changes the remaining actions, such as a pass.
    """
    action_at = np.full(cells.shape[1], -1, np.int32)
    action_at[action_cells] = np.arange(len(action_cells), dtype=np.int32)
    placed = action_at[cells[:, action_cells]]
    rest = np.arange(len(action_cells), num_actions, dtype=np.int32)
    actions = np.concatenate([placed, np.broadcast_to(rest, (len(cells), len(rest)))], axis=1)
    return Symmetries(cells=cells, actions=actions)


def mirrored(height: int, width: int, planes: Sequence[int]) -> Symmetries:
    """Returns the identity and the exchange of left and right, for actions `cell * P + plane`.

    Args:
      planes: int [P], the plane that each becomes.
    """
    board = np.arange(height * width, dtype=np.int32).reshape(height, width)
    cells = np.stack([board, board[:, ::-1]]).reshape(2, -1)
    ways = np.stack([np.arange(len(planes)), np.asarray(planes)])
    actions = cells[:, :, None] * len(planes) + ways[:, None]
    return Symmetries(cells=cells, actions=actions.reshape(2, -1).astype(np.int32))
