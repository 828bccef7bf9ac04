"""The state of a chess game, and its transition by a move."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.bitboard import Lanes
from azjax_envs.chess import actions
from azjax_envs.chess.board import Bits, row, square, squares, unstack
from azjax_envs.chess.moves import Pieces, is_attacked, legal_moves
from azjax_envs.sampling import mix_bits
from azjax_envs.xla_cpu import computed_once

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
    is_impossible = is_attacked(_from_codes(jnp.where(is_white, black, white)))
    past = jnp.zeros((POSITIONS - 1, 6, len(pieces.own.words)), jnp.uint32)
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


def _from_codes(codes: Array) -> Pieces:
    """Returns the boards of codes as in `view`, int32 [size, size]; 1 to 6 are the own pieces."""
    size, kinds = len(codes), jnp.where(codes > 0, (codes + 5) % 6, -1)
    men = [kinds == 0, kinds == 1, (kinds == 2) | (kinds == 4), (kinds == 3) | (kinds == 4)]
    sets = jnp.stack([(codes > 0) & (codes < 7), *men, kinds == 5])
    return unstack_pieces(Lanes(size, size).pack(sets), size)


def play(size: int, state: ChessState, action: Array) -> ChessState:
    """Returns the position after a legal action."""
    planes = actions.num_planes(size)
    start, plane = jnp.divmod(action, planes)
    target = jnp.asarray(actions.targets(size))[start, plane].astype(jnp.int32)
    before = unstack_pieces(state.pieces, size)
    after, resets = _move(
        before, square(state.passed.astype(jnp.int32), size), start, target, plane
    )
    leaps = (before.pawns & square(start, size)).any() & (start - target == 2 * size)
    # All six at once, which compiles faster.
    boards = zip(*(board.words for board in (after.theirs, *after[1:])), strict=True)
    flipped = Bits(tuple(map(jnp.stack, boards)), size).flip()
    turned = unstack_pieces(jnp.stack(flipped.words, axis=1), size)
    turned = computed_once(*turned)
    return _arrive(
        size,
        Pieces(*turned),
        castling=_rights(state.castling, start, target),
        passed=jnp.where(leaps, 2 * size + start % size, size * size),
        clock=jnp.where(resets, 0, state.clock + 1).astype(jnp.uint8),
        ply=state.ply + np.uint16(1),
        last_ply=state.last_ply,
        past=jnp.concatenate([state.pieces[None], state.past[:-1]]),
        past_repeats=state.repeats[:-1],
        hashes=state.hashes,
    )


def unstack_pieces(pieces: Array, size: int) -> Pieces:
    """Returns the boards of the six kinds of pieces from their words, uint32 [6, W]."""
    return Pieces(*(unstack(pieces[i], size) for i in range(6)))


def _arrive(
    size: int,
    pieces: Pieces,
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
    moves = legal_moves(pieces, castling, square(passed, size))
    check, en_passant = moves.check, moves.en_passant
    legal = moves.planes.rows()
    # The rules of repetition count an en-passant square only if the capture is legal.
    known["passed"] = passed = jnp.where(en_passant, passed, size * size).astype(jnp.uint8)
    (fingerprint,) = computed_once(_hash(pieces, castling, passed, ply))
    earlier = np.arange(CLOCK) < clock
    same = (hashes == fingerprint[:, None]).all(axis=0) & earlier
    repeats = jnp.sum(same, dtype=jnp.uint8)
    stuck = ~jnp.any(moves.planes.stack() != 0)
    drawn = (repeats >= 2) | (clock >= CLOCK) | (ply >= known["last_ply"]) | _is_dead(pieces)
    over, repeats = computed_once(stuck | drawn if draws else stuck, repeats)
    white_moves = ply % 2 == 0
    mated = jnp.where(white_moves, -1, 1)
    return ChessState(
        **known,
        pieces=jnp.stack([board.stack() for board in pieces]),
        legal=jnp.where(over, np.uint8(0), legal),
        check=check,
        repeats=jnp.append(repeats, past_repeats),
        hashes=jnp.where(np.arange(CLOCK) == clock, fingerprint[:, None], hashes),
        over=over,
        result=jnp.where(stuck & check, mated, 0).astype(jnp.int8),
    )


def _move(
    pieces: Pieces, passed: Bits, start: Array, target: Array, plane: Array
) -> tuple[Pieces, Array]:
    """Returns the boards after a move, not yet flipped, and whether it resets the clock."""
    size = pieces.own.size
    origin, goal = square(start, size), square(target, size)
    is_pawn = (pieces.pawns & origin).any()
    en_passant = is_pawn & (goal & passed).any()
    captures = en_passant | (goal & pieces.occupied).any()
    promotes = is_pawn & (goal & row(size, 0)).any()
    under = (plane - actions.first_underpromotion(size)) // 3  # below 0: none
    to_queen = promotes & (under < 0)

    gone = origin | goal | goal.move(1, 0).where(en_passant)

    def carried(board: Bits, becomes: Array | bool, stays: Array | bool = True) -> Bits:
        arrives = (board & origin).any() & stays | becomes
        return board & ~gone | goal.where(arrives)

    after = Pieces(
        own=pieces.own & ~gone | goal,
        pawns=carried(pieces.pawns, False, ~promotes),
        knights=carried(pieces.knights, promotes & (under == 0)),
        diagonal=carried(pieces.diagonal, to_queen | promotes & (under == 1)),
        straight=carried(pieces.straight, to_queen | promotes & (under == 2)),
        kings=carried(pieces.kings, False),
    )
    if size == 8:
        castles = (pieces.kings & origin).any() & (abs(target - start) == 2)
        for direction, corner, inside in ((2, 63, 61), (-2, 56, 59)):
            now = castles & (target - start == direction)
            out, into = square(corner, 8).where(now), square(inside, 8).where(now)
            own, straight = (b & ~out | into for b in (after.own, after.straight))
            after = after._replace(own=own, straight=straight)
    return after, is_pawn | captures


def _rights(castling: Array, start: Array, target: Array) -> Array:
    """Returns the castling rights after a move, from the other side; on 5x5 there are none."""
    lost = jnp.where((start == 60) | (start == 63), 1, 0) | jnp.where(
        (start == 60) | (start == 56), 2, 0
    )
    lost |= jnp.where(target == 7, 4, 0) | jnp.where(target == 0, 8, 0)
    kept = castling & ~lost.astype(jnp.uint8)
    return kept >> np.uint8(2) | (kept & np.uint8(3)) << np.uint8(2)


def _is_dead(pieces: Pieces) -> Array:
    """Returns whether neither side has the material to mate, bool [].

    That is so with at most one knight or bishop, and with bishops on squares of one colour only.
    """
    size = pieces.own.size
    light = squares(size, np.add.outer(np.arange(size), np.arange(size)) % 2 == 0)
    heavy = (pieces.pawns | pieces.straight).any()
    one_minor = (pieces.knights | pieces.diagonal).count() <= 1
    bishops = pieces.diagonal
    one_colour = ~(bishops & light).any() | ~(bishops & ~light).any()
    return ~heavy & (one_minor | ~pieces.knights.any() & one_colour)


def _hash(pieces: Pieces, castling: Array, passed: Array, ply: Array) -> Array:
    """Returns a hash of all that identifies a position, uint32 [2].

    It is MurmurHash3 (Appleby, public domain) with two seeds. For this small number of words it is
    cheaper than Zobrist's keys, which must be looked up.
    """
    rest = castling.astype(jnp.uint32) | passed.astype(jnp.uint32) << 8
    rest |= (ply & np.uint16(1)).astype(jnp.uint32) << 16
    h = jnp.array([0x9747B28C, 0x3C6EF372], jnp.uint32)
    for word in [*(word for board in pieces for word in board.words), rest]:
        word = _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        h = _rotated(h ^ word, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    return mix_bits(h)


def _rotated(word: Array, by: int) -> Array:
    return word << np.uint32(by) | word >> np.uint32(32 - by)
