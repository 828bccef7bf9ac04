"""The learner's state: the network and the optimizer's state."""

from dataclasses import dataclass

import jax
import optax

from azjax.network.network import Variables
from azjax.types import Array


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LearnerState:
    """Everything that an update changes; `jax.lax.scan` carries it as one value."""

    variables: Variables  # the latest network
    optimizer_state: optax.OptState
    num_updates: Array  # int32 [], updates done
