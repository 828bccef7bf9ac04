"""Primitives with computed indices: dynamic slices, gathers and scatters."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from azjax.onnx_export.elementwise import choose
from azjax.onnx_export.graph import Graph, Value


def _clamped_starts(graph: Graph, indices: Sequence[Value], most: Sequence[int]) -> list[str]:
    """Returns indices, int64 [1] each, that move a window back inside the array, like XLA."""
    names = []
    for index, last in zip(indices, most, strict=True):
        if isinstance(index, np.ndarray):
            names.append(graph.name_of([min(max(int(index), 0), last)]))
            continue
        name = graph.node("Reshape", graph.cast(index, np.int64), [1])
        names.append(graph.lower(graph.higher(name, [0]), [last]))
    return names


def _dynamic_slice(graph: Graph, params: dict[str, Any], x: Value, *indices: Value) -> str:
    sizes = params["slice_sizes"]
    most = [size - window for size, window in zip(x.shape, sizes, strict=True)]
    starts = graph.node("Concat", *_clamped_starts(graph, indices, most), axis=0)
    ends = graph.node("Add", starts, sizes)
    return graph.node("Reshape", graph.node("Slice", x, starts, ends, range(len(sizes))), sizes)


def _dynamic_update_slice(
    graph: Graph, params: dict[str, Any], x: Value, update: Value, *indices: Value
) -> str:
    if not x.shape:
        return graph.name_of(update)
    most = [size - window for size, window in zip(x.shape, update.shape, strict=True)]
    starts, strides = _clamped_starts(graph, indices, most), _strides(x.shape)
    places = graph.name_of(_offsets(update.shape, strides).reshape(-1))
    for start, stride in zip(starts, strides, strict=True):
        places = graph.node("Add", places, graph.node("Mul", start, [stride]))
    old, new = (graph.node("Reshape", value, [-1]) for value in (x, update))
    return graph.node("Reshape", graph.node("ScatterElements", old, places, new, axis=0), x.shape)


def _gather(graph: Graph, params: dict[str, Any], x: Value, indices: Value) -> str:
    """Gathers by indices into the flattened array, which works for every kind of gather."""
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = [d for d in range(len(sizes)) if d not in gone]
    along = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    places, inside = _places(graph, x.shape, indices, numbers.start_index_map, sizes, window, along)
    result = graph.node("Gather", graph.node("Reshape", x, [-1]), places)
    if GatherScatterMode.from_any(params["mode"]) == GatherScatterMode.FILL_OR_DROP:
        fill = params["fill_value"]
        fill = _default_fill(x.dtype) if fill is None else np.asarray(fill, x.dtype)
        result = choose(graph, inside, result, fill, x.dtype)
    batch = indices.shape[:-1]
    rank = len(batch) + len(window)
    batch_axes, window_axes = iter(range(len(batch))), iter(range(len(batch), rank))
    order = [next(window_axes if d in numbers.offset_dims else batch_axes) for d in range(rank)]
    if order == list(range(rank)):
        return result
    return graph.node("Transpose", result, perm=order)


def _scatter(reduction: str | None) -> Callable:
    def handler(
        graph: Graph, params: dict[str, Any], x: Value, indices: Value, updates: Value
    ) -> str:
        numbers = params["dimension_numbers"]
        gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        window = [d for d in range(len(x.shape)) if d not in gone]
        sizes = [1] * len(x.shape)
        for d, axis in zip(window, numbers.update_window_dims, strict=True):
            sizes[d] = updates.shape[axis]
        dims = numbers.scatter_dims_to_operand_dims
        along = zip(
            numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True
        )
        places, inside = _places(graph, x.shape, indices, dims, sizes, window, along)
        flat, size = graph.node("Reshape", x, [-1]), math.prod(x.shape)
        if GatherScatterMode.from_any(params["mode"]) != GatherScatterMode.CLIP:
            # Updates outside of the array are written behind its end, and cut off.
            places = graph.node("Where", inside, places, size)
            flat = graph.node("Concat", flat, np.zeros((1,), x.dtype), axis=0)
        rank = len(updates.shape)
        axes = [d for d in range(rank) if d not in numbers.update_window_dims]
        values = graph.name_of(updates)
        order = [*axes, *numbers.update_window_dims]
        if order != list(range(rank)):
            values = graph.node("Transpose", values, perm=order)
        places, values = (graph.node("Reshape", name, [-1]) for name in (places, values))
        flat = graph.node("ScatterElements", flat, places, values, axis=0, reduction=reduction)
        flat = graph.node("Slice", flat, [0], [size])
        return graph.wrapped(graph.node("Reshape", flat, x.shape), x.dtype)

    return handler


def _places(
    graph: Graph,
    shape: Sequence[int],
    indices: Value,
    dimensions: Sequence[int],
    sizes: Sequence[int],
    window: Sequence[int],
    batching: Any,
) -> tuple[str, str]:
    """Returns the places of windows in the flattened array, and whether each was inside.

    Args:
      indices: of the windows, [*batch, len(dimensions)].
      dimensions: the array's dimension of each index.
      sizes: of a window, in each of the array's dimensions.
      window: the array's dimensions that a window keeps.
      batching: pairs of the array's and the indices' batch dimensions.

    Returns:
      (places int64 [*batch, *window] after windows were moved inside, bool [*batch, 1, ...]).
    """
    strides = np.array(_strides(shape), np.int64)
    dims, batch = list(dimensions), indices.shape[:-1]
    is_known = isinstance(indices, np.ndarray)
    starts = indices.astype(np.int64) if is_known else graph.cast(indices, np.int64)
    last = (np.array(shape) - np.array(sizes))[dims]
    clamped = graph.lower(graph.higher(starts, 0), last)
    steps = graph.node("Mul", clamped, strides[dims])
    base = graph.node("ReduceSum", steps, [len(batch)], keepdims=0)
    for operand, along in batching:
        rows = np.arange(shape[operand], dtype=np.int64) * strides[operand]
        rows = rows.reshape([-1 if d == along else 1 for d in range(len(batch))])
        base = graph.node("Add", base, rows)
    same = graph.cast(graph.node("Equal", starts, clamped), np.int32)
    inside = graph.node("ReduceMin", same, [len(batch)], keepdims=0)
    apart = (*batch, *[1] * len(window))
    places = graph.node("Reshape", base, apart)
    if window:
        steps_inside = [_strides(shape)[d] for d in window]
        places = graph.node("Add", places, _offsets([sizes[d] for d in window], steps_inside))
    return places, graph.node("Reshape", graph.cast(inside, np.bool_), apart)


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[d + 1 :]) for d in range(len(shape))]


def _offsets(sizes: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """Returns the offsets of a window's elements from its first one, int64 [*sizes]."""
    offsets = np.zeros(tuple(sizes), np.int64)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        along = [-1 if d == axis else 1 for d in range(len(sizes))]
        offsets = offsets + (np.arange(size, dtype=np.int64) * stride).reshape(along)
    return offsets


def _default_fill(dtype: np.dtype) -> np.ndarray:
    """Returns the value that XLA gathers from outside of an array."""
    if dtype == np.bool_:
        return np.array(True)
    if dtype.kind == "f":
        return np.array(np.nan, dtype)
    limits = np.iinfo(dtype)
    return np.array(limits.max if dtype.kind == "u" else limits.min, dtype)


INDEXING: dict[str, Callable] = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter(None),
    "scatter-add": _scatter("add"),
    "scatter-mul": _scatter("mul"),
    "scatter-min": _scatter("min"),
    "scatter-max": _scatter("max"),
}
