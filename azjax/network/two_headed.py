"""The two-headed network: a trunk with a policy head and a value head."""

import functools
import itertools
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from azjax_envs import Game
from flax import nnx

from azjax.config import NetworkConfig
from azjax.devices import bfloat16_is_slow
from azjax.errors import UserError
from azjax.network.dense_product import dense_product, few_rows_product
from azjax.network.inference import InferenceVariables, inference_variables
from azjax.network.network import Network, Prediction, Variables
from azjax.network.nnx_arrays import ModuleNetwork, plain_dicts, typed_key
from azjax.network.results import WIN_DRAW_LOSS, Results, expected_result, told_apart
from azjax.network.trunks import Conv, make_trunk
from azjax.pytrees import check_array
from azjax.sharding import in_shard
from azjax.types import Array


@dataclass(frozen=True)
class TwoHeadedNetwork(ModuleNetwork):
    """The network that a config describes, for observations (height, width, channels).

    If `shared_statistics`, `apply_train` normalises by the statistics of all devices' batches, so
    that N devices compute what one does. Otherwise each device uses its own.

    Raises:
      UserError: the policy head has planes, but the number of actions is not a multiple of the
      number of cells.
    """

    observation_shape: tuple[int, int, int]
    num_actions: int
    config: NetworkConfig
    shared_statistics: bool = True
    results: Results = WIN_DRAW_LOSS  # which the value head tells apart, if it is of results

    def __post_init__(self) -> None:
        height, width, _ = self.observation_shape
        if self.config.policy_head == "planes" and self.num_actions % (height * width):
            raise UserError(
                'network.policy_head = "planes" needs the same number of actions for each of the '
                f'{height} x {width} cells, but the game has {self.num_actions}; use "dense"'
            )

    def make(self, key: Array) -> nnx.Module:
        return _TwoHeads(self, _ParameterKeys(key))

    def apply(self, variables: Variables | InferenceVariables, observations: Array) -> Prediction:
        """Returns the predictions for B positions, see `Network`.

        Raises:
          ValueError: the observations or the variables have other shapes than this network's.
        """
        self._check_observations(observations)
        network = self
        if isinstance(variables, InferenceVariables):
            if self.config.norm == "batch":  # which is part of other layers now
                network = replace(self, config=replace(self.config, norm="none"))
            variables = {"params": variables.params, "stats": {}}
        return network.module(variables)(observations, train=False)

    def for_inference(self, variables: Variables) -> InferenceVariables:
        """Returns variables for predictions alone, which are the same but for rounding."""
        return inference_variables(self.module(variables))

    def apply_train(
        self, variables: Variables, observations: Array, key: Array
    ) -> tuple[Prediction, dict[str, Any]]:
        del key
        self._check_observations(observations)
        module = self.module(variables)
        if not (self.shared_statistics and in_shard()):
            module.set_attributes(nnx.BatchNorm, axis_name=None, raise_if_not_found=False)
        prediction = module(observations, train=True)
        stats = nnx.state(module, nnx.filterlib.Not(nnx.Param))
        return prediction, plain_dicts(stats)

    def _check_observations(self, observations: Array) -> None:
        check_array(observations, ("B", *self.observation_shape), float, name="observations")


def make_network(game: Game, config: NetworkConfig) -> TwoHeadedNetwork:
    """Returns the network of the configured architecture for a game, see `TwoHeadedNetwork`."""
    results = told_apart(game, config)
    return TwoHeadedNetwork(game.observation_shape, game.num_actions, config, results=results)


def in_fast_arithmetic(network: Network) -> Network:
    """Returns the network in float32 if it is in bfloat16 and this machine computes that slowly.

    The arrays of a network are float32 either way. A network of one's own is returned unchanged.
    """
    if dtype_of(network) == "bfloat16" and bfloat16_is_slow():
        return in_float32(network)
    return network


def in_float32(network: Network) -> Network:
    """Returns the network with arithmetic in float32; a network of one's own unchanged."""
    if not isinstance(network, TwoHeadedNetwork):
        return network
    return replace(network, config=replace(network.config, dtype="float32"))


def with_statistics(network: Network, *, shared: bool) -> Network:
    """Returns the network with `shared_statistics`; a network of one's own unchanged."""
    if not isinstance(network, TwoHeadedNetwork):
        return network
    return replace(network, shared_statistics=shared)


def dtype_of(network: Network) -> str:
    """Returns the dtype of the arithmetic that the config sets; "" for a network of one's own."""
    return network.config.dtype if isinstance(network, TwoHeadedNetwork) else ""


