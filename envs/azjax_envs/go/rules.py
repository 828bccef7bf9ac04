"""Moves and area of go on row bitboards, for all chains of a board at once.

A position holds the stones and the set of stones in atari, which are in a chain with one liberty.
This set determines every legal move and every capture. A move changes it only for the chains next
to the move and next to what it captures.
"""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.row_bitboard import above, any_cell, below, count, flood, neighbours


@dataclasses.dataclass(frozen=True)
class Position:
    """The stones of both sides, and the stones in atari, as boards of words [size]."""

    own: Array  # of the player to move
    other: Array
    atari: Array

    @property
    def empty(self) -> Array:
        """Returns the cells without a stone."""
        size = self.own.shape[-1]
        return ~(self.own | self.other) & np.array(2**size - 1, self.own.dtype)


def breathing_moves(position: Position) -> Array:
    """Returns the empty cells where a stone of `own` has a liberty after captures: no suicide.

    Such a cell is next to an empty cell, next to an own chain with a second liberty, or next to an
    opponent's chain in atari, which is captured.
    """
    helpful = position.empty | position.own & ~position.atari | position.other & position.atari
    return position.empty & neighbours(helpful)


def captures(position: Position, stone: Array) -> Array:
    """Returns the opponent's stones that a move on `stone`, a board of that one cell, captures."""
    return flood(neighbours(stone), position.other & position.atari)


def suicides(position: Position, stone: Array) -> Array:
    """Returns the own stones, without `stone` itself, that a suicide on `stone` loses."""
    return flood(neighbours(stone), position.own & position.atari)


def play(position: Position, stone: Array) -> tuple[Position, Array, Array]:
    """Places `stone` for `own`: one empty cell, or none for a pass.

    Returns:
      The position after it, from the same side; the opponent's stones that were captured; and the
      own stones that were lost by suicide, `stone` among them.
    """
    own, nothing = position.own | stone, jnp.zeros_like(stone)
    # Five chains: the one that the stone joins, and those next to it, [5, size].
    seeds = jnp.stack([stone, above(stone), below(stone), stone << 1, stone >> 1])
    within = jnp.stack([own, *[position.other] * 4])
    chains = flood(seeds, within)
    joined, others = chains[0], chains[1:]

    captured = any_cell(others & position.atari[None])
    taken = _union(others, captured)
    empty = (position.empty & ~stone) | taken
    is_suicide = any_cell(stone) & ~any_cell(neighbours(joined) & empty)
    lost = jnp.where(is_suicide, joined, nothing)
    empty = empty | lost
    weak = count(neighbours(chains) & empty[None]) == 1

    # A chain next to stones that left the board has gained a liberty, so it is not in atari.
    gone = taken | lost
    side = jnp.where(is_suicide, position.other, position.own)
    relieved = flood(neighbours(gone), side & position.atari & ~joined)
    atari = position.atari & ~joined & ~relieved | _union(chains, weak)
    after = Position(own=own & ~lost, other=position.other & ~taken, atari=atari & ~gone)
    return after, taken, lost


def area(black: Array, white: Array) -> tuple[Array, Array]:
    """Returns the Tromp-Taylor area of each side: its stones, and cells that reach only them."""
    empty = Position(black, white, black).empty
    stones = jnp.stack([black, white])
    reached = flood(stones, stones | empty[None])
    return reached[0] & ~reached[1], reached[1] & ~reached[0]


def _union(chains: Array, keep: Array) -> Array:
    """Returns the union, a board [size], of the chains [K, size] with `keep`, bool [K]."""
    kept = jnp.where(keep[:, None], chains, jnp.zeros_like(chains))
    return jnp.bitwise_or.reduce(kept, axis=0)
