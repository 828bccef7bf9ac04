"""The two-headed network: a tower with a policy head and a value head.

The only file that knows Flax NNX. The modules are used functionally: `Network.init` splits a module
into its graph and its arrays once, `Network.apply` merges them again while tracing.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from azjax.config import NetworkConfig
from azjax.errors import UserError
from azjax.sharding import AXIS

Array = jax.Array
Variables = dict[str, Any]  # {"params": nested dict of arrays, "stats": nested dict of arrays}


class Prediction(NamedTuple):
    """What the network says of B positions, always float32."""

    policy_logits: Array  # [B, num_actions], illegal actions included
    value_logits: Array  # [B, 3] win, draw, loss for the mover; [B, 1] before tanh
    value: Array  # [B] expected result for the mover, in [-1, 1]


@dataclass(frozen=True)
class Network:
    """A network's shape: static and hashable; its arrays are passed to `apply`.

    Raises:
      UserError: the policy head has planes, and the actions are not as many for each cell.
    """

    observation_shape: tuple[int, int, int]  # (height, width, channels)
    num_actions: int
    config: NetworkConfig

    def __post_init__(self) -> None:
        height, width, _ = self.observation_shape
        if self.config.policy_head == "planes" and self.num_actions % (height * width):
            raise UserError(
                f'network.policy_head = "planes": as many actions for each of the {height} x '
                f"{width} cells are wanted, and the game has {self.num_actions}; "
                '"dense" would do'
            )

    def init(self, key: Array) -> Variables:
        """Fresh variables from a PRNG key: parameters and running statistics, float32."""
        state = nnx.split(_Tower(self, nnx.Rngs(params=key)))[1]
        params, stats = nnx.split_state(state, nnx.Param, ...)
        return {"params": _plain(params), "stats": _plain(stats)}

    def apply(self, variables: Variables, observations: Array) -> Prediction:
        """Predictions for observations float32 [B, height, width, channels]."""
        return self._module(variables)(observations, train=False)

    def apply_train(self, variables: Variables, observations: Array) -> tuple[Prediction, Any]:
        """As `apply`, normalising by the batch's own statistics over all devices.

        To be called under `shard_map` over the axis `AXIS`. Returns the prediction and the updated
        `variables["stats"]`.
        """
        module = self._module(variables)
        prediction = module(observations, train=True)
        stats = nnx.state(module, nnx.filterlib.Not(nnx.Param))
        return prediction, _plain(stats)

    def _module(self, variables: Variables) -> _Tower:
        graph, params, stats = _abstract(self)
        nnx.replace_by_pure_dict(params, variables["params"])
        nnx.replace_by_pure_dict(stats, variables["stats"])
        return nnx.merge(graph, params, stats)


def count_parameters(variables: Variables) -> int:
    """The number of trained parameters."""
    return sum(x.size for x in jax.tree.leaves(variables["params"]))


def _abstract(network: Network) -> tuple[Any, Any, Any]:
    """The module's graph and the shapes of its parameters and statistics; no array is made."""
    module = nnx.eval_shape(lambda: _Tower(network, nnx.Rngs(params=0)))
    return nnx.split(module, nnx.Param, ...)


def _plain(state: nnx.State) -> dict[str, Any]:
    """Nested dicts with string keys only, which every file format can hold."""

    def strings(tree: Any) -> Any:
        return {str(k): strings(v) for k, v in tree.items()} if isinstance(tree, dict) else tree

    return strings(nnx.to_pure_dict(state))


