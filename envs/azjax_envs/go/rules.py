"""Moves and area of go on row bitboards, for all chains of a board at once.

A position holds the stones, the number of each stone's chain, and the set of stones in atari, which
are in a chain with one liberty. These determine every legal move and every capture. A move changes
them only for the chains next to the move and next to what it captures, so nothing is searched.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.row_bitboard import (
    above,
    any_cell,
    below,
    count,
    every_cell,
    flood,
    neighbours,
    only_if,
    union,
    word_type,
)
from azjax_envs.xla_gpu import on_gpu


@dataclasses.dataclass(frozen=True)
class Position:
    """The stones of both sides and their chains, as boards of words [size]."""

    own: Array  # of the player to move
    other: Array
    atari: Array
    chains: Array  # [bits, size], the bits of the number of each stone's chain: one of its cells

    @property
    def empty(self) -> Array:
        """Returns the cells without a stone."""
        return _empty(self.own, self.other)


def _empty(own: Array, other: Array) -> Array:
    return ~(own | other) & np.array(2 ** own.shape[-1] - 1, own.dtype)


def numbers(size: int) -> np.ndarray:
    """Returns the bits of the number of each cell, as boards [bits, size]."""
    cells = np.arange(size**2).reshape(size, size)
    bits = cells >> np.arange((size**2 - 1).bit_length())[:, None, None] & 1
    return np.sum(bits << np.arange(size), axis=-1).astype(word_type(size))


def breathing_moves(position: Position) -> Array:
    """Returns the empty cells where a stone of `own` has a liberty after captures: no suicide.

    Such a cell is next to an empty cell, next to an own chain with a second liberty, or next to an
    opponent's chain in atari, which is captured.
    """
    helpful = position.empty | position.own & ~position.atari | position.other & position.atari
    return position.empty & neighbours(helpful)


def chain_at(position: Position, cell: Array) -> Array:
    """Returns the chain of the stone on `cell`, a board of one cell; none if there is no stone."""
    bits = any_cell(position.chains & cell[None])
    same = jnp.where(bits[:, None], position.chains, ~position.chains)
    stones = position.own | position.other
    return only_if(any_cell(cell & stones), jnp.bitwise_and.reduce(same, axis=0) & stones)


def _next_to(position: Position, stone: Array) -> Array:
    """Returns the chains [4, size] next to a board of one cell."""
    around = jnp.stack([above(stone), below(stone), stone << 1, stone >> 1])
    return jax.vmap(functools.partial(chain_at, position))(around)


def captures(position: Position, stone: Array) -> Array:
    """Returns the opponent's stones that a move on `stone`, a board of that one cell, captures."""
    return union(_next_to(position, stone)) & position.other & position.atari


def suicides(position: Position, stone: Array) -> Array:
    """Returns the own stones, without `stone` itself, that a suicide on `stone` loses."""
    return union(_next_to(position, stone)) & position.own & position.atari


def play(position: Position, stone: Array) -> tuple[Position, Array, Array]:
    """Places `stone` for `own`: one empty cell, or none for a pass.

    Returns:
      The position after it, from the same side; the opponent's stones that were captured; and the
      own stones that were lost by suicide, `stone` among them.
    """
    around = _next_to(position, stone)
    joined = stone | union(around & position.own[None])
    others = around & position.other[None]

    taken = union(others & position.atari[None])
    empty = (position.empty & ~stone) | taken
    is_suicide = any_cell(stone) & ~any_cell(neighbours(joined) & empty)
    lost = only_if(is_suicide, joined)
    empty = empty | lost
    chains = jnp.concatenate([joined[None], others])
    weak = count(neighbours(chains) & empty[None]) == 1

    # A chain next to stones that left the board has gained a liberty, so it is not in atari.
    gone = taken | lost
    side = jnp.where(is_suicide, position.other, position.own)
    relieved = _chains_on(position, neighbours(gone), side & position.atari & ~joined)
    atari = position.atari & ~joined & ~relieved | union(only_if(weak[:, None], chains))
    bits = any_cell(stone[None] & numbers(len(stone)))[:, None]
    own, other = (position.own | stone) & ~lost, position.other & ~taken
    numbered = jnp.where(bits, position.chains | joined[None], position.chains & ~joined[None])
    after = Position(
        own=own,
        other=other,
        atari=atari & ~gone,
        chains=numbered & (own | other)[None],
    )
    return after, taken, lost


def _chains_on(position: Position, cells: Array, stones: Array) -> Array:
    """Returns the chains of `stones` that have a stone on `cells`; `stones` holds whole chains."""
    size = len(stones)

    def of_each(cells: Array) -> Array:
        chain_of = functools.partial(chain_at, position)
        return union(jax.vmap(chain_of)(every_cell(size) & cells[None]))

    return on_gpu(of_each, lambda cells: flood(cells, stones, size))(cells & stones)


def area(black: Array, white: Array) -> tuple[Array, Array]:
    """Returns the Tromp-Taylor area of each side: its stones, and cells that reach only them."""
    stones = jnp.stack([black, white])
    reached = flood(stones, stones | _empty(black, white)[None], len(black))
    return reached[0] & ~reached[1], reached[1] & ~reached[0]
