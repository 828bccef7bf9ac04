"""One training cycle: self-play, then updates, as one jitted function on any number of devices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax
from azjax_envs import Game
from jax.sharding import Mesh, PartitionSpec

from azjax.arena.match import match_scores
from azjax.config import Config
from azjax.errors import UserError
from azjax.learner import make_batch, make_optimizer, update
from azjax.network import Network, Variables
from azjax.players.network import SearchPlayer
from azjax.replay import Replay, append, draw_indices, empty_replay, take, value_targets
from azjax.search import network_evaluate
from azjax.selfplay import Games, play, start_games
from azjax.sharding import AXIS, EVERYWHERE, SPLIT, shard, shardings

Array = jax.Array
Metrics = dict[str, Array]


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=[
        "variables",
        "optimizer_state",
        "actor",
        "games",
        "replay",
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
    optimizer_state: Any
    actor: Variables | None  # the network of self-play where a gate decides it, else None
    games: Games  # [B, ...], split over the devices
    replay: Replay  # [R, B, ...], split over the devices along B
    key: Array  # uint32 [2], never changes: cycle i uses fold_in(key, i)
    cycle: Array  # int32 [], cycles done
    updates: Array  # int32 [], gradient steps done


@dataclass(frozen=True)
class Trainer:
    """The jitted functions of one run, and where its arrays live."""

    game: Game
    network: Network
    config: Config
    mesh: Mesh
    init: Callable[[Array], TrainState]  # from a PRNG key
    cycle: Callable[[TrainState], tuple[TrainState, Metrics]]  # donates its argument
    gate: Callable[[TrainState], tuple[TrainState, Metrics]]  # donates its argument

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
        ("selfplay.games", config.selfplay.games, devices),
        ("learning.batch_size", config.learning.batch_size, devices),
        ("gate.games", config.gate.games, 2 * devices),
    ]:
        if value % unit and not (name == "gate.games" and config.selfplay.parameters == "newest"):
            raise UserError(
                f"{name} = {value}: a multiple of {unit} is wanted to split it over "
                f"{devices} devices"
            )
    network = Network(game.observation_shape, game.num_actions, config.network)
    optimizer = make_optimizer(config.learning, config.cycles * config.learning.updates_per_cycle)
    specs = state_specs(config)
    platform = mesh.devices.flat[0].platform
    # XLA's CPU backend falls back to a slow path for the gradient of a convolution inside a loop or
    # a condition (24 times slower, measured), so that there the updates are unrolled.
    unroll = config.learning.updates_per_cycle if platform == "cpu" else 1
    init = functools.partial(_init, game, network, optimizer, config, devices)
    cycle = functools.partial(_cycle, game, network, optimizer, config, unroll)
    gate = functools.partial(_gate, game, network, config, devices)
    jit = functools.partial(_jit_blocking, mesh)
    return Trainer(
        game=game,
        network=network,
        config=config,
        mesh=mesh,
        init=jax.jit(shard(init, mesh, EVERYWHERE, specs)),
        cycle=jit(shard(cycle, mesh, (specs,), (specs, EVERYWHERE)), donate_argnums=0),
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


def state_specs(config: Config) -> TrainState:
    """How each part of the state lies on the mesh."""
    return TrainState(
        variables=EVERYWHERE,
        optimizer_state=EVERYWHERE,
        actor=EVERYWHERE if config.selfplay.parameters == "gated" else None,
        games=SPLIT,
        replay=Replay(rows=PartitionSpec(None, AXIS), position=EVERYWHERE, filled=EVERYWHERE),
        key=EVERYWHERE,
        cycle=EVERYWHERE,
        updates=EVERYWHERE,
    )


def first_variables(network: Network, key: Array) -> Variables:
    """The variables that a run begins with whose state is made from `key`."""
    _, network_key, _ = jax.random.split(key, 3)
    return network.init(network_key)


def _init(
    game: Game,
    network: Network,
    optimizer: optax.GradientTransformation,
    config: Config,
    devices: int,
    key: Array,
) -> TrainState:
    run_key = key
    key, _, games_key = jax.random.split(key, 3)
    variables = first_variables(network, run_key)
    games_key = jax.random.fold_in(games_key, jax.lax.axis_index(AXIS))
    games = start_games(
        game,
        games_key,
        config.selfplay.games // devices,
        opening_plies=config.selfplay.opening_plies,
    )
    _, rows, _ = jax.eval_shape(
        lambda v, k, g: play(game, network_evaluate(game, network), v, k, g, config),
        variables,
        key,
        games,
    )
    row = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), rows)
    gated = config.selfplay.parameters == "gated"
    return TrainState(
        variables=variables,
        optimizer_state=optimizer.init(variables["params"]),
        actor=jax.tree.map(jnp.copy, variables) if gated else None,
        games=games,
        replay=empty_replay(row, config.replay.plies),
        key=key,
        cycle=jnp.zeros((), jnp.int32),
        updates=jnp.zeros((), jnp.int32),
    )


def _cycle(
    game: Game,
    network: Network,
    optimizer: optax.GradientTransformation,
    config: Config,
    unroll: int,
    state: TrainState,
) -> tuple[TrainState, Metrics]:
    """Self-play and updates on one device's share of the games; metrics are global."""
    key = jax.random.fold_in(state.key, 2 * state.cycle)
    key = jax.random.fold_in(key, jax.lax.axis_index(AXIS))
    play_key, learn_key = jax.random.split(key)
    actor = state.variables if state.actor is None else state.actor
    evaluate = network_evaluate(game, network)
    games, rows, sums = play(game, evaluate, actor, play_key, state.games, config)
    replay = append(state.replay, rows)
    targets, known = value_targets(replay)
    count = jnp.sum(known)
    sums |= {"positions": count.astype(jnp.float32), "devices": (count > 0).astype(jnp.float32)}
    names, values = zip(*sorted(sums.items()), strict=True)
    totals = jax.lax.psum(jnp.stack(values), AXIS)
    # The updates come after this sum, so that collectives never overlap: XLA's CPU backend blocks
    # a thread for each that is in flight, and runs out of threads where several are.
    totals, known = jax.lax.optimization_barrier((totals, known))
    sums = dict(zip(names, totals, strict=True))
    # Computed alike on all devices, each of which must have something to draw from.
    everywhere = sums["devices"] == jax.lax.axis_size(AXIS)
    ready = (sums["positions"] >= config.replay.min_positions) & everywhere
    local_batch = config.learning.batch_size // jax.lax.axis_size(AXIS)
    updates = config.learning.updates_per_cycle
    draw_key, *turn_keys = jax.random.split(learn_key, updates + 1)
    indices = draw_indices(draw_key, known, (updates, local_batch))

    def one_update(carry: tuple[Any, Any], step: tuple[Array, Array]) -> tuple[Any, Metrics]:
        indices, key = step
        batch = make_batch(
            game,
            key,
            take(replay, indices),
            targets.reshape(-1)[indices],
            symmetries=config.learning.symmetries,
        )
        *carry, losses = update(network, optimizer, config, *carry, batch)
        return tuple(carry), losses

    before = (state.variables, state.optimizer_state)
    after, losses = jax.lax.scan(one_update, before, (indices, jnp.stack(turn_keys)), unroll=unroll)
    # A selection rather than a condition: see `make_trainer` on XLA's CPU backend.
    variables, optimizer_state = jax.tree.map(lambda a, b: jnp.where(ready, a, b), after, before)
    metrics = {name: jnp.where(ready, jnp.mean(x), jnp.nan) for name, x in losses.items()}
    # Non-finite as soon as an update has thrown the parameters away; the losses tell a step later.
    metrics["param_norm"] = optax.tree.norm(variables["params"])
    metrics |= _play_metrics(config, sums)
    metrics |= {"replay/positions": sums["positions"], "updates": jnp.where(ready, updates, 0)}
    state = TrainState(
        variables=variables,
        optimizer_state=optimizer_state,
        actor=state.actor,
        games=games,
        replay=replay,
        key=state.key,
        cycle=state.cycle + 1,
        updates=state.updates + jnp.where(ready, updates, 0),
    )
    return state, metrics


