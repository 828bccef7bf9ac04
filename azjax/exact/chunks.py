"""Computation in chunks of one size, for which a function is compiled once."""

from collections.abc import Callable
from typing import Any

import numpy as np


def in_chunks(
    function: Callable[..., tuple[Any, ...]], size: int, *arrays: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Returns the results [N, ...] of a function of rows, called with `size` rows at a time.

    The arrays are [N, ...], N at least 1. The last row fills the last chunk.
    """
    count, parts = len(arrays[0]), []
    for first in range(0, count, size):
        rows = np.minimum(np.arange(first, first + size), count - 1)
        results = function(*(array[rows] for array in arrays))
        parts.append([np.asarray(x)[: count - first] for x in results])
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
