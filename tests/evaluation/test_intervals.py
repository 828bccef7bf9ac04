import pytest
from scipy.stats import binomtest

from azjax.evaluation.intervals import wilson_interval


@pytest.mark.parametrize(
    ("count", "total"), [(0, 1), (1, 1), (0, 4520), (4520, 4520), (1, 4520), (152, 1938), (7, 12)]
)
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_the_interval_is_scipys(count, total, confidence):
    wanted = binomtest(count, total).proportion_ci(confidence, method="wilson")
    low, high = wilson_interval(count, total, confidence=confidence)
    assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    assert 0 <= low <= count / total <= high <= 1
    assert low < high


def test_at_the_ends_it_ends_there_and_without_a_trial_nothing_is_known():
    assert wilson_interval(0, 50)[0] == 0.0
    assert wilson_interval(50, 50)[1] == 1.0
    assert wilson_interval(0, 0) == (0.0, 1.0)
