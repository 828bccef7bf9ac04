"""The search's algorithm and constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from azjax.config.checks import above, at_least, between
from azjax.errors import UserError


@dataclass(frozen=True)
class SearchConfig:
    """Monte Carlo tree search through mctx."""

    algorithm: Literal["gumbel", "puct"] = "gumbel"
    """Gumbel AlphaZero (Danihelka et al. 2022), or AlphaZero's PUCT."""
    num_simulations: int = 32
    """Simulations for one move: evaluations of the network besides the root's."""
    start_simulations: int = 0
    """Training begins with so many simulations and doubles them, at even intervals over the run,
    up to `num_simulations`; 0: `num_simulations` from the start."""
    max_considered_actions: int = 16
    """Gumbel: actions sampled at the root for sequential halving (paper: 16)."""
    value_scale: float = 0.1
    """Gumbel: c_scale, how strongly values move the policy (mctx: 0.1)."""
    rescale_values: bool = True
    """Gumbel: stretch the values of a position's moves to [0, 1] first (mctx: yes)."""
    pb_c_init: float = 1.25
    """PUCT: exploration constant c1 (AlphaZero, MuZero appendix B)."""
    pb_c_base: float = 19652.0
    """PUCT: growth constant c2 (AlphaZero, MuZero appendix B)."""
    dirichlet_fraction: float = 0.25
    """PUCT: share of the noise in the root's prior during self-play (AlphaZero: 0.25)."""
    dirichlet_total: float = 10.0
    """PUCT: the noise's alpha, times the legal moves of the position (AlphaZero's 0.3 for chess,
    0.15 for shogi, 0.03 for go are each about 10 / legal moves)."""
    root_temperature: float = 1.0
    """PUCT: temperature of the root's prior in self-play, prior ** (1 / temperature), which keeps
    it from growing sharper for ever (KataGo: 1.1)."""
    forced_playouts: float = 0.0
    """PUCT: in self-play, each move of the root that is tried at all is tried at least
    sqrt(this * prior * simulations) times, and the policy to learn is pruned of tries that its
    value does not justify (Wu 2019: 2); 0: neither."""

    def __post_init__(self) -> None:
        at_least(self, 1, "num_simulations", "max_considered_actions")
        at_least(self, 0, "start_simulations")
        at_least(self, 0.0, "forced_playouts")
        between(self, 0.0, 1.0, "dirichlet_fraction")
        above(self, 0.0, "dirichlet_total", "pb_c_init", "pb_c_base", "value_scale")
        above(self, 0.0, "root_temperature")
        if self.start_simulations > self.num_simulations:
            raise UserError(
                f"search.start_simulations = {self.start_simulations}: at most num_simulations = "
                f"{self.num_simulations} wanted"
            )
