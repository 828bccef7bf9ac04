"""Primitives that move elements: reshapes, slices and padding."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from azjax.onnx_export.graph import Graph, Input, Value


def _reshape(graph: Graph, params: dict[str, Any], x: Input) -> str:
    if params.get("dimensions") is not None:
        x = graph.node("Transpose", x, perm=list(params["dimensions"]))
    return graph.node("Reshape", x, params["new_sizes"])


def _squeeze(graph: Graph, params: dict[str, Any], x: Value) -> str:
    axes = params["dimensions"]
    return graph.node("Squeeze", x, axes) if axes else graph.name_of(x)


def _broadcast(graph: Graph, params: dict[str, Any], x: Value) -> str:
    shape = params["shape"]
    kept = [1] * len(shape)
    for size, dimension in zip(x.shape, params["broadcast_dimensions"], strict=True):
        kept[dimension] = size
    name = graph.name_of(x) if tuple(kept) == x.shape else graph.node("Reshape", x, kept)
    return name if kept == list(shape) else graph.node("Expand", name, shape)


def _stack(graph: Graph, params: dict[str, Any], *inputs: Value) -> str:
    axis = params["axis"]
    return graph.node("Concat", *(graph.node("Unsqueeze", x, [axis]) for x in inputs), axis=axis)


def _unstack(graph: Graph, params: dict[str, Any], x: Value) -> list[str]:
    axis = params["axis"]
    return [graph.node("Gather", x, i, axis=axis) for i in range(x.shape[axis])]


def _slice(graph: Graph, params: dict[str, Any], x: Value) -> str:
    starts, ends = params["start_indices"], params["limit_indices"]
    return _sliced(graph, x, starts, ends, params["strides"] or (1,) * len(starts))


def _sliced(
    graph: Graph, x: Value, starts: Sequence[int], ends: Sequence[int], steps: Sequence[int]
) -> str:
    parts = zip(range(len(x.shape)), x.shape, starts, ends, steps, strict=True)
    cut = [part for part in parts if part[2:] != (0, part[1], 1)]
    if not cut:
        return graph.name_of(x)
    axes, _, starts, ends, steps = zip(*cut, strict=True)
    return graph.node("Slice", x, starts, ends, axes, steps)


def _split(graph: Graph, params: dict[str, Any], x: Value) -> list[str]:
    axis, outputs, start = params["axis"], [], 0
    for size in params["sizes"]:
        starts, ends = [0] * len(x.shape), list(x.shape)
        starts[axis], ends[axis] = start, start + size
        start += size
        outputs.append(_sliced(graph, x, starts, ends, [1] * len(x.shape)))
    return outputs


def _reverse(graph: Graph, params: dict[str, Any], x: Value) -> str:
    name = graph.name_of(x)
    for axis in params["dimensions"]:
        name = graph.node("Gather", name, range(x.shape[axis])[::-1], axis=axis)
    return name


def _pad(graph: Graph, params: dict[str, Any], x: Value, fill: Value) -> str:
    """Pads by a Gather from the vector of all elements and the padding value."""
    size = math.prod(x.shape)
    index = np.arange(size).reshape(x.shape)
    for axis, (low, high, inside) in enumerate(params["padding_config"]):
        sizes = list(index.shape)
        sizes[axis] += max(sizes[axis] - 1, 0) * inside
        spread = np.full(sizes, size)
        spread[(slice(None),) * axis + (slice(None, None, inside + 1),)] = index
        wide = [(0, 0)] * index.ndim
        wide[axis] = (max(low, 0), max(high, 0))
        index = np.pad(spread, wide, constant_values=size)
        kept = slice(max(-low, 0), index.shape[axis] - max(-high, 0))
        index = index[(slice(None),) * axis + (kept,)]
    flat, one = graph.node("Reshape", x, [-1]), graph.node("Reshape", fill, [1])
    return graph.node("Gather", graph.node("Concat", flat, one, axis=0), index)


ARRAYS: dict[str, Callable] = {
    "reshape": _reshape,
    "expand_dims": lambda graph, params, x: graph.node("Unsqueeze", x, params["dimensions"]),
    "squeeze": _squeeze,
    "transpose": lambda graph, params, x: graph.node(
        "Transpose", x, perm=list(params["permutation"])
    ),
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda graph, params, *inputs: graph.node(
        "Concat", *inputs, axis=params["dimension"]
    ),
    "stack": _stack,
    "unstack": _unstack,
    "slice": _slice,
    "split": _split,
    "rev": _reverse,
    "pad": _pad,
}
