"""AlphaZero's loss, and the interface of a loss of one's own."""

import functools
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from azjax_envs import Game

from azjax.config import Config
from azjax.config.custom_parts import call_custom, resolve_custom
from azjax.errors import UserError
from azjax.learning.batch import Batch, make_batch
from azjax.network.network import Network, Prediction
from azjax.network.nnx_arrays import variable_shapes
from azjax.network.results import WIN_DRAW_LOSS, Results, expected_result
from azjax.replay.sampling import Sample
from azjax.search.model import mask_logits
from azjax.types import Array, Metrics

Loss = Callable[[Prediction, Batch], tuple[Array, Metrics]]
"""(prediction, batch) -> (loss float32 [], metrics float32 []), means over the batch. The metrics
are logged as "train/NAME"."""

_WEIGHT = 0.5  # of the error of a target besides policy and value
_NO_WEIGHTS: Mapping[str, float] = {}


def alphazero_loss(
    prediction: Prediction,
    batch: Batch,
    *,
    weights: Mapping[str, float] = _NO_WEIGHTS,
    value_weight: Array | float = 1.0,
) -> tuple[Array, Metrics]:
    """Returns AlphaZero's loss, the default of a run, and its parts.

    It is the policy's cross-entropy plus the value's error (Silver et al. 2017), plus half the
    squared errors of further targets, such as score and ownership (Wu 2019). Errors are over what
    is known. `weights` has other weights by name; with 0 a target is left to a loss of your own,
    as one that is a policy. `value_weight` is that of the value's error. A loss with a term more
    calls it:

        def loss(prediction, batch):
            total, metrics = azjax.alphazero_loss(prediction, batch)
            extra = jnp.mean(jax.nn.logsumexp(prediction.policy_logits, axis=-1) ** 2)
            return total + 1e-3 * extra, metrics | {"z_loss": extra}
    """
    policy = jnp.mean(policy_loss(prediction.policy_logits, batch.masks, batch.policy))
    value = jnp.mean(value_loss(prediction, batch.outcome, batch.results))
    shares = {name: weights.get(name, _WEIGHT) for name in batch.targets}
    more = {
        name: _squared_error(name, prediction.extra[name], batch.targets[name])
        for name, share in shares.items()
        if isinstance(share, Array) or share
    }
    total = policy + value_weight * value + sum(shares[name] * x for name, x in more.items())
    error = prediction.value - expected_result(batch.outcome, batch.results)
    metrics = {
        "policy_loss": policy,
        "value_loss": value,
        "value_error": jnp.mean(error**2),
    }
    return total, metrics | {f"{name}_loss": x for name, x in more.items()}


def resolve_loss(config: Config, given: Loss | None = None) -> Loss:
    """Returns a run's loss: the given one, the one that the config names, or AlphaZero's."""
    key, name = "learning.loss", config.learning.loss
    own = resolve_custom(name, given, key=key, argument="loss")
    weight = config.learning.value_weight
    if own is None:
        return functools.partial(alphazero_loss, value_weight=weight)
    if isinstance(weight, Array) or weight != 1:
        raise UserError("learning.value_weight is of azjax's loss; a loss of your own has its own")
    if given is not None:
        return own
    return call_custom(own, config, options=config.learning.loss_options, key=key)


def check_targets(game: Game, network: Network, loss: Loss, sample: Sample) -> None:
    """Raises a UserError if the loss cannot compare targets with outputs; nothing is computed.

    Args:
      sample: shapes and dtypes of examples.
    """
    if not isinstance(sample.targets, dict) or not sample.targets:
        return
    key = jax.ShapeDtypeStruct((2,), jnp.uint32)
    made = functools.partial(make_batch, game, symmetries=False)
    batch = jax.eval_shape(made, key, sample)
    prediction = jax.eval_shape(network.apply, variable_shapes(network), batch.observations)
    for name in batch.targets:
        if name not in prediction.extra:
            others = ", ".join(map(repr, prediction.extra)) or "no more than policy and value"
            raise UserError(f"targets: the network has no output {name!r}; it has {others}")
    jax.eval_shape(loss, prediction, batch)


def policy_loss(logits: Array, masks: Array, target: Array) -> Array:
    """Returns the cross-entropy [N] between the search's policy and the network's.

    All are [N, A]; illegal actions, where `masks` is False, do not count.
    """
    log_policy = jax.nn.log_softmax(mask_logits(logits, masks))
    return -jnp.sum(jnp.where(masks, target * log_policy, 0.0), axis=-1)


def value_loss(prediction: Prediction, outcome: Array, results: Results = WIN_DRAW_LOSS) -> Array:
    """Returns the value error [N]: squared (AlphaZero), or cross-entropy over K results.

    A scalar head learns the expected result of the outcomes, float32 [N, K].
    """
    if prediction.value_logits.shape[-1] == 1:
        return jnp.square(prediction.value - expected_result(outcome, results))
    return -jnp.sum(outcome * jax.nn.log_softmax(prediction.value_logits), axis=-1)


def masked_squared_error(prediction: Array, target: Array) -> Array:
    """Returns the mean squared error over the targets that are not NaN; 0 if all are."""
    known = ~jnp.isnan(target)
    squares = jnp.where(known, jnp.square(prediction - jnp.where(known, target, 0.0)), 0.0)
    return jnp.sum(squares) / jnp.maximum(jnp.sum(known), 1)


def _squared_error(name: str, prediction: Array, target: Array) -> Array:
    if prediction.shape != target.shape:
        raise UserError(
            f"targets: {name} must have the shape {list(prediction.shape[1:])} of the network's "
            f"output for each position, given {list(target.shape[1:])}; for another error than "
            "the square, give a loss of your own"
        )
    return masked_squared_error(prediction, target)
