"""The interface of players, and how to call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from azjax_envs import Game

from azjax.types import Array, State

History = Sequence[Sequence[tuple[int, str]]]
"""For each game of a batch all moves since its start: the seat, 0 or 1, and the move in text."""


@runtime_checkable
class Player(Protocol):
    """A player, which chooses moves for a batch of positions.

    A player is a frozen dataclass registered as a pytree. Its arrays (a network's variables, say)
    are leaves; everything else is static and hashable. A player can therefore be an argument of a
    jitted function, see `act`. External engines set `jittable = False`. Engines that need the whole
    game also set `follows_history = True`; a match then calls them as
    `player(key, states, history)`.
    """

    jittable: ClassVar[bool]

    @property
    def name(self) -> str:
        """Name in tables."""

    @property
    def game(self) -> Game:
        """The game that it plays."""

    def __call__(self, key: Array, states: State, /) -> Array | np.ndarray:
        """Chooses actions.

        Args:
          key: PRNG key.
          states: positions [B, ...].

        Returns:
          Actions int32 [B], legal wherever the game is not over.
        """


class Analysis(NamedTuple):
    """Analysis of B positions; values are from the mover's perspective."""

    action: Array  # int32 [B]
    visits: Array  # int32 [B, A]
    policy: Array  # float32 [B, A], the improved policy
    prior: Array  # float32 [B, A], the network's own policy
    action_values: Array  # float32 [B, A], 0 where unvisited
    value: Array  # float32 [B], of `action`, the move that the player would make


def act(player: Player, key: Array, states: State) -> Array | np.ndarray:
    """Chooses a player's actions in a batch of positions, in one compiled program.

    The program takes the player as an argument. Its weights are not constants of the program, so
    players that differ in their weights alone share one program. Players that no jitted function
    can call, such as external engines, are called directly.

    Args:
      player: a `Player`.
      key: PRNG key.
      states: positions [B, ...].

    Returns:
      Actions int32 [B], legal wherever the game is not over.
    """
    if is_jittable(player):
        return _act(player, key, states)
    return np.asarray(player(key, states), np.int32)


def is_jittable(player: Player) -> bool:
    """Returns whether a jitted function can call the player."""
    return getattr(player, "jittable", True)


def follows_history(player: Player) -> bool:
    """Returns whether the player must be called with the history of its games."""
    return getattr(player, "follows_history", False)


@jax.jit
def _act(player: Player, key: Array, states: State) -> Array:
    return jnp.asarray(player(key, states))
