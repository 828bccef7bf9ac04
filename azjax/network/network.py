"""The two-headed network: a tower with a policy head and a value head.

This file and `towers.py` are the only ones that know Flax NNX. The modules are used functionally:
`Network.init` splits a module into its graph and its arrays once, `Network.apply` merges them again
while tracing.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from azjax.config import NetworkConfig
from azjax.errors import UserError
from azjax.network.trunks import Conv, make_trunk
from azjax.types import Array

Variables = dict[str, Any]  # {"params": nested dict of arrays, "stats": nested dict of arrays}


class Prediction(NamedTuple):
    """What the network says of B positions, always float32."""

    policy_logits: Array  # [B, num_actions], illegal actions included
    value_logits: Array  # [B, 3] win, draw, loss for the mover; [B, 1] before tanh
    value: Array  # [B] expected result for the mover, in [-1, 1]
    score: Array | None = None  # [B] final margin for the mover, as a share of all points
    ownership: Array | None = None  # [B, cells] final owner: 1 the mover, -1 the opponent


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

        To be called under `shard_map` over the axis `sharding.AXIS`. Returns the prediction and
        the updated `variables["stats"]`.
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


def first_variables(network: Network, key: Array) -> Variables:
    """The variables that a run begins with whose state is made from `key`."""
    _, network_key, _ = jax.random.split(key, 3)
    return network.init(network_key)


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
    """The whole network: one body under all heads, or a second one under the value head."""

    def __init__(self, network: Network, rngs: nnx.Rngs):
        config = network.config
        dtype = jnp.dtype(config.dtype)
        height, width, _ = network.observation_shape
        cells = height * width
        is_conv, self.by_cell = config.kind == "resnet", config.policy_head == "planes"
        policy_filters = config.channels if self.by_cell else config.policy_channels
        value_filters = config.value_channels
        # Both heads' convolutions at once; batch normalisation is by channel anyway.
        self.separate, self.split = config.towers == "separate", policy_filters if is_conv else None
        first_filters = policy_filters + (0 if self.separate else value_filters)
        self.body = _Body(network, first_filters, rngs)
        self.value_body = _Body(network, value_filters, rngs) if self.separate else None
        # Small last layers: an untrained net is near uniform and near zero, so that the first
        # searches are guided by the rules rather than by noise.
        small = nnx.initializers.variance_scaling(0.01, "fan_in", "normal")
        last = functools.partial(nnx.Linear, dtype=dtype, kernel_init=small, rngs=rngs)
        policy_inputs = cells * policy_filters if is_conv else config.channels
        value_inputs = cells * value_filters if is_conv else config.channels
        if self.by_cell:
            self.policy = last(policy_filters, network.num_actions // cells)
        else:
            self.policy = last(policy_inputs, network.num_actions)
        self.value_hidden = nnx.Linear(value_inputs, config.value_hidden, dtype=dtype, rngs=rngs)
        self.value = last(config.value_hidden, 3 if config.value_head == "wdl" else 1)
        has = config.auxiliary
        self.score = last(config.value_hidden, 1) if "score" in has else None
        owners = 1 if is_conv else cells
        self.ownership = last(config.channels, owners) if "ownership" in has else None

    def __call__(self, observations: Array, train: bool) -> Prediction:
        batch = observations.shape[0]
        x, first = self.body(observations, train)
        p = v = first
        if self.separate:
            p, observations = in_order(first, observations)
            x, v = self.value_body(observations, train)
        elif self.split is not None:
            p, v = first[..., : self.split], first[..., self.split :]
        # A dense layer over the channels of each cell is a 1x1 convolution.
        logits = self.policy(p if self.by_cell else p.reshape(batch, -1))
        hidden = jax.nn.relu(self.value_hidden(v.reshape(batch, -1)))
        value_logits = self.value(hidden).astype(jnp.float32)
        if value_logits.shape[-1] == 3:
            probabilities = jax.nn.softmax(value_logits)
            value = probabilities[:, 0] - probabilities[:, 2]
        else:
            value = jnp.tanh(value_logits[:, 0])
        return Prediction(
            policy_logits=logits.reshape(batch, -1).astype(jnp.float32),
            value_logits=value_logits,
            value=value,
            score=_tanh(self.score, hidden, (batch,)),
            ownership=_tanh(self.ownership, x, (batch, -1)),
        )


def _tanh(head: nnx.Module | None, x: Array, shape: tuple[int, ...]) -> Array | None:
    return None if head is None else jnp.tanh(head(x).astype(jnp.float32).reshape(shape))


class _Body(nnx.Module):
    """A trunk and, where it is one of convolutions, the heads' own on top of it."""

    def __init__(self, network: Network, filters: int, rngs: nnx.Rngs):
        config = network.config
        self.trunk = make_trunk(network.observation_shape, config, rngs)
        size = 3 if config.policy_head == "planes" else 1
        conv = config.kind == "resnet"
        self.heads = Conv(config.channels, filters, size, config, rngs) if conv else None

    def __call__(self, observations: Array, train: bool) -> tuple[Array, Array]:
        """The trunk's features, and the heads' [B, height, width, filters] (or the same)."""
        x = self.trunk(observations, train)
        return x, x if self.heads is None else jax.nn.relu(self.heads(x, train))


@jax.custom_vjp
def in_order(first: Array, second: Array) -> tuple[Array, Array]:
    """Both as they are, but what is computed from `second` waits for `first`, and backwards the
    other way round.

    Each tower's batch statistics are collectives, of which XLA's CPU backend must never have two
    in flight (see docs/architecture.md).
    """
    return jax.lax.optimization_barrier((first, second))


in_order.defvjp(
    lambda first, second: (in_order(first, second), None),
    lambda _, gradients: jax.lax.optimization_barrier(gradients),
)
