"""The network's shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from azjax.config.checks import at_least
from azjax.errors import UserError


@dataclass(frozen=True)
class NetworkConfig:
    """The two-headed tower (AlphaGo Zero, Silver et al. 2017, Methods)."""

    kind: Literal["resnet", "mlp"] = "resnet"
    """Residual convolution tower, or a dense tower for tiny boards."""
    blocks: int = 6
    """Residual blocks; dense layers of the MLP."""
    channels: int = 64
    """Filters of every convolution; units of every dense layer of the MLP."""
    convolutions: int = 0
    """3x3 convolutions before the dense layers of the MLP. Unused by the tower of blocks."""
    filters: int = 32
    """Filters of each of these."""
    block: Literal["basic", "bottleneck"] = "basic"
    """Two 3x3 convolutions (the paper's), or the same two on half of the channels between two 1x1
    ones: a third of the work (He et al. 2016; KataGo). Unused by the MLP."""
    pooling_every: int = 0
    """Every n-th block tells each cell the mean and the maximum over the whole board (global
    pooling, Wu 2019); 0: none does. Unused by the MLP."""
    towers: Literal["shared", "separate"] = "shared"
    """One tower under both heads (AlphaGo Zero's dual network), or one for each."""
    norm: Literal["batch", "layer", "none"] = "batch"
    """Normalisation after each convolution (batch: the paper's)."""
    policy_head: Literal["dense", "planes"] = "dense"
    """A dense layer over all cells (AlphaGo Zero), or planes of moves (AlphaZero's for chess):
    `channels` filters of a 3x3 convolution, then of each cell the logits of its own actions.
    Wants actions numbered cell * planes + plane."""
    policy_channels: int = 2
    """Dense policy head: filters of its 1x1 convolution (paper: 2). Unused by the MLP."""
    value_channels: int = 1
    """Filters of the value head's convolution, which is the policy head's, 1x1 or 3x3 (paper: 1).
    Unused by the MLP."""
    value_hidden: int = 256
    """Units of the value head's hidden layer (paper: 256)."""
    value_head: Literal["tanh", "wdl"] = "tanh"
    """A scalar in [-1, 1], or the probabilities of win, draw and loss."""
    auxiliary: tuple[Literal["score", "ownership"], ...] = ()
    """More to predict, from which the tower learns faster (Wu 2019): the final margin as a share
    of all points, the final owner of each cell. For games that have these."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """Type of the tower's arithmetic; of an MLP, of its dense layers' products. Parameters are
    float32 always."""

    def __post_init__(self) -> None:
        at_least(self, 1, "blocks", "channels", "policy_channels", "value_channels")
        at_least(self, 1, "value_hidden", "filters")
        at_least(self, 0, "pooling_every", "convolutions")
        if len(set(self.auxiliary)) < len(self.auxiliary):
            raise UserError(f"network.auxiliary = {list(self.auxiliary)}: each once is wanted")
        if self.kind == "mlp" and self.policy_head == "planes":
            raise UserError(
                'network.policy_head = "planes": a tower of convolutions is wanted, '
                'network.kind = "resnet", or network.policy_head = "dense"'
            )
