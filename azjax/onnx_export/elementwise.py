"""Elementwise primitives with XLA's semantics."""

from collections.abc import Callable
from typing import Any

import numpy as np

from azjax.onnx_export.graph import Graph, Input, Tensor, Value, mask_of, storage

_BITS = 32  # width of the widest integers


def convert_dtype(graph: Graph, value: Value, dtype: np.dtype) -> str:
    """Returns the name of the value as `dtype`; integers are truncated to its width."""
    name, source, target = graph.name_of(value), value.dtype, np.dtype(dtype)
    if source == target:
        return name
    if target == np.bool_ or source == np.bool_ or source.kind == "f" or target.kind == "f":
        return graph.cast(name, storage(target))
    fits = np.can_cast(source, target)
    name = graph.cast(name, storage(target)) if storage(source) != storage(target) else name
    return name if fits else graph.wrapped(name, target)


def elementwise(graph: Graph, primitive: str, params: dict[str, Any], *inputs: Value) -> str:
    """Returns the name of the output, which has the broadcast shape of the inputs."""
    if primitive == "convert_element_type":
        return convert_dtype(graph, inputs[0], params["new_dtype"])
    return _HANDLERS[primitive](graph, params, *_small(inputs))


def is_elementwise(primitive: str) -> bool:
    """Returns whether `elementwise` converts the primitive."""
    return primitive in _HANDLERS or primitive == "convert_element_type"


def _small(inputs: tuple[Value, ...]) -> list[Value]:
    """Replaces constants that repeat one number by that number, if another input has the shape."""
    if not any(isinstance(x, Tensor) for x in inputs):
        return list(inputs)
    shape = next(x.shape for x in inputs if isinstance(x, Tensor))

    def small(x: Value) -> Value:
        if isinstance(x, Tensor) or x.shape != shape or x.size < 2:
            return x
        same = np.all(x == x.flat[0])
        return np.full((1,) * x.ndim, x.flat[0], x.dtype) if same else x

    return [small(x) for x in inputs]


def _simple(op: str, *, bool_op: str | None = None, wraps: bool = False) -> Callable:
    def handler(graph: Graph, params: dict[str, Any], *inputs: Value) -> str:
        dtype = inputs[0].dtype
        if dtype == np.bool_ and bool_op is not None:
            return graph.node(bool_op, *inputs)
        output = graph.node(op, *inputs)
        return graph.wrapped(output, dtype) if wraps else output

    return handler


def _not(graph: Graph, params: dict[str, Any], x: Value) -> str:
    if x.dtype.kind == "u":  # the bits above the dtype's width stay 0
        return graph.node("BitwiseXor", x, mask_of(x.dtype))
    return graph.node("Not" if x.dtype == np.bool_ else "BitwiseNot", x)


def _select(graph: Graph, params: dict[str, Any], which: Value, *cases: Value) -> str:
    dtype = cases[0].dtype
    if len(cases) == 2:
        condition = convert_dtype(graph, which, np.dtype(np.bool_))
        return choose(graph, condition, cases[1], cases[0], dtype)
    output = graph.name_of(cases[-1])
    for i in reversed(range(len(cases) - 1)):
        here = graph.node("LessOrEqual", which, np.asarray(i, which.dtype))
        output = choose(graph, here, cases[i], output, dtype)
    return output


def choose(graph: Graph, condition: str, yes: Input, no: Input, dtype: np.dtype) -> str:
    """Returns `yes` where the condition holds, and `no` elsewhere; both are of `dtype`."""
    if dtype != np.bool_:
        return graph.node("Where", condition, yes, no)
    other = graph.node("And", graph.node("Not", condition), no)
    return graph.node("Or", graph.node("And", condition, yes), other)


def _unsigned(graph: Graph, x: Value) -> str:
    """Returns the value as unsigned integers with the same bits."""
    return convert_dtype(graph, x, np.dtype(f"u{x.dtype.itemsize}"))


