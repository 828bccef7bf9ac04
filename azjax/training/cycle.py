"""One training cycle: self-play, then updates, as one pure function; and the gate."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import optax
from azjax_envs import Game

from azjax.config import Config
from azjax.evaluation.match import match_scores
from azjax.learning.update import make_batch, moving_average, update
from azjax.network.network import Network
from azjax.players.network_players import SearchPlayer
from azjax.replay.auxiliary import auxiliary_targets
from azjax.replay.buffer import append, draw_indices, take
from azjax.replay.reanalyse import reanalyse
from azjax.replay.targets import Targets, find_targets
from azjax.search.model import network_evaluate
from azjax.selfplay.openings import Openings
from azjax.selfplay.resignation import Evidence, remember, threshold
from azjax.selfplay.selfplay import full_plies, play
from azjax.sharding import AXIS
from azjax.training.state import TrainState
from azjax.types import Array, Metrics


def one_cycle(
    game: Game,
    network: Network,
    optimizer: optax.GradientTransformation,
    config: Config,
    openings: Openings | None,
    state: TrainState,
) -> tuple[TrainState, Metrics]:
    """Self-play and updates on one device's share of the games; metrics are global."""
    shared_key = jax.random.fold_in(state.key, 2 * state.cycle)
    key = jax.random.fold_in(shared_key, jax.lax.axis_index(AXIS))
    play_key, reanalyse_key, learn_key = jax.random.split(key, 3)
    evaluate = network_evaluate(game, network)
    games, rows, sums = play(
        game,
        evaluate,
        state.player,
        play_key,
        state.games,
        config,
        openings=openings,
        full=full_plies(shared_key, config),
        **_resigning(config, state.evidence),
    )
    replay = append(state.replay, rows)
    devices = jax.lax.axis_size(AXIS)
    targets = find_targets(replay, config, devices=devices)
    count = jnp.sum(targets.known)
    if config.replay.reanalyse_positions:
        draw_key, search_key = jax.random.split(reanalyse_key)
        indices = draw_indices(
            draw_key, targets.known, (config.replay.reanalyse_positions // devices,)
        )
        newest = state.candidate
        replay = reanalyse(game, evaluate, newest, search_key, replay, indices, count > 0, config)
        targets = find_targets(replay, config, devices=devices)
    sums |= {"positions": count.astype(jnp.float32), "devices": (count > 0).astype(jnp.float32)}
    flat, unravel = jax.flatten_util.ravel_pytree(sums)
    totals = jax.lax.psum(flat, AXIS)
    # The updates come after this sum, so that collectives never overlap: XLA's CPU backend blocks
    # a thread for each that is in flight, and runs out of threads where several are.
    totals, targets = jax.lax.optimization_barrier((totals, targets))
    sums = unravel(totals)
    # Computed alike on all devices, each of which must have something to draw from.
    ready = (sums["positions"] >= config.replay.min_positions) & (sums["devices"] == devices)
    state = replace(state, games=games, replay=replay, cycle=state.cycle + 1)
    state, metrics = _learn(game, network, optimizer, config, state, targets, ready, learn_key)
    # Non-finite as soon as an update has thrown the parameters away; the losses tell a step later.
    metrics["param_norm"] = optax.tree.norm(state.variables["params"])
    metrics |= _play_metrics(config, sums) | {"replay/positions": sums["positions"]}
    if state.evidence is not None:
        evidence = remember(state.evidence, sums["evidence"])
        below, error = threshold(evidence, error=config.selfplay.resign_false_positive_rate)
        metrics |= {
            "resign/below": below,
            "resign/error": error,
            "resign/share": sums["resigned"] / sums["games_finished"],
        }
        state = replace(state, evidence=evidence)
    return state, metrics


def _learn(
    game: Game,
    network: Network,
    optimizer: optax.GradientTransformation,
    config: Config,
    state: TrainState,
    targets: Targets,
    ready: Array,
    key: Array,
) -> tuple[TrainState, Metrics]:
    """The updates of a cycle, on batches drawn from the window; none unless `ready`."""
    local_batch = config.learning.batch_size // jax.lax.axis_size(AXIS)
    updates = config.learning.updates_per_cycle
    draw_key, *turn_keys = jax.random.split(key, updates + 1)
    indices = draw_indices(draw_key, targets.known, (updates, local_batch))

    def one_update(carry: tuple[Any, ...], step: tuple[Array, ...]) -> tuple[Any, Metrics]:
        variables, average, optimizer_state = carry
        indices, key, done = step
        batch = make_batch(
            game,
            key,
            take(state.replay, indices),
            targets.value.reshape(-1)[indices],
            auxiliary_targets(state.replay, targets, indices),
            symmetries=config.learning.symmetries,
        )
        variables, optimizer_state, losses = update(
            network, optimizer, config, variables, optimizer_state, batch
        )
        if average is not None:
            average = moving_average(average, variables, done, decay=config.learning.ema_decay)
        return (variables, average, optimizer_state), losses

    before = (state.variables, state.average, state.optimizer_state)
    steps = (indices, jnp.stack(turn_keys), state.updates + jnp.arange(updates))

    def learn() -> tuple[Any, Metrics]:
        after, losses = jax.lax.scan(one_update, before, steps)
        return after, jax.tree.map(jnp.mean, losses)

    def wait() -> tuple[Any, Metrics]:
        return before, jax.tree.map(lambda x: jnp.full_like(x, jnp.nan), jax.eval_shape(learn)[1])

    (variables, average, optimizer_state), metrics = jax.lax.cond(ready, learn, wait)
    done = jnp.where(ready, updates, 0)
    metrics["updates"] = done
    state = replace(
        state,
        variables=variables,
        average=average,
        optimizer_state=optimizer_state,
        updates=state.updates + done,
    )
    return state, metrics


def _resigning(config: Config, evidence: Evidence | None) -> dict[str, Array]:
    if evidence is None:
        return {}
    return {
        "resign_below": threshold(evidence, error=config.selfplay.resign_false_positive_rate)[0]
    }


def _play_metrics(config: Config, sums: Metrics) -> Metrics:
    """Means over the games that ended in this cycle; NaN where none did."""
    finished = sums["games_finished"]
    plies = config.selfplay.parallel_games * config.selfplay.plies_per_cycle
    return {
        "games_finished": finished,
        "plies": jnp.asarray(plies, jnp.float32),
        "game_length": sums["game_plies"] / finished,
        "draw_rate": sums["draws"] / finished,
        "first_player_score": 0.5 + 0.5 * sums["first_player_result"] / finished,
        "policy_entropy": sums["policy_entropy"] / sums["searched"],
    }


def one_gate(
    game: Game, network: Network, config: Config, devices: int, state: TrainState
) -> tuple[TrainState, Metrics]:
    """AlphaGo Zero's evaluator: the candidate becomes the network that plays if it wins enough."""
    if state.actor is None:
        raise ValueError('there is nothing to gate where selfplay.actor = "latest"')
    key = jax.random.fold_in(state.key, 2 * state.cycle + 1)
    key = jax.random.fold_in(key, jax.lax.axis_index(AXIS))
    player = functools.partial(SearchPlayer, game=game, network=network, config=config.search)
    scores, _, _ = match_scores(
        game,
        player(variables=state.candidate),
        player(variables=state.actor),
        key,
        config.gate.games // (2 * devices),
        config.gate.opening_plies,
    )
    score = jax.lax.pmean(jnp.mean(scores), AXIS)
    passed = score >= config.gate.threshold
    actor = jax.tree.map(lambda new, old: jnp.where(passed, new, old), state.candidate, state.actor)
    metrics = {"gate/score": score, "gate/passed": passed.astype(jnp.float32)}
    return replace(state, actor=actor), metrics
