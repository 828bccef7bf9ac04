"""Primitives that sum: reductions, matrix products, convolutions."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from azjax.onnx_export.elementwise import convert_dtype
from azjax.onnx_export.graph import Graph, Value, storage


def _reduce(op: str) -> Callable:
    def handler(graph: Graph, params: dict[str, Any], x: Value) -> str:
        if not params["axes"]:
            return graph.name_of(x)
        axes = params["axes"]
        if x.dtype == np.bool_:
            found = graph.node(op, graph.cast(x, np.int32), axes, keepdims=0)
            return graph.cast(found, np.bool_)
        if x.dtype.itemsize == 8:
            if op != "ReduceSum":
                raise NotImplementedError("numbers of 64 bits")
            return _by_halves("Add", "")(graph, params, x)  # ReduceSum rounds large ones
        if x.dtype == np.uint32 and op in ("ReduceMax", "ReduceMin"):
            half = 1 << 31  # compared as int32, see graph.py
            numbers = graph.cast(graph.node("Sub", x, half), np.int32)
            found = graph.cast(graph.node(op, numbers, axes, keepdims=0), np.int64)
            return graph.node("Add", found, half)
        return graph.wrapped(graph.node(op, x, axes, keepdims=0), x.dtype)

    return handler


def _by_halves(op: str, otherwise: str) -> Callable:
    """Reduces integers by combining the two halves of an axis until one element is left.

    For floats, and for booleans except xor, ONNX has the node `otherwise`.
    """

    def handler(graph: Graph, params: dict[str, Any], x: Value) -> str:
        if x.dtype.kind == "f" or (x.dtype == np.bool_ and op != "BitwiseXor"):
            return _reduce(otherwise)(graph, params, x)
        name, sizes = graph.name_of(x), list(x.shape)
        node = "Xor" if x.dtype == np.bool_ else op

        def part(name: str, start: int, end: int, axis: int) -> str:
            return graph.node("Slice", name, [start], [end], [axis])

        for axis in params["axes"]:
            while sizes[axis] > 1:
                half, odd = divmod(sizes[axis], 2)
                first, second = part(name, 0, half, axis), part(name, half, 2 * half, axis)
                joined = graph.node(node, first, second)
                if odd:
                    rest = part(name, 2 * half, sizes[axis], axis)
                    joined = graph.node("Concat", joined, rest, axis=axis)
                name, sizes[axis] = joined, half + odd
        left = [size for axis, size in enumerate(x.shape) if axis not in params["axes"]]
        return graph.wrapped(graph.node("Reshape", name, left), x.dtype)

    return handler


def _arg(op: str) -> Callable:
    def handler(graph: Graph, params: dict[str, Any], x: Value) -> str:
        (axis,) = params["axes"]
        if x.dtype.itemsize == 8:
            raise NotImplementedError("numbers of 64 bits")
        numbers = graph.name_of(x)
        if x.dtype.kind != "f":
            # float32 is exact for the small integers, float64 for the wider ones.
            numbers = graph.cast(x, np.float32 if x.dtype.itemsize <= 2 else np.float64)
        found = graph.node(op, numbers, axis=axis, keepdims=0, select_last_index=0)
        return graph.cast(found, storage(params["index_dtype"]))

    return handler


def _cumulative_sum(graph: Graph, params: dict[str, Any], x: Value) -> str:
    output = graph.node("CumSum", x, params["axis"], reverse=int(params["reverse"]))
    return graph.wrapped(output, x.dtype)


def _dot(graph: Graph, params: dict[str, Any], left: Value, right: Value) -> str:
    """Computes one matrix product of [batch, m, k] and [batch, k, n]."""
    (left_sum, right_sum), (left_batch, right_batch) = params["dimension_numbers"]
    dtype = np.dtype(params["preferred_element_type"] or left.dtype)
    left_free = [d for d in range(len(left.shape)) if d not in (*left_sum, *left_batch)]
    right_free = [d for d in range(len(right.shape)) if d not in (*right_sum, *right_batch)]

    def laid_out(x: Value, *groups: Any) -> str:
        order = [d for group in groups for d in group]
        name = convert_dtype(graph, x, dtype)
        if order != list(range(len(x.shape))):
            name = graph.node("Transpose", name, perm=order)
        sizes = [math.prod(x.shape[d] for d in group) for group in groups]
        return graph.node("Reshape", name, sizes if left_batch else sizes[1:])

    a = laid_out(left, left_batch, left_free, left_sum)
    b = laid_out(right, right_batch, right_sum, right_free)
    shape = [left.shape[d] for d in (*left_batch, *left_free)]
    shape += [right.shape[d] for d in right_free]
    product = graph.node("Reshape", graph.node("MatMul", a, b), shape)
    return graph.wrapped(product, dtype)


def _convolution(graph: Graph, params: dict[str, Any], x: Value, kernel: Value) -> str:
    numbers = params["dimension_numbers"]
    dilated = any(d != 1 for d in params["lhs_dilation"])
    if dilated or params["batch_group_count"] != 1:
        raise NotImplementedError("transposed convolutions")
    low, high = zip(*params["padding"], strict=True)
    output = graph.node(
        "Conv",
        graph.node("Transpose", x, perm=list(numbers.lhs_spec)),
        graph.node("Transpose", kernel, perm=list(numbers.rhs_spec)),
        pads=[*low, *high],
        strides=list(params["window_strides"]),
        dilations=list(params["rhs_dilation"]),
        group=params["feature_group_count"],
    )
    return graph.node("Transpose", output, perm=np.argsort(numbers.out_spec).tolist())


REDUCTIONS: dict[str, Callable] = {
    "reduce_sum": _reduce("ReduceSum"),
    "reduce_max": _reduce("ReduceMax"),
    "reduce_min": _reduce("ReduceMin"),
    "reduce_prod": _by_halves("Mul", "ReduceProd"),
    "reduce_and": _by_halves("BitwiseAnd", "ReduceMin"),
    "reduce_or": _by_halves("BitwiseOr", "ReduceMax"),
    "reduce_xor": _by_halves("BitwiseXor", ""),
    "argmax": _arg("ArgMax"),
    "argmin": _arg("ArgMin"),
    "cumsum": _cumulative_sum,
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
}
