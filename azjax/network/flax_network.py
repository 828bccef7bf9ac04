"""Networks made of Flax modules, nnx or linen."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen, nnx

from azjax.errors import UserError
from azjax.network.network import Network, Prediction, Variables
from azjax.network.nnx_arrays import ModuleNetwork, plain_dicts, split, typed_key
from azjax.pytrees import check_key
from azjax.types import Array


def flax_network(
    make_module: Callable[..., Any], *, observation_shape: tuple[int, ...] | None = None
) -> Network:
    """Returns the network of a Flax module.

        azjax.flax_network(lambda rngs: Transformer(num_actions=7, rngs=rngs))

    The module maps observations, float32 [B, height, width, channels], to policy logits [B, A] and
    values: [B] or [B, 1] in [-1, 1], or [B, 3] logits of win, draw and loss. It may also return a
    `Prediction`. While it learns, an nnx module is in its mode `train()`, and a linen module whose
    `__call__` has an argument `train` gets `train=True`. Batch normalisation and dropout work.
    On several devices, each normalises by its own share of the batch, and the running statistics
    are averaged.

    Args:
      make_module: a function of `nnx.Rngs` that returns an nnx module, or a function without
        arguments that returns a linen module.
      observation_shape: the game's, for a linen module, which makes its parameters from an example.

    Raises:
      UserError: `make_module` returns no Flax module, or a linen module lacks its shape.
    """
    if inspect.signature(make_module).parameters:
        return NNXNetwork(make_module)
    module = make_module()
    if not isinstance(module, linen.Module):
        raise UserError(
            "flax_network needs a function of rngs that returns an nnx module, or a function "
            f"without arguments that returns a linen module; it returned a {type(module).__name__}"
        )
    if observation_shape is None:
        raise UserError(
            "a linen module needs flax_network(..., observation_shape=(h, w, channels))"
        )
    return LinenNetwork(module, tuple(observation_shape))


@dataclass(frozen=True)
class NNXNetwork(ModuleNetwork):
    """The network of an nnx module of the user's own."""

    make_module: Callable[[nnx.Rngs], Any]

    def apply(self, variables: Variables, observations: Array) -> Prediction:
        module = self.module(variables)
        module.eval()
        return prediction_of(module(observations))

    def apply_train(
        self, variables: Variables, observations: Array, key: Array
    ) -> tuple[Prediction, dict[str, Any]]:
        module = self.module(variables, key)
        module.train()
        prediction = prediction_of(module(observations))
        return prediction, plain_dicts(split(module)[3])

    def make(self, key: Array) -> nnx.Module:
        module = self.make_module(nnx.Rngs(typed_key(key)))
        if not isinstance(module, nnx.Module):
            raise UserError(
                "flax_network: a function of rngs must return an nnx module, not a "
                f"{type(module).__name__}"
            )
        return module


@dataclass(frozen=True)
class LinenNetwork(Network):
    """The network of a linen module."""

    module: linen.Module
    observation_shape: tuple[int, ...]

    def init(self, key: Array) -> Variables:
        """Returns new variables: the collection "params", and all others as statistics."""
        check_key(key)
        params_key, dropout_key = jax.random.split(key)
        rngs = {"params": params_key, "dropout": dropout_key}
        example = jnp.zeros((1, *self.observation_shape), jnp.float32)
        variables = dict(self.module.init(rngs, example, **self._mode(train=False)))
        return {"params": variables.pop("params"), "stats": variables}

    def apply(self, variables: Variables, observations: Array) -> Prediction:
        arrays = {"params": variables["params"], **variables["stats"]}
        return prediction_of(self.module.apply(arrays, observations, **self._mode(train=False)))

    def apply_train(
        self, variables: Variables, observations: Array, key: Array
    ) -> tuple[Prediction, dict[str, Any]]:
        arrays = {"params": variables["params"], **variables["stats"]}
        outputs, stats = self.module.apply(
            arrays,
            observations,
            **self._mode(train=True),
            rngs={"dropout": key},
            mutable=list(variables["stats"]),
        )
        return prediction_of(outputs), dict(stats)

    def _mode(self, *, train: bool) -> dict[str, Any]:
        takes = inspect.signature(self.module.__call__).parameters
        return {"train": train} if "train" in takes else {}


def prediction_of(outputs: Any) -> Prediction:
    """Returns the outputs of a module as a prediction, in float32."""
    if isinstance(outputs, Prediction):
        return outputs
    if not isinstance(outputs, tuple | list) or len(outputs) != 2:
        shapes = jax.tree.map(lambda x: list(jnp.shape(x)), outputs)
        raise UserError(
            "a network's module must return (policy logits [B, A], value [B], [B, 1] or [B, 3]), "
            f"not {type(outputs).__name__} of shapes {shapes}"
        )
    logits, value = (jnp.asarray(x, jnp.float32) for x in outputs)
    if value.ndim == 2 and value.shape[-1] == 3:
        chances = jax.nn.softmax(value)
        return Prediction(logits, value, chances[:, 0] - chances[:, 2])
    value = value.reshape(value.shape[:1]) if value.shape[1:] in ((), (1,)) else value
    return Prediction(logits, value[..., None], value)
