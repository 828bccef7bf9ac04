"""One training cycle: self-play and updates, as one pure function.

Each phase takes the training state and returns the next one.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.flatten_util
import jax.numpy as jnp
import optax

from azjax.learning.batch import Batch, make_batch
from azjax.learning.state import LearnerState
from azjax.learning.update import update
from azjax.means import mean
from azjax.pytrees import take
from azjax.replay.buffer import Transition
from azjax.replay.sampling import Sample
from azjax.selfplay import selfplay
from azjax.selfplay.league import Opponents, advance, league_metrics
from azjax.selfplay.resignation import decay_and_add, resignation_threshold
from azjax.sharding import AXIS
from azjax.training.state import Experiment, TrainState
from azjax.types import Array, Metrics

_BATCHES = 2**31  # the stream of keys of single updates; cycles and gates use lower numbers
_OPPONENTS = _BATCHES + 1  # the stream of keys that draw opponents


def train_cycle(
    experiment: Experiment, state: TrainState, examples: Sample | None = None
) -> tuple[TrainState, Metrics]:
    """Runs one device's share of a cycle; call it under `shard_map` over `sharding.AXIS`.

    Args:
      examples: [U, N, ...], of which the updates take N each in place of positions of self-play.

    Returns:
      The state after it, and the cycle's metrics, which are equal on all devices.
    """
    keys = cycle_keys(state)
    state, local_stats = self_play(experiment, state, keys)
    targets, stats = synchronise(compute_targets(experiment, state), local_stats)
    state, losses = learn(experiment, state, targets, stats, keys.learn, examples)
    state = calibrate_resignation(state, stats)
    state, results = advance_league(experiment, state, stats)
    metrics = losses | summarise(experiment, state, stats) | results
    return replace(state, cycle=state.cycle + 1), metrics


class CycleKeys(NamedTuple):
    """The PRNG keys of one cycle."""

    shared: Array  # the same on all devices
    self_play: Array
    learn: Array


class CycleStats(NamedTuple):
    """Sums over one cycle: of one device or, after `synchronise`, of all."""

    self_play: selfplay.SelfPlayStats
    positions: Array  # float32 [], positions of the buffer that can be learned from
    devices: Array  # float32 [], devices that have such a position


def cycle_keys(state: TrainState) -> CycleKeys:
    """Returns this device's keys of the cycle that begins with `state`."""
    shared = jax.random.fold_in(state.key, 2 * state.cycle)
    key = jax.random.fold_in(shared, jax.lax.axis_index(AXIS))
    # The numbers of the streams are part of every run on record.
    return CycleKeys(shared, jax.random.fold_in(key, 0), jax.random.fold_in(key, 2))


def self_play(
    experiment: Experiment, state: TrainState, keys: CycleKeys
) -> tuple[TrainState, selfplay.SelfPlayStats]:
    """Plays `selfplay.plies_per_cycle` plies of all games, and adds them to the replay buffer."""
    config = experiment.config
    threshold = None
    if state.resignation is not None:
        threshold, _ = resignation_threshold(
            state.resignation, false_positive_rate=config.selfplay.resign_false_positive_rate
        )
    games, transitions, stats = selfplay.play_plies(
        experiment.game,
        experiment.evaluate,
        experiment.network.for_inference(state.acting),
        keys.self_play,
        state.games,
        config,
        search=experiment.search,
        openings=experiment.openings,
        full_search_mask=selfplay.draw_full_search_mask(keys.shared, config.selfplay),
        resign_threshold=threshold,
        targets=experiment.targets,
        opponents=_opponents(experiment, state),
    )
    replay = experiment.replay.add(state.replay, transitions)
    return replace(state, games=games, replay=replay), stats


def _opponents(experiment: Experiment, state: TrainState) -> Opponents | None:
    """Returns the opponents of the league's games; None without a league."""
    if state.league is None:
        return None
    params = jax.vmap(experiment.network.for_inference)(state.league.active)
    return Opponents(params, state.league.newest)


