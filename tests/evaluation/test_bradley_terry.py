import math

import numpy as np
import pytest
from scipy import optimize, stats

from azjax.evaluation.bradley_terry import fit_ratings
from azjax.evaluation.elo import elo_difference


def simulate(rng, elo, games):
    """Returns points [N, N] of decided games, `games` for each pair, at known strengths."""
    points = np.zeros((len(elo), len(elo)))
    for i in range(len(elo)):
        for j in range(i):
            points[i, j] = rng.binomial(games, 1 / (1 + 10 ** ((elo[j] - elo[i]) / 400)))
            points[j, i] = games - points[i, j]
    return points


def by_scipy(points, prior_draws):
    """Fits the same model by a general optimizer; returns Elo with player 0 at 0."""
    pairs = [(i, j) for i in range(len(points)) for j in range(i) if points[i, j] + points[j, i]]

    def loss(free):
        elo = np.concatenate([[0.0], free])
        total = 0.0
        for i, j in pairs:
            expected = 1 / (1 + 10 ** ((elo[j] - elo[i]) / 400))
            total -= (points[i, j] + prior_draws / 2) * math.log(expected)
            total -= (points[j, i] + prior_draws / 2) * math.log(1 - expected)
        return total

    found = optimize.minimize(
        loss,
        np.zeros(len(points) - 1),
        method="Nelder-Mead",
        tol=1e-10,
        options={"maxiter": 20000, "maxfev": 20000},
    )
    return np.concatenate([[0.0], found.x])


@pytest.mark.parametrize(("won", "lost"), [(30, 10), (7.5, 12.5), (20, 0), (0, 3)])
def test_two_players_have_a_closed_form(won, lost):
    """Compares with the score and its virtual draw as Elo, and a share's deviation in log-odds."""
    ratings = fit_ratings(np.array([[0, lost], [won, 0]]), anchor=0)
    games, share = won + lost + 1, (won + 0.5) / (won + lost + 1)
    assert ratings.elo[0] == ratings.low[0] == ratings.high[0] == 0
    assert ratings.elo[1] == pytest.approx(elo_difference(share))
    reach = 1.959964 * 400 / math.log(10) / math.sqrt(games * share * (1 - share))
    assert ratings.low[1] == pytest.approx(ratings.elo[1] - reach)
    assert ratings.high[1] == pytest.approx(ratings.elo[1] + reach)


@pytest.mark.parametrize("prior", [0.5, 1.0, 2.0])
def test_many_players_as_a_general_optimizer_rates_them(prior):
    rng = np.random.default_rng(0)
    points = simulate(rng, [0, 100, 350, -200, 500], 30)
    points[0, 4] = points[4, 0] = 0  # not all have met
    points[2, 3], points[3, 2] = 27.5, 2.5  # draws
    ratings = fit_ratings(points, anchor=0, prior_draws=prior)
    np.testing.assert_allclose(ratings.elo, by_scipy(points, prior), atol=0.05)


def test_the_intervals_hold_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(1)
    truth = np.array([0.0, 80.0, 200.0, -120.0])
    hits = np.zeros(4)
    for _ in range(400):
        ratings = fit_ratings(simulate(rng, truth, 100), anchor=0)
        hits += (ratings.low <= truth) & (truth <= ratings.high)
    assert hits[0] == 400
    low, high = stats.binom.interval(0.999, 400, 0.95)
    assert all(low <= each <= high for each in hits[1:])


def test_another_anchor_shifts_the_scale():
    points = simulate(np.random.default_rng(2), [0, 100, 200], 40)
    one, other = (fit_ratings(points, anchor=anchor) for anchor in (0, 2))
    np.testing.assert_allclose(one.elo - one.elo[2], other.elo, atol=1e-6)
    assert other.low[2] == other.high[2] == 0
    assert one.high[2] - one.elo[2] == pytest.approx(other.high[0] - other.elo[0])


def test_perfect_scores_up_a_ladder_stay_finite_and_in_order():
    points = np.diag(np.full(9, 200.0), -1)  # each has won all games against the one before
    ratings = fit_ratings(points, anchor=0)
    steps = np.diff(ratings.elo)
    np.testing.assert_allclose(steps, elo_difference(200.5 / 201))
    assert np.all(np.isfinite(ratings.high))
    assert np.all(
        np.diff(ratings.high - ratings.low) > 0
    )  # farther from the anchor, the intervals are wider


def test_a_quarter_of_independent_games_doubles_the_interval():
    points = np.array([[0, 30.0, 0], [50, 0, 12], [0, 20, 0]])
    whole, quarter = (
        fit_ratings(points, anchor=0, independent=np.full((3, 3), share)) for share in (1.0, 0.25)
    )
    np.testing.assert_array_equal(whole.elo, quarter.elo)
    np.testing.assert_allclose(2 * (whole.high - whole.elo), quarter.high - quarter.elo)
    np.testing.assert_array_equal(whole.high, fit_ratings(points, anchor=0).high)


def test_players_must_be_linked():
    points = np.zeros((4, 4))
    points[0, 1] = points[2, 3] = 5
    with pytest.raises(ValueError, match=r"no games link players \[2, 3\] to the anchor"):
        fit_ratings(points, anchor=0)
