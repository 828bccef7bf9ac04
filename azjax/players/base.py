"""What a player is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from azjax.types import Array

# Of each game of a batch all moves since its start: who played, 0 or 1, and the move in text.
Moves = Sequence[Sequence[tuple[int, str]]]


@runtime_checkable
class Player(Protocol):
    """Chooses moves for a batch of positions.

    A player is a frozen dataclass registered as a pytree: its arrays (a network's variables, say)
    are leaves, everything else is static and hashable. So it can be an argument of a jitted
    function. Players that talk to the world set `jittable = False`. Those of them that want to know
    how a game came to its position set `follows_moves = True` too; a match then calls them as
    `player(key, states, moves)`, with `Moves`.
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
