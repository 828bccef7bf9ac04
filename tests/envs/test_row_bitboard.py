"""Floods of boards with one word for each row, compared with scipy's connected components."""

import functools

import jax
import numpy as np
import pytest
from azjax_envs.row_bitboard import down_and_up, flood, unpack, word_type
from scipy.ndimage import label

SIZES = ((5, 5), (9, 9), (19, 19), (3, 17))


def boards(height, width, count, seed):
    """Returns (seeds, masks) as words, with masks of every density."""
    rng = np.random.default_rng(seed)
    density = rng.uniform(0.2, 0.95, (count, 1, 1))
    masks = rng.random((count, height, width)) < density
    seeds = rng.random((count, height, width)) < 0.05
    weights = 1 << np.arange(width, dtype=np.uint64)
    return [(x @ weights).astype(word_type(width)) for x in (seeds, masks)]


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_a_flood_fills_the_components_of_its_seeds(height, width):
    seeds, masks = boards(height, width, 200, seed=1)
    filled = np.asarray(unpack(jax.jit(jax.vmap(flood))(seeds, masks), width))
    for seed, mask, found in zip(unpack(seeds, width), unpack(masks, width), filled, strict=True):
        components, _ = label(np.asarray(mask))
        reached = np.unique(components[np.asarray(seed & mask)])
        np.testing.assert_array_equal(found, np.isin(components, reached) & np.asarray(mask))


@pytest.mark.parametrize(("height", "width"), SIZES[1:3])
def test_the_form_for_accelerators_fills_the_same_cells(height, width):
    """A CPU loops over the rows; elsewhere they are written out."""
    seeds, masks = (x.T for x in boards(height, width, 3000, seed=2))
    loop, written_out = (
        jax.jit(functools.partial(down_and_up, unroll=unroll)) for unroll in (1, height)
    )
    rows = seeds & masks
    for _ in range(3):
        after = np.asarray(loop(rows, masks))
        np.testing.assert_array_equal(written_out(rows, masks), after)
        assert (after != rows).any()
        rows = after
