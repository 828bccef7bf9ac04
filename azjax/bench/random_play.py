"""Random games, played as fast as possible, to measure the speed of the rules alone.

This file and `azjax_envs.sampling` need only jax, in any recent or older version.
`benchmarks/side_by_side.py` loads them in the Python of each other library, so that all play in the
same way.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs.sampling import choose_legal, mix_bits

WARM_LANES = 32  # games that are played first, to have positions of all ages
FEW_PLIES = 100  # of a game's first program; large games are slow to compile and need no other
PROGRAM_S = 0.01  # of a program at least, because its start counts, too


@dataclasses.dataclass(frozen=True, eq=False)
class Rules:
    """A game's rules: its start and pure functions of one state."""

    start: Any  # one state
    step: Callable[[Any, jax.Array], Any]
    mask: Callable[[Any], jax.Array]  # bool [num_actions]
    over: Callable[[Any], jax.Array]  # bool []
    chance: Callable[[Any, jax.Array], Any] | None = None  # rolls dice by a random word, uint32 []


class RandomPlayer:
    """Random play of `batch` games: each call plays the number of plies that takes `seconds`.

    It begins with copies of the games in progress in `warm`, from `spread_out`; their moves differ.
    """

    def __init__(self, rules: Rules, warm: Any, batch: int, seconds: float) -> None:
        self._rules, self._batch = rules, batch
        lanes = jnp.arange(batch) % WARM_LANES
        self._states = jax.tree_util.tree_map(lambda x: x[lanes], warm)
        self._time = 0
        # A call runs a program of `_plies` plies `_programs` times.
        self._plies, self._programs = FEW_PLIES, 1
        taken, enough = self._seconds(), min(PROGRAM_S, seconds)
        while taken < 0.8 * enough:
            self._plies = math.ceil(self._plies * enough / taken)
            taken = self._seconds()
        self._programs = max(1, round(seconds / taken))

    @property
    def steps(self) -> int:
        """The number of steps of one call, over all games."""
        return self._programs * self._plies * self._batch

    def __call__(self) -> Any:
        for _ in range(self._programs):
            self._states = play(self._rules, self._states, jnp.uint32(self._time), self._plies)
            self._time += self._plies
        return self._states

    def _seconds(self) -> float:
        """Returns how long a call takes once it is compiled: the shortest time, as others work."""
        jax.block_until_ready(self())
        times = []
        for _ in range(3):
            started = time.perf_counter()
            jax.block_until_ready(self())
            times.append(time.perf_counter() - started)
        return min(times)


@functools.partial(jax.jit, static_argnums=(0, 3))
def play(rules: Rules, states: Any, now: jax.Array, plies: int) -> Any:
    """Returns the states after `plies` random plies of each game; a game that ends starts again.

    The number of plies is static: a GPU asks the host before each repetition of a loop whose end it
    does not know, which takes longer than a ply of most games. Other numbers `now` of the first ply
    give other games.
    """
    return jax.lax.fori_loop(0, plies, lambda i, s: _ply(rules, s, now + i), states)


@functools.partial(jax.jit, static_argnums=0)
def spread_out(rules: Rules, length: jax.Array) -> Any:
    """Returns games in progress [WARM_LANES, ...] of all ages up to `length` plies.

    A long run has games of all ages. The rules may be cheaper at the start than later, so games
    that all start together would distort a short measurement.
    """
    begins = jnp.arange(WARM_LANES) * length // WARM_LANES

    def ply(t: jax.Array, states: Any) -> Any:
        return _select(begins == t, rules.start, _ply(rules, states, t))

    def lanes(leaf: jax.Array) -> jax.Array:
        return jnp.broadcast_to(leaf, (WARM_LANES, *jnp.shape(leaf)))

    return jax.lax.fori_loop(0, length, ply, jax.tree_util.tree_map(lanes, rules.start))


def random_bits(count: int, now: jax.Array) -> jax.Array:
    """Returns hashes of a counter, uint32 [count], by the finaliser of MurmurHash3.

    They are much cheaper than `jax.random`, and good enough to choose moves in a benchmark.
    """
    return mix_bits(jnp.arange(count, dtype=jnp.uint32) + now * np.uint32(0x9E3779B9))


def _ply(rules: Rules, states: Any, now: jax.Array) -> Any:
    """Plays one random move of each game, and starts a new game where one has ended."""
    if rules.chance is not None:
        lanes = jax.tree_util.tree_leaves(states)[0].shape[0]
        states = jax.vmap(rules.chance)(states, random_bits(lanes, ~jnp.uint32(now)))
    masks = jax.vmap(rules.mask)(states)
    actions = jax.vmap(choose_legal)(random_bits(masks.shape[0], jnp.uint32(now)), masks)
    moved = jax.vmap(rules.step)(states, actions)
    return _select(jax.vmap(rules.over)(moved), rules.start, moved)


def _select(rows: jax.Array, start: Any, states: Any) -> Any:
    def choose(one: jax.Array, many: jax.Array) -> jax.Array:
        return jnp.where(rows.reshape(-1, *[1] * (many.ndim - 1)), one, many)

    return jax.tree_util.tree_map(choose, start, states)
