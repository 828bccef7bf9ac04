"""Random play of benchmarks is fair: legal moves, equally likely, and new games after the end."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import make

from azjax.bench.games import rules_of
from azjax.bench.random_play import choose_legal, play, random_bits, spread_out


@pytest.mark.parametrize("size", [1, 7, 16, 17, 60, 64, 65, 121, 225, 256, 362, 4672])
def test_all_legal_actions_are_equally_likely_and_no_others(size):
    chance = np.random.default_rng(size)
    masks = chance.random((10, size)) < chance.random((10, 1))
    masks[:, chance.integers(size)] = True
    masks[0] = True
    choose = jax.jit(jax.vmap(choose_legal, (0, None)))
    bits = np.arange(2**16, dtype=np.uint32) << 16 | 0xABCD  # the low bits do not count
    for mask in masks:
        times = np.bincount(choose(bits, mask), minlength=size)
        assert not times[~mask].any()
        share = 2**16 // mask.sum()
        assert set(times[mask]) <= {share, share + 1}


def test_random_bits_are_spread():
    bits = np.stack([random_bits(4096, jnp.uint32(now)) for now in (0, 1)])
    assert len(np.unique(bits)) > 0.999 * bits.size
    ones = (bits[..., None] >> np.arange(32) & 1).mean(axis=(0, 1))
    np.testing.assert_allclose(ones, 0.5, atol=0.03)


def test_random_play_is_fair_and_starts_anew():
    rules = rules_of(make("tic_tac_toe"))
    warm = spread_out(rules, 9)
    ages = [int(x).bit_count() for x in warm.taken]
    assert len(set(ages)) >= 5
    states = jax.tree.map(lambda x: jnp.tile(x, 64), warm)
    played = play(rules, states, jnp.uint32(0), 64)
    assert not jax.vmap(rules.over)(played).any()
    choices = 0
    for now in range(64):
        choices += jax.vmap(rules.mask)(states).sum(axis=1).mean() / 64
        states = play(rules, states, jnp.uint32(now), 1)
    jax.tree.map(np.testing.assert_array_equal, played, states)
    moves, expected = expected_of_random_game(0, 0)
    np.testing.assert_allclose(choices, expected / moves, rtol=0.005)
    later = play(rules, states, jnp.uint32(1000), 64)
    assert (np.asarray(later.taken) != np.asarray(played.taken)).mean() > 0.5


@functools.cache
def expected_of_random_game(own: int, other: int) -> tuple[float, float]:
    """Returns the expected number of moves left in a random game of tic-tac-toe, and the expected
    sum of their numbers of legal choices. Bits are cells; `own` is the player to move."""
    lines = (0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
    free = [1 << cell for cell in range(9) if not (own | other) >> cell & 1]
    if not free or any(other & line == line for line in lines):
        return 0.0, 0.0
    rest = [expected_of_random_game(other, own | bit) for bit in free]
    moves, choices = (sum(values) / len(free) for values in zip(*rest, strict=True))
    return 1 + moves, len(free) + choices
