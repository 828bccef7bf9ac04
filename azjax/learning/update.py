"""Learning: AlphaZero's loss, its optimizer, and one update."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import optax
import optax.contrib
from azjax_envs import Game

from azjax.config import Config, LearningConfig
from azjax.learning.symmetries import random_symmetries
from azjax.network.network import Network, Prediction, Variables
from azjax.replay.auxiliary import AuxiliaryTargets, known_error
from azjax.replay.buffer import Row, unpack_policy
from azjax.replay.compact_states import restore_unseen
from azjax.search.model import mask_logits
from azjax.sharding import AXIS
from azjax.types import Array


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["observations", "masks", "policy", "value", "auxiliary"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Batch:
    """N examples, seen by the player to move."""

    observations: Array  # float32 [N, height, width, channels]
    masks: Array  # bool [N, A], legal actions
    policy: Array  # float32 [N, A]
    value: Array  # float32 [N], what followed
    auxiliary: AuxiliaryTargets | None


def make_batch(
    game: Game,
    key: Array,
    rows: Row,
    value: Array,
    auxiliary: AuxiliaryTargets | None = None,
    *,
    symmetries: bool,
) -> Batch:
    """Observes stored plies [N, ...], each under a random symmetry if wanted."""
    states = restore_unseen(game, rows.states)
    observations = jax.vmap(game.observe)(states)
    masks = jax.vmap(game.legal_action_mask)(states)
    policy = unpack_policy(rows.policy, game.num_actions)
    if symmetries:
        ownership = None if auxiliary is None else auxiliary.ownership
        observations, policy, masks, ownership = random_symmetries(
            game, key, observations, policy, masks, ownership
        )
        if auxiliary is not None:
            auxiliary = AuxiliaryTargets(score=auxiliary.score, ownership=ownership)
    return Batch(observations, masks, policy, value, auxiliary)


def policy_loss(logits: Array, masks: Array, target: Array) -> Array:
    """Cross-entropy [N] between the search's policy and the network's over legal actions."""
    log_policy = jax.nn.log_softmax(mask_logits(logits, masks))
    return -jnp.sum(jnp.where(masks, target * log_policy, 0.0), axis=-1)


def value_loss(prediction: Prediction, target: Array) -> Array:
    """Value error [N]: squared (AlphaZero), or cross-entropy over win, draw and loss.

    A value between the three, as of a search, is shared between the two beside it.
    """
    if prediction.value_logits.shape[-1] == 1:
        return jnp.square(prediction.value - target)
    win = jnp.maximum(target, 0.0)
    loss = jnp.maximum(-target, 0.0)
    outcome = jnp.stack([win, 1.0 - win - loss, loss], axis=-1)
    return -jnp.sum(outcome * jax.nn.log_softmax(prediction.value_logits), axis=-1)


def schedule(config: LearningConfig, total_updates: int) -> optax.Schedule:
    """The learning rate by update: a linear warm-up, then the chosen course."""
    peak, warmup = config.learning_rate, config.warmup_updates
    rest = max(total_updates - warmup, 1)
    if config.schedule == "cosine":
        course = optax.cosine_decay_schedule(peak, rest, alpha=config.final_fraction)
    elif config.schedule == "step":
        boundaries = {int(d * total_updates) - warmup: 0.1 for d in config.lr_drops}
        course = optax.piecewise_constant_schedule(peak, boundaries)
    else:
        course = optax.constant_schedule(peak)
    if warmup == 0:
        return course
    return optax.join_schedules([optax.linear_schedule(0.0, peak, warmup), course], [warmup])


def make_optimizer(config: LearningConfig, total_updates: int) -> optax.GradientTransformation:
    """Gradient clipping, then SGD with momentum, Muon or AdamW under the schedule."""
    rate = schedule(config, total_updates)
    if config.optimizer == "sgd":
        rule = optax.sgd(rate, momentum=config.momentum)
    elif config.optimizer == "muon":
        rule = optax.contrib.muon(
            rate,
            weight_decay=config.weight_decay,
            adam_weight_decay=config.weight_decay,
            consistent_rms=0.2,  # of a step; AdamW's is about as large (Liu et al. 2025)
            muon_weight_dimension_numbers=_as_matrices,
        )
    else:
        rule = optax.adamw(rate, weight_decay=config.weight_decay)
    return optax.chain(optax.clip_by_global_norm(config.clip_norm), rule)


def _as_matrices(params: Any) -> Any:
    """How Muon is to see each parameter: as a matrix, inputs by outputs, or not at all."""

    def as_matrix(x: Array) -> optax.contrib.MuonDimensionNumbers | None:
        inputs = tuple(range(x.ndim - 1))  # of a convolution with its window
        return optax.contrib.MuonDimensionNumbers(inputs, x.ndim - 1) if inputs else None

    return jax.tree.map(as_matrix, params)


def update(
    network: Network,
    optimizer: optax.GradientTransformation,
    config: Config,
    variables: Variables,
    optimizer_state: Any,
    batch: Batch,
) -> tuple[Variables, Any, dict[str, Array]]:
    """One gradient step on this device's share of a batch; call it under `shard_map`.

    Returns:
      The new variables and optimizer state, equal on all devices, and the losses' means over the
      whole batch.
    """

    def loss_fn(params: Any) -> tuple[Array, tuple[Any, dict[str, Array]]]:
        prediction, stats = network.apply_train(
            {"params": params, "stats": variables["stats"]}, batch.observations
        )
        policy = jnp.mean(policy_loss(prediction.policy_logits, batch.masks, batch.policy))
        value = jnp.mean(value_loss(prediction, batch.value))
        squares = sum(jnp.sum(jnp.square(x)) for x in jax.tree.leaves(params))
        penalty = config.learning.l2 * squares
        total = policy + config.learning.value_weight * value + penalty
        more = _auxiliary_losses(prediction, batch.auxiliary)
        total += sum(getattr(config.learning, f"{name}_weight") * x for name, x in more.items())
        right = jnp.mean((jnp.abs(prediction.value - batch.value) < 0.5).astype(jnp.float32))
        losses = {
            "loss/total": total,
            "loss/policy": policy,
            "loss/value": value,
            "loss/l2": penalty,
            "value_accuracy": right,
        }
        losses |= {f"loss/{name}": x for name, x in more.items()}
        return total, (stats, losses)

    gradient, (stats, losses) = jax.grad(loss_fn, has_aux=True)(variables["params"])
    # One collective for all: XLA's CPU backend blocks a thread for each that is in flight, and runs
    # out of threads where several may run at once. The statistics are the same everywhere already.
    flat, unravel = jax.flatten_util.ravel_pytree((gradient, losses))
    gradient, losses = unravel(jax.lax.pmean(flat, AXIS))
    losses["grad_norm"] = optax.tree.norm(gradient)
    change, optimizer_state = optimizer.update(gradient, optimizer_state, variables["params"])
    params = optax.apply_updates(variables["params"], change)
    return {"params": params, "stats": stats}, optimizer_state, losses


def moving_average(average: Any, newest: Any, updates: Array, *, decay: float) -> Any:
    """The average of the parameters after one update more; `updates` were made before.

    While these are few, the average reaches back over a tenth of them only: the random start would
    weigh on it for long.
    """
    keep = jnp.minimum(decay, (1.0 + updates) / (10.0 + updates))
    return jax.tree.map(lambda old, new: keep * old + (1 - keep) * new, average, newest)


def _auxiliary_losses(prediction: Prediction, targets: AuxiliaryTargets | None) -> dict[str, Array]:
    if targets is None:
        return {}
    return {
        name: known_error(getattr(prediction, name), target)
        for name, target in vars(targets).items()
        if target is not None
    }
