"""Counts of loops and branches while they run."""

import jax
import jax.numpy as jnp
from azjax_envs import make

from azjax.plan.counting import count
from azjax.plan.hlo import Frame


def count_up(limit):
    return jax.lax.while_loop(lambda i: i < limit, lambda i: i + 1, 0)


def of(counts, function):
    (found,) = [numbers for line, numbers in counts.items() if line[1] == function]
    return found


def test_a_loop():
    counts = count(count_up, 7)
    assert of(counts.loops, "count_up") == (1, 7)
    frames = [Frame("count_up", "/elsewhere/test_counting.py", 1)]
    assert counts.repetitions(frames) == 7
    assert counts.repetitions([Frame("other", "/elsewhere/test_counting.py", 1)]) is None


def test_a_loop_in_loops():
    def repeat(xs):
        return jax.lax.scan(lambda total, x: (total + jax.jit(count_up)(x), x), 0, xs)

    assert of(count(repeat, jnp.arange(5)).loops, "count_up") == (5, 10)


def test_a_batched_loop_goes_on_until_its_last_row():
    limits = jnp.array([3, 9, 1])
    assert of(count(jax.vmap(count_up), limits).loops, "count_up") == (1, 9)


def test_branches():
    def choose(x):
        return jax.lax.switch(x, [lambda: 0, lambda: count_up(2), lambda: 5])

    def repeat(xs):
        return jax.lax.map(choose, xs)

    counts = count(repeat, jnp.array([1, 1, 2, 1]))
    assert of(counts.branches, "choose") == (0, 3, 1)
    assert counts.shares([Frame("choose", "test_counting.py", 1)], 3) == [0, 0.75, 0.25]
    assert of(counts.loops, "count_up") == (3, 6)


def test_results_are_those_of_the_function():
    """Counting must not change what is computed, or other repetitions would be counted."""
    game = make("go_5x5")
    states = jax.vmap(lambda _: game.init())(jnp.arange(2))
    states = jax.vmap(game.step)(states, jnp.array([12, 25]))
    counts = count(jax.vmap(game.score), states)
    runs, repeated = counts.loops[next(line for line in counts.loops if line[1] == "until_full")]
    assert runs >= 1
    assert repeated >= 1
