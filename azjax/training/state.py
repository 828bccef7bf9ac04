"""The training state: one pytree with everything that decides the rest of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import optax
from azjax_envs import Game
from jax.sharding import PartitionSpec

from azjax.config import Config
from azjax.learning.loss import Loss
from azjax.learning.state import LearnerState
from azjax.network.network import Network, Variables
from azjax.replay.buffer import Replay
from azjax.replay.custom_replay import PerDevice
from azjax.replay.custom_targets import RunTargets
from azjax.replay.ring import ReplayBuffer
from azjax.search.model import Evaluate, network_evaluate
from azjax.search.search import Search
from azjax.selfplay.league import League
from azjax.selfplay.openings import Games, Openings
from azjax.selfplay.resignation import ResignationStats
from azjax.sharding import AXIS, EVERYWHERE, SPLIT
from azjax.types import Array


@dataclass(frozen=True, eq=False)
class Experiment:
    """The constants of a run, which are static in its compiled functions."""

    game: Game
    network: Network
    optimizer: optax.GradientTransformation
    loss: Loss
    search: Search  # of self-play, gates and evaluations
    replay: ReplayBuffer
    targets: RunTargets  # besides policy and value
    config: Config
    learning_rate: optax.Schedule | None = None  # by update, where it is known
    openings: Openings | None = None  # where games begin, if not at the game's own start

    @property
    def evaluate(self) -> Evaluate:
        """The evaluation function of the search: the network's policy and value."""
        return network_evaluate(self.game, self.network)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TrainState:
    """Everything that decides the rest of a run."""

    learner: LearnerState  # the network that learns, its optimizer and its averages
    gated: Variables | None  # the network that passed the last gate, where `actor` is "gated"
    games: Games  # [B, ...], split over the devices
    replay: Any  # `Replay` [R, B, ...], split along B; of a buffer of one's own, [devices, ...]
    resignation: ResignationStats | None  # if players resign: statistics that set the threshold
    key: Array  # uint32 [2], constant; a cycle uses fold_in(key, 2 * cycle), a gate 2 * cycle + 1
    cycle: Array  # int32 [], cycles done
    league: League | None = None  # the pool of opponents, where the config has one

    @property
    def acting(self) -> Variables:
        """The network that plays, in self-play and elsewhere.

        With a gate it is the last one that passed, or the first network of the run. Without one it
        is the latest.
        """
        return self.learner.variables if self.gated is None else self.gated

    def split(self) -> tuple[Variables, TrainState]:
        """Returns the acting network, and the state without it, as a checkpoint keeps them."""
        return self.acting, self._with_acting(None, gated=self.gated is not None)

    def join(self, acting: Variables, rest: TrainState) -> TrainState:
        """Returns the state whose `split` gives `acting` and `rest`; `self` has its layout."""
        return rest._with_acting(acting, gated=self.gated is not None)

    def _with_acting(self, acting: Variables | None, *, gated: bool) -> TrainState:
        if gated:
            return replace(self, gated=acting)
        variables: Any = acting  # None while a checkpoint keeps it apart
        return replace(self, learner=replace(self.learner, variables=variables))


_everywhere: Any = EVERYWHERE  # specs take the place of arrays; one stands for a whole subtree
_time_major: Any = PartitionSpec(None, AXIS)
_split: Any = SPLIT
_RING = Replay(transitions=_time_major, position=_everywhere, filled=_everywhere)


def state_specs(replay: ReplayBuffer) -> TrainState:
    """Returns how each part of the state of a run with this buffer lies on the mesh."""
    return TrainState(
        learner=_everywhere,
        gated=_everywhere,
        games=_split,
        replay=_split if isinstance(replay, PerDevice) else _RING,
        resignation=_everywhere,
        key=_everywhere,
        cycle=_everywhere,
        league=_everywhere,
    )
