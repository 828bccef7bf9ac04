"""Bitboards with one word for each row of the board, which suits flood fills.

A board is an unsigned array [..., height]: bit c of word r is the cell in row r and column c.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.xla_gpu import on_gpu


def word_type(width: int) -> np.dtype:
    """Returns the smallest word type that holds `width` cells and one spare bit for shifts."""
    return np.dtype(np.uint16 if width < 16 else np.uint32)


def one_cell(cell: Array, height: int, width: int) -> Array:
    """Returns the board [height] with one cell set; an empty one if `cell` is not on the board."""
    word = word_type(width)
    bit = jnp.ones((), word) << (cell % width).astype(word)
    return jnp.where(np.arange(height) == cell // width, bit, np.zeros((), word))


def only_if(condition: Array, board: Array) -> Array:
    """Returns `board` where `condition` holds, and an empty board elsewhere."""
    return jnp.where(condition, board, jnp.zeros_like(board))


def union(boards: Array) -> Array:
    """Returns the union [height] of boards [K, height]."""
    return jnp.bitwise_or.reduce(boards, axis=0)


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


def pack(cells: Array) -> Array:
    """Packs bool [..., height, width] into words [..., height]."""
    word = word_type(cells.shape[-1])
    values = np.asarray(1, word) << np.arange(cells.shape[-1], dtype=word)
    return jnp.sum(jnp.where(cells, values, 0), axis=-1, dtype=word)


def flood(seeds: Array, mask: Array, width: int) -> Array:
    """Returns the cells of `mask` that are connected to `seeds` through cells of `mask`.

    All are unsigned [..., height]. Each pass goes down the rows and up again, and fills every row
    on its way. So the number of passes depends on the turns of a region, not on its length.
    """
    height = mask.shape[-1]
    # A shortest way from run to run of the rows turns from down to up, or back, only in runs of at
    # least three cells. The three cells on the other side of such a run are not on the way, nor is
    # a cell between its two neighbours. Each cell off the way counts for at most two turns. So
    # 3 turns <= cells on the way, and 4 turns <= 2 (cells off the way) + 2 width for the borders.
    turns = (height + 1) * width // 5
    # A pass follows the way down and up again; the first pass may find no way down.
    passes = (turns + 1) // 2 + 1

    # Batched by hand for two reasons. `vmap` of a while loop adds a select that keeps finished
    # boards unchanged, which they are anyway. With all boards on the last axis, a row is one long
    # vector.
    @jax.custom_batching.custom_vmap
    def fill(seeds: Array, mask: Array) -> Array:
        mask_rows = jnp.moveaxis(mask, -1, 0).reshape(height, -1)
        start = jnp.moveaxis(seeds & mask, -1, 0).reshape(height, -1)

        masks = tuple(mask_rows)

        def sweep(rows: Array) -> Array:
            # On a CPU loops are faster than long code, and shorter passes than few. On TPUs a step
            # of go 9x9 would take an estimated 2.3 times as long by them.
            return jax.lax.platform_dependent(
                rows,
                mask_rows,
                cpu=down_and_up_by_loops,
                default=lambda rows, _: jnp.stack(down_and_up(tuple(rows), masks, width)),
            )

        def until_full(start: Array) -> Array:
            def again(carry: tuple[Array, Array]) -> tuple[Array, Array]:
                rows = sweep(carry[0])
                return rows, jnp.any(rows != carry[0])

            carry = (start, jnp.any(start != 0))
            return jax.lax.while_loop(lambda carry: carry[1], again, carry)[0]

        def counted(start: Array) -> Array:
            # As rows are arrays of their own, each turn is one kernel.
            def again(_: int, rows: tuple[Array, ...]) -> tuple[Array, ...]:
                return down_and_up(rows, masks, width)

            return jnp.stack(jax.lax.fori_loop(0, passes, again, tuple(start)))

        # A GPU's host need not wait for a known number of passes, which saves an estimated 38% of a
        # step (go 9x9, H100). Random play would take a CPU 1.15 times as long by it.
        rows = on_gpu(counted, until_full)(start)
        return jnp.moveaxis(rows.reshape(height, *mask.shape[:-1]), 0, -1)

    @fill.def_vmap
    def fill_batch(size: int, batched: list[bool], seeds: Array, mask: Array) -> tuple[Array, bool]:
        seeds, mask = (
            x if is_batched else jnp.broadcast_to(x, (size, *x.shape))
            for x, is_batched in zip((seeds, mask), batched, strict=True)
        )
        return fill(seeds, mask), True

    return fill(seeds, mask)


def down_and_up(rows: tuple[Array, ...], masks: tuple[Array, ...], width: int) -> tuple[Array, ...]:
    """Fills each row from the row before it, down the board and up again.

    The rows filled so far, those of the mask, and the result are unsigned [boards] each.
    """
    for _ in range(2):
        last, filled = jnp.zeros_like(rows[0]), []
        for row, mask in zip(rows, masks, strict=True):
            last = _spread(last, row, mask, width)
            filled.append(last)
        rows, masks = tuple(filled[::-1]), masks[::-1]
    return rows


def down_and_up_by_loops(rows: Array, masks: Array) -> Array:
    """Fills some of the same cells, at least one more if there is any.

    The cells filled so far, the mask and the result are unsigned [height, boards].
    """

    def step(last: Array, row_and_mask: tuple[Array, Array]) -> tuple[Array, Array]:
        row = _spread(last, *row_and_mask, width=2)
        return row, row

    last = jnp.zeros_like(rows[0])
    _, rows = jax.lax.scan(step, last, (rows, masks))
    return jax.lax.scan(step, last, (rows, masks), reverse=True)[1]


def _spread(last: Array, row: Array, mask: Array, width: int) -> Array:
    """Returns a row's filled cells, with the runs of its mask that it and the `last` row touch.

    The runs are filled from the first cell of each up, and less than `width` cells down.
    """
    row = (row | last) & mask
    # A seed added to its run of the mask carries through the whole run above it.
    row = ((row + mask) ^ mask | row) & mask
    # Below it, the reach doubles with each step.
    distance = 1
    while distance < width:
        row = row | row >> distance & mask
        mask = mask & mask >> distance
        distance *= 2
    return row
