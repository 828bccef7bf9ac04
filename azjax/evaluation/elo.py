"""Elo differences from match scores, and confidence intervals.

The intervals of matches respect the pairing of games.
"""

import dataclasses
import math
from statistics import NormalDist

import numpy as np

from azjax.errors import UserError

_CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class EloEstimate:
    """An Elo difference and the ends of its interval, which may be infinite."""

    difference: float
    low: float
    high: float


def elo_difference(score: float) -> float:
    """Returns the Elo difference at which `score` in [0, 1] is expected; infinite at 0 and 1."""
    if score <= 0.0:
        return -math.inf
    if score >= 1.0:
        return math.inf
    return 400.0 * math.log10(score / (1.0 - score))


def estimate_elo(pair_scores: np.ndarray, openings: np.ndarray | None = None) -> EloEstimate:
    """Estimates the Elo difference from the mean scores of P pairs of games.

    The mean score's 95% interval is Student's; its ends are converted to Elo. If all P pairs
    scored the same v, the sample variance is zero and would claim certainty. The interval then
    follows from the P equal outcomes alone: if a pair scores v with probability p, seeing it P
    times has probability p**P, so p >= (1 - confidence)**(1/P) at this confidence. The remaining
    mass may lie anywhere, so the mean is in [p v, p v + 1 - p].

    Args:
      pair_scores: float [P], each the mean of two games with one opening and swapped seats. These
        are not independent; the variance between pairs (the pentanomial model of chess engine
        testing) is right for any correlation.
      openings: int [P], the same number for pairs of the same opening, see `effective_pairs`; None
        if all differ.
    """
    pair_scores = np.asarray(pair_scores, np.float64)
    if pair_scores.size == 0:
        raise UserError("an Elo difference needs at least one pair of games")
    mean, effective = float(pair_scores.mean()), effective_pairs(pair_scores, openings)
    if np.all(pair_scores == pair_scores[0]):
        sure = (1.0 - _CONFIDENCE) ** (1.0 / effective)
        low, high = mean * sure, 1.0 - (1.0 - mean) * sure
    else:
        deviation = pair_scores.std(ddof=1) / effective**0.5
        degrees = _independent(pair_scores, openings) - 1
        half_width = _student_quantile(degrees, _CONFIDENCE) * deviation
        low, high = mean - half_width, mean + half_width
    return EloEstimate(*map(elo_difference, (mean, low, high)))


def effective_pairs(pair_scores: np.ndarray, openings: np.ndarray | None = None) -> float:
    """Returns the number of pairs with different openings that are as informative as these P.

    Deterministic players repeat their games when an opening repeats, so the number of openings
    counts. The variance of the mean is that of sums over equal openings, as usual for samples in
    clusters, but never below that of P single pairs. With one opening alone, pairs are taken as
    independent. The arguments are those of `estimate_elo`.
    """
    pairs, count = pair_scores.size, _independent(pair_scores, openings)
    if openings is None or count == pairs:
        return float(pairs)
    _, groups = np.unique(openings, return_inverse=True)
    if np.all(pair_scores == pair_scores[0]):
        return float(count)
    deviations = pair_scores - pair_scores.mean()
    single = pairs / (pairs - 1) * (deviations**2).sum()
    grouped = count / (count - 1) * (np.bincount(groups, deviations) ** 2).sum()
    return float(pairs * single / max(single, grouped))


def _independent(pair_scores: np.ndarray, openings: np.ndarray | None) -> int:
    """Returns the number of different openings, or of pairs if there is one opening only."""
    count = pair_scores.size if openings is None else np.unique(openings).size
    return pair_scores.size if count == 1 else count


def _student_quantile(degrees: int, confidence: float) -> float:
    """Returns t such that |T| < t has this probability, for Student's T.

    For t = sqrt(degrees) tan(angle) it is a finite sum (Abramowitz and Stegun, Handbook of
    Mathematical Functions, 26.7.3 and 26.7.4), which is inverted by bisection.
    """
    odd = degrees % 2
    numerators = np.arange(1 + odd, degrees - 2, 2)
    ratios = numerators / (numerators + 1)

    def probability(angle: float) -> float:
        series = 1 + np.cumprod(math.cos(angle) ** 2 * ratios).sum() if degrees > 1 else 0.0
        if odd:
            return 2 / math.pi * (angle + math.sin(angle) * math.cos(angle) * series)
        return math.sin(angle) * series

    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if probability(middle) < confidence else (low, middle)
    return degrees**0.5 * math.tan(middle)


def wilson_interval(count: int, total: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """Returns Wilson's interval for the chance behind `count` successes in `total` trials.

    It holds all chances that such a count does not contradict, by the normal approximation (E. B.
    Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22, 1927).
    Without any trial it is [0, 1].
    """
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = count / total
    centre = share + z * z / (2 * total)
    half_width = z * (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5
    scale = 1 + z * z / total
    # Rounding errors must not move an end that is exactly 0 or 1.
    low = 0.0 if count == 0 else (centre - half_width) / scale
    high = 1.0 if count == total else (centre + half_width) / scale
    return low, high
