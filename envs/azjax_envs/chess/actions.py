"""AlphaZero's numbering of chess moves: a plane for each way to move, from each square.

Action = square * planes + plane. The planes are, in order:

- the eight directions at distance one, clockwise from north, then at distance two, up to size - 1;
- the eight jumps of a knight;
- nine underpromotions: to knight, bishop and rook, each by a capture to the left, a push and a
  capture to the right.

The pawns of the player to move go north. Castling is the king's move of two squares. A pawn that
reaches the last row by one of the first planes becomes a queen.

Source: Silver et al., "A general reinforcement learning algorithm that masters chess, shogi, and Go
through self-play", Science 2018, supplement (73 planes on 8x8).
"""

import functools

import numpy as np

from azjax_envs.chess.board import ADVANCES, DIRECTIONS, JUMPS

UNDERPROMOTIONS = "nbr"


def num_planes(size: int) -> int:
    return 8 * (size - 1) + 8 + 3 * len(UNDERPROMOTIONS)


def first_underpromotion(size: int) -> int:
    """Returns the first plane of the underpromotions, three for each piece."""
    return 8 * (size - 1) + 8


def offsets(size: int) -> list[tuple[int, int]]:
    """Returns the rows down and the columns to the right that each plane moves."""
    far = range(1, size)
    rides = [(down * k, right * k) for k in far for down, right in DIRECTIONS]
    return [*rides, *JUMPS, *[DIRECTIONS[d] for _ in UNDERPROMOTIONS for d in ADVANCES]]


@functools.cache
def targets(size: int) -> np.ndarray:
    """Returns the square that each plane leads to from each square, -1 beyond the board.

    It is int16 [size * size, planes].
    """
    moves = np.array(offsets(size))
    rows = np.arange(size * size)[:, None] // size + moves[:, 0]
    columns = np.arange(size * size)[:, None] % size + moves[:, 1]
    inside = (rows >= 0) & (rows < size) & (columns >= 0) & (columns < size)
    return np.where(inside, rows * size + columns, -1).astype(np.int16)


def mirrored_planes(size: int) -> list[int]:
    """Returns the plane that each becomes if left and right are exchanged."""
    moves, last = offsets(size), first_underpromotion(size)
    places = {move: plane for plane, move in enumerate(moves[:last])}
    rides = [places[down, -right] for down, right in moves[:last]]
    rest = [last + 3 * piece + 2 - side for piece in range(3) for side in range(3)]
    return rides + rest
