"""All legal moves of a chess position at once, set-wise, without trying any of them.

A plane of moves (see `azjax_envs.chess.actions`) is the set of squares from which a piece can make
them: the squares that a move may end on, moved back, among the pieces that move so. Pins and checks
are masks: a pinned piece moves along its pin, and in check a move must end on the checker or before
it. All boards are from the perspective of the side to move, whose pawns go up.

The eight directions are an axis of the words, and what goes on square by square is a loop, for a
program written out would take XLA minutes to compile.
"""

from typing import NamedTuple

import jax
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
    Bits,
    every,
    row,
    squares,
    union,
)
from azjax_envs.xla_cpu import computed_once, short_scan

BACKWARD = tuple((-down, -right) for down, right in DIRECTIONS)
JUMPS_BACK = tuple((-down, -right) for down, right in JUMPS)
IS_DIAGONAL = np.arange(8) % 2 == 1
IS_CAPTURE = np.isin(np.arange(8), (ADVANCES[0], ADVANCES[2]))


class Pieces(NamedTuple):
    """The sets of pieces. Queens are in both `diagonal` and `straight`."""

    own: Bits  # all pieces of the side to move
    pawns: Bits  # of both sides, as all below
    knights: Bits
    diagonal: Bits  # bishops and queens
    straight: Bits  # rooks and queens
    kings: Bits

    @property
    def occupied(self) -> Bits:
        return union(self[1:])

    @property
    def theirs(self) -> Bits:
        return self.occupied & ~self.own


class Moves(NamedTuple):
    """The result of `legal_moves`."""

    planes: Bits  # [planes], for each way to move, the squares where its legal moves start
    check: Array  # bool [], whether the king is attacked
    en_passant: Array  # bool [], whether an en-passant capture is legal


class _Threats(NamedTuple):
    """Checks, pins and attacked squares of the king of the side to move."""

    unsafe: Bits  # [], the squares they attack, were the king not in the way
    check: Array  # bool []
    stops: Bits  # [], where any move but the king's must end: everywhere without check
    pinned: Bits  # []
    sights: Bits  # [8], by direction from the king: what he sees, up to the first piece
    attacks: Bits  # [8], by direction: the squares that riders of theirs attack going there
    screens: Bits  # [8], by direction from the king: the only piece between him and a rider


def legal_moves(pieces: Pieces, castling: Array, passed: Bits) -> Moves:
    """Finds the legal moves of the side to move.

    Args:
      castling: uint8 [], bit 0 the king-side right of the side to move, bit 1 its queen-side right.
        On boards of other sizes than 8 there is no castling.
      passed: the square that a pawn has just passed with its double step, or none.
    """
    size, own = pieces.own.size, pieces.own
    empty = ~pieces.occupied & every(size)
    threats = _threats(pieces, empty)
    pins = _spread(threats.pinned) & threats.screens
    free = _spread(own) & ~(_spread(threats.pinned) & ~(pins | _opposite(pins)))
    ends = ~own & every(size)

    rides = _rides(_riders(pieces) & free, ends & threats.stops, empty)
    king = own & pieces.kings
    near = _spread(king) & _spread(ends & ~threats.unsafe).each_way(BACKWARD)
    pawns = free & _spread(pieces.pawns)
    steps = near | _pawn_steps(pieces, pawns, threats.stops, empty)
    en_passant = _en_passant(pieces, threats, pawns, passed)
    rides[0] |= steps | en_passant
    if size == 8:
        rides[1] |= _only(NORTH, _leaps(_at(pawns, NORTH), threats.stops, empty))
        for side in (EAST, WEST):
            rides[1] |= _only(side, _castle(king, castling, empty, threats, side))

    knights = own & pieces.knights & ~threats.pinned
    jumps = _spread(knights) & _spread(ends & threats.stops).each_way(JUMPS_BACK)
    # Where a pawn becomes a queen, it may become another piece as well.
    last_steps = rides[0] & _spread(pieces.pawns & row(size, 1))
    under = 3 * [_spread(_at(last_steps, d)) for d in ADVANCES]
    words = zip(*(sets.words for sets in (*rides, jumps, *under)), strict=True)
    planes = tuple(jnp.concatenate(word) for word in words)
    return Moves(Bits(planes, size), threats.check, en_passant.union().any())


def is_attacked(pieces: Pieces) -> Array:
    """Returns whether the king of the side to move is attacked, by the other king too, bool []."""
    threats = _threats(pieces, ~pieces.occupied & every(pieces.own.size))
    return (threats.unsafe & pieces.kings & pieces.own).any()


def _rides(riders: Bits, ends: Bits, empty: Bits) -> list[Bits]:
    """Returns, for each distance, the riders [8] that may go that far and end on `ends`."""

    def further(ends: Bits, _: None) -> tuple[Bits, Bits]:
        starts = ends.each_way(BACKWARD)
        return starts & _spread(empty), starts & riders

    distances = ends.size - 1
    ends = jax.tree.map(lambda word: jnp.broadcast_to(word, (8,)), ends)
    _, rides = short_scan(further, ends, length=distances)
    return [jax.tree.map(lambda word, k=k: word[k], rides) for k in range(distances)]


