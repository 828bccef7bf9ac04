"""Trunks of the network, residual convolutions or dense layers, and their building blocks."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
from flax import nnx

from azjax.config import NetworkConfig
from azjax.network.convolution import flax_convolution
from azjax.network.dense_product import dense_product
from azjax.sharding import AXIS
from azjax.types import Array


def make_trunk(shape: tuple[int, int, int], config: NetworkConfig, rngs: nnx.Rngs) -> nnx.Module:
    """Returns the trunk that the config describes, for observations of the given shape.

    Its call maps (observations [B, height, width, planes], train) to features: [B, height, width,
    channels], or [B, channels] for a dense trunk.
    """
    trunk = ConvTrunk if config.architecture == "resnet" else DenseTrunk
    return trunk(shape, config, rngs)


class ConvTrunk(nnx.Module):
    """A convolution, then residual blocks (He et al. 2016), as in AlphaGo Zero."""

    def __init__(self, shape: tuple[int, int, int], config: NetworkConfig, rngs: nnx.Rngs):
        planes, every = shape[2], config.pooling_every
        self.stem = Conv(planes, config.channels, 3, config, rngs)
        pools = [every > 0 and (i + 1) % every == 0 for i in range(config.blocks)]
        self.blocks = nnx.List([Block(config, rngs, pools=each) for each in pools])

    def __call__(self, x: Array, train: bool) -> Array:
        x = jax.nn.relu(self.stem(x, train))
        for block in self.blocks:
            x = block(x, train)
        return x


class Block(nnx.Module):
    """Two 3x3 convolutions with a skip connection, possibly with global pooling (KataGo, Wu 2019).

    For pooling, the first convolution has additional channels. Their mean and maximum over the
    board go through a dense layer, whose outputs are added to the other channels of every cell.
    """

    def __init__(self, config: NetworkConfig, rngs: nnx.Rngs, *, pools: bool):
        width, dtype = config.channels, jnp.dtype(config.dtype)
        self.pooled = max(width // 4, 1) if pools else 0
        self.first = Conv(width, width + self.pooled, 3, config, rngs)
        if pools:
            self.spread = nnx.Linear(2 * self.pooled, width, dtype=dtype, rngs=rngs)
        self.second = Conv(width, width, 3, config, rngs)

    def __call__(self, x: Array, train: bool) -> Array:
        y = self.first(x, train)
        if self.pooled:
            y, pooled = y[..., self.pooled :], jax.nn.relu(y[..., : self.pooled])
            whole = jnp.concatenate([pooled.mean((1, 2)), pooled.max((1, 2))], axis=-1)
            y = y + self.spread(whole)[:, None, None]
        return jax.nn.relu(x + self.second(jax.nn.relu(y), train))


class NormalisedLayers(nnx.Module):
    """A module of convolutions or dense layers, each with a normalisation after it."""

    def fold_batch_norm(self) -> None:
        """Makes batch normalisations by running statistics part of the layers before them."""
        raise NotImplementedError


class DenseTrunk(NormalisedLayers):
    """Dense layers over the flattened board, with optional convolutions before them.

    Residual layers add their output to their input, x + relu(norm(dense(x))), but for the first.
    """

    def __init__(self, shape: tuple[int, int, int], config: NetworkConfig, rngs: nnx.Rngs):
        height, width, planes = shape
        dtype = jnp.dtype(config.dtype)
        # Only the matrix products use `dtype`, and they accumulate in float32. They take most of
        # the time, and XLA's CPU backend is slow at everything else in bfloat16.
        config = dataclasses.replace(config, dtype="float32")
        filters = [planes] + [config.filters] * config.convolutions
        self.convs = nnx.List([Conv(a, b, 3, config, rngs) for a, b in itertools.pairwise(filters)])
        sizes = [height * width * filters[-1]] + [config.channels] * config.blocks
        self.layers = nnx.List(
            [
                nnx.Linear(
                    a,
                    b,
                    dtype=dtype,
                    dot_general=dense_product,
                    preferred_element_type=jnp.float32,
                    kernel_init=nnx.initializers.he_normal(),
                    use_bias=config.norm == "none",
                    rngs=rngs,
                )
                for a, b in itertools.pairwise(sizes)
            ]
        )
        self.norms = nnx.List([_norm(config, b, rngs) for b in sizes[1:]])
        self.residual = config.residual

    def __call__(self, x: Array, train: bool) -> Array:
        for conv in self.convs:
            x = jax.nn.relu(conv(x, train))
        x = x.reshape(x.shape[0], -1)
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            y = jax.nn.relu(_normalise(norm, layer(x), train))
            x = x + y if self.residual and number else y
        return x

    def fold_batch_norm(self) -> None:
        pairs = zip(self.layers, self.norms, strict=True)
        self.norms = nnx.List([_folded(layer, norm) for layer, norm in pairs])


class Conv(NormalisedLayers):
    """A convolution and its normalisation."""

    def __init__(self, inputs: int, outputs: int, size: int, config: NetworkConfig, rngs: nnx.Rngs):
        self.conv = nnx.Conv(
            inputs,
            outputs,
            (size, size),
            use_bias=config.norm == "none",
            dtype=jnp.dtype(config.dtype),
            kernel_init=nnx.initializers.he_normal(),
            conv_general_dilated=flax_convolution,
            rngs=rngs,
        )
        self.norm = _norm(config, outputs, rngs)

    def __call__(self, x: Array, train: bool) -> Array:
        return _normalise(self.norm, self.conv(x), train)

    def fold_batch_norm(self) -> None:
        self.norm = _folded(self.conv, self.norm)


def _norm(config: NetworkConfig, features: int, rngs: nnx.Rngs) -> nnx.Module | None:
    dtype = jnp.dtype(config.dtype)
    if config.norm == "batch":
        # The statistics are over all devices' batches, unless `Network.apply_train` changes that.
        return nnx.BatchNorm(features, momentum=0.95, axis_name=AXIS, dtype=dtype, rngs=rngs)
    if config.norm == "layer":
        return nnx.LayerNorm(features, dtype=dtype, rngs=rngs)
    return None


def _normalise(norm: nnx.Module | None, x: Array, train: bool) -> Array:
    if isinstance(norm, nnx.BatchNorm):
        return norm(x, use_running_average=not train)
    return x if norm is None else norm(x)


def _folded(layer: nnx.Conv | nnx.Linear, norm: nnx.Module | None) -> nnx.Module | None:
    """Returns the normalisation that is left after the layer has taken over what it can.

    A convolution or dense layer and the normalisation by running statistics that follows are one
    linear function, so they are one layer with a bias.
    """
    if not isinstance(norm, nnx.BatchNorm):
        return norm
    assert norm.scale is not None
    assert norm.bias is not None
    factor = norm.scale[...] * jax.lax.rsqrt(norm.var[...] + norm.epsilon)
    kernel = layer.kernel[...]
    layer.kernel.set_value(kernel * factor.reshape((1,) * (kernel.ndim - 1) + factor.shape))
    layer.bias = nnx.Param(norm.bias[...] - norm.mean[...] * factor)
    return None
