"""Learning: AlphaZero's loss, its optimizer, and one update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import optax
import optax.contrib
from azjax_envs import Game

from azjax.config import Config, LearningConfig
from azjax.learning.state import LearnerState
from azjax.learning.symmetries import random_symmetries
from azjax.network.network import Network, Prediction, Variables
from azjax.pytrees import batch_size, check_array, check_key
from azjax.replay.auxiliary import AuxiliaryTargets, masked_squared_error
from azjax.replay.buffer import Transition, unpack_policy
from azjax.replay.compact_states import restore_unobserved
from azjax.replay.targets import expected_result
from azjax.search.model import mask_logits
from azjax.sharding import AXIS
from azjax.types import Array, Metrics


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    """N examples, from the mover's perspective."""

    observations: Array  # float32 [N, height, width, channels]
    masks: Array  # bool [N, A], legal actions
    policy: Array  # float32 [N, A]
    outcome: Array  # float32 [N, 3], chances of a win, a draw and a loss
    auxiliary: AuxiliaryTargets | None


def make_batch(
    game: Game,
    key: Array,
    transitions: Transition,
    outcome: Array,
    auxiliary: AuxiliaryTargets | None = None,
    *,
    symmetries: bool,
) -> Batch:
    """Makes a batch of stored plies.

    Args:
      game: the game.
      key: PRNG key, for the symmetries.
      transitions: stored plies [N, ...].
      outcome: value targets, float32 [N, 3]; see `azjax.replay.targets`.
      auxiliary: auxiliary targets [N, ...], where the network learns them.
      symmetries: whether to transform each position by a random symmetry.

    Raises:
      ValueError: the arguments differ in their number of plies.
    """
    check_key(key)
    count = batch_size(transitions, name="transitions")
    check_array(outcome, (count, 3), float, name="outcome")
    states = restore_unobserved(game, transitions.states)
    observations = jax.vmap(game.observe)(states)
    masks = jax.vmap(game.legal_action_mask)(states)
    policy = unpack_policy(transitions.policy, game.num_actions)
    if symmetries:
        ownership = None if auxiliary is None else auxiliary.ownership
        observations, policy, masks, ownership = random_symmetries(
            game, key, observations, policy, masks, ownership
        )
        if auxiliary is not None:
            auxiliary = AuxiliaryTargets(score=auxiliary.score, ownership=ownership)
    return Batch(observations, masks, policy, outcome, auxiliary)


def policy_loss(logits: Array, masks: Array, target: Array) -> Array:
    """Returns the cross-entropy [N] between the search's policy and the network's.

    Args:
      logits: float32 [N, A].
      masks: legal actions, bool [N, A]; illegal ones do not count.
      target: the search's policy, float32 [N, A].
    """
    log_policy = jax.nn.log_softmax(mask_logits(logits, masks))
    return -jnp.sum(jnp.where(masks, target * log_policy, 0.0), axis=-1)


def value_loss(prediction: Prediction, outcome: Array) -> Array:
    """Returns the value error [N]: squared (AlphaZero), or cross-entropy over win, draw and loss.

    Args:
      prediction: the network's output for N positions.
      outcome: chances of a win, a draw and a loss, float32 [N, 3]. A scalar head learns the
        expected result.
    """
    if prediction.value_logits.shape[-1] == 1:
        return jnp.square(prediction.value - expected_result(outcome))
    return -jnp.sum(outcome * jax.nn.log_softmax(prediction.value_logits), axis=-1)


def learning_rate_schedule(config: LearningConfig, total_updates: int) -> optax.Schedule:
    """Returns the learning rate by update: a linear warm-up, then the chosen schedule."""
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
    """Returns gradient clipping, then SGD with momentum or AdamW under the schedule."""
    rate = learning_rate_schedule(config, total_updates)
    if config.optimizer == "sgd":
        rule = optax.sgd(rate, momentum=config.momentum)
    else:
        rule = optax.adamw(rate, weight_decay=config.weight_decay, mask=_decayed)
    return optax.chain(optax.clip_by_global_norm(config.clip_norm), rule)


def _decayed(params: Any) -> Any:
    """Returns which parameters decay: kernels, but neither biases nor the norms' scales."""
    return jax.tree.map(lambda x: x.ndim > 1, params)


