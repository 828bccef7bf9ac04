"""Networks made of Flax modules, nnx or linen."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen, nnx

from azjax.errors import UserError
from azjax.network.convolution import flax_convolution
from azjax.network.network import Network, Prediction, Variables
from azjax.network.nnx_arrays import ModuleNetwork, plain_dicts, split, typed_key
from azjax.pytrees import check_key
from azjax.types import Array


def flax_network(make_module: Any, *, observation_shape: tuple[int, ...] | None = None) -> Network:
    """Returns the network of a Flax module.

        azjax.flax_network(lambda rngs: Transformer(num_actions=7, rngs=rngs))

    The module maps observations, float32 [B, height, width, channels], to policy logits [B, A] and
    values: [B] or [B, 1] in [-1, 1], or [B, 3] logits of win, draw and loss. A third output may be
    a dict of more outputs [B, ...] by name, for targets of your own. It may also return a
    `Prediction`. While it learns, an nnx module is in its mode `train()`, and a linen module whose
    `__call__` has an argument `train` gets `train=True`. Batch normalisation and dropout work.
    On several devices, each normalises by its own share of the batch, and the running statistics
    are averaged.

    On a CPU, gradients of Flax's convolutions are slow inside a loop, as in training. So an
    `nnx.Conv` with its default options computes by `azjax.flax_convolution`. To a linen module
    hand that over yourself: `nn.Conv(..., conv_general_dilated=azjax.flax_convolution)`.

    Args:
      make_module: an nnx module's class, or a function of `nnx.Rngs` that returns a module; or a
        linen module, its class, or a function without arguments that returns one.
      observation_shape: the game's, for a linen module, which makes its parameters from an example.

    Raises:
      UserError: `make_module` makes no Flax module, it needs other arguments, or a linen module
        lacks its shape.
    """
    module = make_module
    if not isinstance(module, linen.Module | nnx.Module):
        if not callable(make_module):
            raise UserError(f"{_WANTED}, not a {type(make_module).__name__}")
        is_linen = _is_class(make_module, linen.Module)
        needed = _needed(make_module)
        if len(needed) > (not is_linen):
            name = getattr(make_module, "__name__", "Net")
            given = ", ".join("rngs=rngs" if x == "rngs" else f"{x}=..." for x in needed)
            raise UserError(
                f"flax_network: {name} needs {', '.join(needed)}; write "
                f"azjax.flax_network({'lambda' if is_linen else 'lambda rngs'}: {name}({given}))"
            )
        if not is_linen and _parameters(make_module):
            return NNXNetwork(make_module)
        module = make_module()
    if isinstance(module, nnx.Module):
        raise UserError(
            f"{_WANTED}: an nnx module is made anew from each key, so give its class or a function "
            f"of rngs, not a {type(module).__name__} that is made already"
        )
    if not isinstance(module, linen.Module):
        raise UserError(f"{_WANTED}; it returned a {type(module).__name__}")
    if observation_shape is None:
        raise UserError(
            "a linen module needs flax_network(..., observation_shape=(h, w, channels))"
        )
    return LinenNetwork(module, tuple(observation_shape))


_WANTED = (
    "flax_network needs a function of rngs that returns an nnx module, or a function without "
    "arguments that returns a linen module"
)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Returns the parameters of a function or a class; one that cannot be asked has `rngs`."""
    try:
        if isinstance(function, type) and _is_class(function, nnx.Module):  # which hide theirs
            return [*inspect.signature(function.__init__).parameters.values()][1:]
        return [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return [inspect.Parameter("rngs", inspect.Parameter.POSITIONAL_ONLY)]


def _is_class(function: Any, kind: type) -> bool:
    """Returns whether a function is a class of that kind, perhaps with some arguments given."""
    while isinstance(function, functools.partial):
        function = function.func
    return isinstance(function, type) and issubclass(function, kind)


def _needed(function: Callable[..., Any]) -> list[str]:
    """Returns the names of the arguments that a function or a class cannot do without."""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        parameter.name
        for parameter in _parameters(function)
        if parameter.default is inspect.Parameter.empty and parameter.kind not in several
    ]


def _uses_default_options(layer: nnx.Conv) -> bool:
    """Returns whether `flax_convolution` computes what a layer does: a plain 2D convolution."""
    size = layer.kernel_size
    return (
        layer.conv_general_dilated is jax.lax.conv_general_dilated
        and not isinstance(size, int)
        and len(size) == 2
        and size[0] == size[1]
        and size[0] % 2 == 1
        and layer.padding == "SAME"
        and all(option in (1, (1, 1), [1, 1]) for option in _strides(layer))
        and layer.feature_group_count == 1
        and layer.precision is None
        and layer.preferred_element_type is None
    )


def _strides(layer: nnx.Conv) -> tuple[Any, ...]:
    return (layer.strides, layer.input_dilation, layer.kernel_dilation)


@dataclass(frozen=True)
class NNXNetwork(ModuleNetwork):
    """The network of an nnx module of the user's own."""

    make_module: Callable[..., Any]

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
        rngs = nnx.Rngs(typed_key(key))
        by_name = any(parameter.name == "rngs" for parameter in _parameters(self.make_module))
        module = self.make_module(rngs=rngs) if by_name else self.make_module(rngs)
        if not isinstance(module, nnx.Module):
            raise UserError(
                "flax_network: a function of rngs must return an nnx module, not a "
                f"{type(module).__name__}"
            )
        for _, layer in nnx.iter_graph(module):
            if isinstance(layer, nnx.Conv) and _uses_default_options(layer):
                layer.conv_general_dilated = flax_convolution
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
    several = isinstance(outputs, tuple | list)
    extra = outputs[2] if several and len(outputs) == 3 else {}
    if not several or len(outputs) not in (2, 3) or not isinstance(extra, dict):
        shapes = jax.tree.map(lambda x: list(jnp.shape(x)), outputs)
        raise UserError(
            "a network's module must return (policy logits [B, A], value [B], [B, 1] or [B, 3]), "
            "and perhaps a dict of more outputs, "
            f"not {type(outputs).__name__} of shapes {shapes}"
        )
    logits, value = (jnp.asarray(x, jnp.float32) for x in outputs[:2])
    extra = {name: jnp.asarray(x, jnp.float32) for name, x in extra.items()}
    if value.ndim == 2 and value.shape[-1] == 3:
        chances = jax.nn.softmax(value)
        return Prediction(logits, value, chances[:, 0] - chances[:, 2], extra)
    value = value.reshape(value.shape[:1]) if value.shape[1:] in ((), (1,)) else value
    return Prediction(logits, value[..., None], value, extra)
