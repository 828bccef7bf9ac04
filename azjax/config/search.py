"""The search's algorithm and constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from azjax.config.checks import above, at_least, between


@dataclass(frozen=True)
class SearchConfig:
    """Monte Carlo tree search through mctx."""

    algorithm: Literal["gumbel", "puct"] = "gumbel"
    """Gumbel AlphaZero (Danihelka et al. 2022), or AlphaZero's PUCT."""
    num_simulations: int = 32
    """Simulations for one move: evaluations of the network besides the root's."""
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
    dirichlet_alpha: float = 1.0
    """PUCT: concentration of the noise, about 10 / legal moves (chess 0.3, go 0.03)."""

    def __post_init__(self) -> None:
        at_least(self, 1, "num_simulations", "max_considered_actions")
        between(self, 0.0, 1.0, "dirichlet_fraction")
        above(self, 0.0, "dirichlet_alpha", "pb_c_init", "pb_c_base", "value_scale")
