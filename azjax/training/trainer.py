"""The jitted functions of a run, on any number of devices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game
from jax.sharding import Mesh, PartitionSpec

from azjax.config import Config
from azjax.errors import UserError
from azjax.learning.update import make_optimizer
from azjax.network.network import Network, make_network
from azjax.replay.auxiliary import refuse_what_the_game_lacks
from azjax.selfplay.openings import read_openings
from azjax.sharding import EVERYWHERE, shard, shardings
from azjax.training.cycle import one_cycle, one_gate
from azjax.training.simulation_schedule import at_stage, simulation_stages, stage_of
from azjax.training.state import TrainState, init_state, state_specs
from azjax.types import Array, Metrics


@dataclass(frozen=True)
class Trainer:
    """The jitted functions of one run, and where its arrays live."""

    game: Game
    network: Network
    config: Config
    mesh: Mesh
    init: Callable[[Array], TrainState]  # from a PRNG key
    stages: tuple[Callable[[TrainState], tuple[TrainState, Metrics]], ...]  # see `cycle`
    gate: Callable[[TrainState], tuple[TrainState, Metrics]]  # donates its argument

    def cycle(self, state: TrainState) -> tuple[TrainState, Metrics]:
        """One cycle, at the stage of the run that `state` is in; donates its argument."""
        return self.stages[stage_of(self.config, int(state.cycle))](state)

    def abstract_state(self) -> TrainState:
        """Shapes, dtypes and shardings of the state; nothing is computed."""
        shapes = jax.eval_shape(self.init, jax.ShapeDtypeStruct((2,), jnp.uint32))
        specs = jax.tree.broadcast(
            state_specs(self.config), shapes, is_leaf=lambda x: isinstance(x, PartitionSpec)
        )
        return jax.tree.map(
            lambda s, where: jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=where),
            shapes,
            shardings(self.mesh, specs),
        )


def make_trainer(game: Game, config: Config, mesh: Mesh) -> Trainer:
    """Builds the functions of a run on `mesh`; nothing is compiled yet.

    Raises:
      UserError: the games or the batch cannot be split evenly over the devices.
    """
    devices = mesh.size
    for name, value, unit in [
        ("selfplay.parallel_games", config.selfplay.parallel_games, devices),
        ("learning.batch_size", config.learning.batch_size, devices),
        ("replay.max_games", config.replay.max_games, devices),
        ("replay.reanalyse_positions", config.replay.reanalyse_positions, devices),
        ("gate.games", config.gate.games, 2 * devices),
    ]:
        if value % unit and not (name == "gate.games" and config.selfplay.actor == "latest"):
            raise UserError(
                f"{name} = {value}: a multiple of {unit} is wanted to split it over "
                f"{devices} devices"
            )
    refuse_what_the_game_lacks(game, config)
    network = make_network(game, config.network)
    optimizer = make_optimizer(config.learning, config.cycles * config.learning.updates_per_cycle)
    path = config.selfplay.openings
    openings = read_openings(game, path) if path else None
    specs = state_specs(config)
    init = functools.partial(init_state, game, network, optimizer, config, openings, devices)
    gate = functools.partial(one_gate, game, network, config, devices)
    jit = functools.partial(_jit_blocking, mesh)

    def cycle(stage: int) -> Callable[[TrainState], tuple[TrainState, Metrics]]:
        now = at_stage(config, stage)
        one = functools.partial(one_cycle, game, network, optimizer, now, openings)
        return jit(shard(one, mesh, (specs,), (specs, EVERYWHERE)), donate_argnums=0)

    return Trainer(
        game=game,
        network=network,
        config=config,
        mesh=mesh,
        init=jax.jit(shard(init, mesh, EVERYWHERE, specs)),
        stages=tuple(cycle(i) for i in range(len(simulation_stages(config.search)))),
        gate=jit(shard(gate, mesh, (specs,), (specs, EVERYWHERE)), donate_argnums=0),
    )


def _jit_blocking(mesh: Mesh, function: Callable, **options: Any) -> Callable:
    """`jax.jit`; on CPU, one that returns when its results are there.

    Collectives of XLA's CPU backend block the threads of a pool that has one for each core. With
    two calls in flight, one device can hold the thread that the other needs, and both wait forever.
    """
    compiled = jax.jit(function, **options)
    if mesh.devices.flat[0].platform != "cpu":
        return compiled
    return lambda state: jax.block_until_ready(compiled(state))
