"""Observations for a network, and codes for drawings, of a chess position."""

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.chess.board import every, flip, from_words, to_words, unpack, wide_sets
from azjax_envs.chess.state import CLOCK, POSITIONS, ChessState

_PLANES = 14  # of each position: six kinds of pieces for each side, two of repetitions


def num_channels(size: int) -> int:
    """Returns the number of channels; only 8x8 has the four planes of castling."""
    return _PLANES * POSITIONS + (7 if size == 8 else 3)


@wide_sets()
def observe(size: int, max_steps: int, state: ChessState) -> Array:
    """Returns the observation, float32 [size, size, channels]; `Chess` lists the channels."""
    # The opponent was to move in every other position.
    odd = np.arange(POSITIONS) % 2 == 1
    sides = _sides(jnp.concatenate([state.pieces[None], state.past]), odd, size)
    own, theirs = (jnp.moveaxis(to_words(sets, size), -1, 0) for sets in sides)
    repeated = state.repeats[:, None].astype(jnp.int64) >= np.arange(1, 3)[None]
    marks = jnp.where(repeated, to_words(every(size), size)[:, None, None], np.uint32(0))
    planes = [
        jnp.concatenate(parts, axis=1).reshape(-1) for parts in zip(own, theirs, marks, strict=True)
    ]

    rights = state.castling >> np.arange(4, dtype=np.uint8) & np.uint8(1)
    numbers = [state.ply % 2, state.ply / max_steps]
    numbers += list(rights) if size == 8 else []
    numbers += [state.clock / CLOCK]
    numbers = jnp.stack([jnp.asarray(number, jnp.float32) for number in numbers])
    # Square by square, because that is faster on a CPU than one shift of [squares, planes].
    squares = []
    for square in range(size**2):
        word, bit = divmod(square, 32)
        squares += [(planes[word] >> np.uint32(bit) & np.uint32(1)).astype(jnp.float32), numbers]
    return jnp.concatenate(squares).reshape(size, size, -1)


def exchange_sides(size: int, observation: Array) -> Array:
    """Returns an observation as the other side has it: flipped, with the sides exchanged."""
    colour = _PLANES * POSITIONS  # the plane behind those of the positions
    order = np.arange(num_channels(size))
    kinds = order[:colour].reshape(POSITIONS, _PLANES)[:, :-2]  # a view, so that `order` changes
    kinds[:] = np.roll(kinds, 6, axis=1)
    if size == 8:
        castling = order[colour + 2 : colour + 6]
        castling[:] = np.roll(castling, 2)
    other = observation[::-1][..., order]
    return jnp.where(np.arange(len(order)) == colour, 1 - other, other)


@wide_sets()
def view(size: int, state: ChessState) -> Array:
    """Returns the codes that pictures of the board are drawn from, int32 [size * size].

    `Chess.view` lists them.
    """
    now = _codes(state.pieces, state.ply, size)
    before = _codes(state.past[0], state.ply - np.uint16(1), size)
    moved = (now != before) & jnp.any(state.past[0] != 0)
    king = now == jnp.where(state.ply % 2 == 0, 6, 12)
    checked = (king & state.check).astype(jnp.int32)
    return (now + 16 * moved.astype(jnp.int32) + 32 * checked).reshape(-1)


def _codes(pieces: Array, ply: Array, size: int) -> Array:
    sides = _sides(pieces, ply % 2 != 0, size)
    white, black = (unpack(sets, size).astype(jnp.int32) for sets in sides)
    kinds = np.arange(1, 7, dtype=np.int32)[:, None, None]
    return jnp.sum(white * kinds + black * (kinds + 6), axis=0, dtype=jnp.int32)


def _sides(pieces: Array, turned: Array | np.ndarray, size: int) -> tuple[Array, Array]:
    """Returns the sets [..., 6], one a kind of piece, of the player to move and of the opponent.

    Where `turned`, bool [...], they are as the opponent sees them: flipped, with the sides
    exchanged. `pieces` are uint32 [..., 6, W], as in `ChessState`.
    """
    sets, turned = from_words(pieces, size), turned[..., None]
    sets = jnp.where(turned, flip(sets, size), sets)
    own, pawns, knights, diagonal, straight, kings = (sets[..., i] for i in range(6))
    bishops, rooks, queens = diagonal & ~straight, straight & ~diagonal, diagonal & straight
    kinds = jnp.stack([pawns, knights, bishops, rooks, queens, kings], axis=-1)
    own = jnp.where(turned, ~own[..., None], own[..., None])
    return kinds & own, kinds & ~own
