"""The compiled functions of a run, on any number of devices."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import optax
from azjax_envs import Game
from jax.sharding import Mesh, PartitionSpec

from azjax.config import Config
from azjax.errors import UserError
from azjax.keys import first_keys
from azjax.learning.batch import Batch
from azjax.learning.loss import Loss, check_targets, resolve_loss
from azjax.learning.update import Optimizer, init_learner, resolve_optimizer
from azjax.network.custom_network import resolve_network
from azjax.network.network import Network, Variables
from azjax.network.results import told_apart
from azjax.network.two_headed import in_fast_arithmetic, with_statistics
from azjax.replay.buffer import Transition
from azjax.replay.custom_replay import checked_replay, make_replay
from azjax.replay.custom_targets import RunTargets, TargetFunction, make_targets
from azjax.replay.ring import ReplayBuffer, Ring
from azjax.replay.sampling import Sample
from azjax.search.search import Search, resolve_search
from azjax.search.search import search as azjax_search
from azjax.selfplay.league import first_league
from azjax.selfplay.openings import read_openings, start_games
from azjax.selfplay.resignation import initial_stats
from azjax.selfplay.selfplay import play_plies
from azjax.sharding import AXIS, EVERYWHERE, SPLIT, make_mesh, shard, shardings
from azjax.training.cycle import add_plies, learn_batch, learn_cycle, train_cycle
from azjax.training.gate import gate
from azjax.training.opponents import Opponent, stack_opponents, with_opponents
from azjax.training.state import Experiment, TrainState, state_specs
from azjax.types import Array, Metrics

_SINGLE_STEPS = functools.partial(azjax_search, steps="single")
_FIXED_STEPS = functools.partial(azjax_search, steps="fixed")

Step = Callable[[TrainState], tuple[TrainState, Metrics]]


@dataclass(frozen=True)
class Trainer:
    """The compiled functions of one run, and where its arrays live."""

    game: Game
    network: Network
    search: Search
    targets: RunTargets
    learning_rate: optax.Schedule | None  # by update, where it is known
    config: Config
    mesh: Mesh
    specs: TrainState  # how each part of the state lies on the mesh
    init: Callable[[Array], TrainState]  # from a PRNG key
    cycle: Step  # donates its argument
    gate: Step  # likewise
    learn: Callable[[TrainState, Batch], tuple[TrainState, Metrics]]
    """One update from any batch [N, ...]; donates the state. N is split over the devices."""
    learn_cycle: Callable[[TrainState, Sample], tuple[TrainState, Metrics]]
    """A cycle's updates on given examples [U, N, ...], without games; donates the state."""
    mixed_cycle: Callable[[TrainState, Sample], tuple[TrainState, Metrics]]
    """A cycle whose updates learn from N given examples [U, N, ...] besides; donates the state."""
    add_plies: Callable[[TrainState, Transition], tuple[TrainState, Metrics]]
    """Adds plies [T, B, ...] of given games to the replay buffer; donates the state."""
    asynchronous: bool  # whether a step returns before its results are there

    def abstract_state(self) -> TrainState:
        """Returns shapes, dtypes and shardings of the state; nothing is computed."""
        shapes = jax.eval_shape(self.init, jax.ShapeDtypeStruct((2,), jnp.uint32))
        specs = jax.tree.broadcast(
            self.specs, shapes, is_leaf=lambda x: isinstance(x, PartitionSpec)
        )
        return jax.tree.map(
            lambda s, where: jax.ShapeDtypeStruct(s.shape, s.dtype, sharding=where),
            shapes,
            shardings(self.mesh, specs),
        )


