"""Counts of loops and branches while they run."""

import collections

import jax
import jax.numpy as jnp
from azjax_envs import make

from benchmarks.kernels.counting import Counter, count


def count_up(limit):
    with jax.named_scope("up"):
        return jax.lax.while_loop(lambda i: i < limit, lambda i: i + 1, 0)


def of(counts, scope):
    (found,) = [numbers for path, numbers in counts.items() if scope in path]
    return found


def test_a_loop():
    counts = count(count_up, 7)
    assert of(counts.loops, "up") == (1, 7)
    assert counts.trips(("train", "while", "body", "up", "while")) == (7, "measured")
    assert counts.trips(("other", "while")) == (4, "assumed")


def test_a_loop_in_loops():
    def repeat(xs):
        return jax.lax.scan(lambda total, x: (total + jax.jit(count_up)(x), x), 0, xs)

    assert of(count(repeat, jnp.arange(5)).loops, "up") == (5, 10)


def test_a_batched_loop_goes_on_until_its_last_row():
    limits = jnp.array([3, 9, 1])
    assert of(count(jax.vmap(count_up), limits).loops, "up") == (1, 9)


def test_branches():
    def choose(x):
        with jax.named_scope("choice"):
            return jax.lax.switch(x, [lambda: 0, lambda: count_up(2), lambda: 5])

    def repeat(xs):
        return jax.lax.map(choose, xs)

    counts = count(repeat, jnp.array([1, 1, 2, 1]))
    assert of(counts.branches, "choice") == (0, 3, 1)
    assert counts.shares(("choice", "cond"), [1, 2, 3]) == ([0, 0.75, 0.25], "measured")
    assert of(counts.loops, "up") == (3, 6)


def test_counting_does_not_change_results():
    """Otherwise other repetitions would be counted."""
    game = make("go_5x5")
    states = jax.vmap(lambda _: game.init())(jnp.arange(2))
    states = jax.vmap(game.step)(states, jnp.array([12, 25]))
    score = jax.vmap(game.score)
    closed = jax.make_jaxpr(score)(states)
    results = Counter(collections.Counter(), {}).run(closed, jax.tree.leaves(states), ())
    jax.effects_barrier()
    assert jnp.array_equal(results[0], score(states))
    loops = count(score, states).loops.values()
    assert any(runs >= 1 and repeated >= 1 for runs, repeated in loops)
