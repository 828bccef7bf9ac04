"""Primitives that move elements: reshapes, slices and padding."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from azjax.onnx_export.graph import Graph, Value


def _reshape(graph: Graph, params: dict[str, Any], x: Value) -> str:
    name = graph.name_of(x)
    if params.get("dimensions") is not None:
        name = graph.node("Transpose", name, perm=list(params["dimensions"]))
    return reshaped(graph, name, params["new_sizes"])


def reshaped(graph: Graph, name: str, shape: Sequence[int]) -> str:
    """Returns the value in another shape."""
    return graph.node("Reshape", name, graph.shape(*shape))


def flattened(graph: Graph, x: Value) -> str:
    """Returns the value as a vector."""
    return reshaped(graph, graph.name_of(x), (-1,))


def _expand_dims(graph: Graph, params: dict[str, Any], x: Value) -> str:
    return graph.node("Unsqueeze", graph.name_of(x), graph.shape(*params["dimensions"]))


def _squeeze(graph: Graph, params: dict[str, Any], x: Value) -> str:
    if not params["dimensions"]:
        return graph.name_of(x)
    return graph.node("Squeeze", graph.name_of(x), graph.shape(*params["dimensions"]))


def _transpose(graph: Graph, params: dict[str, Any], x: Value) -> str:
    return graph.node("Transpose", graph.name_of(x), perm=list(params["permutation"]))


def _broadcast(graph: Graph, params: dict[str, Any], x: Value) -> str:
    shape = params["shape"]
    kept = [1] * len(shape)
    for size, dimension in zip(x.shape, params["broadcast_dimensions"], strict=True):
        kept[dimension] = size
    name = graph.name_of(x)
    name = name if tuple(kept) == x.shape else reshaped(graph, name, kept)
    return name if kept == list(shape) else graph.node("Expand", name, graph.shape(*shape))


def _concatenate(graph: Graph, params: dict[str, Any], *inputs: Value) -> str:
    return graph.node("Concat", *map(graph.name_of, inputs), axis=params["dimension"])


def _stack(graph: Graph, params: dict[str, Any], *inputs: Value) -> str:
    axis = params["axis"]
    apart = [graph.node("Unsqueeze", graph.name_of(x), graph.shape(axis)) for x in inputs]
    return graph.node("Concat", *apart, axis=axis)


def _unstack(graph: Graph, params: dict[str, Any], x: Value) -> list[str]:
    axis, name = params["axis"], graph.name_of(x)
    numbers = (graph.constant(np.int64(i)) for i in range(x.shape[axis]))
    return [graph.node("Gather", name, number, axis=axis) for number in numbers]


def _slice(graph: Graph, params: dict[str, Any], x: Value) -> str:
    starts, ends = params["start_indices"], params["limit_indices"]
    steps = params["strides"] or (1,) * len(starts)
    return _sliced(graph, graph.name_of(x), x.shape, starts, ends, steps)


def _sliced(
    graph: Graph,
    name: str,
    shape: Sequence[int],
    starts: Sequence[int],
    ends: Sequence[int],
    steps: Sequence[int],
) -> str:
    parts = zip(range(len(shape)), shape, starts, ends, steps, strict=True)
    cut = [part for part in parts if part[2:] != (0, part[1], 1)]
    if not cut:
        return name
    axes, _, *bounds = (graph.shape(*column) for column in zip(*cut, strict=True))
    return graph.node("Slice", name, *bounds[:2], axes, bounds[2])


def _split(graph: Graph, params: dict[str, Any], x: Value) -> list[str]:
    axis, outputs, start = params["axis"], [], 0
    for size in params["sizes"]:
        starts, ends = [0] * len(x.shape), list(x.shape)
        starts[axis], ends[axis] = start, start + size
        start += size
        steps = [1] * len(x.shape)
        outputs.append(_sliced(graph, graph.name_of(x), x.shape, starts, ends, steps))
    return outputs


def _reverse(graph: Graph, params: dict[str, Any], x: Value) -> str:
    name = graph.name_of(x)
    for axis in params["dimensions"]:
        order = graph.constant(np.arange(x.shape[axis])[::-1].copy())
        name = graph.node("Gather", name, order, axis=axis)
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
    flat = flattened(graph, x)
    one = reshaped(graph, graph.name_of(fill), (1,))
    return graph.node("Gather", graph.node("Concat", flat, one, axis=0), graph.constant(index))


ARRAYS: dict[str, Callable] = {
    "reshape": _reshape,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "concatenate": _concatenate,
    "stack": _stack,
    "unstack": _unstack,
    "slice": _slice,
    "split": _split,
    "rev": _reverse,
    "pad": _pad,
}
