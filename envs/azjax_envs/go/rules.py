"""Moves and area of go on row bitboards, for all chains of a board at once.

A position holds the stones, the number of each stone's chain, and the set of stones in atari, which
are in a chain with one liberty. These determine every legal move and every capture. A move changes
them only for the chains next to the move and next to what it captures, so nothing is searched.
"""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.row_bitboard import (
    above,
    any_cell,
    below,
    count,
    flood,
    neighbours,
    only_if,
    pack,
    union,
    unpack,
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

    own, other = (position.own | stone) & ~lost, position.other & ~taken
    bits = any_cell(stone[None] & numbers(len(stone)))[:, None]
    numbered = jnp.where(bits, position.chains | joined[None], position.chains & ~joined[None])
    numbered = numbered & (own | other)[None]

    # A chain next to stones that left the board has gained a liberty, so it is not in atari.
    gone = taken | lost
    side = jnp.where(is_suicide, position.other, position.own)
    relieved = _chains_on(numbered, neighbours(gone), side & position.atari & ~joined)
    atari = position.atari & ~joined & ~relieved | union(only_if(weak[:, None], chains))
    after = Position(own=own, other=other, atari=atari & ~gone, chains=numbered)
    return after, taken, lost


def _chains_on(chains: Array, cells: Array, stones: Array) -> Array:
    """Returns the chains of `stones` that have a stone on `cells`; `stones` holds whole chains."""
    size = len(stones)

    def by_number(cells: Array) -> Array:
        numbers = chain_numbers(chains)
        marked = jnp.max(_in_pairs(jnp.where(unpack(cells, size), numbers, -1), -1, size), axis=-1)
        words = number_set(marked.reshape(-1), size**2)
        return pack(words[numbers >> 5] >> (numbers & 31).astype(words.dtype) & 1 != 0) & stones

    # A step of go 9x9 takes an H100 an estimated 1.2 times as long by floods, and random play a CPU
    # 1.15 times as long by numbers.
    return on_gpu(by_number, lambda cells: flood(cells, stones, size))(cells & stones)


def chain_numbers(chains: Array) -> Array:
    """Returns the number of each stone's chain, int32 [size, size], from its bits [bits, size]."""
    bits, size = chains.shape
    values = 1 << np.arange(bits, dtype=np.int32)[:, None, None]
    return jnp.sum(jnp.where(unpack(chains, size), values, 0), axis=0, dtype=jnp.int32)


def number_set(numbers: Array, end: int) -> Array:
    """Returns which numbers from 0 to before `end` are in int32 [n]: bits of words, uint32 [m]."""
    words = np.arange(-(-end // 32))[:, None]
    bits = jnp.uint32(1) << (numbers & 31).astype(jnp.uint32)
    return jnp.bitwise_or.reduce(jnp.where(numbers[None] >> 5 == words, bits[None], 0), axis=-1)


def _in_pairs(board: Array, nothing: int, rows: int) -> Array:
    """Returns a board [size, size] in pairs of columns, [rows, pairs, 2]; rows are added below."""
    size = len(board)
    more = ((0, rows - size), (0, size % 2))
    return jnp.pad(board, more, constant_values=nothing).reshape(rows, -1, 2)


def sums_over_chains(numbers: Array, words: tuple[Array, Array]) -> Array:
    """Returns the sums of two words over all stones of each stone's chain, all chains at once.

    The stones are of one side, so those side by side belong to one chain. Two facts save most of
    the comparisons of all stones with all. A pair of columns has at most one chain in each row. And
    a chain that has stones in two rows has some in each row between.

    Without the barriers, XLA would compute the numbers and words again for each comparison.

    Args:
      numbers: int32 [size, size], the number of each stone's chain, -1 where there is no stone.
      words: two of uint32 [size, size].

    Returns:
      uint32 [size, size, 2]. Where there is no stone, the values have no meaning.
    """
    size = len(numbers)
    height = math.isqrt(size)  # of a band of rows
    bands = -(-size // height)

    def of_same(others: Array, words: list[Array]) -> tuple[Array, Array]:
        """Returns the sums of the words of those others, [bands, n], that have the same number."""
        others, words = jax.lax.optimization_barrier((others, words))
        # [bands, height, n, pairs]. XLA would keep one comparison of two uses in memory.
        own_first, others_first = own[:, :, None], others[:, None, :, None]
        same = own_first == others_first, others_first == own_first
        terms = [jnp.where(s, x[:, None, :, None], 0) for s, x in zip(same, words, strict=True)]
        add = lambda a, b: (a[0] + b[0], a[1] + b[1])  # noqa: E731
        return jax.lax.optimization_barrier(jax.lax.reduce(terms, [np.uint32(0)] * 2, add, [2]))

    rows = bands * height
    own = jnp.max(_in_pairs(numbers, -1, rows), axis=-1).reshape(bands, height, -1)
    pairs = own.shape[-1]
    on_stones = [_in_pairs(jnp.where(numbers < 0, 0, x), 0, rows) for x in words]
    sums = [jnp.sum(x, axis=-1, dtype=x.dtype).reshape(bands, -1) for x in on_stones]
    own = jax.lax.optimization_barrier(own)
    inside = of_same(own.reshape(bands, -1), sums)

    # In another band, the chain has stones in the row that faces this band, or nowhere.
    order = np.arange(bands)
    is_above = (order[:-1] < order[:, None])[..., None]

    def facing(x: Array) -> Array:  # [bands, bands - 1, pairs], of each band the others
        return jnp.where(is_above, x[None, :-1, -1], x[None, 1:, 0])

    others = facing(own)
    earlier = np.tri(pairs, k=-1, dtype=bool)[None, None]
    repeats = jnp.any((others[..., None] == others[..., None, :]) & earlier, axis=-1)
    edges = [only_if(~repeats, facing(x)).reshape(bands, -1) for x in inside]
    outside = of_same(others.reshape(bands, -1), edges)

    first, second = ((x + y)[..., None] for x, y in zip(inside, outside, strict=True))
    is_first = np.array([True, False])[None, None, None]
    total = jax.lax.optimization_barrier(jnp.where(is_first, first, second))
    return jnp.repeat(total.reshape(-1, pairs, 2), 2, axis=1)[:size, :size]


def area(black: Array, white: Array) -> tuple[Array, Array]:
    """Returns the Tromp-Taylor area of each side: its stones, and cells that reach only them."""
    stones = jnp.stack([black, white])
    reached = flood(stones, stones | _empty(black, white)[None], len(black))
    return reached[0] & ~reached[1], reached[1] & ~reached[0]
