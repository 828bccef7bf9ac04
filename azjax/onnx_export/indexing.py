"""Primitives with computed indices: dynamic slices, gathers and scatters."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from azjax.onnx_export.arrays import flattened, reshaped
from azjax.onnx_export.graph import Graph, Value


def _clamped_starts(graph: Graph, indices: Sequence[Value], most: Sequence[int]) -> list[str]:
    """Returns indices, int64 [1] each, that move a window back inside the array, like XLA."""
    names = []
    for index, last in zip(indices, most, strict=True):
        if isinstance(index, np.ndarray):
            names.append(graph.shape(min(max(int(index), 0), last)))
            continue
        name = reshaped(graph, graph.cast(index.name, np.int64), (1,))
        names.append(graph.lower(graph.higher(name, graph.shape(0)), graph.shape(last)))
    return names


def _dynamic_slice(graph: Graph, params: dict[str, Any], x: Value, *indices: Value) -> str:
    sizes = params["slice_sizes"]
    most = [size - window for size, window in zip(x.shape, sizes, strict=True)]
    starts = graph.node("Concat", *_clamped_starts(graph, indices, most), axis=0)
    ends = graph.node("Add", starts, graph.shape(*sizes))
    sliced = graph.node("Slice", graph.name_of(x), starts, ends, graph.shape(*range(len(sizes))))
    return reshaped(graph, sliced, sizes)


def _dynamic_update_slice(
    graph: Graph, params: dict[str, Any], x: Value, update: Value, *indices: Value
) -> str:
    if not x.shape:
        return graph.name_of(update)
    most = [size - window for size, window in zip(x.shape, update.shape, strict=True)]
    starts = _clamped_starts(graph, indices, most)
    strides = _strides(x.shape)
    places = graph.constant(_offsets(update.shape, strides).reshape(-1))
    for start, stride in zip(starts, strides, strict=True):
        places = graph.node("Add", places, graph.node("Mul", start, graph.shape(stride)))
    flat = graph.node(
        "ScatterElements", flattened(graph, x), places, flattened(graph, update), axis=0
    )
    return reshaped(graph, flat, x.shape)


def _gather(graph: Graph, params: dict[str, Any], x: Value, indices: Value) -> str:
    """Gathers by indices into the flattened array, which works for every kind of gather."""
    numbers, sizes = params["dimension_numbers"], params["slice_sizes"]
    most = [size - window for size, window in zip(x.shape, sizes, strict=True)]
    start_map = numbers.start_index_map
    fills = GatherScatterMode.from_any(params["mode"]) == GatherScatterMode.FILL_OR_DROP
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = [d for d in range(len(sizes)) if d not in gone]
    batch = indices.shape[:-1]
    base, inside = _bases(
        graph,
        x.shape,
        indices,
        start_map,
        most,
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True),
    )
    offsets = _offsets([sizes[d] for d in window], [_strides(x.shape)[d] for d in window])
    apart = reshaped(graph, base, (*batch, *[1] * len(window)))
    places = graph.node("Add", apart, graph.constant(offsets)) if window else apart
    result = graph.node("Gather", flattened(graph, x), places)
    if fills:
        fill = params["fill_value"]
        fill = _default_fill(x.dtype) if fill is None else np.asarray(fill, x.dtype)
        inside = reshaped(graph, inside, (*batch, *[1] * len(window)))
        if x.dtype == np.bool_:
            outside = graph.node("And", graph.node("Not", inside), graph.name_of(fill))
            result = graph.node("Or", graph.node("And", inside, result), outside)
        else:
            result = graph.node("Where", inside, result, graph.name_of(fill))
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
        most = [size - width for size, width in zip(x.shape, sizes, strict=True)]
        base, inside = _bases(
            graph,
            x.shape,
            indices,
            numbers.scatter_dims_to_operand_dims,
            most,
            zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True),
        )
        batch = indices.shape[:-1]
        apart = (*batch, *[1] * len(window))
        offsets = _offsets([sizes[d] for d in window], [_strides(x.shape)[d] for d in window])
        places = graph.node("Add", reshaped(graph, base, apart), graph.constant(offsets))
        flat, size = flattened(graph, x), math.prod(x.shape)
        if GatherScatterMode.from_any(params["mode"]) != GatherScatterMode.CLIP:
            # Updates outside of the array are written behind its end, and cut off.
            beyond = graph.constant(np.int64(size))
            places = graph.node("Where", reshaped(graph, inside, apart), places, beyond)
            spare = graph.name_of(np.zeros((1,), x.dtype))
            flat = graph.node("Concat", flat, spare, axis=0)
        rank = len(updates.shape)
        axes = [d for d in range(rank) if d not in numbers.update_window_dims]
        values = graph.name_of(updates)
        order = [*axes, *numbers.update_window_dims]
        if order != list(range(rank)):
            values = graph.node("Transpose", values, perm=order)
        flat = graph.node(
            "ScatterElements",
            flat,
            reshaped(graph, places, (-1,)),
            reshaped(graph, values, (-1,)),
            axis=0,
            reduction=reduction,
        )
        flat = graph.node("Slice", flat, graph.shape(0), graph.shape(size))
        return graph.wrapped(reshaped(graph, flat, x.shape), x.dtype)

    return handler


def _bases(
    graph: Graph,
    shape: Sequence[int],
    indices: Value,
    dimensions: Sequence[int],
    most: Sequence[int],
    batching: Any,
) -> tuple[str, str]:
    """Returns where each window begins in the flattened array, and whether it was inside.

    Args:
      indices: of the windows, [*batch, len(dimensions)].
      dimensions: the array's dimension of each index.
      most: largest index of each of the array's dimensions, with which a window is inside.
      batching: pairs of the array's and the indices' batch dimensions.

    Returns:
      (index of the first element int64 [*batch] after the window was moved inside, bool [*batch]).
    """
    strides = np.array(_strides(shape), np.int64)
    dims, batch = list(dimensions), indices.shape[:-1]
    starts = graph.cast(graph.name_of(indices), np.int64)
    if isinstance(indices, np.ndarray):
        starts = graph.constant(indices.astype(np.int64))
    last = graph.constant(np.array(most, np.int64)[dims])
    clamped = graph.lower(graph.higher(starts, graph.constant(np.int64(0))), last)
    steps = graph.node("Mul", clamped, graph.constant(strides[dims]))
    base = graph.node("ReduceSum", steps, graph.shape(len(batch)), keepdims=0)
    for operand, along in batching:
        rows = np.arange(shape[operand], dtype=np.int64) * strides[operand]
        rows = rows.reshape([-1 if d == along else 1 for d in range(len(batch))])
        base = graph.node("Add", base, graph.constant(rows))
    same = graph.cast(graph.node("Equal", starts, clamped), np.int32)
    inside = graph.node("ReduceMin", same, graph.shape(len(batch)), keepdims=0)
    return base, graph.cast(inside, np.bool_)


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
