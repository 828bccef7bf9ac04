"""Random games as fast as they go, to measure the speed of rules and of nothing else.

Needs jax alone, and an old one will do: `benchmarks/side_by_side.py` loads this file in the Python
of each peer, so that all play the same way.
"""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

WARM_LANES = 32  # games played to spread the lanes over all ages


@dataclasses.dataclass(frozen=True, eq=False)
class Rules:
    """Pure functions of one state."""

    start: Any
    step: Callable[[Any, jax.Array], Any]
    mask: Callable[[Any], jax.Array]  # bool [num_actions]
    over: Callable[[Any], jax.Array]  # bool []


class RandomPlayer:
    """Random play of `batch` games: each call makes as many plies as take `seconds`.

    `warm` is what `spread_out` gives. Its games are copied: what the copies draw differs.
    """

    def __init__(self, rules: Rules, warm: Any, batch: int, seconds: float):
        self._rules, self._batch, self._seconds = rules, batch, seconds
        lanes = jnp.arange(batch) % WARM_LANES
        self._states = jax.tree_util.tree_map(lambda x: x[lanes], warm)
        self._time = 0
        self._plies = _times_to_fill(seconds, self._play)

    @property
    def steps(self) -> int:
        """Steps of one call."""
        return self._plies * self._batch

    def __call__(self) -> Any:
        return self._play(self._plies)

    def _play(self, plies: int) -> Any:
        self._states = play(self._rules, self._states, jnp.uint32(self._time), plies)
        self._time += plies
        return self._states


@functools.partial(jax.jit, static_argnums=0)
def play(rules: Rules, states: Any, now: jax.Array, plies: jax.Array) -> Any:
    """`states` [B] after `plies` random plies of each game, which starts anew whenever it ends.

    Args:
      rules: the game.
      states: games in progress, none at its end.
      now: uint32 [], which number the first ply has: other numbers, other games.
      plies: int32 [], so that one program serves any number.
    """
    return jax.lax.fori_loop(0, plies, lambda i, s: _ply(rules, s, now + i), states)


@functools.partial(jax.jit, static_argnums=0)
def spread_out(rules: Rules, length: jax.Array) -> Any:
    """A few games in progress, of all ages up to `length` plies, as a long run would have them:
    rules may be cheaper at the start than later, and no game is to be in step with the others."""
    begins = jnp.arange(WARM_LANES) * length // WARM_LANES

    def ply(t: jax.Array, states: Any) -> Any:
        return _select(begins == t, rules.start, _ply(rules, states, t))

    def lanes(leaf: jax.Array) -> jax.Array:
        return jnp.broadcast_to(leaf, (WARM_LANES, *jnp.shape(leaf)))

    return jax.lax.fori_loop(0, length, ply, jax.tree_util.tree_map(lanes, rules.start))


def choose_legal(bits: jax.Array, mask: jax.Array) -> jax.Array:
    """A legal action by 16 random bits: int32 [], each as likely to within a part in 2**16.

    Beyond 16 actions it is looked for among the sums of groups first, and then in one group.

    Args:
      bits: uint32 [].
      mask: bool [num_actions], any of them set.
    """
    return _find(bits, mask, most=1)[0]


def random_bits(count: int, now: jax.Array) -> jax.Array:
    """uint32 [count], hashes of a counter by the finaliser of MurmurHash3: much cheaper than
    `jax.random`, and good enough to choose moves in a benchmark."""
    x = jnp.arange(count, dtype=jnp.uint32) + now * np.uint32(0x9E3779B9)
    x = (x ^ (x >> 16)) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * np.uint32(0xC2B2AE35)
    return x ^ (x >> 16)


def _times_to_fill(seconds: float, call: Callable[[int], Any]) -> int:
    """How often to repeat what `call` repeats, so that it takes `seconds`."""
    times = 1
    jax.block_until_ready(call(times))  # compiles
    while True:
        started = time.perf_counter()
        jax.block_until_ready(call(times))
        taken = time.perf_counter() - started
        if taken > seconds / 4:
            return max(1, round(times * seconds / taken))
        times *= 4


def _ply(rules: Rules, states: Any, now: jax.Array) -> Any:
    """One random move of each game, and a new one where it has ended."""
    masks = jax.vmap(rules.mask)(states)
    actions = jax.vmap(choose_legal)(random_bits(masks.shape[0], jnp.uint32(now)), masks)
    moved = jax.vmap(rules.step)(states, actions)
    return _select(jax.vmap(rules.over)(moved), rules.start, moved)


def _select(rows: jax.Array, start: Any, states: Any) -> Any:
    """`start` in the given rows, bool [B], and `states` in the others."""

    def choose(one, many):
        return jnp.where(rows.reshape(-1, *[1] * (many.ndim - 1)), one, many)

    return jax.tree_util.tree_map(choose, start, states)


def _find(bits: jax.Array, counts: jax.Array, most: int) -> tuple[jax.Array, jax.Array]:
    """Draws one of the things counted, each as likely: int32 [], where in `counts` [n] it is, and
    which of those there. No count is above `most`.

    Up to 16 places are looked through one by one, with running sums written out, for XLA makes
    slow loops of `cumsum` on a CPU. More are laid out as a table, whose columns are summed, for
    that is plain vector code over bytes, and then one column is looked through.
    """
    size = counts.shape[0]
    if size <= 16:
        sums = jnp.stack(_running_sums(counts, most))
        index = ((bits >> 16) * sums[-1].astype(jnp.uint32) >> 16).astype(sums.dtype)
        return _place(sums, index)
    height = next((h for h in range(11, 3, -1) if size % h == 0), 8)  # padding is slow
    table = jnp.pad(counts, (0, -size % height)).reshape(height, -1)
    sums = jnp.sum(table, axis=0, dtype=_type_up_to(height * most))
    column, index = _find(bits, sums, height * most)
    row, index = _place(jnp.stack(_running_sums(table[:, column], most)), index)
    return row * table.shape[1] + column, index


def _place(sums: jax.Array, index: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Where in running sums an index falls, and how far into that place."""
    place = jnp.sum(sums <= index, dtype=jnp.int32)
    return place, index - jnp.where(place > 0, sums[jnp.maximum(place - 1, 0)], 0)


def _running_sums(counts: jax.Array, most: int) -> list[jax.Array]:
    counts = counts.astype(_type_up_to(counts.shape[0] * most))
    sums = [counts[0]]
    for place in range(1, counts.shape[0]):
        sums.append(sums[-1] + counts[place])
    return sums


def _type_up_to(most: int) -> np.dtype:
    return np.dtype(np.uint8 if most < 256 else np.uint16)
