"""Exact values near the end of games that are too large to solve."""

import dataclasses

import numpy as np
from azjax_envs import Game

from azjax.exact.solver import solve
from azjax.pytrees import batch_size, take
from azjax.types import State

_CHUNK = 256  # positions solved at once, which share their descendants and the memory


@dataclasses.dataclass(frozen=True)
class Endgames:
    """Exact values of positions, found by solving everything that they can reach."""

    game: Game
    payoff: str  # as in `solve`; the sign of a value is the result

    def action_scores(self, states: State) -> np.ndarray:
        """Returns the values of all actions, see `Scorer`.

        Raises:
          UserError: more positions can be reached than fit into memory.
        """
        scores = []
        for first in range(0, batch_size(states, name="states"), _CHUNK):
            start = take(states, slice(first, first + _CHUNK))
            solution = solve(self.game, start=start, payoff=self.payoff, max_states=20_000_000)
            scores.append(solution.action_values(solution.lookup(start)))
        return np.concatenate(scores)