def init_learner(variables: Variables, optimizer: optax.GradientTransformation) -> LearnerState:
    """Returns the learner's state before the first update."""
    return LearnerState(
        variables=variables,
        optimizer_state=optimizer.init(variables["params"]),
        num_updates=jnp.zeros((), jnp.int32),
    )


def update(
    network: Network,
    optimizer: optax.GradientTransformation,
    config: Config,
    learner: LearnerState,
    batch: Batch,
) -> tuple[LearnerState, Metrics]:
    """Makes one gradient step; call it under `shard_map` over `sharding.AXIS`.

    Args:
      network: the network.
      optimizer: see `make_optimizer`.
      config: the loss weights.
      learner: equal on all devices.
      batch: this device's share of the batch.

    Returns:
      The learner after the step, equal on all devices, and the losses' means over the whole batch.

    Raises:
      ValueError: an array of the batch has a wrong shape or dtype.
    """
    _check(network, batch)
    learning, variables = config.learning, learner.variables

    def loss_fn(params: Any) -> tuple[Array, tuple[Any, Metrics]]:
        prediction, stats = network.apply_train(
            {"params": params, "stats": variables["stats"]}, batch.observations
        )
        policy = jnp.mean(policy_loss(prediction.policy_logits, batch.masks, batch.policy))
        value = jnp.mean(value_loss(prediction, batch.outcome))
        squares = jnp.asarray(sum(jnp.sum(jnp.square(x)) for x in jax.tree.leaves(params)))
        penalty = learning.l2 * squares
        total = policy + learning.value_weight * value + penalty
        more = _auxiliary_losses(prediction, batch.auxiliary)
        total += sum(getattr(learning, f"{name}_weight") * x for name, x in more.items())
        error = prediction.value - expected_result(batch.outcome)
        right = jnp.mean((jnp.abs(error) < 0.5).astype(jnp.float32))
        losses = {
            "train/loss": total,
            "train/policy_loss": policy,
            "train/value_loss": value,
            "train/l2_penalty": penalty,
            "train/value_accuracy": right,
        }
        losses |= {f"train/{name}_loss": x for name, x in more.items()}
        return total, (stats, losses)

    gradient, (stats, losses) = jax.grad(loss_fn, has_aux=True)(variables["params"])
    own_stats = None if network.shared_statistics else stats
    gradient, losses, mean_stats = mean_over_devices((gradient, losses, own_stats))
    stats = stats if mean_stats is None else mean_stats
    losses["train/grad_norm"] = optax.tree.norm(gradient)
    change, optimizer_state = optimizer.update(
        gradient, learner.optimizer_state, variables["params"]
    )
    variables = {"params": optax.apply_updates(variables["params"], change), "stats": stats}
    learner = LearnerState(
        variables=variables,
        optimizer_state=optimizer_state,
        num_updates=learner.num_updates + 1,
    )
    return learner, losses


def mean_over_devices(tree: Any) -> Any:
    """Returns the mean of every array over all devices; call it under `shard_map` over AXIS."""

    def one_collective(tree: Any) -> Any:
        # XLA's CPU backend blocks a thread for each collective in flight, and runs out of threads
        # if there are several.
        flat, unravel = jax.flatten_util.ravel_pytree(tree)
        return unravel(jax.lax.pmean(flat, AXIS))

    def collectives(tree: Any) -> Any:
        # Accelerators store a kernel in another order than a flat array. XLA joins these itself.
        return jax.lax.pmean(tree, AXIS)

    return jax.lax.platform_dependent(tree, cpu=one_collective, default=collectives)


def _check(network: Network, batch: Batch) -> None:
    """Checks the batch of `update` while it is traced."""
    count, actions = batch_size(batch, name="batch"), network.num_actions
    check_array(batch.masks, (count, actions), jnp.bool_, name="batch.masks")
    check_array(batch.policy, (count, actions), float, name="batch.policy")
    check_array(batch.outcome, (count, 3), float, name="batch.outcome")


def _auxiliary_losses(prediction: Prediction, targets: AuxiliaryTargets | None) -> Metrics:
    if targets is None:
        return {}
    return {
        name: masked_squared_error(getattr(prediction, name), target)
        for name, target in vars(targets).items()
        if target is not None
    }