class _Tower(nnx.Module):
    """The whole network: trunk and both heads."""

    def __init__(self, network: Network, rngs: nnx.Rngs):
        config = network.config
        dtype = jnp.dtype(config.dtype)
        height, width, _ = network.observation_shape
        trunk = _ConvTrunk if config.kind == "resnet" else _DenseTrunk
        self.trunk = trunk(network, dtype, rngs)
        outputs = 3 if config.value_head == "wdl" else 1
        cells = height * width
        policy_outputs = network.num_actions
        self.is_conv, self.by_cell = config.kind == "resnet", config.policy_head == "planes"
        if self.is_conv:
            # Both heads' convolutions at once; batch normalisation is by channel anyway.
            self.split = config.channels if self.by_cell else config.policy_channels
            self.heads_conv = _Conv(
                config.channels,
                self.split + config.value_channels,
                3 if self.by_cell else 1,
                config.norm,
                dtype,
                rngs,
            )
            policy_inputs = cells * self.split
            value_inputs = cells * config.value_channels
            if self.by_cell:
                policy_inputs, policy_outputs = self.split, network.num_actions // cells
        else:
            policy_inputs = value_inputs = config.channels
        # Small last layers: an untrained net is near uniform and near zero, so that the first
        # searches are guided by the rules rather than by noise.
        small = nnx.initializers.variance_scaling(0.01, "fan_in", "normal")
        self.policy = nnx.Linear(
            policy_inputs, policy_outputs, dtype=dtype, kernel_init=small, rngs=rngs
        )
        self.value_hidden = nnx.Linear(value_inputs, config.value_hidden, dtype=dtype, rngs=rngs)
        self.value = nnx.Linear(
            config.value_hidden, outputs, dtype=dtype, kernel_init=small, rngs=rngs
        )

    def __call__(self, observations: Array, train: bool) -> Prediction:
        batch = observations.shape[0]
        x = self.trunk(observations, train)
        p = v = x
        if self.is_conv:
            heads = jax.nn.relu(self.heads_conv(x, train))
            p, v = heads[..., : self.split], heads[..., self.split :].reshape(batch, -1)
            if not self.by_cell:
                p = p.reshape(batch, -1)
        # A dense layer over the channels of each cell is a 1x1 convolution.
        logits = self.policy(p).reshape(batch, -1).astype(jnp.float32)
        value_logits = self.value(jax.nn.relu(self.value_hidden(v))).astype(jnp.float32)
        if value_logits.shape[-1] == 3:
            probabilities = jax.nn.softmax(value_logits)
            value = probabilities[:, 0] - probabilities[:, 2]
        else:
            value = jnp.tanh(value_logits[:, 0])
        return Prediction(logits, value_logits, value)


class _ConvTrunk(nnx.Module):
    """A convolution, then residual blocks (He et al. 2016, as AlphaGo Zero uses them)."""

    def __init__(self, network: Network, dtype: Any, rngs: nnx.Rngs):
        config = network.config
        width = config.channels
        planes = network.observation_shape[2]
        self.stem = _Conv(planes, width, 3, config.norm, dtype, rngs)
        self.blocks = nnx.List(
            [_Block(width, config.norm, dtype, rngs) for _ in range(config.blocks)]
        )

    def __call__(self, x: Array, train: bool) -> Array:
        x = jax.nn.relu(self.stem(x, train))
        for block in self.blocks:
            x = block(x, train)
        return x


class _Block(nnx.Module):
    def __init__(self, channels: int, norm: str, dtype: Any, rngs: nnx.Rngs):
        self.first = _Conv(channels, channels, 3, norm, dtype, rngs)
        self.second = _Conv(channels, channels, 3, norm, dtype, rngs)

    def __call__(self, x: Array, train: bool) -> Array:
        y = jax.nn.relu(self.first(x, train))
        return jax.nn.relu(x + self.second(y, train))


class _Conv(nnx.Module):
    """Convolution and normalisation."""

    def __init__(self, inputs: int, outputs: int, size: int, norm: str, dtype: Any, rngs: nnx.Rngs):
        self.conv = nnx.Conv(
            inputs,
            outputs,
            (size, size),
            use_bias=norm == "none",
            dtype=dtype,
            kernel_init=nnx.initializers.he_normal(),
            rngs=rngs,
        )
        self.norm = _norm(norm, outputs, dtype, rngs)

    def __call__(self, x: Array, train: bool) -> Array:
        return _normalise(self.norm, self.conv(x), train)


class _DenseTrunk(nnx.Module):
    """Dense layers over the flattened board, for boards too small to need convolutions."""

    def __init__(self, network: Network, dtype: Any, rngs: nnx.Rngs):
        config = network.config
        height, width, planes = network.observation_shape
        sizes = [height * width * planes] + [config.channels] * config.blocks
        self.layers = nnx.List(
            [
                nnx.Linear(
                    a,
                    b,
                    dtype=dtype,
                    kernel_init=nnx.initializers.he_normal(),
                    use_bias=config.norm == "none",
                    rngs=rngs,
                )
                for a, b in itertools.pairwise(sizes)
            ]
        )
        self.norms = nnx.List([_norm(config.norm, b, dtype, rngs) for b in sizes[1:]])

    def __call__(self, x: Array, train: bool) -> Array:
        x = x.reshape(x.shape[0], -1)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = jax.nn.relu(_normalise(norm, layer(x), train))
        return x


def _norm(kind: str, features: int, dtype: Any, rngs: nnx.Rngs) -> nnx.Module | None:
    if kind == "batch":
        # Statistics over all devices' shares of the batch, so that N devices equal one.
        return nnx.BatchNorm(features, momentum=0.95, axis_name=AXIS, dtype=dtype, rngs=rngs)
    if kind == "layer":
        return nnx.LayerNorm(features, dtype=dtype, rngs=rngs)
    return None


def _normalise(norm: nnx.Module | None, x: Array, train: bool) -> Array:
    if isinstance(norm, nnx.BatchNorm):
        return norm(x, use_running_average=not train)
    return x if norm is None else norm(x)
