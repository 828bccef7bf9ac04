"""The interface of a run's buffer, and azjax's own: a ring."""

from typing import Any, Protocol

from azjax.network.results import WIN_DRAW_LOSS, Results
from azjax.replay import buffer
from azjax.replay.buffer import Transition
from azjax.replay.sampling import Sample, sample
from azjax.replay.targets import value_targets
from azjax.types import Array


class ReplayBuffer(Protocol):
    """What keeps the plies of self-play and draws examples from them: `Ring`, or one of your own.

    All methods are pure functions of one device's share. The buffer itself is a constant of the
    run; what changes is the `replay`, a pytree of arrays.
    """

    def init(self, transition: Transition, capacity: int) -> Any:
        """Returns an empty replay for plies like `transition` [B, ...], `capacity` of each game."""

    def add(self, replay: Any, transitions: Transition) -> Any:
        """Returns the replay with T more plies of all games, [T, B, ...]."""

    def targets(self, replay: Any, *, root_value_weight: Array | float, max_games: int) -> Any:
        """Computes once a cycle what `sample` needs.

        Args:
          root_value_weight: of the config, like `max_games`, which is this device's share.

        Returns:
          A pytree with an array `valid`, bool, whose sum is the number of positions that can be
          drawn. Learning starts when it is at least `replay.min_positions`, over all devices.
        """

    def sample(self, replay: Any, targets: Any, key: Array, n: int) -> Sample:
        """Draws the `n` examples of a cycle, [n, ...]; any, if there is none."""


class Ring:
    """azjax's buffer: the newest plies of every game, drawn uniformly where the game has ended.

    A buffer of your own may be a subclass that changes one method.
    """

    results: Results = WIN_DRAW_LOSS
    """The results that targets tell apart: those of the game where the value head is of results."""

    @staticmethod
    def of(results: Results) -> "Ring":
        """Returns a ring whose targets tell these results apart, the greatest first."""
        ring = Ring()
        ring.results = results
        return ring

    def init(self, transition: Transition, capacity: int) -> Any:
        """Returns an empty ring, a `Replay`."""
        return buffer.init(transition, capacity)

    def add(self, replay: Any, transitions: Transition) -> Any:
        """Writes the plies over the oldest ones."""
        return buffer.add(replay, transitions)

    def targets(self, replay: Any, *, root_value_weight: Array | float, max_games: int) -> Any:
        """Computes the `Targets` of all plies, from the results of their games."""
        return value_targets(
            replay,
            root_value_weight=root_value_weight,
            max_games=max_games,
            results=self.results,
        )

    def sample(self, replay: Any, targets: Any, key: Array, n: int) -> Sample:
        """Draws positions uniformly, with replacement."""
        return sample(replay, targets, key, n)
