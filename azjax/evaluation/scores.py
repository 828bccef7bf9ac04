"""A player's moves and values on one position suite, compared with exact values."""

import dataclasses

import numpy as np

from azjax.evaluation.elo import wilson_interval
from azjax.evaluation.position_suites import PositionSuite
from azjax.exact.first_moves import FirstMoves

_BUCKET_PLIES = 6
_ROUNDING = 1e-6  # of expected results in float32


@dataclasses.dataclass(frozen=True)
class Bucket:
    """Mistakes in the positions of one class of a suite."""

    name: str  # such as "plies 0-5" or "begin-hard"
    positions: int
    mistakes: int


@dataclasses.dataclass(frozen=True)
class Score:
    """A player's moves on one position suite.

    The intervals are Wilson's, at 95%. They assume positions drawn independently, which positions
    of one game are not quite.
    """

    suite: str
    positions: int
    mistakes: int  # moves to a worse result (win, draw, loss) than the best, and illegal moves
    illegal: int
    risky: int  # positions in which a legal move can be a mistake
    risky_mistakes: int  # mistakes in those positions
    optimal: int  # moves with the best score, such as the quickest win if scores show it
    expected: bool  # the results are expected ones, of a game of chance
    loss: float  # what a move gives up of the expected result, the mean, as a share of the points
    loss_error: float  # its standard error
    buckets: tuple[Bucket, ...]
    has_classes: bool  # the buckets are named classes, not classes by plies
    mistake_rate: float  # share of all positions
    mistake_interval: tuple[float, float]
    risky_mistake_rate: float  # share of the positions in which a mistake is possible
    risky_mistake_interval: tuple[float, float]
    optimal_rate: float  # share of the moves with the best score


@dataclasses.dataclass(frozen=True)
class ValueScore:
    """A player's values of positions with known results.

    A value is right if the true result is the nearest of all results that these positions and
    their moves have. Without draws, and in a game of chance, that means that its sign is right.
    """

    suite: str
    positions: int
    right: int
    squared_error: float  # mean over the positions; results are in [-1, 1]
    right_rate: float
    right_interval: tuple[float, float]  # Wilson's, at 95%


def score_actions(suite: PositionSuite, actions: np.ndarray) -> Score:
    """Counts the mistakes among one action, int32 [P], in each position of a suite."""
    scores, results = suite.action_scores, suite.action_results
    legal, best_result = np.isfinite(scores), suite.results
    chosen = np.arange(len(scores)), actions
    losses = best_result - np.maximum(results[chosen], -1)  # an illegal move loses the game
    losses = losses.astype(np.float64) / 2
    rounding = _ROUNDING if suite.expected else 0
    mistakes = results[chosen] < best_result - rounding
    risky = (legal & (results < best_result[:, None] - rounding)).any(-1)
    classes = np.array(suite.classes or [_class_by_plies(ply) for ply in suite.plies.tolist()])
    # In the order of the suite, or of the plies.
    order = range(len(classes)) if suite.classes else np.argsort(suite.plies, kind="stable")
    buckets = []
    for name in dict.fromkeys(classes[list(order)].tolist()):
        inside = classes == name
        buckets.append(Bucket(name, int(inside.sum()), int(mistakes[inside].sum())))
    total, wrong, num_risky = len(scores), int(mistakes.sum()), int(risky.sum())
    risky_wrong = int((mistakes & risky).sum())
    optimal = int((scores[chosen] >= scores.max(-1) - rounding).sum())
    return Score(
        suite=suite.name,
        positions=total,
        mistakes=wrong,
        illegal=int((~legal[chosen]).sum()),
        risky=num_risky,
        risky_mistakes=risky_wrong,
        optimal=optimal,
        expected=suite.expected,
        loss=float(losses.mean()),
        loss_error=float(losses.std() / np.sqrt(total)),
        buckets=tuple(buckets),
        has_classes=suite.classes is not None,
        mistake_rate=wrong / total,
        mistake_interval=wilson_interval(wrong, total),
        risky_mistake_rate=risky_wrong / max(num_risky, 1),
        risky_mistake_interval=wilson_interval(risky_wrong, num_risky),
        optimal_rate=optimal / total,
    )


def _class_by_plies(ply: int) -> str:
    first = ply - ply % _BUCKET_PLIES
    return f"plies {first}-{first + _BUCKET_PLIES - 1}"


def score_values(suite: PositionSuite | FirstMoves, values: np.ndarray) -> ValueScore:
    """Compares the values, float32 [P], of a suite's positions with their results."""
    results, possible = suite.results, [-1.0, 1.0]
    if not (isinstance(suite, PositionSuite) and suite.expected):
        possible += np.unique(results).tolist()
        if isinstance(suite, PositionSuite):
            possible += np.unique(suite.action_results[np.isfinite(suite.action_scores)]).tolist()
    among = np.array(sorted(set(possible)), np.float32)

    def nearest(values: np.ndarray) -> np.ndarray:
        return np.abs(values[:, None] - among).argmin(-1)

    total, right = len(results), int((nearest(values) == nearest(results)).sum())
    return ValueScore(
        suite=suite.name,
        positions=total,
        right=right,
        squared_error=float(np.mean((values - results) ** 2, dtype=np.float64)),
        right_rate=right / total,
        right_interval=wilson_interval(right, total),
    )
