"""How far a share that was counted may be from the true one."""

from statistics import NormalDist


def wilson_interval(count: int, total: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The ends of the interval for the chance behind `count` successes in `total` trials.

    E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference, JASA 22,
    1927: all chances that such a count does not contradict, by the normal approximation. Unlike
    the interval around the share it lies within [0, 1], and is of use where the count is 0. Without
    any trial it is [0, 1].
    """
    if total == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = count / total
    centre = share + z * z / (2 * total)
    half_width = z * (share * (1 - share) / total + z * z / (4 * total * total)) ** 0.5
    scale = 1 + z * z / total
    # At the ends rounding errors would leave a trace where the interval ends at 0 or 1.
    low = 0.0 if count == 0 else (centre - half_width) / scale
    high = 1.0 if count == total else (centre + half_width) / scale
    return low, high
