"""A network's arrays converted for predictions alone, once instead of in every prediction.

The conversion has three parts: batch normalisation becomes part of the layer before it, parameters
get the dtype of the arithmetic, and the kernels of convolutions the order of GPU libraries.
"""

from dataclasses import dataclass
from typing import Any

import jax
from flax import nnx

from azjax.network.nnx_arrays import plain_dicts
from azjax.network.trunks import NormalisedLayers


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class InferenceVariables:
    """The arrays of a network that only predicts, as its `for_inference` makes them."""

    arrays: dict[str, Any]

    @property
    def params(self) -> dict[str, Any]:
        """The parameters with kernels as the layers take them, which costs nothing on a GPU."""
        return jax.tree.map(lambda x: x.transpose(1, 2, 3, 0) if x.ndim == 4 else x, self.arrays)


def inference_variables(module: nnx.Module) -> InferenceVariables:
    """Returns the arrays of a module for predictions alone; the module is changed.

    Kernels of convolutions become [outputs, height, width, inputs]. This is their order in a GPU's
    libraries. In any other, each call would transpose them first.
    """
    for _, part in nnx.iter_modules(module):
        if isinstance(part, NormalisedLayers):
            part.fold_batch_norm()
    for _, part in nnx.iter_modules(module):
        if isinstance(part, nnx.Conv | nnx.Linear) and part.dtype is not None:
            for parameter in (part.kernel, part.bias):
                if parameter is not None:
                    parameter.set_value(parameter.get_value().astype(part.dtype))
    params = plain_dicts(nnx.state(module, nnx.Param))
    return InferenceVariables(
        jax.tree.map(lambda x: x.transpose(3, 0, 1, 2) if x.ndim == 4 else x, params)
    )
