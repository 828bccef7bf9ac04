"""Ratings of many players from the games between them: the model of Bradley and Terry."""

import dataclasses
import math
from statistics import NormalDist

import numpy as np

_ELO = 400.0 / math.log(10.0)  # Elo points for each unit of log-odds
_TOLERANCE = 1e-9  # of log-odds
_MOST_STEPS = 200


@dataclasses.dataclass(frozen=True)
class Ratings:
    """Elo ratings of N players with their 95% intervals; the anchor's are all 0."""

    elo: np.ndarray  # float64 [N]
    low: np.ndarray  # float64 [N]
    high: np.ndarray  # float64 [N]


def fit_ratings(
    points: np.ndarray,
    *,
    anchor: int,
    independent: np.ndarray | None = None,
    prior_draws: float = 1.0,
) -> Ratings:
    """Fits the most likely ratings to the points that N players took from each other.

    A player r Elo points stronger is expected to score 1 / (1 + 10**(-r / 400)); a draw counts as
    half a win and half a loss. The likelihood is concave, and Newton's method finds its maximum.

    The intervals are normal, of each player's difference from the anchor. They follow from the
    curvature of the likelihood (its Fisher information, prior included). Independent games are
    taken as decided, which is cautious: draws, and pairs of games from one opening with swapped
    seats, vary less.

    Args:
      points: float [N, N], what player i took from player j: wins, and half the draws.
      anchor: the player at Elo 0.
      independent: float [N, N], symmetric, the share of the games of players i and j that do not
        repeat others (`azjax.evaluation.elo.effective_pairs`); None if all are independent.
      prior_draws: virtual draws added to each pair of players that have met, as in R. Coulom's
        BayesElo. They keep the rating of a player finite that has won or lost everything.

    Raises:
      ValueError: players are not linked to the anchor by games.

    Sources: R. Bradley and M. Terry, "Rank analysis of incomplete block designs", 1952; D. Hunter,
    "MM algorithms for generalized Bradley-Terry models", 2004.
    """
    points = np.asarray(points, np.float64)
    met = (points + points.T) > 0
    _check_linked(met, anchor)
    points = points + prior_draws / 2 * met
    games = points + points.T
    free = np.arange(len(points)) != anchor
    strength = np.zeros(len(points))  # log-odds against the anchor
    for _ in range(_MOST_STEPS):
        step = np.zeros(len(points))
        slope = (points - games * _chances(strength)).sum(1)
        step[free] = np.linalg.solve(_curvature(games, strength)[np.ix_(free, free)], slope[free])
        # Far from the maximum a full step may overshoot.
        while _log_likelihood(points, strength + step) < _log_likelihood(points, strength) - 1e-12:
            step /= 2
        strength += step
        if np.abs(step).max() < _TOLERANCE:
            break
    deviation = np.zeros(len(points))
    games = games if independent is None else games * independent
    covariance = np.linalg.inv(_curvature(games, strength)[np.ix_(free, free)])
    deviation[free] = np.sqrt(np.diag(covariance))
    reach = NormalDist().inv_cdf(0.975) * deviation
    return Ratings(*(_ELO * x for x in (strength, strength - reach, strength + reach)))


def _chances(strength: np.ndarray) -> np.ndarray:
    """Returns the expected score of player i against player j, float [N, N]."""
    return 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))


def _log_likelihood(points: np.ndarray, strength: np.ndarray) -> float:
    # log(chances), which may underflow.
    return float(-(points * np.logaddexp(0.0, strength[None, :] - strength[:, None])).sum())


def _curvature(games: np.ndarray, strength: np.ndarray) -> np.ndarray:
    """Returns minus the second derivatives of the log-likelihood, float [N, N]."""
    chances = _chances(strength)
    weights = games * chances * (1 - chances)
    return np.diag(weights.sum(1)) - weights


def _check_linked(met: np.ndarray, anchor: int) -> None:
    linked = np.arange(len(met)) == anchor
    for _ in range(len(met)):
        linked |= met[linked].any(0)
    if not linked.all():
        raise ValueError(f"no games link players {np.flatnonzero(~linked).tolist()} to the anchor")