def compute_targets(experiment: Experiment, state: TrainState) -> Any:
    """Computes the targets of every position in the replay buffer."""
    config = experiment.config
    results = experiment.replay.targets(
        state.replay,
        root_value_weight=config.learning.root_value_weight,
        max_games=config.replay.max_games // jax.lax.axis_size(AXIS),
    )
    return experiment.targets(experiment.game, state.replay, results)


def synchronise(targets: Any, stats: selfplay.SelfPlayStats) -> tuple[Any, CycleStats]:
    """Sums the statistics over all devices: the one collective before the updates."""
    count = jnp.sum(targets.valid)
    local = CycleStats(
        self_play=stats,
        positions=count.astype(jnp.float32),
        devices=(count > 0).astype(jnp.float32),
    )
    flat, unravel = jax.flatten_util.ravel_pytree(local)
    totals = jax.lax.psum(flat, AXIS)
    # The updates depend on this sum, so collectives never overlap. XLA's CPU backend blocks a
    # thread for each collective in flight, and runs out of threads if there are several.
    totals, targets = jax.lax.optimization_barrier((totals, targets))
    return targets, unravel(totals)


def learn(
    experiment: Experiment,
    state: TrainState,
    targets: Any,
    stats: CycleStats,
    key: Array,
    examples: Sample | None = None,
) -> tuple[TrainState, Metrics]:
    """Makes the updates of a cycle; none while the buffer holds too few positions."""
    config = experiment.config
    updates, devices = config.learning.updates_per_cycle, jax.lax.axis_size(AXIS)
    draw_key, *symmetry_keys = jax.random.split(key, updates + 1)
    share = config.learning.batch_size // devices
    if examples is not None:
        share -= examples.outcome.shape[1]
    drawn = experiment.replay.sample(state.replay, targets, draw_key, updates * share)
    samples = jax.tree.map(lambda x: x.reshape(updates, share, *x.shape[1:]), drawn)
    if examples is not None:
        # Recorded games lack what the buffer keeps of a game's end.
        played = replace(samples, transitions=replace(samples.transitions, recorded={}))
        samples = jax.tree.map(lambda *x: jnp.concatenate(x, axis=1), played, examples)
    # The same on all devices. Every device must have positions to draw from.
    ready = (stats.positions >= config.replay.min_positions) & (stats.devices == devices)
    # A loop of no steps: on a GPU, both branches of a condition would copy all parameters.
    count = jnp.where(ready, updates, 0)
    return make_updates(experiment, state, samples, jnp.stack(symmetry_keys), count)


def learn_cycle(
    experiment: Experiment, state: TrainState, samples: Sample
) -> tuple[TrainState, Metrics]:
    """Makes a cycle's updates on given examples, this device's share [U, N, ...], without games."""
    updates = samples.outcome.shape[0]
    _, *symmetry_keys = jax.random.split(cycle_keys(state).learn, updates + 1)
    state, metrics = make_updates(
        experiment, state, samples, jnp.stack(symmetry_keys), jnp.int32(updates)
    )
    return replace(state, cycle=state.cycle + 1), metrics


def add_plies(
    experiment: Experiment, state: TrainState, transitions: Transition
) -> tuple[TrainState, Metrics]:
    """Adds plies of recorded games to the replay buffer, this device's share [T, B, ...]."""
    return replace(state, replay=experiment.replay.add(state.replay, transitions)), {}


def learn_batch(
    experiment: Experiment, state: TrainState, batch: Batch
) -> tuple[TrainState, Metrics]:
    """Makes one update on any batch, this device's share [N, ...]."""
    key = jax.random.fold_in(jax.random.fold_in(state.key, _BATCHES), state.learner.num_updates)
    key = jax.random.fold_in(key, jax.lax.axis_index(AXIS))
    learner, losses = update(
        experiment.network, experiment.optimizer, experiment.loss, state.learner, batch, key
    )
    return replace(state, learner=learner), losses


