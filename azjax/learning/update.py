"""The optimizer, and one update of the network."""

from collections.abc import Callable
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import optax

from azjax.config import Config, LearningConfig
from azjax.config.custom_parts import call_custom, resolve_custom
from azjax.config.schema import OPTIMIZERS
from azjax.errors import UserError
from azjax.learning.batch import Batch
from azjax.learning.loss import Loss
from azjax.learning.state import LearnerState
from azjax.network.network import Network, Variables
from azjax.pytrees import check_array
from azjax.sharding import AXIS, in_shard
from azjax.types import Array, Metrics

Optimizer = optax.GradientTransformation | Callable[[optax.Schedule], optax.GradientTransformation]
"""An optimizer, or a function that makes one of the run's learning rate by update."""

_FINAL_FRACTION = 0.05  # of the peak, at the end of the cosine
_OWN_METRICS = ("loss", "grad_norm", "param_norm", "updates", "learning_rate")  # of `update`, cycle


def learning_rate_schedule(config: LearningConfig, total_updates: int) -> optax.Schedule:
    """Returns the learning rate by update: a linear warm-up, then the chosen schedule."""
    peak, warmup = config.learning_rate, config.warmup_updates
    rest = max(total_updates - warmup, 1)
    if config.schedule == "cosine":
        course = optax.cosine_decay_schedule(peak, rest, alpha=_FINAL_FRACTION)
    elif config.schedule == "step":
        boundaries: dict[int, float] = {}
        for drop in config.lr_drops:  # in a short run, several can fall on one update
            update = int(drop * total_updates) - warmup
            boundaries[update] = 0.1 * boundaries.get(update, 1.0)
        course = optax.piecewise_constant_schedule(peak, boundaries)
    else:
        course = optax.constant_schedule(peak)
    if warmup == 0:
        return course
    return optax.join_schedules([optax.linear_schedule(0.0, peak, warmup), course], [warmup])


def make_optimizer(config: LearningConfig, total_updates: int) -> optax.GradientTransformation:
    """Returns gradient clipping, then SGD with momentum or AdamW under the schedule."""
    rate = learning_rate_schedule(config, total_updates)
    # The gradient of the squared parameters in the loss. The losses in the log are without them.
    # In a sweep the weight may be traced, and then it may be anything.
    none = not isinstance(config.l2, Array) and config.l2 == 0
    penalty = [] if none else [optax.add_decayed_weights(2 * config.l2)]
    if config.optimizer == "sgd":
        rule = optax.sgd(rate, momentum=config.momentum)
    else:
        rule = optax.adamw(rate, weight_decay=config.weight_decay, mask=_decayed)
    return optax.chain(*penalty, optax.clip_by_global_norm(config.clip_norm), rule)


def resolve_optimizer(
    config: Config, given: Optimizer | None = None
) -> tuple[optax.GradientTransformation, optax.Schedule | None]:
    """Returns a run's optimizer, and its learning rate by update where that is known.

    The optimizer is the given one, or that of the config, which may name a user's.
    """
    learning, key = config.learning, "learning.optimizer"
    schedule = learning_rate_schedule(learning, config.total_updates)
    name = "" if learning.optimizer in OPTIMIZERS else learning.optimizer
    own = resolve_custom(name, given, key=key, argument="optimizer")
    if own is None:
        return make_optimizer(learning, config.total_updates), schedule
    if isinstance(own, optax.GradientTransformation):
        return own, None
    made = call_custom(own, schedule, options=learning.optimizer_options, key=key)
    if not isinstance(made, optax.GradientTransformation):
        raise UserError(f"the optimizer must be one of optax, not a {type(made).__name__}")
    return made, schedule


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
    loss: Loss,
    learner: LearnerState,
    batch: Batch,
    key: Array,
) -> tuple[LearnerState, Metrics]:
    """Makes one gradient step.

    Under `shard_map` over `sharding.AXIS`, the batch is this device's share, and so is the key, for
    networks with dropout. Returns the
    learner after the step, equal on all devices, and the losses' means over the whole batch.
    """
    variables = learner.variables

    def loss_fn(params: Any) -> tuple[Array, tuple[Any, Metrics]]:
        prediction, stats = network.apply_train(
            {"params": params, "stats": variables["stats"]}, batch.observations, key
        )
        total, metrics = loss(prediction, batch)
        return total, (stats, {"train/loss": total} | _named(metrics))

    gradient, (stats, losses) = jax.grad(loss_fn, has_aux=True)(variables["params"])
    own = (
        None if network.shared_statistics else jax.tree.map(lambda x: x.astype(jnp.float32), stats)
    )
    gradient, losses, mean_stats = mean_over_devices((gradient, losses, own))
    if mean_stats is not None:
        stats = jax.tree.map(lambda mean, x: mean.astype(x.dtype), mean_stats, stats)
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


def _named(metrics: Metrics) -> Metrics:
    """Returns the metrics of a loss by their names in the log."""
    for name, value in metrics.items():
        if name in _OWN_METRICS:
            raise ValueError(f"a loss cannot return the metric {name!r}, which training itself has")
        check_array(value, (), float, name=f"the loss's metric {name!r}")
    return {f"train/{name}": value for name, value in metrics.items()}


def mean_over_devices(tree: Any) -> Any:
    """Returns the mean of every array over all devices, under `shard_map` over `sharding.AXIS`.

    Outside of it there is only one device, so the arrays stay as they are.
    """
    if not in_shard():
        return tree

    def one_collective(tree: Any) -> Any:
        # XLA's CPU backend blocks a thread for each collective in flight, and runs out of threads
        # if there are several. Eight H100s make an update of connect four in an estimated 77% of
        # the time so, and one takes as long by either form.
        flat, unravel = jax.flatten_util.ravel_pytree(tree)
        return unravel(jax.lax.pmean(flat, AXIS))

    def collectives(tree: Any) -> Any:
        # A TPU stores a kernel in another order than a flat array. Four v5e make the same update in
        # an estimated 67% of the time so. XLA joins these collectives itself.
        return jax.lax.pmean(tree, AXIS)

    return jax.lax.platform_dependent(tree, tpu=collectives, default=one_collective)
