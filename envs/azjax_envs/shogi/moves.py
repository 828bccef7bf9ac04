"""All legal moves of a position, as one bitboard of targets for each plane of actions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Words, both, each, either, only_if, without
from azjax_envs.shogi import rays
from azjax_envs.shogi.attacks import is_mated_by_pawn, row, threats
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
    held,
    occupied,
    pieces,
    rows,
)
from azjax_envs.shogi.rays import Rays
from azjax_envs.xla_cpu import fusion_barrier

# Planes 0 to 7 are steps and slides in each of rays.DIRECTIONS, then come the two jumps of a
# knight, the same ten with promotion, and the drops of each kind.
NUM_MOVES = len(rays.STEPS)
NUM_ACTION_PLANES = 2 * NUM_MOVES + len(IN_HAND)

_BY_SLIDES = rays.Slides.of(np.array([rays.DIRECTIONS] * 2))
_BY_JUMPS = rays.Moves.of(np.array(rays.JUMPS))
_UP, _DOWN = rays.lanes(0), rays.lanes(3, 4, 5)
_INVERTED = np.array([[0], [2**32 - 1]], np.uint32)
_PROMOTING = ("pawn", "lance", "silver", "bishop", "rook")  # besides knights
# Where a piece that is dropped could never move.
_NEVER = {PAWN: rows(0), LANCE: rows(0), KNIGHT: rows(0, 1)}


def legal_moves(planes: Array, hand: Array) -> tuple[Array, Array]:
    """Finds the legal moves of the player to move, and whether that player is in check, bool [].

    The board is uint32 [5, 3], and the player's hand uint32 []. The moves are the words of each
    plane's targets, uint32 [3, 27].
    """
    found, taken = pieces(planes), occupied(planes)
    theirs = tuple(planes[NUM_PLANES - 1])
    ours, empty = without(taken, theirs), without(ALL, taken)
    own, other_king = found.of(ours), both(found.king, theirs)
    before_king = both(LANES.move(other_king, -9), empty)
    danger, takers = threats(found, ours, theirs, before_king)
    banned = only_if(is_mated_by_pawn(danger, takers, theirs, other_king), before_king)
    own_slides, own_steps = row(danger.sliding, 1), row(danger.stepping, 1)
    danger = jax.tree.map(lambda both_sides: both_sides[0], danger)

    answers = tuple(
        jnp.where(danger.checkers == 0, all, jnp.where(danger.checkers == 1, some, np.uint32(0)))
        for some, all in zip(danger.lines, ALL, strict=True)
    )
    movable = each(
        lambda some, along, pinned: some & (along | ~pinned),
        without(ours, own.king),
        danger.along,
        danger.pinned,
    )
    sliding, stepping = both(own_slides, movable), both(own_steps, movable)
    targets, knights, safe, free, not_for_pawns = fusion_barrier(
        without(answers, ours),
        without(own.knight, danger.pinned),
        without(without(ALL, ours), danger.attacked),
        both(empty, answers),
        either(_files(own.pawn), banned),
    )
    plain, promoted = _board_moves(sliding, stepping, own, empty, targets)
    jumping, leaping = _knight_moves(knights, targets)
    king = both(rays.opposite(danger.near), safe)
    dropped = _drops(hand, free, not_for_pawns)
    parts = (either(plain, king), jumping, promoted, leaping, dropped)
    words = [jnp.concatenate(word) for word in zip(*parts, strict=True)]
    return jnp.stack(words), danger.checkers > 0


def _board_moves(
    sliding: Rays, stepping: Rays, own: Pieces, empty: Words, targets: Words
) -> tuple[Rays, Rays]:
    """Returns the targets without promotion and with it, of all pieces except knights and king.

    `sliding` and `stepping` are the pieces that may move in each direction.
    """
    # Going up or sideways, a piece that starts in the zone ends in it, and the target tells who
    # promotes. Going down, the start does: those that start elsewhere are as good as others.
    starts = tuple(np.where(_DOWN, zone, all) for zone, all in zip(ZONE, ALL, strict=True))
    ends = tuple(np.where(_DOWN, all, zone) for zone, all in zip(ZONE, ALL, strict=True))
    # Two rows: those whose promotion depends on the target, and all others.
    promoting = functools.reduce(either, (getattr(own, kind) for kind in _PROMOTING))
    which = each(lambda some, start: (some & start)[None] ^ _INVERTED, promoting, starts)
    sliding, stepping = (
        each(lambda word, where: word[None] & where, attacks, which)
        for attacks in (sliding, stepping)
    )
    reached = rays.slide(sliding, empty, _BY_SLIDES, stepping)
    reached = both(fusion_barrier(*reached), targets)
    stuck = rays.spread(_stuck(own.pawn, own.lance, empty), _UP)
    plain = without(either(row(reached, 0), row(reached, 1)), stuck)
    return plain, both(row(reached, 0), ends)


def _stuck(pawns: Words, lances: Words, empty: Words) -> Words:
    """Returns the last row's cells that pawns and lances reach, where they could not move on."""
    word = np.uint32(0)
    for lance, free in zip(lances[::-1], empty[::-1], strict=True):  # up, three rows at a time
        word = lance | word << np.uint32(18) & free
        for _ in range(2):
            word = word | word >> np.uint32(9) & free
    last = (word | pawns[0]) >> np.uint32(9) & rows(0)[0]
    return (last, *LANES.empty()[1:])


def _knight_moves(knights: Words, targets: Words) -> tuple[Words, Words]:
    """Returns the targets by each jump, uint32 [2], without promotion and with it."""
    jumps = rays.move(tuple(word[None] for word in knights), _BY_JUMPS)
    jumps = both(jumps, targets)
    return without(jumps, rows(0, 1)), both(jumps, ZONE)


def _drops(hand: Array, free: Words, not_for_pawns: Words) -> Words:
    """Returns the targets of each kind of drop among the `free` cells, uint32 [7]."""
    never = map(np.array, zip(*(_NEVER.get(kind, rows()) for kind in IN_HAND), strict=True))
    is_pawn = rays.lanes(IN_HAND.index(PAWN), of=len(IN_HAND))
    forbidden = either(rays.spread(not_for_pawns, is_pawn), tuple(never))
    return only_if(held(hand), without(free, forbidden))


def _files(words: Words) -> Words:
    """Returns all cells of the files with a cell of `words`."""
    found = words[0] | words[1] | words[2]
    found = (found | found >> np.uint32(9) | found >> np.uint32(18)) & np.uint32(2**9 - 1)
    found = found | found << np.uint32(9) | found << np.uint32(18)
    return (found, found, found)
