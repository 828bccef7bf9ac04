"""Bitboards with one word for each row of the board, which suits flood fills.

A board is an unsigned array [..., height]: bit c of word r is the cell in row r and column c.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array


def word_type(width: int) -> np.dtype:
    """Returns the smallest word type that holds `width` cells and one spare bit for shifts."""
    return np.dtype(np.uint16 if width < 16 else np.uint32)


def one_cell(cell: Array, height: int, width: int) -> Array:
    """Returns the board [height] with one cell set; an empty one if `cell` is not on the board."""
    word = word_type(width)
    bit = jnp.ones((), word) << (cell % width).astype(word)
    return jnp.where(np.arange(height) == cell // width, bit, np.zeros((), word))


def neighbours(board: Array) -> Array:
    """Returns the neighbours of the cells of `board`. Bits beyond a row's end may be set."""
    return above(board) | below(board) | board << 1 | board >> 1


def above(board: Array) -> Array:
    """Returns `board` moved up by one row."""
    return jnp.concatenate([board[..., 1:], jnp.zeros_like(board[..., :1])], axis=-1)


def below(board: Array) -> Array:
    """Returns `board` moved down by one row."""
    return jnp.concatenate([jnp.zeros_like(board[..., :1]), board[..., :-1]], axis=-1)


def count(board: Array) -> Array:
    """Returns the number of cells set, int32 [...]."""
    return jnp.sum(jnp.bitwise_count(board), axis=-1, dtype=jnp.int32)


def any_cell(board: Array) -> Array:
    """Returns whether any cell is set, bool [...]."""
    return jnp.any(board != 0, axis=-1)


def unpack(board: Array, width: int) -> Array:
    """Unpacks words [..., height] into bool [..., height, width]."""
    shifts = np.arange(width, dtype=board.dtype).reshape((1,) * board.ndim + (width,))
    return board[..., None] >> shifts & 1 != 0


def flood(seeds: Array, mask: Array) -> Array:
    """Returns the cells of `mask` that are connected to `seeds` through cells of `mask`.

    Each pass goes down the rows and up again, and fills every row on its way. The number of passes
    therefore depends on the turns of a region, not on its length.

    Args:
      seeds: unsigned [..., height], the cells to start from.
      mask: unsigned [..., height], the cells that may be filled.

    Returns:
      unsigned [..., height].
    """
    return _flood(seeds, mask)


# Batched by hand for two reasons. `vmap` of a while loop adds a select that keeps finished boards
# unchanged, which they are anyway. With all boards on the last axis, a row is one long vector.
@jax.custom_batching.custom_vmap
def _flood(seeds: Array, mask: Array) -> Array:
    height = mask.shape[-1]
    mask_rows = jnp.moveaxis(mask, -1, 0).reshape(height, -1)
    start = jnp.moveaxis(seeds & mask, -1, 0).reshape(height, -1)

    def sweep(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        before, _ = carry
        # Each turn of a loop is some launches on a GPU. On a CPU loops are faster than long code.
        rows = jax.lax.platform_dependent(
            before,
            mask_rows,
            cpu=functools.partial(down_and_up, unroll=1),
            default=functools.partial(down_and_up, unroll=height),
        )
        return rows, jnp.any(rows != before)

    rows, _ = jax.lax.while_loop(lambda carry: carry[1], sweep, (start, jnp.any(start != 0)))
    return jnp.moveaxis(rows.reshape(height, *mask.shape[:-1]), 0, -1)


def down_and_up(rows: Array, mask_rows: Array, *, unroll: int) -> Array:
    """Fills each row from the row before it, down the board and up again.

    Args:
      rows: unsigned [height, boards], the cells filled so far.
      mask_rows: unsigned [height, boards], the cells that may be filled.
      unroll: number of rows that are written out in one turn of the loop.

    Returns:
      unsigned [height, boards].
    """

    def spread(last: Array, row_and_mask: tuple[Array, Array]) -> tuple[Array, Array]:
        row, row_mask = row_and_mask
        row = (row | last) & row_mask
        # A seed added to its run of the mask carries through the whole run above it.
        row = ((row + row_mask) ^ row_mask | row) & row_mask
        row = row | row >> 1 & row_mask
        return row, row

    last = jnp.zeros_like(rows[0])
    _, rows = jax.lax.scan(spread, last, (rows, mask_rows), unroll=unroll)
    _, rows = jax.lax.scan(spread, last, (rows, mask_rows), reverse=True, unroll=unroll)
    return rows


@_flood.def_vmap
def _flood_batch(size: int, batched: list[bool], seeds: Array, mask: Array) -> tuple[Array, bool]:
    seeds, mask = (
        x if is_batched else jnp.broadcast_to(x, (size, *x.shape))
        for x, is_batched in zip((seeds, mask), batched, strict=True)
    )
    return _flood(seeds, mask), True
