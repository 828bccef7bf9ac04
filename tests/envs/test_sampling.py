"""Random actions: legal, with the right probabilities, for any number of actions."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from azjax_envs import random_action, weighted_action
from azjax_envs.sampling import _draw_rank, _random_words, choose_legal

SIZES = [1, 7, 16, 17, 121, 362, 4672]


@pytest.mark.parametrize("size", SIZES)
def test_all_legal_actions_are_equally_likely_and_no_others(size):
    chance = np.random.default_rng(size)
    masks = chance.random((10, size)) < chance.random((10, 1))
    masks[:, chance.integers(size)] = True
    masks[0] = True
    choose = jax.jit(jax.vmap(choose_legal, (0, None)))
    bits = np.arange(2**16, dtype=np.uint32) << 16 | 0xABCD
    for mask in masks:
        times = np.bincount(choose(bits, mask), minlength=size)
        assert not times[~mask].any()
        share = 2**16 // mask.sum()
        assert set(times[mask]) <= {share, share + 1}


def test_a_word_is_scaled_exactly():
    words = np.r_[0, 1, 2**16 - 1, 2**16, 2**31, 2**32 - 2, 2**32 - 1].astype(np.uint64)
    words = np.r_[words, np.random.default_rng(0).integers(0, 2**32, 1000, np.uint64)]
    for count in (1, 2, 3, 218, 593, 4672, 65535):
        found = _draw_rank(jnp.asarray(words, jnp.uint32), jnp.uint16(count))
        expected = 1 + (words * np.uint64(count) >> np.uint64(32))
        np.testing.assert_array_equal(found, expected)
    assert not _draw_rank(jnp.asarray(words, jnp.uint32), jnp.uint16(0)).any()


@pytest.mark.parametrize("size", [5, 40])
def test_a_batch_with_one_key_is_uniform(size):
    """Pearson's test over 40,000 draws; its 0.1% quantiles are taken from the normal."""
    mask = np.zeros(size, bool)
    mask[[0, 2, 3, size - 1]] = True
    draws = random_action(jax.random.key(0), jnp.broadcast_to(mask, (200, 200, size)))
    assert draws.shape == (200, 200)
    assert draws.dtype == jnp.int32
    counts = np.bincount(np.asarray(draws).reshape(-1), minlength=size)
    assert not counts[~mask].any()
    assert ((counts[mask] - 10_000) ** 2 / 10_000).sum() < 16.3  # 3 degrees of freedom


@pytest.mark.parametrize("size", SIZES)
def test_edges_of_a_mask(size):
    places = [0, size // 2, size - 1]
    masks = np.zeros((4, 8, size), bool)  # the last ones have no legal action
    for row, place in enumerate(places):
        masks[row, :, place] = True
    key = jax.random.key(1)
    found = np.asarray(jax.jit(random_action)(key, masks))
    np.testing.assert_array_equal(found, np.tile([[x] for x in [*places, 0]], 8))
    found = np.asarray(jax.jit(weighted_action)(key, np.float32(1e-30) * masks))
    np.testing.assert_array_equal(found, np.tile([[x] for x in [*places, size - 1]], 8))


def test_draws_depend_on_the_key_alone_and_lanes_differ():
    mask = jnp.ones((64, 100), bool)
    one, same = (random_action(jax.random.key(5), mask) for _ in range(2))
    other = random_action(jax.random.key(6), mask)
    np.testing.assert_array_equal(one, same)
    assert (one != other).sum() > 50
    assert len(np.unique(one)) > 30


@pytest.mark.parametrize("keys", ["seeds", "split", "legacy", "rbg"])
def test_words_of_neighbouring_keys_and_places_are_independent(keys):
    """Pearson's test of pairs of four bits, over 512 keys and 512 places each."""
    seeds = np.arange(512)
    if keys == "split":
        drawn = jax.random.split(jax.random.key(0), 512)
    elif keys == "legacy":
        drawn = jax.vmap(jax.random.PRNGKey)(seeds)
    else:
        impl = "rbg" if keys == "rbg" else None
        drawn = jax.vmap(lambda seed: jax.random.key(seed, impl=impl))(seeds)
    words = np.asarray(jax.vmap(lambda key: _random_words(key, (512,)))(drawn))
    assert words.dtype == np.uint32
    for of_key, of_place in ((0, 1), (1, 0), (1, 1), (2, 0), (0, 2)):
        one, other = words[of_key:, of_place:], words[: 512 - of_key, : 512 - of_place]
        for lowest, other_lowest in itertools.product((0, 14, 28), repeat=2):
            pairs = (one >> lowest & 15) * 16 + (other >> other_lowest & 15)
            expected = pairs.size / 256
            counts = np.bincount(pairs.reshape(-1), minlength=256)
            statistic = ((counts - expected) ** 2 / expected).sum()
            assert 255 - 110 < statistic < 255 + 110  # within five standard deviations


def test_many_keys_are_refused():
    masks = jnp.ones((2, 5), bool)
    with pytest.raises(ValueError, match=r"one key serves the whole batch.*\(2,\)"):
        random_action(jax.random.split(jax.random.key(0)), masks)


@pytest.mark.parametrize("size", [3, 16, 17, 121, 500])
def test_weights_are_probabilities(size):
    chance = np.random.default_rng(size)
    weights = chance.random(size) * (chance.random(size) < 0.7) * 7
    weights[:2] = [0, 9]
    count = 40_000
    draws = weighted_action(jax.random.key(2), jnp.broadcast_to(weights, (count, size)))
    counts = np.bincount(draws, minlength=size)
    assert not counts[weights == 0].any()
    expected = count * weights / weights.sum()
    ours, theirs = counts[weights > 0], expected[weights > 0]
    freedom = len(ours) - 1
    statistic = ((ours - theirs) ** 2 / theirs).sum()
    assert statistic < freedom + 4 * np.sqrt(2 * freedom) + 4


def test_rounded_sums_never_lead_to_an_action_without_weight():
    """The largest number below 1 times a sum can be the sum itself."""
    from azjax_envs.sampling import _choose_weighted

    weights = np.zeros(362, np.float32)
    weights[[0, 100, 200]] = [0.1, 0.7, 1e-9]
    almost_one = jnp.nextafter(jnp.float32(1), jnp.float32(0))
    assert int(_choose_weighted(almost_one, jnp.asarray(weights))) in (100, 200)
    assert int(_choose_weighted(jnp.float32(0), jnp.asarray(weights))) == 0
