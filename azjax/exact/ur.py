"""Solves the Royal Game of Ur: the exact expected result of every position before a roll.

A position is a pair of boards, of the player to roll and of the other, and the pieces that each has
borne off. Pieces borne off never come back, so the positions with (a, b) and (b, a) pieces off are
solved together, those with most pieces off first. Values come by iteration, until none changes by
more than a millionth.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs.ur import Ur, UrState

from azjax.exact.chunks import in_chunks
from azjax.types import Array

_FIELDS = 14
_OFF = 15
_PATH = (1 << _FIELDS) - 1
_SHARED = range(5, 13)
_SAFE = 8
_ROSETTES = (4, 8, 14)
_ROLLS = np.array([1, 4, 6, 4, 1], np.float32) / 16
_BATCH = 1 << 9
_PRECISE = 1e-6


class Boards:
    """All boards of a player with `pieces` pieces, those with the fewest on the board first.

    So the boards with `off` pieces borne off are the first `counts[off]` ones.
    """

    def __init__(self, pieces: int) -> None:
        bits = np.arange(1 << _FIELDS)
        on = np.bitwise_count(bits).astype(np.int64)
        order = np.argsort(on, kind="stable")
        self.pieces = pieces
        self.bits = order[on[order] <= pieces]  # int64 [N], bit i is field i + 1
        self.numbers = np.argsort(order)  # int64 [2^14], of all boards as bits
        self.counts = [int((on <= pieces - off).sum()) for off in range(pieces + 1)]
        self.shared = self.bits & sum(map(_bit, _SHARED))
        sizes = np.outer(self.counts[:-1], self.counts[:-1])
        self.firsts = np.concatenate([[0], sizes.ravel().cumsum()])

    def layer(self, values: np.ndarray, own_off: int, other_off: int) -> np.ndarray:
        """Returns the values of one layer as a view, float32 [own boards, other boards].

        A layer has the positions in which the two players have borne off these numbers of pieces.
        """
        number = own_off * self.pieces + other_off
        shape = self.counts[own_off], self.counts[other_off]
        return values[self.firsts[number] : self.firsts[number + 1]].reshape(shape)

    def positions(self) -> int:
        """Returns the number of positions before a roll, with those where a player has won."""
        count = np.zeros((self.pieces + 1,) * 2, np.int64)
        masks, of_mask = np.unique(self.shared, return_inverse=True)
        each = [np.bincount(of_mask[:size], minlength=len(masks)) for size in self.counts]
        apart = ((masks[:, None] & masks) == 0).astype(np.int64)
        for a, own in enumerate(each):
            for b, other in enumerate(each):
                count[a, b] = own @ apart @ other
        return int(count.sum())


def solve(game: Ur, progress: Callable[[int, int, int], None] | None = None) -> np.ndarray:
    """Returns the expected results of the player to roll, float32 [P], from -1 to 1.

    `Boards.layer` gives those with some numbers of pieces off. Pairs of boards with two pieces on
    one field have 0. The draw after many moves is left out.

    Args:
      progress: called as `progress(a, b, sweeps)` when the positions with a and b pieces off are
        solved.
    """
    boards = Boards(game.pieces)
    values = np.zeros(boards.firsts[-1], np.float32)
    pairs = [(a, b) for a in range(game.pieces) for b in range(a + 1)]
    for a, b in sorted(pairs, key=sum, reverse=True):
        sweeps, change = 0, np.inf
        while change >= _PRECISE:
            sweeps += 1
            change = max(_sweep(boards, values, *pair) for pair in dict.fromkeys([(a, b), (b, a)]))
        if progress is not None:
            progress(a, b, sweeps)
    return values


@dataclasses.dataclass(frozen=True, eq=False)
class _Layer:
    """The values of positions with some numbers of pieces off, and those that moves lead to.

    Each array is [own boards, other boards], from the perspective of who has `own`.
    """

    here: np.ndarray  # before a roll of the own player
    passed: np.ndarray  # before a roll of the other
    borne_off: np.ndarray | None  # the same with one piece more off, or None: the game is won


@dataclasses.dataclass(frozen=True, eq=False)
class _Others:
    """The M boards of the other player that share no field with the own board."""

    numbers: np.ndarray  # int64 [M]
    captured: dict[int, np.ndarray]  # int64 [M], by shared field: the boards without a piece there
    safe: np.ndarray  # bool [M], a piece stands on the safe field


def _sweep(boards: Boards, values: np.ndarray, own_off: int, other_off: int) -> float:
    """Values the positions of a layer once more, and returns the largest change of one."""
    layer = _layer(boards, values, own_off, other_off)
    other_bits = boards.bits[: boards.counts[other_off]]
    shared = boards.shared[: boards.counts[own_off]]
    change = 0.0
    # Pieces move to higher fields, so this order comes upon most of the values of this sweep.
    for mask in np.unique(shared)[::-1]:
        numbers = np.flatnonzero(other_bits & mask == 0)
        bits = other_bits[numbers]
        captured = {field: boards.numbers[bits & ~_bit(field)] for field in _SHARED}
        others = _Others(numbers, captured, bits & _bit(_SAFE) != 0)
        group = np.flatnonzero(shared == mask)
        for own in group[np.argsort(-boards.bits[group])]:
            new = _mean_value(boards, layer, int(own), boards.pieces - own_off, others)
            change = max(change, float(np.abs(new - layer.here[own].take(numbers)).max()))
            layer.here[own, numbers] = new
    return change


def _layer(boards: Boards, values: np.ndarray, own_off: int, other_off: int) -> _Layer:
    def passed(own_off: int) -> np.ndarray:
        return np.ascontiguousarray(-boards.layer(values, other_off, own_off).T)

    wins = own_off + 1 == boards.pieces
    here = boards.layer(values, own_off, other_off)
    return _Layer(here, passed(own_off), None if wins else passed(own_off + 1))


def _mean_value(
    boards: Boards, layer: _Layer, own: int, pieces: int, others: _Others
) -> np.ndarray:
    """Returns the mean over the rolls of the values after the best moves, float32 [M]."""
    passed = layer.passed[own].take(others.numbers)
    mean = _ROLLS[0] * passed
    for roll, chance in enumerate(_ROLLS[1:], start=1):
        best = np.full_like(passed, -np.inf)
        for after, end in _moves(int(boards.bits[own]), roll, pieces):
            row = boards.numbers[after]
            np.maximum(best, _value_after(layer, row, end, others), out=best)
        mean += chance * np.where(np.isinf(best), passed, best)
    return mean


def _value_after(layer: _Layer, own: int, end: int, others: _Others) -> np.ndarray | float:
    """Returns the values after a move to a field, float32 [M]; -inf where it is illegal."""
    if end == _OFF:
        return 1.0 if layer.borne_off is None else layer.borne_off[own].take(others.numbers)
    if end in _ROSETTES:
        again = layer.here[own].take(others.numbers)
        return np.where(others.safe, -np.inf, again) if end == _SAFE else again
    return layer.passed[own].take(others.captured.get(end, others.numbers))


def _moves(bits: int, roll: int, pieces: int) -> Iterator[tuple[int, int]]:
    """Yields the boards after the moves of a roll, and the fields where a piece lands."""
    for start in range(_FIELDS + 1):
        end = start + roll
        there = bits.bit_count() < pieces if start == 0 else bits & _bit(start)
        if not there or end > _OFF or bits & _bit(end):
            continue
        # A piece that begins stands on no field, and one that is borne off neither.
        yield (bits & ~_bit(start) | _bit(end)) & _PATH, end


def _bit(field: int) -> int:
    return 1 << field >> 1


@dataclasses.dataclass(frozen=True, eq=False)
class TablePlayer:
    """Perfect play of the Royal Game of Ur by a table of expected results."""

    game: Ur
    values: np.ndarray  # float32 [P], as of `solve`

    @functools.cached_property
    def boards(self) -> Boards:
        return Boards(self.game.pieces)

    def state_values(self, states: UrState) -> np.ndarray:
        """Returns the expected results of the player to move before a roll, float32 [B]."""
        states = jax.device_get(states)
        pieces, boards = self.game.pieces, self.boards
        own_off, other_off = np.int64(states.own_off), np.int64(states.other_off)
        own, other = boards.numbers[states.own], boards.numbers[states.other]
        over = (own_off == pieces) | (other_off == pieces)
        layer = np.where(over, 0, own_off * pieces + other_off)
        place = boards.firsts[layer] + own * np.take(boards.counts, other_off) + other
        found = self.values[np.where(over, 0, place)]
        return np.where(over, np.where(own_off == pieces, 1, -1), found).astype(np.float32)

    def move_values(self, states: UrState) -> np.ndarray:
        """Returns the mover's expected result after each move in states [B, ...] with dice.

        float32 [B, 16], from -1 to 1. Illegal moves have -inf.
        """
        leaves, structure = jax.tree.flatten(jax.device_get(states))

        def run(*rows: np.ndarray) -> tuple[Array, ...]:
            return _play(self.game, jax.tree.unflatten(structure, rows))

        legal, *after = in_chunks(run, _BATCH, *leaves)
        after = jax.tree.unflatten(structure, after)
        stays = after.player == np.asarray(states.player)[:, None]
        values = self.state_values(after)
        return np.where(legal, np.where(stays, values, -values), -np.inf).astype(np.float32)


@functools.partial(jax.jit, static_argnums=0)
def _play(game: Ur, states: UrState) -> tuple[Array, ...]:
    """Returns whether actions are legal, bool [B, 16], and the leaves of the states after them."""
    after = jax.vmap(jax.vmap(game.step, (None, 0)), (0, None))(
        states, jnp.arange(game.num_actions)
    )
    return jax.vmap(game.legal_action_mask)(states), *jax.tree.leaves(after)
