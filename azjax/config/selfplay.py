"""Self-play, its gate, and the window that keeps its positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from azjax.config.checks import above, at_least, between


@dataclass(frozen=True)
class SelfPlayConfig:
    """How games are played for training."""

    games: int = 256
    """Games in progress at once, over all devices."""
    plies_per_cycle: int = 16
    """Plies that each game advances in one cycle."""
    opening_plies: int = 0
    """Most uniformly random plies that a game opens with; each game draws its own number."""
    exploration_plies: int = 12
    """Plies of a game with a sampled move (PUCT: by visits; Gumbel: with Gumbel noise)."""
    temperature: float = 1.0
    """PUCT: temperature of the sampled moves, visits ** (1 / temperature)."""
    parameters: Literal["newest", "gated"] = "newest"
    """Who plays: the newest parameters (AlphaZero) or those that won the last gate."""

    def __post_init__(self) -> None:
        at_least(self, 1, "games", "plies_per_cycle")
        at_least(self, 0, "exploration_plies", "opening_plies")
        above(self, 0.0, "temperature")


@dataclass(frozen=True)
class GateConfig:
    """AlphaGo Zero's evaluator; used where `selfplay.parameters = "gated"`."""

    every: int = 10
    """Cycles between two gates."""
    games: int = 64
    """Games of a gate, half from each seat, over all devices."""
    threshold: float = 0.55
    """Score from which the newest parameters take over self-play (paper: 0.55)."""
    opening_plies: int = 2
    """Random plies before the players start, the same for both games of a pair."""

    def __post_init__(self) -> None:
        at_least(self, 1, "every")
        at_least(self, 2, "games")
        at_least(self, 0, "opening_plies")
        between(self, 0.0, 1.0, "threshold")


@dataclass(frozen=True)
class ReplayConfig:
    """The window of positions that batches are drawn from."""

    plies: int = 256
    """Plies kept of each lane of games; a multiple of `selfplay.plies_per_cycle`."""
    min_positions: int = 4096
    """Positions of finished games, over all devices, before the first update."""

    def __post_init__(self) -> None:
        at_least(self, 1, "plies", "min_positions")