def _play_metrics(config: Config, sums: Metrics) -> Metrics:
    """Means over the games that ended in this cycle; NaN where none did."""
    finished = sums["games_finished"]
    plies = config.selfplay.games * config.selfplay.plies_per_cycle
    return {
        "games_finished": finished,
        "plies": jnp.asarray(plies, jnp.float32),
        "game_length": sums["game_plies"] / finished,
        "draw_rate": sums["draws"] / finished,
        "first_player_score": 0.5 + 0.5 * sums["first_player_result"] / finished,
        "policy_entropy": sums["policy_entropy"] / plies,
    }


def _gate(
    game: Game, network: Network, config: Config, devices: int, state: TrainState
) -> tuple[TrainState, Metrics]:
    """AlphaGo Zero's evaluator: the newest network takes over self-play if it wins enough."""
    if state.actor is None:
        raise ValueError('there is nothing to gate where selfplay.parameters = "newest"')
    key = jax.random.fold_in(state.key, 2 * state.cycle + 1)
    key = jax.random.fold_in(key, jax.lax.axis_index(AXIS))
    player = functools.partial(SearchPlayer, game=game, network=network, config=config.search)
    scores, _ = match_scores(
        game,
        player(variables=state.variables),
        player(variables=state.actor),
        key,
        config.gate.games // (2 * devices),
        config.gate.opening_plies,
    )
    score = jax.lax.pmean(jnp.mean(scores), AXIS)
    passed = score >= config.gate.threshold
    actor = jax.tree.map(lambda new, old: jnp.where(passed, new, old), state.variables, state.actor)
    metrics = {"gate/score": score, "gate/passed": passed.astype(jnp.float32)}
    return TrainState(**{**vars(state), "actor": actor}), metrics
