"""A player's weights as its file holds them: float16 with 8 bits in large layers, or all alike.

In a compact file a layer of at least `LARGE` weights is stored as int8 [..., outputs] next to a
float32 array [outputs] of the size of a step, named like the layer with `.step` added. The weights
are the products. Rounding to 8 bits moves policies by less than a hundredth, and costs no player
strength beyond chance (`docs/experiments.md`).
"""

from typing import Literal

import numpy as np

Precision = Literal["compact", "float16", "float32"]
"""Compact: float16, and 8 bits in large layers. Otherwise all weights have that type."""

LARGE = 2**17
STEP = ".step"
_LEVELS = 127


def pack_weights(
    weights: dict[str, np.ndarray], dtype: Precision = "compact"
) -> dict[str, np.ndarray]:
    """Returns the arrays of a file; weights that their type cannot hold become infinite."""
    kind = np.float32 if dtype == "float32" else np.float16
    arrays: dict[str, np.ndarray] = {}
    for name, x in weights.items():
        with np.errstate(over="ignore"):
            rounded = x.astype(kind)
        if dtype != "compact" or x.size < LARGE or not np.isfinite(rounded).all():
            arrays[name] = rounded
            continue
        largest = np.abs(x).max(axis=tuple(range(x.ndim - 1))).astype(np.float32)
        step = largest / _LEVELS
        step = np.where(step > 0, step, np.float32(1))
        arrays[name] = np.rint(x / step).astype(np.int8)
        arrays[name + STEP] = step
    return arrays


def unpack_weights(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns float32 weights from the arrays of a file; products may be infinite.

    Raises:
      ValueError: some arrays alone are float32 and not the steps of a layer, or an int8 array lacks
        its steps.
    """
    if all(x.dtype == np.float32 for x in arrays.values()):
        return arrays
    weights: dict[str, np.ndarray] = {}
    steps = {name + STEP for name, x in arrays.items() if x.dtype == np.int8}
    for name, x in arrays.items():
        if name in steps and x.dtype == np.float32:
            continue
        if x.dtype == np.float16:
            weights[name] = x.astype(np.float32)
        elif x.dtype == np.int8:
            step = arrays.get(name + STEP)
            if step is None or step.dtype != np.float32 or step.shape != x.shape[-1:]:
                raise ValueError(f"{name} has type I8, but no step of type F32 for each output")
            with np.errstate(over="ignore"):
                weights[name] = x * step
        else:
            raise ValueError(f"{name} has type F32, but must have F16 or I8 as others have")
    return weights
