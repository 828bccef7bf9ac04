"""Elo differences from match scores, with intervals that respect the pairing of games."""

import dataclasses
import math

import numpy as np
from scipy.special import stdtrit

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


def estimate_elo(
    pair_scores: np.ndarray, openings: np.ndarray | None = None, *, confidence: float = 0.95
) -> EloEstimate:
    """The Elo difference behind the mean scores of P pairs of games.

    Args:
      pair_scores: float [P], each the mean of two games with one opening and swapped seats, so
        one of 0, 1/4, 1/2, 3/4, 1. The two games of a pair share their opening and are not
        independent; the variance between pairs (the pentanomial model of chess engine testing)
        is right whatever the correlation.
      openings: int [P], the same number for pairs of the same opening, see `effective_pairs`; None
        if all differ.
      confidence: of the two-sided interval.

    The interval of the mean score is Student's, and its ends are turned into Elo. Where all P pairs
    scored the same v, the sample variance is zero and would claim certainty. Then the interval
    is what equal outcomes of P different openings do prove: if a pair scores v with probability p,
    seeing it P times has probability p**P, so p >= (1 - confidence)**(1/P) at this confidence, and
    the rest of the mass may lie anywhere: the mean is in [p v, p v + 1 - p]. After a perfect match
    that is a finite lower end and no upper one.
    """
    pair_scores = np.asarray(pair_scores, np.float64)
    if pair_scores.size == 0:
        raise UserError("no games, no Elo")
    low, high = _score_interval(pair_scores, openings, confidence)
    return EloEstimate(
        elo_difference(float(pair_scores.mean())), elo_difference(low), elo_difference(high)
    )


def effective_pairs(pair_scores: np.ndarray, openings: np.ndarray | None = None) -> float:
    """How many pairs of different openings tell as much about the score as these P do.

    Players that draw no lots play the same games again where an opening comes again, and then it is
    the openings that count. The variance of the mean is that of sums over equal openings, as is
    usual for samples in clusters, but never below that of P single pairs. One opening alone says
    nothing of others: pairs are then taken as they come.

    Args:
      pair_scores: float [P].
      openings: int [P], the same number for pairs of the same opening; None if all differ.

    Returns:
      A number in (0, P].
    """
    pairs, count = pair_scores.size, _independent(pair_scores, openings)
    if count == pairs:
        return float(pairs)
    _, groups = np.unique(openings, return_inverse=True)
    if np.all(pair_scores == pair_scores[0]):
        return float(count)
    deviations = pair_scores - pair_scores.mean()
    single = pairs / (pairs - 1) * (deviations**2).sum()
    grouped = count / (count - 1) * (np.bincount(groups, deviations) ** 2).sum()
    return float(pairs * single / max(single, grouped))


def _independent(pair_scores: np.ndarray, openings: np.ndarray | None) -> int:
    """Different openings, or pairs where there is but one opening."""
    count = pair_scores.size if openings is None else np.unique(openings).size
    return pair_scores.size if count == 1 else count


def _score_interval(
    pair_scores: np.ndarray, openings: np.ndarray | None, confidence: float
) -> tuple[float, float]:
    mean, effective = float(pair_scores.mean()), effective_pairs(pair_scores, openings)
    if np.all(pair_scores == pair_scores[0]):
        sure = (1.0 - confidence) ** (1.0 / effective)
        return mean * sure, 1.0 - (1.0 - mean) * sure
    deviation = pair_scores.std(ddof=1) / effective**0.5
    degrees = _independent(pair_scores, openings) - 1
    half_width = float(stdtrit(degrees, 0.5 + confidence / 2)) * deviation
    return mean - half_width, mean + half_width