def _shift(*, left: bool) -> Callable:
    """Shifts by multiplication and division.

    ONNX's own shifts support few dtypes, and do not give 0 like XLA if all bits are shifted out.
    """
    powers = np.array([1 << n for n in range(_BITS)] + [0 if left else 1 << 62])

    def handler(graph: Graph, params: dict[str, Any], x: Value, by: Value) -> str:
        bits = _unsigned(graph, x)
        # As unsigned, a negative amount is a large one.
        if isinstance(by, np.ndarray):
            factor: Input = powers[np.minimum(by.astype(f"u{by.dtype.itemsize}"), _BITS)]
        else:
            factor = graph.node("Gather", powers, graph.lower(_unsigned(graph, by), _BITS))
        output = graph.node("Mul" if left else "Div", bits, factor)
        if left:
            output = graph.wrapped(output, np.dtype(f"u{x.dtype.itemsize}"))
        if x.dtype.kind == "u":
            return output
        return graph.wrapped(graph.cast(output, np.int32), x.dtype)

    return handler


def _shift_arithmetic(graph: Graph, params: dict[str, Any], x: Value, by: Value) -> str:
    """Adds an offset so that no number is negative, shifts, and subtracts the shifted offset.

    Unsigned integers count as signed integers with the same bits.
    """
    signed = convert_dtype(graph, x, np.dtype(f"i{x.dtype.itemsize}"))
    amount = graph.lower(_unsigned(graph, by), 8 * x.dtype.itemsize - 1)
    divisor = graph.node("Gather", [1 << n for n in range(_BITS)], amount)
    half = 1 << (8 * x.dtype.itemsize - 1)
    wide = graph.node("Add", graph.cast(signed, np.int64), half)
    down = graph.node("Sub", graph.node("Div", wide, divisor), graph.node("Div", half, divisor))
    return graph.wrapped(down, x.dtype) if x.dtype.kind == "u" else graph.cast(down, np.int32)


def _divide(op: str) -> Callable:
    """Divides as XLA does: an integer divided by 0 gives -1 with itself as the remainder.

    ONNX Runtime would fail.
    """

    def handler(graph: Graph, params: dict[str, Any], x: Value, y: Value) -> str:
        fmod = 1 if op == "Mod" else None
        if x.dtype.kind == "f":
            return graph.node(op, x, y, fmod=fmod)
        if isinstance(y, np.ndarray) and np.all(y != 0):
            return graph.wrapped(graph.node(op, x, y, fmod=fmod), x.dtype)
        is_zero = graph.node("Equal", y, np.asarray(0, x.dtype))
        divisor = graph.node("Where", is_zero, np.asarray(1, x.dtype), y)
        undefined = x if op == "Mod" else np.asarray(-1).astype(x.dtype)
        output = graph.node("Where", is_zero, undefined, graph.node(op, x, divisor, fmod=fmod))
        return graph.wrapped(output, x.dtype)

    return handler


def _compare(op: str) -> Callable:
    def handler(graph: Graph, params: dict[str, Any], x: Value, y: Value) -> str:
        numbers = np.dtype(np.int32) if x.dtype == np.bool_ and op != "Equal" else x.dtype
        return graph.node(op, *(convert_dtype(graph, value, numbers) for value in (x, y)))

    return handler


def _not_equal(graph: Graph, params: dict[str, Any], x: Value, y: Value) -> str:
    if x.dtype == np.bool_:
        return graph.node("Xor", x, y)
    return graph.node("Not", graph.node("Equal", x, y))


def _population_count(graph: Graph, params: dict[str, Any], x: Value) -> str:
    """Counts bits by sums of groups of 1, 2 and 4 bits (Warren, Hacker's Delight, 5-1)."""

    def masked(name: str, mask: int) -> str:
        return graph.node("BitwiseAnd", name, mask)

    def shifted(name: str, by: int) -> str:
        return graph.node("Div", name, 1 << by)

    bits = _unsigned(graph, x)
    bits = graph.node("Sub", bits, masked(shifted(bits, 1), 0x55555555))
    bits = graph.node("Add", masked(bits, 0x33333333), masked(shifted(bits, 2), 0x33333333))
    bits = masked(graph.node("Add", bits, shifted(bits, 4)), 0x0F0F0F0F)
    bits = shifted(masked(graph.node("Mul", bits, 0x01010101), 0xFFFFFFFF), 24)
    return bits if x.dtype.kind == "u" else graph.cast(bits, np.int32)