def make_updates(
    experiment: Experiment, state: TrainState, samples: Sample, keys: Array, count: Array
) -> tuple[TrainState, Metrics]:
    """Makes the first `count` updates on samples [U, N, ...], with keys [U, 2] for symmetries."""
    config = experiment.config

    def one_update(step: Array, learner: LearnerState) -> tuple[LearnerState, Metrics]:
        sample, key = take((samples, keys), step)
        batch = make_batch(experiment.game, key, sample, symmetries=config.learning.symmetries)
        return update(
            experiment.network,
            experiment.optimizer,
            experiment.loss,
            learner,
            batch,
            jax.random.fold_in(key, 1),  # the batch's symmetries use `key` itself
        )

    def update_and_sum(step: Array, done: tuple[LearnerState, Metrics]) -> tuple[Any, Metrics]:
        learner, losses = one_update(step, done[0])
        return learner, jax.tree.map(jnp.add, done[1], losses)

    losses = jax.eval_shape(one_update, count, state.learner)[1]
    start = (state.learner, jax.tree.map(jnp.zeros_like, losses))
    with jax.named_scope("updates"):
        learner, sums = jax.lax.fori_loop(0, count, update_and_sum, start)
    metrics = jax.tree.map(lambda x: mean(x, count), sums)
    metrics["train/updates"] = count
    if experiment.learning_rate is not None:  # of the next update
        rate = experiment.learning_rate(learner.num_updates)
        metrics["train/learning_rate"] = jnp.asarray(rate, jnp.float32)
    # This shows at once that an update has ruined the parameters; the losses show it a step later.
    metrics["train/param_norm"] = optax.tree.norm(learner.variables["params"])
    return replace(state, learner=learner), metrics


def calibrate_resignation(state: TrainState, stats: CycleStats) -> TrainState:
    """Adds the finished games of a cycle to the statistics that set the resignation threshold."""
    new = stats.self_play.resignation
    if state.resignation is None or new is None:
        return state
    return replace(state, resignation=decay_and_add(state.resignation, new))


def advance_league(
    experiment: Experiment, state: TrainState, stats: CycleStats
) -> tuple[TrainState, Metrics]:
    """Returns the state whose pool is that of the next cycle, and the results against members."""
    config, results = experiment.config.league, stats.self_play.league
    if state.league is None or results is None:
        return state, {}
    key = jax.random.fold_in(jax.random.fold_in(state.key, _OPPONENTS), state.cycle)
    league = advance(config, state.league, state.acting, state.cycle + 1, results, key)
    return replace(state, league=league), league_metrics(config, state.league, results)


def summarise(experiment: Experiment, state: TrainState, stats: CycleStats) -> Metrics:
    """Returns the metrics of self-play: means over the games that ended; NaN if none did."""
    config, sums = experiment.config.selfplay, stats.self_play
    finished = sums.games_finished
    plies = config.parallel_games * config.plies_per_cycle
    metrics = {
        "selfplay/games_finished": finished,
        "selfplay/plies": jnp.asarray(plies, jnp.float32),
        "selfplay/game_length": mean(sums.game_plies, finished),
        "selfplay/draw_rate": mean(sums.draws, finished),
        "selfplay/first_player_score": 0.5 + mean(0.5 * sums.first_player_result, finished),
        "selfplay/policy_entropy": mean(sums.policy_entropy, sums.learned_plies),
        "replay/positions": stats.positions,
    }
    if state.resignation is not None and sums.resigned is not None:
        threshold, rate = resignation_threshold(
            state.resignation, false_positive_rate=config.resign_false_positive_rate
        )
        metrics |= {
            "selfplay/resign_threshold": threshold,
            "selfplay/resign_false_positive_rate": rate,
            "selfplay/resigned_fraction": mean(sums.resigned, finished),
        }
    return metrics
