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
    optimizer: Literal["adamw", "sgd"] = "adamw"
    """AdamW, or SGD with momentum (AlphaZero)."""
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
    """AdamW: decoupled weight decay (Loshchilov and Hutter 2019)."""
    value_weight: float = 1.0
    """Weight of the value error in the loss (AlphaZero: 1)."""
    clip_norm: float = 10.0
    """Largest global norm of a gradient."""
    symmetries: bool = True
    """Show each position under a random symmetry of the game."""

    def __post_init__(self) -> None:
        at_least(self, 1, "batch_size", "updates_per_cycle")
        at_least(self, 0, "warmup_updates")
        at_least(self, 0.0, "l2", "weight_decay", "value_weight")
        above(self, 0.0, "learning_rate", "clip_norm")
        between(self, 0.0, 1.0, "final_fraction", "momentum")
        if list(self.drops) != sorted(self.drops) or any(not 0 < d < 1 for d in self.drops):
            raise UserError(
                f"learning.drops = {list(self.drops)}: rising numbers between 0 and 1 are wanted"
            )
