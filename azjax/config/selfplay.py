"""Self-play, its gate, and the window that keeps its positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from azjax.config.checks import above, at_least, between
from azjax.errors import UserError


@dataclass(frozen=True)
class SelfPlayConfig:
    """How games are played for training."""

    games: int = 256
    """Games in progress at once, over all devices."""
    plies_per_cycle: int = 16
    """Plies that each game advances in one cycle."""
    opening_plies: int = 0
    """Most uniformly random plies that a game opens with; each game draws its own number."""
    openings: str = ""
    """A file of starting positions, one a line: the moves that lead there, in the game's notation,
    with spaces between. Each game begins at one of them, drawn uniformly; random plies follow.
    "": at the game's own start. The run keeps a copy, `openings.txt`, and is
    resumed with that."""
    exploration_plies: int = 12
    """Plies of a game, its opening included, with a sampled move (PUCT: by visits; Gumbel: with
    Gumbel noise)."""
    temperature: float = 1.0
    """PUCT: temperature of the sampled moves, visits ** (1 / temperature)."""
    final_temperature: float = 0.0
    """PUCT: temperature of all later moves; 0: the most visited move (AlphaGo Zero)."""
    full_searches: float = 1.0
    """Share of the plies that are searched with all simulations; the others are played after a
    fast search, and nothing is learnt from them but how the game went on (playout cap
    randomisation, Wu 2019: 0.25)."""
    fast_simulations: int = 8
    """Simulations of a fast search. It is without noise."""
    resign_error: float = 0.0
    """A player resigns whose value is so low that of those who played on from there at most this
    share did not lose (AlphaGo Zero: 0.05); 0: nobody resigns."""
    resign_played_out: float = 0.1
    """Share of the games that are played to the end whatever the values, to learn how low that is
    (AlphaGo Zero: 0.1)."""
    parameters: Literal["newest", "gated"] = "newest"
    """Who plays: the newest parameters (AlphaZero) or those that won the last gate."""

    def __post_init__(self) -> None:
        at_least(self, 1, "games", "plies_per_cycle")
        at_least(self, 1, "fast_simulations")
        at_least(self, 0, "exploration_plies", "opening_plies")
        at_least(self, 0.0, "final_temperature")
        above(self, 0.0, "temperature", "full_searches", "resign_played_out")
        between(self, 0.0, 1.0, "full_searches", "resign_error", "resign_played_out")
        if round(self.full_searches * self.plies_per_cycle) < 1:
            raise UserError(
                f"selfplay.full_searches = {self.full_searches}: of plies_per_cycle = "
                f"{self.plies_per_cycle} one at least must be searched in full; "
                f"{1 / self.plies_per_cycle:.3g} would do"
            )


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
        # Neither network draws lots: without random plies all games are one.
        at_least(self, 1, "opening_plies")
        between(self, 0.0, 1.0, "threshold")


@dataclass(frozen=True)
class ReplayConfig:
    """The window of positions that batches are drawn from."""

    plies: int = 256
    """Plies kept of each lane of games; a multiple of `selfplay.plies_per_cycle`."""
    games: int = 0
    """Of these, only positions of the newest games are learnt from, this many over all devices
    (AlphaGo Zero: 500,000); 0: all that is kept."""
    min_positions: int = 4096
    """Positions of finished games, over all devices, before the first update."""
    reanalysed: int = 0
    """Positions of the window that are searched afresh in each cycle, over all devices, by the
    network that plays; what is found takes the place of what was (Schrittwieser et al. 2021)."""

    def __post_init__(self) -> None:
        at_least(self, 1, "plies", "min_positions")
        at_least(self, 0, "games", "reanalysed")
