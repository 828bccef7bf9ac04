"""What all contestants have in common: the network, the sizes, and how they are asked to work."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Protocol

from azjax.config import NetworkConfig
from azjax.network.network import Network, Variables
from azjax.network.two_headed import TwoHeadedNetwork

OBSERVATION_SHAPE = (6, 7, 2)  # of connect four: the mover's discs, the opponent's discs
NUM_ACTIONS = 7


@dataclasses.dataclass(frozen=True)
class Setting:
    """Sizes of self-play and learning, equal for all contestants."""

    network: dict[str, Any]  # keys of `azjax.NetworkConfig`
    games: int = 256  # played at once
    plies: int = 32  # that each game advances between two phases of learning
    simulations: int = 32  # of every search
    batch: int = 1024  # positions of an update; each position is learned from once
    seed: int = 0
    minutes: float = 0.0  # azjax, in training: the time that its learning rate is planned for
    checkout: str = ""  # alpha-zero-general: the folder of its repository

    def make_network(self) -> Network:
        """Returns the network, for connect four's observations."""
        return TwoHeadedNetwork(OBSERVATION_SHAPE, NUM_ACTIONS, NetworkConfig(**self.network))


class Work(NamedTuple):
    """What one iteration did."""

    positions: int  # searched in self-play, and learned from
    simulations: int


class Contestant(Protocol):
    """A training loop that a worker runs, one iteration after the other."""

    def iterate(self) -> Work | None:
        """Plays and learns; None where the training is complete."""
        ...

    def trained(self) -> tuple[Network, Variables]:
        """Returns the network and its present arrays."""
        ...
