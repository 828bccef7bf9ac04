"""Perfect play, looked up in a solved game or in a table of exact values."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.exact.codec import Codec, split
from azjax.exact.known_values import Scorer, exact_values
from azjax.exact.solver import Solution, solve
from azjax.rollouts import random_action


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["keys", "optimal"],
    meta_fields=["game", "salt"],
)
@dataclasses.dataclass(frozen=True, eq=False)
class ExactPlayer:
    """Plays an action that keeps the game's value, at random among all that do.

    In a position that cannot be reached it plays any legal action.
    """

    game: Game
    salt: int
    keys: jax.Array  # uint32 [N, 2], the sorted keys of all states, (high, low)
    optimal: jax.Array  # bool [N, num_actions], in the order of `keys`

    jittable = True

    @property
    def name(self) -> str:
        return "exact"

    def __call__(self, key: jax.Array, states) -> jax.Array:
        """Actions int32 [B] for a batch of states."""
        codec = Codec(self.game, self.salt)
        wanted = jax.vmap(lambda state: codec.key(codec.pack(state)))(states)  # [B, 2]
        place, found = self._find(wanted)
        legal = jax.vmap(self.game.legal_action_mask)(states)
        return random_action(key, jnp.where(found[:, None], self.optimal[place], legal))

    def _find(self, wanted: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Binary search for 64-bit keys held as two words: place int32 [B], found bool [B]."""
        count = self.keys.shape[0]
        place = jnp.zeros(wanted.shape[0], jnp.int32)
        for bit in reversed(range(count.bit_length())):
            further = place + (1 << bit)
            there = self.keys[jnp.minimum(further, count - 1)]
            not_above = (there[:, 0] < wanted[:, 0]) | (
                (there[:, 0] == wanted[:, 0]) & (there[:, 1] <= wanted[:, 1])
            )
            place = jnp.where((further < count) & not_above, further, place)
        return place, (self.keys[place] == wanted).all(-1)


@functools.partial(jax.tree_util.register_dataclass, data_fields=["scorer"], meta_fields=["game"])
@dataclasses.dataclass(frozen=True, eq=False)
class ExactTablePlayer:
    """Plays an action of the best score, at random among all that have it."""

    game: Game
    scorer: Scorer  # a pytree

    jittable = True

    @property
    def name(self) -> str:
        return "exact"

    def __call__(self, key: jax.Array, states) -> jax.Array:
        """Actions int32 [B] for a batch of states."""
        scores = self.scorer.action_scores(states)
        # At the end no action is legal, and any will do.
        return random_action(key, scores == scores.max(-1, keepdims=True))


def exact_player(game: Game, solution: Solution | None = None) -> ExactPlayer | ExactTablePlayer:
    """A perfect player: from a solution, from the game's exact values, or by solving it now.

    Raises:
      UserError: the game is too large to solve.
    """
    values = exact_values(game)
    if solution is None and values is not None and values.complete:
        return ExactTablePlayer(game, values.load())
    solution = solve(game) if solution is None else solution
    optimal = np.asarray(solution.optimal_actions(solution.order))
    keys = split(solution.sorted_keys)
    return ExactPlayer(game, solution.salt, jnp.asarray(keys), jnp.asarray(optimal))
