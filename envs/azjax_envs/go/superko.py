"""Positional superko: moves that would repeat an earlier board.

Every board of the game is kept as a fingerprint of three words. They are sums modulo 2^32 over
black's stones, over white's, and over both sides'. A move without suicide repeats an earlier board
only if that board has one more own stone than the current one. The difference of two words
identifies that stone. One pass over the history thus finds a few candidates, and only these are
played out. A suicide removes own stones, so all suicides are played out.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from azjax_envs.go import rules
from azjax_envs.row_bitboard import any_cell, one_cell, only_if, pack, unpack
from azjax_envs.sampling import mix_bits
from azjax_envs.xla_gpu import on_gpu

_CELL_BITS = 9  # enough for 361 cells
_NO_CELL = np.uint32(2**_CELL_BITS - 1)


def fingerprint(stones: Array, colour: Array) -> Array:
    """Returns the fingerprint, uint32 [3], of the stones, words [size], of one colour, 0 or 1.

    The fingerprint of a board is the sum of both colours' fingerprints.
    """
    size = stones.shape[0]
    cells = np.arange(size * size, dtype=np.uint32)
    bits = unpack(stones, size).reshape(-1)
    alone = jnp.sum(jnp.where(bits, _cell_word(cells), 0), dtype=jnp.uint32)
    both = jnp.sum(jnp.where(bits, _pair_word(cells, colour), 0), dtype=jnp.uint32)
    return _by_colour(colour, alone, both)


def fingerprint_of_cell(cell: Array, colour: Array) -> Array:
    """Returns the fingerprint of one stone on `cell`, uint32 [3]; zeros if `cell` is negative."""
    word = cell.astype(jnp.uint32)
    both = _by_colour(colour, _cell_word(word), _pair_word(word, colour))
    return jnp.where(cell >= 0, both, jnp.zeros_like(both))


def repetitions(position: rules.Position, player: Array, now: Array, history: Array) -> Array:
    """Returns the moves without suicide that repeat an earlier board.

    Args:
      position: the board, from the perspective of the player to move.
      player: int32 [], the player to move.
      now: uint32 [3], the board's fingerprint.
      history: uint32 [3, T], the fingerprints of all boards of the game. Unused entries are zeros,
        which is the fingerprint of the empty board.
    """
    size = position.own.shape[-1]

    def added(words: Array) -> Array:
        """Returns the cell of the one stone that words [T] add to the current ones, or no cell."""
        cells = words & _NO_CELL
        # The earlier board has one more own stone only if the difference is the word of a cell.
        return jnp.where((words == _cell_word(cells)) & (cells < size**2), cells, _NO_CELL)

    def repeated(other: Array, cell: Array, gone: Array | tuple[Array, ...]) -> Array:
        """Returns which of the boards a move repeats, bool [T], if it adds the stone they need.

        Args:
          other: uint32 [T], the boards' words of the opponent.
          cell: uint32 [] or [T], the move, or one for each board.
          gone: three of uint32 like `cell`, the words of what the move captures.
        """
        return (other == _select(player, now[1] - gone[1], now[0] - gone[0])) & (
            history[2] == now[2] + _pair_word(cell, player) - gone[2]
        )

    def captured(stone: Array) -> Array:
        return fingerprint(rules.captures(position, stone), 1 - player)

    def one_by_one() -> Array:
        own, other = (_select(player, *history[:2]), _select(player, *history[1::-1]))
        candidates = added(own - _select(player, now[0], now[1]))

        def look(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            left, found = carry
            cell = jnp.min(left)
            stone = one_cell(cell.astype(jnp.int32), size, size)
            is_found = jnp.any((candidates == cell) & repeated(other, cell, captured(stone)))
            return jnp.where(left == cell, _NO_CELL, left), found | only_if(is_found, stone)

        some = lambda carry: jnp.any(carry[0] != _NO_CELL)  # noqa: E731
        return jax.lax.while_loop(some, look, (candidates, jnp.zeros_like(position.own)))[1]

    def at_once() -> Array:
        gone = _words_next_to(position, position.other, 1 - player)
        # The barriers keep arrays of small words, which XLA would compute again for each use.
        cell = added(history[player] - now[player])
        cell = jax.lax.optimization_barrier(cell.astype(jnp.uint16)).astype(jnp.uint32)
        gone = gone[jnp.minimum(cell, size**2 - 1)]
        is_found = repeated(history[1 - player], cell, (gone[:, 0], gone[:, 0], gone[:, 1]))
        found = jnp.where(is_found, cell, _NO_CELL).astype(jnp.uint16)
        # Boards that follow each other do not add different stones: a move adds or removes some.
        found = jnp.min(jax.lax.optimization_barrier(found).reshape(-1, 2), axis=-1)
        found = jax.lax.optimization_barrier(found).astype(jnp.int32)
        moves = unpack(rules.number_set(found, size**2), 32).reshape(-1)
        return pack(moves[: size**2].reshape(size, size))

    # A step of go 9x9 takes an H100 an estimated 2.2 times as long one by one. Random play takes a
    # CPU 2.1 times as long at once.
    return on_gpu(at_once, one_by_one)()


def repeating_suicides(
    position: rules.Position, moves: Array, player: Array, now: Array, history: Array
) -> Array:
    """Returns those of `moves`, all suicides, that repeat an earlier board; see `repetitions`."""

    def one_by_one(moves: Array) -> Array:
        def look(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            left, found = carry
            stone = _first(left)
            after = now - fingerprint(rules.suicides(position, stone), player)
            repeats = jnp.any(jnp.all(history == after[:, None], axis=0))
            return left ^ stone, found | only_if(repeats, stone)

        some = lambda carry: any_cell(carry[0])  # noqa: E731
        return jax.lax.while_loop(some, look, (moves, jnp.zeros_like(moves)))[1]

    def at_once(moves: Array) -> Array:
        gone = _by_colour(player, *_words_next_to(position, position.own, player).T)
        after = now[:, None] - gone  # uint32 [3, size * size]
        is_same = jnp.all(history[:, None] == after[:, :, None], axis=0)
        return moves & pack(jnp.any(is_same, axis=-1).reshape(len(moves), -1))

    return on_gpu(at_once, one_by_one)(moves)


def _words_next_to(position: rules.Position, side: Array, colour: Array) -> Array:
    """Returns the sums of the words of one side's chains in atari next to each cell.

    They are uint32 [size * size, 2]: sums of the words of that colour alone, and of both.
    """
    size = len(side)
    cells = np.arange(size**2, dtype=np.uint32).reshape(size, size)
    stones = unpack(side & position.atari, size)
    numbers = jnp.where(stones, rules.chain_numbers(position.chains), -1)
    words = (jnp.asarray(_cell_word(cells)), _pair_word(cells, colour))
    sums = rules.sums_over_chains(numbers, words)
    numbers = jnp.pad(numbers, 1, constant_values=-1)[..., None]
    sums = jnp.pad(sums, ((1, 1), (1, 1), (0, 0)))
    total, earlier = jnp.zeros((size, size, 2), jnp.uint32), []
    for row, column in ((0, 1), (2, 1), (1, 0), (1, 2)):
        place = slice(row, row + size), slice(column, column + size)
        is_new = numbers[place] >= 0
        for number in earlier:
            is_new &= numbers[place] != number
        total, earlier = total + jnp.where(is_new, sums[place], 0), [*earlier, numbers[place]]
    return jax.lax.optimization_barrier(total.reshape(-1, 2))


def _first(board: Array) -> Array:
    """Returns the first cell of the first row that has any."""
    row = jnp.argmax(board != 0)
    return jnp.where(np.arange(board.shape[0]) == row, board & -board, jnp.zeros_like(board))


def _by_colour(colour: Array, alone: Array, both: Array) -> Array:
    nothing = jnp.zeros_like(alone)
    return jnp.stack([_select(colour, alone, nothing), _select(colour, nothing, alone), both])


def _select(player: Array, black: Array, white: Array) -> Array:
    return jnp.where(player == 0, black, white)


def _cell_word(cell):
    """Returns the word of a stone in its colour's sum, uint32. Its low bits are the cell."""
    return _mix(cell, 0x9E3779B9) << np.uint32(_CELL_BITS) | cell


def _pair_word(cell, colour: Array):
    """Returns the word of a stone in the sum of both colours, uint32."""
    return _select(colour, _mix(cell, 0x85EBCA77), _mix(cell, 0xC2B2AE3D))


def _mix(cell, salt: int):
    return mix_bits((cell + np.uint32(1)) * np.uint32(salt))
