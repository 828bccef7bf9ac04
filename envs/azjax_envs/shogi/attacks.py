"""Attacks in shogi: checks, pins, cells safe for a king, and mates by a dropped pawn."""

import functools
from collections.abc import Iterable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Words, any_bit, both, count_bits, either, without
from azjax_envs.shogi import rays
from azjax_envs.shogi.board import ALL, LANES, Pieces
from azjax_envs.shogi.rays import Rays
from azjax_envs.xla_cpu import fusion_barrier

# Lanes of steps: eight directions, two jumps and six empty. CPUs compute 16 faster than 10.
_LANES = 16
_STRAIGHT, _DIAGONAL, _JUMPING = (0, 2, 4, 6), (1, 3, 5, 7), (8, 9)
# Five rows. Two are the attacks by the opponent, who moves down, and by the own side. In two more
# the own king and the other look back at those attackers. In the last a pawn before the other king
# looks at the pieces that may take it.
_UPWARD = (False, True, False, True, False)
_ATTACK = np.array([[2**32 - 1]] * 2 + [[0]] * 3, np.uint32)
_UP = np.array([*rays.STEPS, *[(0, 9)] * (_LANES - len(rays.STEPS))])  # empty lanes leave the board
_DOWN = np.where(np.arange(_LANES)[:, None] < 8, _UP, -_UP)  # only knights jump otherwise
_WAYS = np.stack([_DOWN, _UP, -_DOWN, -_UP, -_DOWN])
_BY_SLIDES, _BY_STEPS = rays.Slides.of(_WAYS[:, :8]), rays.Moves.of(_WAYS)


def _lanes(down: Iterable[int], up: Iterable[int] | None = None, *, of: int) -> np.ndarray:
    """Returns lanes for pieces that move down and up, in all rows: uint32 [5, of]."""
    up = down if up is None else up
    return np.stack([rays.lanes(*(up if upward else down), of=of) for upward in _UPWARD])


# The kinds that slide in some lanes, and those that step.
_SLIDES = (
    (("rook", "dragon"), _lanes(_STRAIGHT, of=8)),
    (("bishop", "horse"), _lanes(_DIAGONAL, of=8)),
    (("lance",), _lanes([4], [0], of=8)),
)
_STEPS = (
    (("golden", "horse", "king"), _lanes(_STRAIGHT, of=_LANES)),
    (("silver", "dragon", "king"), _lanes(_DIAGONAL, of=_LANES)),
    (("silver", "pawn"), _lanes([4], [0], of=_LANES)),
    (("golden",), _lanes([3, 5], [1, 7], of=_LANES)),
    (("knight",), _lanes(_JUMPING, of=_LANES)),
)


class Threats(NamedTuple):
    """The checks, pins and attacked cells around the own king and the other, in this order."""

    attacked: Words  # [2], cells unsafe for the king, attacked once it has left its cell
    checkers: Array  # int32 [2], the number of pieces that give check
    lines: Words  # [2], the checkers, and the cells on which a piece blocks them
    pinned: Words  # [2], the pieces that shield the king
    along: Rays  # [2, 8], the pinned pieces that may move in each direction, or against it
    near: Rays  # [2, 8], the cells next to the king, by the opposite of their directions
    sliding: Rays  # [2, 8], the pieces of the other side that slide in each direction
    stepping: Rays  # [2, 8], those that step in each direction


def threats(pieces: Pieces, ours: Words, theirs: Words, pawn: Words) -> tuple[Threats, Words]:
    """Finds the checks, pins and attacked cells around both kings.

    Args:
      pieces: of both sides.
      ours, theirs: all pieces of either side.
      pawn: the cell of one more pawn before the other king, or none.

    Returns:
      The threats, and the opponent's pieces, pinned or not, that could take that pawn.
    """
    empty = without(ALL, either(ours, theirs))
    king, other = both(pieces.king, ours), both(pieces.king, theirs)
    left, none = without(empty, pawn), LANES.empty()
    attackers = _stacked(theirs, ours, theirs, ours, theirs)
    sliding, stepping = (both(_in_lanes(pieces, ways), attackers) for ways in (_SLIDES, _STEPS))
    starts = _stacked(none, none, king, other, pawn)
    through = _stacked(either(empty, king), either(left, other), empty, left, empty)
    sight = rays.slide(either(rays.spread(sliding, _ATTACK), starts), through, _BY_SLIDES)
    near = rays.move(either(rays.spread(stepping, _ATTACK), starts), _BY_STEPS)
    sight, near = fusion_barrier(sight, near)
    hit, seen = _rows(sight, 0, 2), _rows(sight, 2, 4)
    # Looking from the king against each direction, the first piece gives check if an attack along
    # that direction reaches the king. A guard that both rays reach is pinned.
    checked = any_bit(both(hit, _stacked(king, other)))  # bool [2, 8]
    lines = tuple(jnp.where(checked, word, np.uint32(0)) for word in seen)
    pins = both(both(hit, seen), _stacked(ours, theirs))
    steps = tuple(word[:, :8] | word[:, 8:] for word in _rows(near, 0, 2))
    singles = rays.merge(_rows(both(near, stepping), 2, 5))
    by_steps = _rows(singles, 0, 2)
    found = Threats(
        attacked=rays.merge(either(hit, steps)),
        checkers=jnp.sum(checked, axis=-1, dtype=jnp.int32) + count_bits(by_steps),
        lines=either(rays.merge(lines), by_steps),
        pinned=rays.merge(pins),
        along=either(pins, rays.opposite(pins)),
        near=tuple(word[:, :8] for word in _rows(near, 2, 4)),
        sliding=_rows(sliding, 0, 2),
        stepping=tuple(word[:, :8] for word in _rows(stepping, 0, 2)),
    )
    takers = either(rays.merge(row(both(sight, sliding), 4)), row(singles, 2))
    return found, takers


def _in_lanes(pieces: Pieces, ways: Iterable[tuple[tuple[str, ...], np.ndarray]]) -> Rays:
    """Returns the pieces in the lanes in which each kind moves."""
    found = []
    for kinds, lanes in ways:
        together = functools.reduce(either, (getattr(pieces, kind) for kind in kinds))
        found.append(rays.spread(together, lanes))
    return functools.reduce(either, found)


def is_mated_by_pawn(danger: Threats, takers: Words, theirs: Words, king: Words) -> Array:
    """Returns whether a pawn before the opponent's king mates it, bool [].

    No piece can block the check. A piece pinned along the file may take the pawn: the pawn is
    between its attacker and the king, so the piece is not among the pinned ones here.
    """
    around = row(rays.merge(danger.near), 1)
    escapes = without(without(around, theirs), row(danger.attacked, 1))
    takers = without(takers, either(row(danger.pinned, 1), king))
    return ~any_bit(escapes) & ~any_bit(takers)


def row(words: Words, index: int) -> Words:
    """Returns one of several rows."""
    return tuple(word[index] for word in words)


def _rows(words: Words, start: int, end: int) -> Words:
    return tuple(word[start:end] for word in words)


def _stacked(*boards: Words) -> Words:
    """Returns boards as rows, uint32 [n, 1]."""
    return tuple(jnp.stack(words)[:, None] for words in zip(*boards, strict=True))
