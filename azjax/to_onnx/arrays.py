"""Primitives that move elements about: shapes, slices, gathers and scatters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.lax import GatherScatterMode

from azjax.to_onnx.graph import Graph, Value


def _reshape(graph: Graph, params: dict[str, Any], x: Value) -> str:
    name = graph.name_of(x)
    if params.get("dimensions") is not None:
        name = graph.node("Transpose", name, perm=list(params["dimensions"]))
    return reshaped(graph, name, params["new_sizes"])


def reshaped(graph: Graph, name: str, shape: Sequence[int]) -> str:
    return graph.node("Reshape", name, graph.shape(*shape))


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
    axes, _, starts, ends, steps = (graph.shape(*column) for column in zip(*cut, strict=True))
    return graph.node("Slice", name, starts, ends, axes, steps)


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
    """By an index for each element, of one array of all elements and the one to pad with."""
    size = math.prod(x.shape)
    index = np.arange(size).reshape(x.shape)
    for axis, (low, high, inside) in enumerate(params["padding_config"]):
        spread = np.full(_with(index.shape, axis, _spread(index.shape[axis], inside)), size)
        spread[(slice(None),) * axis + (slice(None, None, inside + 1),)] = index
        wide = [(0, 0)] * index.ndim
        wide[axis] = (max(low, 0), max(high, 0))
        index = np.pad(spread, wide, constant_values=size)
        kept = slice(max(-low, 0), index.shape[axis] - max(-high, 0))
        index = index[(slice(None),) * axis + (kept,)]
    flat = _flat(graph, x)
    one = reshaped(graph, graph.name_of(fill), (1,))
    return graph.node("Gather", graph.node("Concat", flat, one, axis=0), graph.constant(index))


def _spread(size: int, inside: int) -> int:
    return size + max(size - 1, 0) * inside


def _with(shape: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _flat(graph: Graph, x: Value) -> str:
    return reshaped(graph, graph.name_of(x), (-1,))


def _clamped_starts(graph: Graph, indices: Sequence[Value], most: Sequence[int]) -> list[str]:
    """As int64 [1] each; XLA moves a window that would stick out back inside."""
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
    flat = graph.node("ScatterElements", _flat(graph, x), places, _flat(graph, update), axis=0)
    return reshaped(graph, flat, x.shape)


def _gather(graph: Graph, params: dict[str, Any], x: Value, indices: Value) -> str:
    """By the number of each element in the array laid flat, which serves every kind of gather."""
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
    result = graph.node("Gather", _flat(graph, x), places)
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
        flat, size = _flat(graph, x), math.prod(x.shape)
        if GatherScatterMode.from_any(params["mode"]) != GatherScatterMode.CLIP:
            # What falls outside is written behind the end, and cut off.
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
    """Of each window, the number of its first element, int64 [*batch], once it is moved back
    inside; and whether it was inside, bool [*batch]."""
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
    """int64 [*sizes], the way from a window's first element to each of its own."""
    offsets = np.zeros(tuple(sizes), np.int64)
    for axis, (size, stride) in enumerate(zip(sizes, strides, strict=True)):
        along = [-1 if d == axis else 1 for d in range(len(sizes))]
        offsets = offsets + (np.arange(size, dtype=np.int64) * stride).reshape(along)
    return offsets


def _default_fill(dtype: np.dtype) -> np.ndarray:
    """What XLA gathers from outside of an array."""
    if dtype == np.bool_:
        return np.array(True)
    if dtype.kind == "f":
        return np.array(np.nan, dtype)
    limits = np.iinfo(dtype)
    return np.array(limits.max if dtype.kind == "u" else limits.min, dtype)


ARRAYS: dict[str, Callable] = {
    "reshape": _reshape,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "concatenate": _concatenate,
    "stack": _stack,
    "slice": _slice,
    "split": _split,
    "rev": _reverse,
    "pad": _pad,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "gather": _gather,
    "scatter": _scatter(None),
    "scatter-add": _scatter("add"),
    "scatter-mul": _scatter("mul"),
    "scatter-min": _scatter("min"),
    "scatter-max": _scatter("max"),
}