def _pawn_steps(pieces: Pieces, pawns: Bits, stops: Bits, empty: Bits) -> Bits:
    """Returns those of `pawns` [8] that may step or capture in each direction, [8]."""
    ends = _only(NORTH, empty & stops) | _spread(pieces.theirs & stops).where(IS_CAPTURE)
    return pawns & ends.each_way(BACKWARD)


def _leaps(pawns: Bits, stops: Bits, empty: Bits) -> Bits:
    """Returns the `pawns` [] that may step two squares."""
    ends = _from(empty & _from(empty & stops, NORTH), NORTH)
    return pawns & ends & row(pawns.size, pawns.size - 2)


def _en_passant(pieces: Pieces, threats: _Threats, pawns: Bits, passed: Bits) -> Bits:
    """Returns the pawn of each direction that may capture en passant, [8].

    Two pawns leave a line at once, so pins alone are not enough. Either the captured pawn shielded
    the king from a bishop or queen, or both pawns stood next to each other between king and rook.
    """
    captured = passed.move(1, 0)
    stops = (threats.stops & (passed | captured)).any()
    diagonal = threats.screens.where(IS_DIAGONAL).union()
    possible = stops & ~(diagonal & captured).any()
    takers = pawns & _spread(passed).each_way(BACKWARD).where(IS_CAPTURE)
    pair = takers | _spread(captured)
    for side in (EAST, WEST):
        sights, attacks = _at(threats.sights, side), _at(threats.attacks, (side + 4) % 8)
        lined_up = (_spread(sights) & pair).any() & (_spread(attacks) & pair).any()
        takers = takers.where(~lined_up)
    return takers.where(possible)


def _castle(king: Bits, castling: Array, empty: Bits, threats: _Threats, side: int) -> Bits:
    """Returns the king's square if he may castle to the EAST or the WEST."""
    path, between = np.zeros((2, 8, 8), bool)
    path[7, slice(5, 7) if side == EAST else slice(2, 4)] = True
    between[7, slice(5, 7) if side == EAST else slice(1, 4)] = True
    blocked = (squares(8, between) & ~empty).any() | (squares(8, path) & threats.unsafe).any()
    has_right = castling >> np.uint8(side == WEST) & np.uint8(1) != 0
    return king.where(has_right & ~blocked & ~threats.check)


def _threats(pieces: Pieces, empty: Bits) -> _Threats:
    size, theirs = empty.size, pieces.theirs
    king = pieces.kings & pieces.own
    riders = _spread(theirs) & _riders(pieces)
    attacks, sights = _fills(riders, empty | king), _fills(_spread(king), empty)
    screens = sights & _spread(pieces.occupied) & _opposite(attacks)

    jumps = _spread(theirs & pieces.knights).each_way(JUMPS).union()
    steps = _spread(theirs & pieces.kings).each_way(DIRECTIONS).union()
    pawns = theirs & pieces.pawns
    unsafe = attacks.union() | jumps | steps | pawns.move(1, -1) | pawns.move(1, 1)

    lines = sights.where((sights & riders).any()).union()
    knights = _spread(king).each_way(JUMPS).union() & pieces.knights
    checkers = theirs & (lines | knights | (king.move(-1, -1) | king.move(-1, 1)) & pieces.pawns)
    number = checkers.count()
    stops = (checkers | lines).where(number == 1) | every(size).where(number == 0)
    # All planes want these; without the loop they would be computed anew for each.
    pinned = pieces.own & screens.union()
    unsafe, stops, pinned, check = computed_once(unsafe, stops, pinned, number > 0)
    return _Threats(unsafe, check, stops, pinned, sights, attacks, screens)


def _fills(starts: Bits, empty: Bits) -> Bits:
    """Returns the squares that riders on `starts` [8] reach, with the first piece in the way."""

    def further(reached: Bits, _: None) -> tuple[Bits, None]:
        return first | (reached & _spread(empty)).each_way(DIRECTIONS), None

    first = starts.each_way(DIRECTIONS)
    return short_scan(further, first, length=starts.size - 2)[0]


def _riders(pieces: Pieces) -> Bits:
    """Returns the pieces of both sides that ride in each direction, [8]."""
    pairs = zip(pieces.diagonal.words, pieces.straight.words, strict=True)
    words = tuple(jnp.where(IS_DIAGONAL, diagonal, straight) for diagonal, straight in pairs)
    return Bits(words, pieces.own.size)


def _spread(board: Bits) -> Bits:
    """Returns a set [] as [1], to be joined with a set for each direction."""
    return Bits(tuple(jnp.asarray(word)[None] for word in board.words), board.size)


def _only(direction: int, board: Bits) -> Bits:
    """Returns a set [] as [8], with empty sets in the other directions."""
    return _spread(board).where(np.arange(8) == direction)


def _opposite(sets: Bits) -> Bits:
    """Returns the sets [8] in the order of the opposite directions."""
    turned = tuple(jnp.concatenate([word[4:], word[:4]]) for word in sets.words)
    return Bits(turned, sets.size)


def _at(sets: Bits, direction: int) -> Bits:
    """Returns the union of sets [8]."""
    return Bits(tuple(word[direction] for word in sets.words), sets.size)


def _from(ends: Bits, direction: int) -> Bits:
    """Returns the squares from which a step in a direction ends on `ends`."""
    return ends.move(*BACKWARD[direction])
