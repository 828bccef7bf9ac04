"""Floods of boards with one word for each row, compared with scipy's connected components."""

import functools

import jax
import numpy as np
import pytest
from azjax_envs import row_bitboard
from azjax_envs.row_bitboard import flood, unpack, word_type
from scipy.ndimage import label

SIZES = ((5, 5), (9, 9), (19, 19), (3, 17))


def boards(height, width, count, seed):
    """Returns (seeds, masks) as words, with masks of every density."""
    rng = np.random.default_rng(seed)
    density = rng.uniform(0.2, 0.95, (count, 1, 1))
    masks = rng.random((count, height, width)) < density
    seeds = rng.random((count, height, width)) < 0.05
    return packed(seeds), packed(masks)


def mazes(height, width, count, seed):
    """Returns (seeds, masks) as words: mazes with one way between any two cells, from one cell."""
    rng = np.random.default_rng(seed)
    masks = np.zeros((count, height, width), bool)
    seeds = np.zeros_like(masks)
    for seed, mask in zip(seeds, masks, strict=True):
        way = [(2 * rng.integers((height + 1) // 2), 2 * rng.integers((width + 1) // 2))]
        seed[way[0]] = mask[way[0]] = True
        while way:
            row, column = way[-1]
            for down, right in rng.permutation([(0, 1), (1, 0), (0, -1), (-1, 0)]):
                end = row + 2 * down, column + 2 * right
                if 0 <= end[0] < height and 0 <= end[1] < width and not mask[end]:
                    mask[end] = mask[row + down, column + right] = True
                    way.append(end)
                    break
            else:
                way.pop()
    return packed(seeds), packed(masks)


def packed(cells):
    width = cells.shape[-1]
    return (cells @ (1 << np.arange(width, dtype=np.uint64))).astype(word_type(width))


@pytest.fixture(params=[False, True], ids=["loop", "counted"])
def on_gpu(request, monkeypatch):
    """Chooses the form of a GPU, or that of the platform."""
    if request.param:
        monkeypatch.setattr(row_bitboard, "on_gpu", lambda form, elsewhere: form)


@pytest.mark.parametrize("make", [boards, mazes])
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_a_flood_fills_the_components_of_its_seeds(height, width, make, on_gpu):
    seeds, masks = make(height, width, 200, seed=1)
    fill = jax.jit(jax.vmap(functools.partial(flood, width=width)))
    filled = np.asarray(unpack(fill(seeds, masks), width))
    for seed, mask, found in zip(unpack(seeds, width), unpack(masks, width), filled, strict=True):
        components, _ = label(np.asarray(mask))
        reached = np.unique(components[np.asarray(seed & mask)])
        np.testing.assert_array_equal(found, np.isin(components, reached) & np.asarray(mask))


@pytest.mark.parametrize("size", [9, 19])
def test_the_passes_of_a_gpu_are_enough_for_long_ways(size, monkeypatch):
    """The way goes up and down between columns, in bands of two rows."""
    monkeypatch.setattr(row_bitboard, "on_gpu", lambda form, elsewhere: form)
    mask = np.zeros((size, size), bool)
    for band, row in enumerate(range(0, size - 1, 3)):
        columns = np.arange(size)
        mask[row, columns % 4 != 1] = True
        mask[row + 1, columns % 4 != 3] = True
        mask[row + 2, -1 if band % 2 == 0 else 0] = True
    seed = np.zeros_like(mask)
    seed[0, 0] = True
    filled = jax.jit(functools.partial(flood, width=size))(packed(seed), packed(mask))
    assert label(mask)[1] == 1
    np.testing.assert_array_equal(filled, packed(mask))
