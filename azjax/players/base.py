"""What a player is."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import jax

Array = jax.Array


@runtime_checkable
class Player(Protocol):
    """Chooses moves for a batch of positions.

    A player is a frozen dataclass registered as a pytree: its arrays (a network's variables, say)
    are leaves, everything else is static and hashable. So it can be an argument of a jitted
    function. Players that talk to the world set `jittable = False`.
    """

    jittable: ClassVar[bool]

    @property
    def name(self) -> str:
        """The name in tables."""

    def __call__(self, key: Array, states: Any) -> Array:
        """Actions int32 [B], legal wherever the game is not over, for states [B, ...]."""


class Analysis(NamedTuple):
    """What a player thinks of B positions; values are seen by the player to move."""

    action: Array  # int32 [B]
    visits: Array  # int32 [B, A]
    policy: Array  # float32 [B, A], the improved policy
    prior: Array  # float32 [B, A], the network's own policy
    action_values: Array  # float32 [B, A], 0 where unvisited
    value: Array  # float32 [B], of `action`, the move that the player would make
