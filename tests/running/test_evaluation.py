"""Which checkpoint of a run is the best."""

import pytest

from azjax.running.evaluation import selection_metric


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        (([0.4], 0, 0), ([0.6], 0, 0)),
        (([1.0, 0.2], 0, 0), ([0.7, 0.7], 0, 0)),
        # Mistakes decide where they are counted, whatever the scores are.
        (([1.0], 7, 100), ([0.2], 6, 100)),
        (([1.0], 6, 100), ([1.0], 5, 100)),
        (([], 1, 10_000_000), ([], 0, 10_000_000)),
        (([1.0], 0, 0), ([0.0], 100, 100)),
        (([], 0, 0), ([0.1], 0, 0)),
    ],
)
def test_the_better_evaluation_has_the_larger_metric(worse, better):
    assert selection_metric(*worse) < selection_metric(*better)


def test_scores_do_not_matter_where_mistakes_are_counted():
    assert selection_metric([0.1], 3, 10) == selection_metric([0.9, 1.0], 3, 10)
