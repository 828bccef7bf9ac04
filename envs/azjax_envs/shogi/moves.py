"""All legal moves of a position, as one bitboard of targets for each plane of actions."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Words, both, each, either, only_if, without
from azjax_envs.shogi import rays
from azjax_envs.shogi.attacks import Threats, is_mated_by_pawn, slides, steps, threats
from azjax_envs.shogi.board import (
    ALL,
    IN_HAND,
    KNIGHT,
    LANCE,
    LANES,
    NUM_PLANES,
    PAWN,
    ZONE,
    Pieces,
    holds,
    occupied,
    pieces,
    rows,
)
from azjax_envs.xla_cpu import computed_once

# Planes 0 to 7 are steps and slides in each of rays.DIRECTIONS, then come the two jumps of a
# knight, the same ten with promotion, and the drops of each kind.
NUM_MOVES = len(rays.STEPS)
NUM_ACTION_PLANES = 2 * NUM_MOVES + len(IN_HAND)
_DOWN = rays.lanes(3, 4, 5)
_PROMOTING = ("pawn", "lance", "knight", "silver", "bishop", "rook")


def legal_moves(planes: Array, hand: Array) -> tuple[Array, Array]:
    """Finds the legal moves of the player to move, and whether that player is in check, bool [].

    The board is uint32 [5, 3], and the player's hand uint32 []. The moves are the words of each
    plane's targets, uint32 [3, 27].
    """
    all_pieces, taken = pieces(planes), occupied(planes)
    theirs = tuple(planes[NUM_PLANES - 1])
    ours, empty = without(taken, theirs), without(ALL, taken)
    own, other = all_pieces.of(ours), all_pieces.of(theirs)
    danger = threats(other, up=False, king=own.king, guards=ours, empty=empty)
    before_king = both(LANES.move(other.king, -9), empty)
    mated = is_mated_by_pawn(own, other, before_king, theirs=theirs, empty=empty)
    fields, mated = computed_once(vars(danger), mated)
    danger = Threats(**fields)

    plain, promoted = _board_moves(own, danger, ours=ours, empty=empty)
    jumping, leaping = _knight_moves(own.knight, danger, ours=ours)
    banned = only_if(mated, before_king)
    dropped = _drops(hand, both(empty, danger.answers), own.pawn, banned)
    words = [
        jnp.concatenate(
            [
                plain[i],
                jnp.stack([jump[i] for jump in jumping]),
                promoted[i],
                jnp.stack([jump[i] for jump in leaping]),
                jnp.stack([drop[i] for drop in dropped]),
            ]
        )
        for i in range(3)
    ]
    return jnp.stack(words), danger.checkers > 0


def _board_moves(own: Pieces, danger: Threats, *, ours: Words, empty: Words):
    """Returns the targets without promotion and with it, as rays, of all pieces except knights."""
    changing, others = own.only(*_PROMOTING), own.only("golden", "horse", "dragon")
    # Going up or sideways, a piece that starts in the zone ends in it, and the target tells who
    # promotes. Going down, the start does: those that start elsewhere are as good as others.
    starts = tuple(np.where(_DOWN, zone, all) for zone, all in zip(ZONE, ALL, strict=True))
    ends = tuple(np.where(_DOWN, all, zone) for zone, all in zip(ZONE, ALL, strict=True))

    free = each(lambda along, pinned: along | ~pinned, danger.along, danger.pinned)
    sliding, stepping = (both(move(changing, up=True), free) for move in (slides, steps))
    gaps = rays.gaps(empty)
    first = rays.slide(both(sliding, starts), gaps, both(stepping, starts))
    sliding, stepping = (
        both(either(move(others, up=True), without(rest, starts)), free)
        for move, rest in ((slides, sliding), (steps, stepping))
    )
    second = rays.slide(sliding, gaps, stepping)
    first, second = computed_once(first, second)

    targets = without(danger.answers, ours)
    king = rays.step(rays.spread(own.king, rays.EVERY))
    king = without(without(king, ours), danger.attacked)
    stuck = rays.spread(_stuck(own, empty), rays.lanes(0))
    plain = either(without(both(either(first, second), targets), stuck), king)
    return plain, both(both(first, targets), ends)


def _stuck(own: Pieces, empty: Words) -> Words:
    """Returns the last row's cells that pawns and lances reach, where they could not move on."""
    flood = own.lance
    for _ in range(7):
        flood = either(flood, both(LANES.move(flood, 9), empty))
    return both(LANES.move(either(flood, own.pawn), 9), rows(0))


def _knight_moves(knights: Words, danger: Threats, *, ours: Words) -> tuple[list, list]:
    """Returns the targets by each jump, without promotion and with it."""
    targets = without(danger.answers, ours)
    free = without(knights, danger.pinned)
    moves = [both(jump, targets) for jump in rays.jumps(free, forward=True)]
    return [without(jump, rows(0, 1)) for jump in moves], [both(jump, ZONE) for jump in moves]


def _drops(hand: Array, free: Words, pawns: Words, banned: Words) -> list[Words]:
    """Returns the targets of each kind of drop: the `free` cells, for a pawn without `banned`."""
    forbidden = {
        PAWN: either(either(_files(pawns), banned), rows(0)),
        LANCE: rows(0),
        KNIGHT: rows(0, 1),
    }
    return [
        only_if(holds(hand, kind), without(free, forbidden.get(kind, rows()))) for kind in IN_HAND
    ]


def _files(words: Words) -> Words:
    """Returns all cells of the files with a cell of `words`."""
    found = words[0] | words[1] | words[2]
    found = (found | found >> np.uint32(9) | found >> np.uint32(18)) & np.uint32(2**9 - 1)
    found = found | found << np.uint32(9) | found << np.uint32(18)
    return (found, found, found)