def _leading_zeros(graph: Graph, params: dict[str, Any], x: Value) -> str:
    """Counts the powers of two that are larger than the number."""
    last = graph.node("Unsqueeze", _unsigned(graph, x), [len(x.shape)])
    below = graph.node("Less", last, [1 << n for n in range(8 * x.dtype.itemsize)])
    return graph.node("ReduceSum", graph.cast(below, storage(x.dtype)), [len(x.shape)], keepdims=0)


def _integer_power(graph: Graph, params: dict[str, Any], x: Value) -> str:
    power = params["y"]
    if x.dtype.kind == "f":
        return graph.node("Pow", x, np.float32(power))
    output = graph.name_of(x)
    for _ in range(power - 1):
        output = graph.wrapped(graph.node("Mul", output, x), x.dtype)
    return output if power else graph.name_of(np.ones(x.shape, x.dtype))


def _clamp(graph: Graph, params: dict[str, Any], low: Value, x: Value, high: Value) -> str:
    if x.dtype.kind == "u":
        return graph.lower(graph.higher(low, x), high)
    return graph.node("Min", graph.node("Max", low, x), high)


def _extreme(op: str, bool_op: str) -> Callable:
    def handler(graph: Graph, params: dict[str, Any], x: Value, y: Value) -> str:
        if x.dtype.kind == "u":
            return graph.lower(x, y) if op == "Min" else graph.higher(x, y)
        return graph.node(bool_op if x.dtype == np.bool_ else op, x, y)

    return handler


def _is_finite(graph: Graph, params: dict[str, Any], x: Value) -> str:
    return graph.node("LessOrEqual", graph.node("Abs", x), np.finfo(np.float32).max)


def _same(graph: Graph, params: dict[str, Any], x: Value) -> str:
    return graph.name_of(x)


_HANDLERS: dict[str, Callable] = {
    "add": _simple("Add", wraps=True),
    "add_any": _simple("Add", wraps=True),
    "sub": _simple("Sub", wraps=True),
    "mul": _simple("Mul", wraps=True),
    "neg": _simple("Neg", wraps=True),
    "abs": _simple("Abs", wraps=True),
    "sign": _simple("Sign"),
    "max": _extreme("Max", "Or"),
    "min": _extreme("Min", "And"),
    "and": _simple("BitwiseAnd", bool_op="And"),
    "or": _simple("BitwiseOr", bool_op="Or"),
    "xor": _simple("BitwiseXor", bool_op="Xor"),
    "not": _not,
    "shift_left": _shift(left=True),
    "shift_right_logical": _shift(left=False),
    "shift_right_arithmetic": _shift_arithmetic,
    "div": _divide("Div"),
    "rem": _divide("Mod"),
    "eq": _compare("Equal"),
    "ne": _not_equal,
    "lt": _compare("Less"),
    "le": _compare("LessOrEqual"),
    "gt": _compare("Greater"),
    "ge": _compare("GreaterOrEqual"),
    "select_n": _select,
    "clamp": _clamp,
    "population_count": _population_count,
    "clz": _leading_zeros,
    "integer_pow": _integer_power,
    "pow": _simple("Pow"),
    "square": lambda graph, _, x: graph.wrapped(graph.node("Mul", x, x), x.dtype),
    "sqrt": _simple("Sqrt"),
    "rsqrt": lambda graph, _, x: graph.node("Reciprocal", graph.node("Sqrt", x)),
    "exp": _simple("Exp"),
    "log": _simple("Log"),
    "tanh": _simple("Tanh"),
    "logistic": _simple("Sigmoid"),
    "erf": _simple("Erf"),
    "floor": _simple("Floor"),
    "ceil": _simple("Ceil"),
    "is_finite": _is_finite,
    "copy": _same,
    "copy_p": _same,
    "stop_gradient": _same,
}