def make_trainer(
    game: Game,
    config: Config,
    mesh: Mesh | None = None,
    *,
    network: Network | None = None,
    optimizer: Optimizer | None = None,
    loss: Loss | None = None,
    search: Search | None = None,
    replay: ReplayBuffer | None = None,
    targets: TargetFunction | None = None,
    opponents: Sequence[Opponent] | None = None,
) -> Trainer:
    """Builds the functions of a run; nothing is compiled yet.

    Args:
      mesh: the devices, see `sharding.make_mesh`; None for all of them.
      network: a network of your own, see `azjax.Network` and `azjax.flax_network`, in place of the
        one that the config describes or names.
      optimizer: an optax optimizer of your own, or a function that makes one of the schedule of the
        config's learning rate.
      loss: a loss of your own; `azjax.alphazero_loss` by default.
      search: a search of your own, with the arguments and the result of `azjax.search.search`.
      replay: a buffer of your own, with the methods of `azjax.replay.Ring`.
      targets: a function of your own that computes targets of further outputs of the network, see
        `azjax.replay.TargetFunction`.
      opponents: players with a network like the run's, with which the pool of a league begins.

    Raises:
      UserError: the games or the batch cannot be split evenly over the devices, the game lacks
        what the network is to predict, what the network, the buffer or the targets return has wrong
        shapes, or the network has no output of a target's name.
    """
    config = with_opponents(config, opponents)
    mesh = make_mesh() if mesh is None else mesh
    for name, value, share in divisible_by_devices(config):
        if value % (share * mesh.size):
            raise UserError(
                f"{name} = {value} must be a multiple of {share * mesh.size} to be split over "
                f"{mesh.size} devices"
            )
    run_targets = make_targets(game, config, targets)
    path = config.selfplay.openings
    network = resolve_network(game, config.network, network)
    on_cpus = mesh.devices.flat[0].platform == "cpu"
    if on_cpus:
        network = in_fast_arithmetic(network)
    search = resolve_search(config.search, search)
    rule, learning_rate = resolve_optimizer(config, optimizer)
    given = stack_opponents(game, network, config, opponents, mesh.size)
    experiment = Experiment(
        game=game,
        # To share statistics, accelerators would wait for each other twice a layer. On CPUs, N
        # devices compute what one does.
        network=with_statistics(network, shared=on_cpus),
        optimizer=rule,
        loss=resolve_loss(config, loss),
        search=selfplay_search(search, on_cpus=on_cpus),
        replay=make_replay(config, replay, results=told_apart(game, config.network)),
        targets=run_targets,
        config=config,
        learning_rate=learning_rate,
        openings=read_openings(game, path) if path else None,
    )
    if type(experiment.replay) is not Ring or targets is not None or config.learning.targets:
        plies = transition_shapes(experiment, config.selfplay.parallel_games // mesh.size)
        draws = config.learning.updates_per_cycle * config.learning.batch_size // mesh.size
        buffer, drawn = checked_replay(experiment.replay, game, run_targets, config, plies, draws)
        experiment = replace(experiment, replay=buffer)
        check_targets(game, network, experiment.loss, drawn)
    specs = state_specs(experiment.replay)

    def step(function: Callable[..., Any], *inputs: PartitionSpec) -> Any:
        on_devices = functools.partial(function, experiment)
        sharded = shard(on_devices, mesh, (specs, *inputs), (specs, EVERYWHERE))
        compiled = jax.jit(sharded, donate_argnums=0)
        return _blocking(compiled) if on_cpus else compiled

    return Trainer(
        game=game,
        network=experiment.network,
        search=search,
        targets=run_targets,
        learning_rate=learning_rate,
        config=config,
        mesh=mesh,
        specs=specs,
        init=_init(experiment, mesh, specs, given),
        cycle=step(train_cycle),
        gate=step(gate),
        learn=step(learn_batch, SPLIT),
        learn_cycle=step(learn_cycle, PartitionSpec(None, AXIS)),
        mixed_cycle=step(train_cycle, PartitionSpec(None, AXIS)),
        add_plies=step(add_plies, PartitionSpec(None, AXIS)),
        asynchronous=not on_cpus,
    )


def _init(
    experiment: Experiment, mesh: Mesh, specs: TrainState, given: Variables | None
) -> Callable[[Array], TrainState]:
    """Returns the function that makes the first state from a PRNG key."""
    function = functools.partial(init_state, experiment)
    if given is None:
        return jax.jit(shard(function, mesh, EVERYWHERE, specs))
    init = jax.jit(shard(function, mesh, (EVERYWHERE, EVERYWHERE), specs))
    return lambda key: init(key, given)


def selfplay_search(search: Search, *, on_cpus: bool) -> Search:
    """Returns the search of self-play, in azjax's own case with the steps that suit the devices.

    On CPUs one simulation a step is fastest for large batches: rounds take 512 games of connect
    four at least 1.06 times as long (see `search/loop.py`). On others a step takes about as long
    for a whole round, and a known number of steps needs no answer from the host.
    """
    if search is not azjax_search:
        return search
    return _SINGLE_STEPS if on_cpus else _FIXED_STEPS


def init_state(
    experiment: Experiment, key: Array, opponents: Variables | None = None
) -> TrainState:
    """Returns one device's share of the first state; call it under `shard_map`.

    The pool of a league begins with `opponents` [n, ...].
    """
    game, config, network = experiment.game, experiment.config, experiment.network
    devices = jax.lax.axis_size(AXIS)
    keys = first_keys(key)
    variables = network.init(keys.network)
    games_key = jax.random.fold_in(keys.games, jax.lax.axis_index(AXIS))
    games = start_games(
        game,
        games_key,
        config.selfplay.parallel_games // devices,
        config.selfplay,
        experiment.openings,
        jnp.int32(0) if config.league.plays else None,
    )
    plies = transition_shapes(experiment, config.selfplay.parallel_games // devices)
    ply = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), plies)
    gated = config.selfplay.actor == "gated"
    return TrainState(
        learner=init_learner(variables, experiment.optimizer),
        gated=jax.tree.map(jnp.copy, variables) if gated else None,
        games=games,
        replay=experiment.replay.init(ply, config.replay.capacity_plies),
        resignation=initial_stats() if config.selfplay.resign_false_positive_rate else None,
        key=keys.run,
        cycle=jnp.zeros((), jnp.int32),
        league=first_league(config.league, variables, opponents) if config.league.plays else None,
    )


def transition_shapes(experiment: Experiment, games: int) -> Transition:
    """Returns shapes and dtypes of the plies of a cycle, [T, B, ...], of this many games."""
    game, config = experiment.game, experiment.config

    def play(key: Array) -> Transition:
        started = start_games(game, key, games, config.selfplay, experiment.openings)
        _, transitions, _ = play_plies(
            game,
            experiment.evaluate,
            experiment.network.init(key),
            key,
            started,
            config,
            search=experiment.search,
            targets=experiment.targets,
        )
        return transitions

    return jax.eval_shape(play, jax.ShapeDtypeStruct((2,), jnp.uint32))


def divisible_by_devices(config: Config) -> list[tuple[str, int, int]]:
    """Returns the numbers that are divided over devices: name, value, and divisor of each share."""
    numbers = [
        ("selfplay.parallel_games", config.selfplay.parallel_games, 1),
        ("learning.batch_size", config.learning.batch_size, 1),
        ("replay.max_games", config.replay.max_games, 1),
    ]
    if config.selfplay.actor == "gated":
        numbers.append(("gate.games", config.gate.games, 2))
    return numbers


def _blocking(step: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a step that waits for its results.

    Collectives of XLA's CPU backend block the threads of a pool that has one for each core. With
    two calls in flight, one device can hold the thread that the other needs, and both wait forever.
    """
    return lambda *arguments: jax.block_until_ready(step(*arguments))
