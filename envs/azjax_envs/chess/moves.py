"""All legal moves of a chess position at once, set-wise, without trying any of them.

A plane of moves (see `azjax_envs.chess.actions`) is the set of squares from which a piece can make
them: the squares that a move may end on, moved back, among the pieces that move so. Pins and checks
are masks: a pinned piece moves along its pin, and in check a move must end on the checker or before
it. All boards are from the perspective of the side to move, whose pawns go up.

The eight directions are an axis of the sets, and what goes on square by square is a loop, for a
program written out would take XLA minutes to compile. A set is [] or, by direction, [8].
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.chess.board import (
    ADVANCES,
    DIRECTIONS,
    EAST,
    JUMPS,
    NORTH,
    WEST,
    each_way,
    every,
    row,
    rows,
    squares,
)
from azjax_envs.xla_cpu import fusion_barrier, short_scan

BACKWARD = tuple((-down, -right) for down, right in DIRECTIONS)
JUMPS_BACK = tuple((-down, -right) for down, right in JUMPS)
IS_DIAGONAL = np.arange(8) % 2 == 1
IS_NORTH = np.arange(8) == NORTH
IS_CAPTURE = np.isin(np.arange(8), (ADVANCES[0], ADVANCES[2]))
IS_THEIR_CAPTURE = np.isin(np.arange(8), (3, 5))


class Pieces(NamedTuple):
    """The sets of pieces. Queens are in both `diagonal` and `straight`."""

    own: Array  # all pieces of the side to move
    pawns: Array  # of both sides, as all below
    knights: Array
    diagonal: Array  # bishops and queens
    straight: Array  # rooks and queens
    kings: Array

    @property
    def occupied(self) -> Array:
        return self.pawns | self.knights | self.diagonal | self.straight | self.kings


class Moves(NamedTuple):
    """The result of `legal_moves`."""

    rows: Array  # uint8 [size, planes]: for each row and way to move, a bit for each column from
    #              which the move is legal
    check: Array  # bool [], whether the king is attacked
    en_passant: Array  # bool [], whether an en-passant capture is legal
    stuck: Array  # bool [], whether there is no legal move


class _Threats(NamedTuple):
    """Checks, pins and attacked squares of the king of the side to move."""

    unsafe: Array  # [], the squares they attack, were the king not in the way
    check: Array  # bool []
    stops: Array  # [], where any move but the king's must end: everywhere without check
    pinned: Array  # []
    sights: Array  # [8], by direction from the king: what he sees, up to the first piece
    attacks: Array  # [8], by direction: the squares that riders of theirs attack going there
    screens: Array  # [8], by direction from the king: the only piece between him and a rider


def legal_moves(size: int, pieces: Pieces, castling: Array, passed: Array) -> Moves:
    """Finds the legal moves of the side to move.

    Args:
      castling: uint8 [], bit 0 the king-side right of the side to move, bit 1 its queen-side right.
        On boards of other sizes than 8 there is no castling.
      passed: the square that a pawn has just passed with its double step, or none. Smaller boards
        have no such step.
    """
    own, empty = pieces.own, every(size) & ~pieces.occupied
    threats = _threats(size, pieces, empty)
    pins = threats.pinned & threats.screens
    free = own & ~(threats.pinned & ~(pins | _opposite(pins)))
    stops, theirs = threats.stops & ~own, ~own & ~empty

    rides = _rides(size, _riders(pieces) & free, stops, empty)
    king, pawns = own & pieces.kings, free & pieces.pawns
    around = king & each_way(~own & ~threats.unsafe, BACKWARD, size)
    ends = jnp.where(IS_NORTH, empty, jnp.where(IS_CAPTURE, theirs, 0)) & stops
    steps = around | pawns & each_way(ends, BACKWARD, size)
    jumps = own & pieces.knights & ~threats.pinned & each_way(stops, JUMPS_BACK, size)
    near, far = rides[0], rides[1]
    en_passant = jnp.zeros((), bool)
    if size == 8:
        takers = _takers(threats, pawns, passed)
        steps, en_passant = steps | takers, jnp.any(takers != 0)
        castles = _castles(king, castling, empty, threats)
        far |= jnp.where(IS_NORTH, _leaps(pawns, stops, empty), castles)
    near |= steps

    # Where a pawn becomes a queen, it may become another piece as well.
    last = near & pieces.pawns & row(size, 1)
    under = 3 * [last[ADVANCES[0] :], last[: len(ADVANCES) - 1]]
    planes = jnp.concatenate([near, far, rides[2:].reshape(-1), jumps, *under])
    stuck = jnp.bitwise_or.reduce(planes) == 0
    return Moves(rows(planes, size), threats.check, en_passant, stuck)


def is_attacked(size: int, pieces: Pieces) -> Array:
    """Returns whether the king of the side to move is attacked, by the other king too, bool []."""
    threats = _threats(size, pieces, every(size) & ~pieces.occupied)
    return threats.unsafe & pieces.kings & pieces.own != 0


def _rides(size: int, riders: Array, ends: Array, empty: Array) -> Array:
    """Returns, for each distance, the riders [8] that may go that far and end on `ends`.

    They are [distances, 8].
    """

    def further(ends: Array, _: None) -> tuple[Array, Array]:
        starts = each_way(ends, BACKWARD, size)
        return starts & empty, starts & riders

    return short_scan(further, jnp.broadcast_to(ends, (8,)), length=size - 1)[1]


def _leaps(pawns: Array, stops: Array, empty: Array) -> Array:
    """Returns those of `pawns` [8] that may step two squares on 8x8, if NORTH is theirs."""
    return pawns & row(8, 6) & empty << np.uint64(8) & (empty & stops) << np.uint64(16)


def _takers(threats: _Threats, pawns: Array, passed: Array) -> Array:
    """Returns the pawn of each direction that may capture en passant, [8].

    Two pawns leave a line at once, so pins alone are not enough. Either the captured pawn shielded
    the king from a bishop or queen, or both pawns stood next to each other between king and rook.
    """
    captured = passed << np.uint64(8)
    possible = threats.stops & (passed | captured) != 0
    possible &= ~jnp.any((threats.screens & captured != 0) & IS_DIAGONAL)
    takers = jnp.where(IS_CAPTURE, pawns & each_way(passed, BACKWARD, 8), 0)
    pair = takers | captured
    for side in (EAST, WEST):
        sights, attacks = threats.sights[side], threats.attacks[(side + 4) % 8]
        possible &= (sights & pair == 0) | (attacks & pair == 0)
    return jnp.where(possible, takers, 0)


def _castles(king: Array, castling: Array, empty: Array, threats: _Threats) -> Array:
    """Returns the king's square in each direction if he may castle there, [8]."""
    path, between = np.zeros((2, 8, 8, 8), bool)
    path[EAST, 7, 5:7] = path[WEST, 7, 2:4] = True
    between[EAST, 7, 5:7] = between[WEST, 7, 1:4] = True
    rights = np.zeros(8, np.uint8)
    rights[[EAST, WEST]] = 1, 2
    blocked = squares(between) & ~empty | squares(path) & threats.unsafe
    return jnp.where((castling & rights != 0) & (blocked == 0) & ~threats.check, king, 0)


