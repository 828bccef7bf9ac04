"""Everything that decides the rest of a run, as one pytree: its parts, its place, its beginning."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from azjax_envs import Game
from jax.sharding import PartitionSpec

from azjax.config import Config
from azjax.network.network import Network, Variables, first_variables
from azjax.replay.buffer import Replay, empty_replay
from azjax.runs.checkpoint import Checkpoints
from azjax.search.model import network_evaluate
from azjax.selfplay.openings import Games, Openings, start_games
from azjax.selfplay.resignation import Evidence, no_evidence
from azjax.selfplay.selfplay import play
from azjax.sharding import AXIS, EVERYWHERE, SPLIT
from azjax.types import Array


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        "variables",
        "average",
        "optimizer_state",
        "actor",
        "games",
        "replay",
        "evidence",
        "key",
        "cycle",
        "updates",
    ],
    meta_fields=[],
)
@dataclass(frozen=True)
class TrainState:
    """Everything that decides the rest of a run."""

    variables: Variables  # the newest network
    average: Variables | None  # the moving average of it, where `learning.ema_decay` is above 0
    optimizer_state: Any
    actor: Variables | None  # the network that plays where a gate decides it, else None
    games: Games  # [B, ...], split over the devices
    replay: Replay  # [R, B, ...], split over the devices along B
    evidence: Evidence | None  # where players resign: when it is safe to
    key: Array  # uint32 [2], never changes: cycle i uses fold_in(key, i)
    cycle: Array  # int32 [], cycles done
    updates: Array  # int32 [], gradient steps done

    @property
    def candidate(self) -> Variables:
        """What a gate examines: the average where there is one, or else the newest network."""
        return self.variables if self.average is None else self.average

    @property
    def player(self) -> Variables:
        """The network that plays, in self-play and elsewhere: where there is a gate, the last that
        passed it (before the first, the one that the run began with), or else the candidate."""
        return self.candidate if self.actor is None else self.actor

    def split(self) -> tuple[Variables, dict[str, Any]]:
        """Returns the network that plays, and everything else, as a checkpoint keeps them."""
        rest = dict(vars(self))
        return rest.pop(self._playing), rest

    def joined(self, variables: Variables, rest: dict[str, Any]) -> TrainState:
        """Returns the state whose `split` gives these; `self` has its layout."""
        return TrainState(**rest | {self._playing: variables})

    @property
    def _playing(self) -> str:
        if self.actor is not None:
            return "actor"
        return "variables" if self.average is None else "average"


def state_specs(config: Config) -> TrainState:
    """How each part of the state lies on the mesh."""
    return TrainState(
        variables=EVERYWHERE,
        average=EVERYWHERE if config.learning.ema_decay else None,
        optimizer_state=EVERYWHERE,
        actor=EVERYWHERE if config.selfplay.actor == "gated" else None,
        games=SPLIT,
        replay=Replay(rows=PartitionSpec(None, AXIS), position=EVERYWHERE, filled=EVERYWHERE),
        evidence=EVERYWHERE if config.selfplay.resign_false_positive_rate else None,
        key=EVERYWHERE,
        cycle=EVERYWHERE,
        updates=EVERYWHERE,
    )


def init_state(
    game: Game,
    network: Network,
    optimizer: optax.GradientTransformation,
    config: Config,
    openings: Openings | None,
    devices: int,
    key: Array,
) -> TrainState:
    run_key = key
    key, _, games_key = jax.random.split(key, 3)
    variables = first_variables(network, run_key)
    games_key = jax.random.fold_in(games_key, jax.lax.axis_index(AXIS))
    games = start_games(
        game, games_key, config.selfplay.parallel_games // devices, config.selfplay, openings
    )
    _, rows, _ = jax.eval_shape(
        lambda v, k, g: play(game, network_evaluate(game, network), v, k, g, config),
        variables,
        key,
        games,
    )
    row = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), rows)
    gated = config.selfplay.actor == "gated"
    return TrainState(
        variables=variables,
        average=jax.tree.map(jnp.copy, variables) if config.learning.ema_decay else None,
        optimizer_state=optimizer.init(variables["params"]),
        actor=jax.tree.map(jnp.copy, variables) if gated else None,
        games=games,
        replay=empty_replay(row, config.replay.capacity_plies),
        evidence=no_evidence() if config.selfplay.resign_false_positive_rate else None,
        key=key,
        cycle=jnp.zeros((), jnp.int32),
        updates=jnp.zeros((), jnp.int32),
    )


def save_state(checkpoints: Checkpoints, state: TrainState, *, merit: float | None = None) -> None:
    """Starts to write `state`, whose arrays may be donated right after; see `Checkpoints.save`."""
    checkpoints.save(int(state.cycle), *state.split(), merit=merit)


def restore_state(
    checkpoints: Checkpoints, abstract: TrainState, *, warn: Callable[[str], None]
) -> TrainState:
    """Restores the newest intact state; see `Checkpoints.restore_newest`."""
    return abstract.joined(*checkpoints.restore_newest(*abstract.split(), warn=warn))
