"""A network's arrays converted for predictions alone, once instead of in every prediction.

The conversion has three parts: batch normalisation becomes part of the layer before it, parameters
get the dtype of the arithmetic, and the kernels of convolutions the order of GPU libraries.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from azjax.config import NetworkConfig

_EPSILON = 1e-5  # of flax's batch normalisation


def without_batch_norm(config: NetworkConfig) -> NetworkConfig:
    """Returns the config of the network that `fold_batch_norm` gives parameters for."""
    return replace(config, norm="none") if config.norm == "batch" else config


def fold_batch_norm(params: dict[str, Any], stats: dict[str, Any]) -> dict[str, Any]:
    """Returns parameters of the same network without batch normalisation.

    A convolution or dense layer and the normalisation by running statistics that follows are one
    linear function, so they are one layer with a bias.

    Args:
      params: nested dict of arrays, `variables["params"]` of a network with batch normalisation.
      stats: nested dict of arrays, `variables["stats"]` of it.
    """
    if "conv" in params:
        return {"conv": _fold(params["conv"], params["norm"], stats["norm"])}
    if "norms" in params:
        layers = {
            key: _fold(layer, params["norms"][key], stats["norms"][key])
            for key, layer in params["layers"].items()
        }
        params = {key: params[key] for key in params if key != "norms"} | {"layers": layers}
    return {
        key: fold_batch_norm(value, stats.get(key, {})) if isinstance(value, dict) else value
        for key, value in params.items()
    }


def _fold(layer: dict[str, Any], norm: dict[str, Any], stats: dict[str, Any]) -> dict[str, Any]:
    factor = norm["scale"] * jax.lax.rsqrt(stats["var"] + _EPSILON)
    kernel = layer["kernel"]
    by_output = factor.reshape((1,) * (kernel.ndim - 1) + factor.shape)
    return {"kernel": kernel * by_output, "bias": norm["bias"] - stats["mean"] * factor}


def cast_layers(params: dict[str, Any], config: NetworkConfig) -> dict[str, Any]:
    """Returns parameters with those of matrix products and convolutions in their own dtype.

    Layer normalisations keep float32, and so do the convolutions of a dense trunk.
    """
    if "kernel" in params:
        return jax.tree.map(lambda x: x.astype(jnp.dtype(config.dtype)), params)
    return {
        key: cast_layers(value, config)
        if isinstance(value, dict) and not (key == "convs" and config.architecture == "mlp")
        else value
        for key, value in params.items()
    }


def outputs_first(params: dict[str, Any]) -> dict[str, Any]:
    """Returns parameters with the kernels of convolutions as [outputs, height, width, inputs].

    This is their order in a GPU's libraries. In any other, each call would transpose them first.
    """
    return jax.tree.map(lambda x: x.transpose(3, 0, 1, 2) if x.ndim == 4 else x, params)


def outputs_last(params: dict[str, Any]) -> dict[str, Any]:
    """Undoes `outputs_first`, which costs nothing where the library has the same order."""
    return jax.tree.map(lambda x: x.transpose(1, 2, 3, 0) if x.ndim == 4 else x, params)
