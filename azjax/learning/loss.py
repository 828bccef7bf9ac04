"""AlphaZero's loss, and the interface of a loss of one's own."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from azjax.config import Config
from azjax.config.own_parts import call_own, own_part
from azjax.learning.batch import Batch
from azjax.network.network import Prediction
from azjax.replay.auxiliary import AuxiliaryTargets, masked_squared_error
from azjax.replay.targets import expected_result
from azjax.search.model import mask_logits
from azjax.types import Array, Metrics

Loss = Callable[[Prediction, Batch], tuple[Array, Metrics]]
"""(prediction, batch) -> (loss float32 [], metrics float32 []), means over the batch. The metrics
are logged as "train/NAME"."""

_AUXILIARY_WEIGHT = 0.5


def alphazero_loss(prediction: Prediction, batch: Batch) -> tuple[Array, Metrics]:
    """Returns AlphaZero's loss, the default of a run, and its parts.

    It is the policy's cross-entropy plus the value's error (Silver et al. 2017), plus half the
    errors of the score and of the ownership where the network predicts them (Wu 2019). A loss with
    a term more calls it:

        def loss(prediction, batch):
            total, metrics = azjax.alphazero_loss(prediction, batch)
            extra = jnp.mean(jax.nn.logsumexp(prediction.policy_logits, axis=-1) ** 2)
            return total + 1e-3 * extra, metrics | {"z_loss": extra}
    """
    policy = jnp.mean(policy_loss(prediction.policy_logits, batch.masks, batch.policy))
    value = jnp.mean(value_loss(prediction, batch.outcome))
    more = _auxiliary_losses(prediction, batch.auxiliary)
    total = policy + value + sum(_AUXILIARY_WEIGHT * x for x in more.values())
    error = prediction.value - expected_result(batch.outcome)
    metrics = {
        "policy_loss": policy,
        "value_loss": value,
        "value_accuracy": jnp.mean((jnp.abs(error) < 0.5).astype(jnp.float32)),
    }
    return total, metrics | {f"{name}_loss": x for name, x in more.items()}


def loss_of(config: Config, given: Loss | None = None) -> Loss:
    """Returns a run's loss: the given one, the one that the config names, or AlphaZero's."""
    key, name = "learning.loss", config.learning.loss
    own = own_part(name, given, key=key, argument="loss")
    if own is None:
        return alphazero_loss
    if given is not None:
        return own
    return call_own(own, config, options=config.learning.loss_options, key=key)


def policy_loss(logits: Array, masks: Array, target: Array) -> Array:
    """Returns the cross-entropy [N] between the search's policy and the network's.

    All are [N, A]; illegal actions, where `masks` is False, do not count.
    """
    log_policy = jax.nn.log_softmax(mask_logits(logits, masks))
    return -jnp.sum(jnp.where(masks, target * log_policy, 0.0), axis=-1)


def value_loss(prediction: Prediction, outcome: Array) -> Array:
    """Returns the value error [N]: squared (AlphaZero), or cross-entropy over win, draw and loss.

    A scalar head learns the expected result of the outcomes, float32 [N, 3].
    """
    if prediction.value_logits.shape[-1] == 1:
        return jnp.square(prediction.value - expected_result(outcome))
    return -jnp.sum(outcome * jax.nn.log_softmax(prediction.value_logits), axis=-1)


def _auxiliary_losses(prediction: Prediction, targets: AuxiliaryTargets | None) -> Metrics:
    if targets is None:
        return {}
    return {
        name: masked_squared_error(getattr(prediction, name), target)
        for name, target in vars(targets).items()
        if target is not None
    }
