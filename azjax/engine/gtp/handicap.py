"""The points of handicap stones."""

from azjax.files.sgf import Point


def handicap_points(size: int, stones: int) -> list[Point]:
    """Returns the points of handicap stones, after GTP 2, section 4.1.1.

    Raises:
      ValueError: a board of this size cannot have that many handicap stones.
    """
    most = 0 if size < 7 else 9 if size % 2 and size > 7 else 4
    if not 2 <= stones <= most:
        allowed = f"from 2 to {most}" if most else "none, as the board is too small"
        raise ValueError(f"{stones} handicap stones: on {size}x{size} there can be {allowed}")
    low = 3 if size >= 13 else 2
    high, middle = size - 1 - low, size // 2
    corners = [(high, low), (low, high), (low, low), (high, high)]
    sides = [(middle, low), (middle, high), (low, middle), (high, middle)]
    points = corners[: min(stones, 4)] + sides[: 2 * ((stones - 4) // 2) if stones > 5 else 0]
    return points + [(middle, middle)] * (stones > 4 and stones % 2)
