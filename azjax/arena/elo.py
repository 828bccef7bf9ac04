"""Elo differences from match scores, with intervals that respect the pairing of games."""

import dataclasses
import math
from statistics import NormalDist

import numpy as np

from azjax.errors import UserError


@dataclasses.dataclass(frozen=True)
class EloEstimate:
    """An Elo difference and the ends of its interval.

    An end may be infinite: a player who has won every game has no finite best guess and no upper
    end, but does have a lower one.
    """

    difference: float
    low: float
    high: float


def expected_score(difference: float) -> float:
    """The score to be expected of a player `difference` Elo points stronger, in [0, 1]."""
    return 1.0 / (1.0 + 10.0 ** (-difference / 400.0))


def elo_difference(score: float) -> float:
    """The Elo difference at which `score` in [0, 1] is expected; infinite at 0 and at 1."""
    if score <= 0.0:
        return -math.inf
    if score >= 1.0:
        return math.inf
    return 400.0 * math.log10(score / (1.0 - score))


def estimate_elo(pair_scores: np.ndarray, *, confidence: float = 0.95) -> EloEstimate:
    """The Elo difference behind the mean scores of P pairs of games.

    Args:
      pair_scores: float [P], each the mean of two games with one opening and swapped seats, so
        one of 0, 1/4, 1/2, 3/4, 1. The two games of a pair share their opening and are not
        independent; the variance between pairs (the pentanomial model of chess engine testing)
        is right whatever the correlation.
      confidence: of the two-sided interval.

    The interval of the mean score is normal, and its ends are turned into Elo. Where all P pairs
    scored the same v, the sample variance is zero and would claim certainty. Then the interval
    is what P equal outcomes do prove: if a pair scores v with probability p, seeing it P times
    has probability p**P, so p >= (1 - confidence)**(1/P) at this confidence, and the rest of
    the mass may lie anywhere: the mean is in [p v, p v + 1 - p]. After a perfect match that is a
    finite lower end and no upper one.
    """
    pair_scores = np.asarray(pair_scores, np.float64)
    if pair_scores.size == 0:
        raise UserError("no games, no Elo")
    low, high = _score_interval(pair_scores, confidence)
    return EloEstimate(
        elo_difference(float(pair_scores.mean())), elo_difference(low), elo_difference(high)
    )


def _score_interval(pair_scores: np.ndarray, confidence: float) -> tuple[float, float]:
    mean, pairs = float(pair_scores.mean()), pair_scores.size
    if np.all(pair_scores == pair_scores[0]):
        sure = (1.0 - confidence) ** (1.0 / pairs)
        return mean * sure, 1.0 - (1.0 - mean) * sure
    half_width = NormalDist().inv_cdf(0.5 + confidence / 2) * pair_scores.std(ddof=1) / pairs**0.5
    return mean - half_width, mean + half_width
