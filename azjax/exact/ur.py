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
_SHARED = range(5, 13)
_SAFE = 8
_ROSETTES = (4, 8, 14)
_BATCH = 1 << 9
_PRECISE = 1e-6


class Boards:
    """All boards of a player with `pieces` pieces, those with the fewest on the board first.

    So the boards with `off` pieces borne off are the first `counts[off]` ones.
    """

    def __init__(self, pieces: int) -> None:
        bits = np.arange(1 << _FIELDS)
        on = sum(bits >> field & 1 for field in range(_FIELDS))
        order = np.argsort(on, kind="stable")
        self.pieces = pieces
        self.bits = order[on[order] <= pieces]  # int64 [N], bit i is field i + 1
        self.numbers = np.argsort(order)  # int64 [2^14], of all boards as bits
        self.counts = [int((on <= pieces - off).sum()) for off in range(pieces + 1)]
        self.shared = self.bits & sum(1 << field - 1 for field in _SHARED)
        sizes = np.outer(self.counts[:-1], self.counts[:-1])
        self.firsts = np.concatenate([[0], sizes.ravel().cumsum()])

    def __len__(self) -> int:
        return len(self.bits)

    def layer(self, values: np.ndarray, own_off: int, other_off: int) -> np.ndarray:
        """Returns a view of the values with so many pieces off, [own boards, other boards]."""
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


def _sweep(boards: Boards, values: np.ndarray, own_off: int, other_off: int) -> float:
    """Values the positions of a layer once more, and returns the largest change of one."""
    here = boards.layer(values, own_off, other_off)
    # Of the mover, once the turn has passed to the other.
    passed = _passed(boards, values, own_off, other_off)
    borne_off = None
    if own_off + 1 < boards.pieces:
        borne_off = _passed(boards, values, own_off + 1, other_off)
    others = boards.bits[: boards.counts[other_off]]
    shared = boards.shared[: boards.counts[own_off]]
    change = 0.0
    # Pieces move to higher fields, so this order comes upon most of the values of this sweep.
    for mask in np.unique(shared)[::-1]:
        apart = np.flatnonzero(others & mask == 0)
        captured = {f: boards.numbers[others[apart] & ~(1 << f - 1)] for f in _SHARED}
        blocked = others[apart] >> _SAFE - 1 & 1 == 1
        group = np.flatnonzero(shared == mask)
        for own in group[np.argsort(-boards.bits[group])]:
            bits = int(boards.bits[own])
            turned = passed[own].take(apart)
            new = np.float32(1 / 16) * turned
            for roll, chance in ((1, 4), (2, 6), (3, 4), (4, 1)):
                best = None
                for after, end in _moves(bits, roll, boards.pieces - own_off):
                    row = boards.numbers[after]
                    if end == _OFF:
                        value = borne_off[row].take(apart) if borne_off is not None else np.float32(1)
                    elif end == _SAFE:
                        value = here[row].take(apart)
                        value[blocked] = -2
                    elif end in _ROSETTES:
                        value = here[row].take(apart)
                    else:
                        value = passed[row].take(captured.get(end, apart))
                    best = value if best is None else np.maximum(best, value)
                if best is None:
                    best = turned
                elif np.ndim(best):
                    best = np.where(best < -1.5, turned, best)
                new += np.float32(chance / 16) * best
            change = max(change, float(np.abs(new - here[own].take(apart)).max()))
            here[own, apart] = new
    return change


def _passed(boards: Boards, values: np.ndarray, own_off: int, other_off: int) -> np.ndarray:
    return np.ascontiguousarray(-boards.layer(values, other_off, own_off).T)


def _moves(bits: int, roll: int, pieces: int) -> Iterator[tuple[int, int]]:
    """Yields the boards after the moves of a roll, and the fields where a piece lands."""
    for start in range(_FIELDS + 1):
        end = start + roll
        here = bits.bit_count() < pieces if start == 0 else bits >> start - 1 & 1
        if not here or end > _OFF or (end < _OFF and bits >> end - 1 & 1):
            continue
        after = bits & ~(1 << start - 1) if start else bits
        yield (after if end == _OFF else after | 1 << end - 1), end


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