def _threats(size: int, pieces: Pieces, empty: Array) -> _Threats:
    theirs, king = every(size) & ~empty & ~pieces.own, pieces.kings & pieces.own
    riders = theirs & _riders(pieces)
    seen = each_way(king, DIRECTIONS, size)
    attacks = _fills(size, each_way(riders, DIRECTIONS, size), empty | king)
    sights = _fills(size, seen, empty)
    screens = sights & ~empty & _opposite(attacks)

    pawns = jnp.where(IS_THEIR_CAPTURE, theirs & pieces.pawns, 0)
    steps = each_way(theirs & pieces.kings | pawns, DIRECTIONS, size)
    jumps = each_way(theirs & pieces.knights, JUMPS, size)
    unsafe = jnp.bitwise_or.reduce(attacks | jumps | steps)

    lines = jnp.bitwise_or.reduce(jnp.where(sights & riders != 0, sights, 0))
    knights = each_way(king, JUMPS, size) & pieces.knights
    strikes = jnp.where(IS_CAPTURE, seen, 0) & pieces.pawns
    checkers = theirs & (lines | jnp.bitwise_or.reduce(knights | strikes))
    number = jnp.bitwise_count(checkers)
    stops = jnp.where(number == 0, every(size), jnp.where(number == 1, checkers | lines, 0))
    # All planes want these; without the loop they would be computed anew for each.
    pinned = pieces.own & jnp.bitwise_or.reduce(screens)
    unsafe, stops, pinned, check = fusion_barrier(unsafe, stops, pinned, number > 0)
    return _Threats(unsafe, check, stops, pinned, sights, attacks, screens)


def _fills(size: int, first: Array, empty: Array) -> Array:
    """Returns all squares that are reached from those of the `first` step, [8].

    A way ends on the first square that is not `empty`.
    """

    def further(reached: Array, _: None) -> tuple[Array, None]:
        return first | each_way(reached & empty, DIRECTIONS, size), None

    return short_scan(further, first, length=size - 2)[0]


def _riders(pieces: Pieces) -> Array:
    """Returns the pieces of both sides that ride in each direction, [8]."""
    return jnp.where(IS_DIAGONAL, pieces.diagonal, pieces.straight)


def _opposite(sets: Array) -> Array:
    """Returns the sets [8] in the order of the opposite directions."""
    return jnp.concatenate([sets[4:], sets[:4]])
