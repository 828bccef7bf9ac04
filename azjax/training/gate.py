"""The gate: a match that decides which network plays (AlphaGo Zero, Silver et al. 2017)."""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp

from azjax.matches import match_scores
from azjax.network.network import Variables
from azjax.search.search import Exploration
from azjax.sharding import AXIS
from azjax.training.state import Experiment, TrainState
from azjax.types import Array, Metrics, State

# Neither network is random: without random plies all games would be the same.
_OPENING_PLIES = 2


def gate(experiment: Experiment, state: TrainState) -> tuple[TrainState, Metrics]:
    """Plays the latest network against the gated one; replaces that if the score is high enough.

    Call it under `shard_map` over `sharding.AXIS`: each device plays its share of the games.

    Raises:
      ValueError: the run has no gate.
    """
    if state.gated is None:
        raise ValueError('a gate needs selfplay.actor = "gated", but it is "latest"')
    config = experiment.config
    key = jax.random.fold_in(state.key, 2 * state.cycle + 1)
    key = jax.random.fold_in(key, jax.lax.axis_index(AXIS))
    scores, _, _ = match_scores(
        experiment.game,
        functools.partial(_act, experiment, state.learner.variables),
        functools.partial(_act, experiment, state.gated),
        key,
        config.gate.games // (2 * jax.lax.axis_size(AXIS)),
        _OPENING_PLIES,
    )
    score = jax.lax.pmean(jnp.mean(scores), AXIS)
    passed = score >= config.gate.threshold
    gated = jax.tree.map(
        lambda new, old: jnp.where(passed, new, old), state.learner.variables, state.gated
    )
    metrics = {"gate/score": score, "gate/passed": passed.astype(jnp.float32)}
    return replace(state, gated=gated), metrics


def _act(experiment: Experiment, variables: Variables, key: Array, states: State) -> Array:
    """Returns the moves of a network's search without noise in states [B, ...], int32 [B]."""
    found = experiment.search(
        experiment.game,
        experiment.evaluate,
        variables,
        key,
        states,
        config=experiment.config.search,
        exploration=Exploration(),
    )
    return found.action
