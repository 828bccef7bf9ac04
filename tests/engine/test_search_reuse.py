"""How an engine reckons a move's time."""

import math

import pytest

from azjax.engine.search_reuse import LastSearch, effective_start


@pytest.mark.parametrize(
    ("seconds", "reserve"), [(0.02, 0.002), (0.05, 0.005), (0.5, 0.01), (math.inf, 0.01)]
)
def test_a_search_ends_early_by_its_closing_and_a_reserve(seconds, reserve):
    assert effective_start(100.0, seconds, None) == pytest.approx(100.0 - reserve)
    last = LastSearch(progress=None, record=None, closing_s=0.003)
    assert effective_start(100.0, seconds, last) == pytest.approx(100.0 - 0.003 - reserve)
