"""`to_onnx` converts a traced JAX function to an ONNX model, for ONNX Runtime here or in a browser.

The converter supports the primitives that games and networks use. It keeps XLA's semantics where
ONNX's differ: integers that wrap around, shifts beyond the width, division by zero, indices out of
range. Equations with known inputs are computed during the conversion.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import onnx

from azjax.jaxprs.equations import called_function, evaluate, interpret
from azjax.onnx_export.arrays import ARRAYS
from azjax.onnx_export.control import branch, scan, while_loop
from azjax.onnx_export.elementwise import elementwise, is_elementwise
from azjax.onnx_export.graph import Graph, Tensor, Value, info, model_of, storage
from azjax.onnx_export.indexing import INDEXING
from azjax.onnx_export.reductions import REDUCTIONS

_PRIMITIVES = ARRAYS | INDEXING | REDUCTIONS
_CONTROL = {"while": while_loop, "scan": scan, "cond": branch}
_UNCHANGED = ("optimization_barrier",)


class UnsupportedPrimitive(Exception):
    """An error: the function uses a primitive or dtype that the converter does not support."""


def to_onnx(
    function: Callable[..., Sequence[jax.Array]],
    *examples: Any,
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> onnx.ModelProto:
    """Converts a function of arrays to an ONNX model with the examples' shapes and dtypes.

    The function returns a flat sequence of arrays. Examples may be arrays or shapes and dtypes.

    Raises:
      UnsupportedPrimitive: the function cannot be converted; the message names the primitive.
    """
    closed = jax.make_jaxpr(function)(*examples)
    graph = Graph()
    arguments, input_infos = [], []
    for name, variable in zip(inputs, closed.jaxpr.invars, strict=True):
        aval = variable.aval
        graph.root.depths[name] = 0
        input_infos.append(info(name, aval.shape, aval.dtype))
        stored = name if aval.dtype == _stored(aval) else graph.cast(name, _stored(aval))
        arguments.append(Tensor(stored, aval.shape, aval.dtype))
    with jax.enable_x64(True):  # for known numbers of 64 bits
        results = _run(graph, closed, arguments)
    output_infos = []
    for name, value in zip(outputs, results, strict=True):
        last = graph.name_of(value)
        if value.dtype != storage(value.dtype):
            last = graph.cast(last, value.dtype)
        copy = onnx.helper.make_node("Identity", [last], [name])
        graph.nodes.append(copy)
        output_infos.append(info(name, value.shape, value.dtype))
    return model_of(graph.finished("azjax", input_infos, output_infos))


def _stored(aval: Any) -> np.dtype:
    try:
        return storage(aval.dtype)
    except TypeError as error:
        raise UnsupportedPrimitive(str(error)) from error


def _run(graph: Graph, closed: Any, inputs: Sequence[Value]) -> list[Value]:
    """Adds the nodes of a jaxpr to the graph and returns the values of its outputs."""
    apply = functools.partial(_convert, graph)
    return interpret(closed.jaxpr, map(np.asarray, closed.consts), inputs, apply)


def _convert(graph: Graph, equation: Any, inputs: list[Value]) -> list[Value]:
    name, params = equation.primitive.name, equation.params
    if name in _CONTROL:
        return _CONTROL[name](graph, _run, equation, inputs)
    called = called_function(equation)
    if called is not None:
        return _run(graph, called, inputs)
    if name in _UNCHANGED:
        return list(inputs)
    if name == "platform_index":
        # The default of `jax.lax.platform_dependent`: what helps XLA on a CPU is of no use here.
        return [np.asarray(params["platforms"].index(None), np.int32)]
    if all(isinstance(x, np.ndarray) for x in inputs):
        return [np.asarray(result) for result in evaluate(equation, inputs)]
    try:
        if is_elementwise(name):
            made = elementwise(graph, name, params, *inputs)
        elif name in _PRIMITIVES:
            made = _PRIMITIVES[name](graph, params, *inputs)
        else:
            raise UnsupportedPrimitive(f"JAX's primitive {name} cannot be exported")
        made = made if isinstance(made, list) else [made]
        for variable in equation.outvars:
            _stored(variable.aval)
    except (NotImplementedError, TypeError) as error:
        raise UnsupportedPrimitive(f"JAX's primitive {name} with these inputs: {error}") from error
    return [
        Tensor(output, variable.aval.shape, variable.aval.dtype)
        for output, variable in zip(made, equation.outvars, strict=True)
    ]
