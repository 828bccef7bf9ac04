"""Exact values near the end of a game too large to solve whole."""

import dataclasses

import jax
import numpy as np
from azjax_envs import Game

from azjax.exact.solver import solve
from azjax.pytrees import take

_TOGETHER = 256  # positions solved at once: they share what they lead to, and the memory


@dataclasses.dataclass(frozen=True)
class Endgames:
    """Values positions by all that can be reached from them, which had better be little."""

    game: Game
    payoff: str  # as `solve` takes it; the sign of either is the result

    def action_scores(self, states) -> np.ndarray:
        """float32 [P, num_actions] for batched states [P, ...]: seen by the mover, -inf if illegal.

        Raises:
          UserError: more can be reached than fits into memory.
        """
        positions = jax.tree.leaves(states)[0].shape[0]
        scores = []
        for first in range(0, positions, _TOGETHER):
            start = take(states, slice(first, first + _TOGETHER))
            solution = solve(self.game, start=start, payoff=self.payoff, max_states=20_000_000)
            scores.append(solution.action_values(solution.lookup(start)))
        return np.concatenate(scores)
