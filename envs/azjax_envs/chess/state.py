"""The state of a chess game, and its transition by a move."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.chess import actions
from azjax_envs.chess.board import flip, from_words, square, squares, to_words, wide_sets
from azjax_envs.chess.moves import Pieces, is_attacked, legal_moves
from azjax_envs.xla_cpu import fusion_barrier

POSITIONS = 8  # the latest positions, which a network observes (AlphaZero)
CLOCK = 100  # plies without capture or pawn move that draw


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ChessState:
    """Boards from the perspective of the side to move, upside down for Black.

    A board is W words. Bit i of all its words is square i, row by row from the far rank.
    """

    pieces: Array  # uint32 [6, W]: own pieces; pawns, knights, bishops + queens, rooks + queens,
    #                kings of both sides
    castling: Array  # uint8 []: 1 king-side and 2 queen-side of the side to move, 4 and 8 theirs
    passed: Array  # uint8 []: the square of a legal en-passant capture, or size * size
    clock: Array  # uint8 []: plies since a capture or a pawn's move
    ply: Array  # uint16 []: even when White is to move
    last_ply: Array  # uint16 []: the ply at which the game ends in a draw
    legal: Array  # uint8 [size, planes]: for each row and plane, a bit for each column from
    #               which the move is legal
    check: Array  # bool []
    past: Array  # uint32 [7, 6, W]: `pieces` of the positions before, newest first
    repeats: Array  # uint8 [8]: earlier occurrences of the latest 8 positions, newest first
    hashes: Array  # uint32 [2, 100]: of the positions since the last capture or pawn's move
    over: Array  # bool []
    result: Array  # int8 []: White's, 1 won, -1 lost, 0 drawn or open


@wide_sets()
def set_up(
    size: int,
    view: Array,
    ply: Array,
    castling: Array,
    passed: Array,
    clock: Array,
    *,
    plies: int,
    draws: bool = True,
) -> tuple[ChessState, Array]:
    """Returns what `Chess.set_up` does, to play `plies` more.

    Without `draws`, a drawn position with a legal move is open.
    """
    white = view.reshape(size, size) % 16
    black = jnp.where(white > 0, (white + 5) % 12 + 1, 0)[::-1]
    is_white = ply % 2 == 0
    pieces = _from_codes(jnp.where(is_white, white, black))
    is_impossible = is_attacked(size, Pieces(*_from_codes(jnp.where(is_white, black, white))))
    past = jnp.zeros((POSITIONS - 1, *to_words(pieces, size).shape), jnp.uint32)
    state = _arrive(
        size,
        pieces,
        castling=castling.astype(jnp.uint8),
        passed=passed,
        clock=clock.astype(jnp.uint8),
        ply=ply.astype(jnp.uint16),
        last_ply=(ply + plies).astype(jnp.uint16),
        past=past,
        past_repeats=jnp.zeros(POSITIONS - 1, jnp.uint8),
        hashes=jnp.zeros((2, CLOCK), jnp.uint32),
        draws=draws,
    )
    return state, ~is_impossible


def _from_codes(codes: Array) -> Array:
    """Returns the sets [6] of codes as in `view`, int32 [size, size]; 1 to 6 are the own pieces."""
    kinds = jnp.where(codes > 0, (codes + 5) % 6, -1)
    men = [kinds == 0, kinds == 1, (kinds == 2) | (kinds == 4), (kinds == 3) | (kinds == 4)]
    return squares(jnp.stack([(codes > 0) & (codes < 7), *men, kinds == 5]))


@wide_sets()
def play(size: int, state: ChessState, start: Array, plane: Array) -> ChessState:
    """Returns the position after a legal action, given by its square and plane, uint32 []."""
    target = jnp.asarray(actions.targets(size))[start, plane].astype(jnp.uint32)
    after, is_pawn, resets = _move(
        size, from_words(state.pieces, size), state.passed, start, target, plane
    )
    leaps = is_pawn & (start == target + 2 * size)
    (turned,) = fusion_barrier(flip(after, size))
    return _arrive(
        size,
        turned,
        castling=_rights(state.castling, start, target) if size == 8 else jnp.uint8(0),
        passed=jnp.where(leaps, start - (size - 4) * size, size * size),
        clock=jnp.where(resets, 0, state.clock + 1).astype(jnp.uint8),
        ply=state.ply + np.uint16(1),
        last_ply=state.last_ply,
        past=jnp.concatenate([state.pieces[None], state.past[:-1]]),
        past_repeats=state.repeats[:-1],
        hashes=state.hashes,
    )


def _arrive(
    size: int,
    sets: Array,
    *,
    past_repeats: Array,
    hashes: Array,
    draws: bool = True,
    **known: Array,
) -> ChessState:
    """Makes the state of a position just reached: its legal moves, repetitions and result.

    `known` are the fields castling, passed (as in `make_state`), clock, ply, last_ply and past.
    """
    castling, passed, clock, ply = (known[x] for x in ("castling", "passed", "clock", "ply"))
    words, pieces = to_words(sets, size), Pieces(*sets)
    legal, check, en_passant, stuck = legal_moves(size, pieces, castling, square(passed, size))
    # The rules of repetition count an en-passant square only if the capture is legal.
    known["passed"] = passed = jnp.where(en_passant, passed, size * size).astype(jnp.uint8)
    (fingerprint,) = fusion_barrier(_hash(sets, castling, passed, ply))
    plies = np.arange(CLOCK, dtype=np.uint8)
    same = (hashes == fingerprint[:, None]).all(axis=0) & (plies < clock)
    repeats = jnp.sum(same, dtype=jnp.uint8)
    drawn = (repeats >= 2) | (clock >= CLOCK) | (ply >= known["last_ply"]) | _is_dead(size, pieces)
    over, repeats = fusion_barrier(stuck | drawn if draws else stuck, repeats)
    white_moves = ply % 2 == 0
    mated = jnp.where(white_moves, -1, 1)
    return ChessState(
        **known,
        pieces=words,
        legal=jnp.where(over, np.uint8(0), legal),
        check=check,
        repeats=jnp.append(repeats, past_repeats),
        hashes=jnp.where(plies == clock, fingerprint[:, None], hashes),
        over=over,
        result=jnp.where(stuck & check, mated, 0).astype(jnp.int8),
    )


def _move(
    size: int, pieces: Array, passed: Array, start: Array, target: Array, plane: Array
) -> tuple[Array, Array, Array]:
    """Returns the sets [6] after a move, not yet flipped, of which the first is the opponent's.

    Returns as well whether a pawn moves, and whether the move resets the clock.
    """
    origin, goal = square(start, size), square(target, size)
    moves, occupied = pieces & origin != 0, Pieces(*pieces).occupied
    is_pawn, is_king = moves[1], moves[5]
    en_passant = is_pawn & (target == passed.astype(jnp.uint32))
    captures = en_passant | (occupied & goal != 0)
    gone = origin | goal | jnp.where(en_passant, square(target + size, size), 0)

    # A bit for each piece that a pawn may become, first the queen.
    becomes = np.array([0b1111, 0b0000, 0b0010, 0b0101, 0b1001, 0b0000], np.uint32)
    first = actions.first_underpromotion(size) - 3
    promoted = becomes >> jax.lax.div(jnp.maximum(plane, first) - first, np.uint32(3)) & 1 != 0
    moves = jnp.where(is_pawn & (target < size), promoted, moves)
    after = pieces & ~gone | jnp.where(moves, goal, 0)
    if size == 8:
        # The rook changes its square as well.
        east, west = (np.uint64(bits << 56) for bits in (0b10100000, 0b1001))
        rook = jnp.where(target == start + 2, east, jnp.where(target + 2 == start, west, 0))
        after ^= jnp.where(is_king & np.isin(np.arange(6), (0, 4)), rook, 0)
    theirs = occupied & ~pieces[0] & ~gone
    return jnp.append(theirs, after[1:]), is_pawn, is_pawn | captures


def _rights(castling: Array, start: Array, target: Array) -> Array:
    """Returns the castling rights on 8x8 after a move, from the other side."""
    own = jnp.where(start == 60, 3, jnp.where(start == 63, 1, jnp.where(start == 56, 2, 0)))
    lost = jnp.where(target == 7, 4, jnp.where(target == 0, 8, 0)) | own
    kept = castling & ~lost.astype(jnp.uint8)
    return kept >> 2 | (kept & 3) << 2


def _is_dead(size: int, pieces: Pieces) -> Array:
    """Returns whether neither side has the material to mate, bool [].

    That is so with at most one knight or bishop, and with bishops on squares of one colour only.
    """
    light = squares(np.add.outer(np.arange(size), np.arange(size)) % 2 == 0)
    heavy, bishops = pieces.pawns | pieces.straight, pieces.diagonal
    one_minor = jnp.bitwise_count(pieces.knights | bishops) <= 1
    one_colour = (bishops & light == 0) | (bishops & ~light == 0)
    return (heavy == 0) & (one_minor | (pieces.knights == 0) & one_colour)


def _hash(sets: Array, castling: Array, passed: Array, ply: Array) -> Array:
    """Returns a hash of all that identifies a position, uint32 [2].

    It is a sum of mixed numbers, each salted by its index. For so few numbers it is cheaper than
    Zobrist's keys, which must be looked up.
    """
    rest = castling.astype(jnp.uint64) | passed.astype(jnp.uint64) << 8
    numbers = jnp.append(sets.astype(jnp.uint64), rest | (ply & 1).astype(jnp.uint64) << 16)
    salts = _mixed(np.arange(1, 1 + numbers.shape[0], dtype=np.uint64))
    return to_words(jnp.sum(_mixed(numbers ^ salts)), 8)


def _mixed(numbers: Any) -> Any:
    """Returns a permutation of the numbers, uint64: the end of MurmurHash3 (Appleby 2011)."""
    numbers = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    numbers = (numbers ^ (numbers >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return numbers ^ (numbers >> np.uint64(33))