class _ParameterKeys(nnx.Rngs):
    """Gives a module the keys of its parameters, the same as `nnx.Rngs(params=key)` gives.

    `nnx.Rngs` counts in a traced array. While tracing, each access to it searches all equations so
    far, so that the time grows with the square of the number of layers.
    """

    def __init__(self, key: Array):
        self._key = typed_key(key)
        self._count = itertools.count()

    def params(self) -> Array:
        """Returns the next key."""
        return jax.random.fold_in(self._key, next(self._count))


class _TwoHeads(nnx.Module):
    """The whole network: one trunk under all heads."""

    def __init__(self, network: TwoHeadedNetwork, rngs: nnx.Rngs):
        config = network.config
        dtype = jnp.dtype(config.dtype)
        height, width, _ = network.observation_shape
        cells = height * width
        is_conv, self.by_cell = config.architecture == "resnet", config.policy_head == "planes"
        policy_filters = config.channels if self.by_cell else config.policy_channels
        value_filters = config.value_channels
        # One convolution serves both heads: batch normalisation works channel by channel anyway.
        self.split = policy_filters if is_conv else None
        self.body = _Body(network, policy_filters + value_filters, rngs)
        # Small last layers make the priors of an untrained network nearly uniform and its values
        # nearly zero. So the rules guide the first searches, not the initialisation's noise.
        small = nnx.initializers.variance_scaling(0.01, "fan_in", "normal")
        product = few_rows_product if is_conv else dense_product
        layer = functools.partial(nnx.Linear, dtype=dtype, dot_general=product, rngs=rngs)
        last = functools.partial(layer, kernel_init=small)
        policy_inputs = cells * policy_filters if is_conv else config.channels
        value_inputs = cells * value_filters if is_conv else config.channels
        if self.by_cell:
            self.policy = last(policy_filters, network.num_actions // cells)
        else:
            self.policy = last(policy_inputs, network.num_actions)
        self.value_hidden = layer(value_inputs, config.value_hidden)
        self.results = network.results
        kinds = 1 if config.value_head == "tanh" else len(network.results)
        self.value = last(config.value_hidden, kinds)
        has = config.auxiliary
        self.score = last(config.value_hidden, 1) if "score" in has else None
        owners = 1 if is_conv else cells
        self.ownership = last(config.channels, owners) if "ownership" in has else None

    def __call__(self, observations: Array, train: bool) -> Prediction:
        batch = observations.shape[0]
        x, first = self.body(observations, train)
        p = v = first
        if self.split is not None:
            # Cells are one axis here: XLA's GPU products of a slice need powers of two otherwise.
            cells = first.reshape(-1, first.shape[-1])
            p, v = cells[:, : self.split], cells[:, self.split :]
        # A dense layer over each cell's channels is a 1x1 convolution.
        logits = self.policy(p if self.by_cell else p.reshape(batch, -1))
        hidden = jax.nn.relu(self.value_hidden(v.reshape(batch, -1)))
        value_logits = self.value(hidden).astype(jnp.float32)
        if value_logits.shape[-1] > 1:
            value = expected_result(jax.nn.softmax(value_logits), self.results)
        else:
            value = jnp.tanh(value_logits[:, 0])
        return Prediction(
            policy_logits=logits.reshape(batch, -1).astype(jnp.float32),
            value_logits=value_logits,
            value=value,
            extra={
                name: jnp.tanh(head(inputs).astype(jnp.float32).reshape(batch, *shape))
                for name, head, inputs, shape in (
                    ("score", self.score, hidden, ()),
                    ("ownership", self.ownership, x, observations.shape[1:3]),
                )
                if head is not None
            },
        )


class _Body(nnx.Module):
    """A trunk, and on top of a convolutional trunk the heads' convolution."""

    def __init__(self, network: TwoHeadedNetwork, filters: int, rngs: nnx.Rngs):
        config = network.config
        self.trunk = make_trunk(network.observation_shape, config, rngs)
        size = 3 if config.policy_head == "planes" else 1
        conv = config.architecture == "resnet"
        self.heads = Conv(config.channels, filters, size, config, rngs) if conv else None

    def __call__(self, observations: Array, train: bool) -> tuple[Array, Array]:
        """Returns the trunk's features and the heads' inputs; a dense trunk's are the same."""
        x = self.trunk(observations, train)
        return x, x if self.heads is None else jax.nn.relu(self.heads(x, train))
