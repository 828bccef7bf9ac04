"""The loss and its optimizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from azjax.config.checks import above, at_least, between
from azjax.errors import UserError


@dataclass(frozen=True)
class LearningConfig:
    """AlphaZero's loss and its optimizer."""

    batch_size: int = 256
    """Positions of one update, over all devices."""
    updates_per_cycle: int = 8
    """Gradient steps of one cycle."""
    optimizer: Literal["adamw", "sgd", "muon"] = "adamw"
    """AdamW; SGD with momentum (AlphaZero); or Muon for the weights of layers, in steps as large as
    AdamW's, and AdamW for the rest (Jordan et al. 2024, scaled as Liu et al. 2025)."""
    learning_rate: float = 1e-3
    """Peak learning rate."""
    schedule: Literal["constant", "cosine", "step"] = "cosine"
    """After the warm-up: constant, cosine to `final_fraction`, or drops by 10 at `drops`."""
    warmup_updates: int = 100
    """Updates of the linear warm-up from zero."""
    final_fraction: float = 0.05
    """Cosine: last learning rate as a share of the peak."""
    drops: tuple[float, ...] = (0.5, 0.75)
    """Step: shares of the run after which the learning rate falls to a tenth."""
    momentum: float = 0.9
    """SGD: momentum (AlphaZero: 0.9)."""
    l2: float = 0.0
    """Weight of the squared parameters in the loss (AlphaZero: 1e-4)."""
    weight_decay: float = 1e-4
    """AdamW and Muon: decoupled weight decay (Loshchilov and Hutter 2019)."""
    value_weight: float = 1.0
    """Weight of the value error in the loss (AlphaZero: 1)."""
    score_weight: float = 0.5
    """Weight of the squared error of the final margin, where `network.auxiliary` has it."""
    ownership_weight: float = 0.5
    """Weight of the owners' error, mean over the cells, where `network.auxiliary` has it."""
    root_value_weight: float = 0.0
    """Share of the search's value of a position in the value to learn; the rest is what followed
    (0: AlphaZero)."""
    td_lambda: float = 1.0
    """What followed: 1 the game's result, 0 the search's value one ply later, between them
    TD(lambda), Sutton 1988."""
    average: float = 0.0
    """Decay of an exponential moving average of the parameters, for each update; where above 0,
    the average plays: in self-play, evaluations and checkpoints (Izmailov et al. 2018)."""
    clip_norm: float = 10.0
    """Largest global norm of a gradient."""
    symmetries: bool = True
    """Show each position under a random symmetry of the game."""

    def __post_init__(self) -> None:
        at_least(self, 1, "batch_size", "updates_per_cycle")
        at_least(self, 0, "warmup_updates")
        at_least(self, 0.0, "l2", "weight_decay", "value_weight")
        at_least(self, 0.0, "score_weight", "ownership_weight")
        above(self, 0.0, "learning_rate", "clip_norm")
        between(self, 0.0, 1.0, "final_fraction", "momentum", "td_lambda")
        between(self, 0.0, 1.0, "root_value_weight")
        if not 0.0 <= self.average < 1.0:
            raise UserError(f"learning.average = {self.average}: from 0 to below 1 wanted")
        if list(self.drops) != sorted({*self.drops}) or any(not 0 < d < 1 for d in self.drops):
            raise UserError(
                f"learning.drops = {list(self.drops)}: rising numbers between 0 and 1 are wanted"
            )
