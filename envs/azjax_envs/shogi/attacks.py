"""Attacks in shogi: checks, pins, cells safe for a king, and mates by a dropped pawn."""

import dataclasses
import functools

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Words, any_bit, both, count_bits, each, either, without
from azjax_envs.shogi import rays
from azjax_envs.shogi.board import ALL, Pieces
from azjax_envs.shogi.rays import Rays
from azjax_envs.xla_cpu import computed_once

_STRAIGHT, _DIAGONAL = rays.lanes(0, 2, 4, 6), rays.lanes(1, 3, 5, 7)


@dataclasses.dataclass(frozen=True)
class Threats:
    """The checks, pins and attacked cells around one side's king."""

    attacked: Words  # cells unsafe for the king, attacked once it has left its cell
    checkers: Array  # int32 [], the number of pieces that give check
    answers: Words  # cells where another piece captures or blocks the checker; all without check
    pinned: Words  # the pieces that shield the king
    along: Rays  # the pinned pieces that may move in each direction, or against it


def threats(side: Pieces, *, up: bool, king: Words, guards: Words, empty: Words) -> Threats:
    """Finds the checks, pins and attacked cells around a king.

    Args:
      up: whether they are the pieces of the player to move.
      guards: the king's side, itself included.
    """
    sliding, stepping = slides(side, up=up), steps(side, up=up)
    hit = rays.slide(sliding, rays.gaps(either(empty, king)))
    near = rays.step(stepping)
    seen = rays.slide(rays.spread(king, rays.EVERY), rays.gaps(empty, back=True))
    hit, near, seen = computed_once(hit, near, seen)

    jumped = either(*rays.jumps(side.knight, forward=up))
    attacked = either(rays.merge(either(hit, near)), jumped)

    # Looking from the king against each direction, the first piece gives check if an attack along
    # that direction reaches the king. A guard that both rays reach is pinned.
    checked = any_bit(both(hit, king))  # bool [8]
    lines = tuple(jnp.where(checked, word, np.uint32(0)) for word in seen)
    nearby = both(rays.step(rays.spread(king, rays.EVERY), back=True), stepping)
    knights = both(either(*rays.jumps(king, forward=not up)), side.knight)
    singles = either(rays.merge(nearby), knights)
    checkers = jnp.sum(checked, dtype=jnp.int32) + count_bits(singles)
    answers = either(rays.merge(lines), singles)
    answers = each(
        lambda some, all: jnp.where(
            checkers == 0, all, jnp.where(checkers == 1, some, np.uint32(0))
        ),
        answers,
        ALL,
    )
    pins = both(both(hit, seen), guards)
    return Threats(
        attacked=attacked,
        checkers=checkers,
        answers=answers,
        pinned=rays.merge(pins),
        along=either(pins, rays.opposite(pins)),
    )


def is_mated_by_pawn(own: Pieces, other: Pieces, pawn: Words, *, theirs: Words, empty: Words):
    """Returns whether a pawn dropped in front of the opponent's king mates it, bool [].

    Args:
      own, other: the pieces of either side, without that pawn.
      pawn: its cell, or none.
      theirs: all pieces of the other side.
      empty: the cells without a piece, the pawn's included.
    """
    left = without(empty, pawn)
    danger = threats(own, up=True, king=other.king, guards=theirs, empty=left)
    around = rays.merge(rays.step(rays.spread(other.king, rays.EVERY)))
    escapes = without(without(around, theirs), danger.attacked)

    # No piece can block the check. A piece pinned along the file may take the pawn: the pawn is
    # between its attacker and the king, so the piece is not among the pinned ones here.
    seen = rays.slide(rays.spread(pawn, rays.EVERY), rays.gaps(empty, back=True))
    nearby = rays.step(rays.spread(pawn, rays.EVERY), back=True)
    takers = either(both(seen, slides(other, up=False)), both(nearby, steps(other, up=False)))
    (takers,) = computed_once(takers)
    knights = both(either(*rays.jumps(pawn, forward=True)), other.knight)
    takers = without(either(rays.merge(takers), knights), either(danger.pinned, other.king))
    return any_bit(pawn) & ~any_bit(escapes) & ~any_bit(takers)


def slides(pieces: Pieces, *, up: bool) -> Rays:
    """Returns the pieces that slide in each direction; `up` for those of the player to move."""
    return _union(
        (either(pieces.rook, pieces.dragon), _STRAIGHT),
        (either(pieces.bishop, pieces.horse), _DIAGONAL),
        (pieces.lance, rays.lanes(0 if up else 4)),
    )


def steps(pieces: Pieces, *, up: bool) -> Rays:
    """Returns the pieces that go one cell in each direction."""
    return _union(
        (either(either(pieces.golden, pieces.horse), pieces.king), _STRAIGHT),
        (either(either(pieces.silver, pieces.dragon), pieces.king), _DIAGONAL),
        (either(pieces.silver, pieces.pawn), rays.lanes(0 if up else 4)),
        (pieces.golden, rays.lanes(*((1, 7) if up else (3, 5)))),
    )


def _union(*parts: tuple[Words, np.ndarray]) -> Rays:
    return functools.reduce(either, (rays.spread(words, where) for words, where in parts))
