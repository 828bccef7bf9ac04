"""A shogi position in 17 words, from the perspective of the player to move.

A board is 81 cells, row by row from the far side of the player to move. Own pieces move up, towards
row 0. A board is stored as five bitboards. At each cell, four of them hold the kind of the piece,
and the fifth is set for the opponent's pieces. A hand is one word with a count for each kind.
"""

import dataclasses
import functools
import operator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Lanes, Words, both

# The numbers of the kinds. Kinds 9 to 12, 14 and 15 are 1 to 4, 6 and 7 promoted. A promoted kind
# is the plain one plus PROMOTED. 0 is an empty cell, and 13 is unused.
PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK, KING = range(1, 9)
PROMOTED = 8
THEIRS = 16  # added to the kind of an opponent's piece
HORSE, DRAGON = BISHOP + PROMOTED, ROOK + PROMOTED
KINDS = (*range(1, 13), HORSE, DRAGON)
IN_HAND = range(PAWN, ROOK + 1)
TOTAL = {PAWN: 18, LANCE: 4, KNIGHT: 4, SILVER: 4, GOLD: 4, BISHOP: 2, ROOK: 2, KING: 2}

_BACK = (LANCE, KNIGHT, SILVER, GOLD, KING, GOLD, SILVER, KNIGHT, LANCE)
_HALF = (*9 * [PAWN], 0, BISHOP, *5 * [0], ROOK, 0, *_BACK)  # sente's, from rank g
START = np.array([*_HALF[::-1], *27 * [0], *_HALF])
START[:27] += np.where(START[:27] > 0, THEIRS, 0)

LANES = Lanes(9, 9)
NUM_PLANES = 5  # the four bits of the kind, from the lowest, and the owner
ALL = LANES.constant(np.ones((9, 9), bool))
_WIDTHS = (5, 3, 3, 3, 3, 2, 2)  # bits of each count in a hand, from the pawns up
_OFFSETS = tuple(sum(_WIDTHS[:i]) for i in range(len(_WIDTHS)))


def rows(*numbers: int) -> tuple[np.uint32, ...]:
    """Returns the board with these rows set."""
    cells = np.zeros((9, 9), bool)
    cells[list(numbers)] = True
    return LANES.constant(cells)


ZONE = rows(0, 1, 2)  # where own pieces promote


@dataclasses.dataclass(frozen=True)
class Pieces:
    """Bitboards of the pieces of one side, or of both, by how they move."""

    pawn: Words
    lance: Words
    knight: Words
    silver: Words
    golden: Words  # golds, and promoted pieces that move as golds do
    bishop: Words
    rook: Words
    horse: Words
    dragon: Words
    king: Words

    def of(self, side: Words) -> "Pieces":
        """Returns the pieces on the cells of `side`."""
        boards = {name: both(board, side) for name, board in vars(self).items()}
        return Pieces(**boards)


def occupied(planes: Array) -> Words:
    """Returns all pieces of a board, uint32 [5, 3]."""
    return tuple(planes[0] | planes[1] | planes[2] | planes[3])


def pieces(planes: Array) -> Pieces:
    """Returns the pieces of both sides, from a board uint32 [5, 3]."""
    *bits, promoted, _ = planes
    boards = [
        functools.reduce(operator.and_, (bits[i] if kind >> i & 1 else ~bits[i] for i in range(3)))
        for kind in range(8)
    ]
    pawn, lance, knight, silver, gold, bishop, rook = (board & ~promoted for board in boards[1:])
    # Of the promoted kinds all but horse and dragon move as golds do.
    king, horse, dragon = (boards[kind] & promoted for kind in (0, BISHOP, ROOK))
    small = boards[PAWN] | boards[LANCE] | boards[KNIGHT] | boards[SILVER]
    golden = gold | small & promoted
    kinds = (pawn, lance, knight, silver, golden, bishop, rook, horse, dragon, king)
    return Pieces(*map(tuple, kinds))


def turned(planes: Array) -> Array:
    """Returns the board, uint32 [5, 3], rotated by 180 degrees and with the owners swapped."""
    owner = (planes[0] | planes[1] | planes[2] | planes[3]) & ~planes[NUM_PLANES - 1]
    planes = jnp.concatenate([planes[:-1], owner[None]])
    return _reversed(planes)[:, ::-1]


def _reversed(word: Array) -> Array:
    """Returns the 27 bits of each word in opposite order."""
    for distance, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        mask, distance = np.uint32(mask), np.uint32(distance)
        word = word >> distance & mask | (word & mask) << distance
    return (word >> np.uint32(16) | word << np.uint32(16)) >> np.uint32(5)


def unpack(planes: Array | np.ndarray) -> Array | np.ndarray:
    """Returns the piece on each cell of a board, uint32 [5, 3]: its kind, plus THEIRS for theirs.

    It is int32 [81], a numpy array if the board is one.
    """
    bits = planes[:, :, None] >> np.arange(27, dtype=np.uint32)[None, None] & np.uint32(1)
    values = bits << np.arange(NUM_PLANES, dtype=np.uint32)[:, None, None]
    return values.sum(axis=0).astype(np.int32).reshape(81)


def pack(cells: Any) -> Any:
    """Packs a board: the inverse of `unpack`."""
    return LANES.pack(cells.reshape(1, 9, 9) >> np.arange(NUM_PLANES)[:, None, None] & 1 == 1)


def held(hand: Array) -> Array:
    """Returns whether a piece of each kind of IN_HAND is in the hand (uint32 []), bool [7]."""
    return hand & np.array([_field(kind) for kind in IN_HAND], np.uint32) != 0


def count_in_hand(hand: Array, kind: int) -> Array:
    """Returns the number of pieces of that kind in the hand, uint32 []."""
    return (hand & np.uint32(_field(kind))) >> np.uint32(_OFFSETS[kind - 1])


def unit(kind: Array) -> Array:
    """Returns a hand with one piece of that kind, uint32 [].

    A promoted kind counts as its unpromoted one. The hand is empty for kinds that no hand holds.
    """
    kinds, units = np.array(IN_HAND), np.array([one_in_hand(k) for k in IN_HAND], np.uint32)
    return jnp.sum(jnp.where(kind % PROMOTED == kinds, units, 0), dtype=jnp.uint32)


def one_in_hand(kind: int) -> int:
    """Returns a hand with one piece of that kind."""
    return 1 << _OFFSETS[kind - 1]


def _field(kind: int) -> int:
    return (1 << _WIDTHS[kind - 1]) - 1 << _OFFSETS[kind - 1]
