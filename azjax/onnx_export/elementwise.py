"""Elementwise primitives with XLA's semantics."""

from collections.abc import Callable
from typing import Any

import numpy as np

from azjax.onnx_export.graph import Graph, Tensor, Value, mask_of, storage

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
        names = [graph.name_of(x) for x in inputs]
        if dtype == np.bool_ and bool_op is not None:
            return graph.node(bool_op, *names)
        output = graph.node(op, *names)
        return graph.wrapped(output, dtype) if wraps else output

    return handler


def _not(graph: Graph, params: dict[str, Any], x: Value) -> str:
    if x.dtype.kind == "u":  # the bits above the dtype's width stay 0
        return graph.node("BitwiseXor", graph.name_of(x), graph.constant(mask_of(x.dtype)))
    return _simple("BitwiseNot", bool_op="Not")(graph, params, x)


def _select(graph: Graph, params: dict[str, Any], which: Value, *cases: Value) -> str:
    names = [graph.name_of(case) for case in cases]
    if len(cases) == 2:
        condition = convert_dtype(graph, which, np.dtype(np.bool_))
        return _where(graph, condition, names[1], names[0], cases[0].dtype)
    output = names[-1]
    for i in reversed(range(len(cases) - 1)):
        bound = graph.name_of(np.asarray(i, which.dtype))
        here = graph.node("LessOrEqual", graph.name_of(which), bound)
        output = _where(graph, here, names[i], output, cases[0].dtype)
    return output


def _where(graph: Graph, condition: str, yes: str, no: str, dtype: np.dtype) -> str:
    if dtype != np.bool_:
        return graph.node("Where", condition, yes, no)
    other = graph.node("And", graph.node("Not", condition), no)
    return graph.node("Or", graph.node("And", condition, yes), other)


def _shift(*, left: bool) -> Callable:
    """Shifts by multiplication and division.

    ONNX's own shifts support few dtypes, and do not give 0 like XLA if all bits are shifted out.
    """
    powers = [1 << n for n in range(_BITS)] + [0 if left else 1 << 62]

    def handler(graph: Graph, params: dict[str, Any], x: Value, by: Value) -> str:
        bits = convert_dtype(graph, x, np.dtype(f"u{x.dtype.itemsize}"))
        # As unsigned, a negative amount is a large one.
        amount = convert_dtype(graph, by, np.dtype(f"u{by.dtype.itemsize}"))
        if isinstance(by, np.ndarray):
            amounts = np.minimum(by.astype(f"u{by.dtype.itemsize}"), _BITS)
            factor = graph.constant(np.array(powers, np.int64)[amounts])
        else:
            amount = graph.lower(amount, graph.constant(np.int64(_BITS)))
            factor = graph.node("Gather", graph.constant(np.array(powers, np.int64)), amount)
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
    amount = convert_dtype(graph, by, np.dtype(f"u{by.dtype.itemsize}"))
    largest = graph.constant(np.int64(8 * x.dtype.itemsize - 1))
    powers = graph.constant(np.array([1 << n for n in range(_BITS)], np.int64))
    divisor = graph.node("Gather", powers, graph.lower(amount, largest))
    half = graph.constant(np.int64(1 << (8 * x.dtype.itemsize - 1)))
    wide = graph.node("Add", graph.cast(signed, np.int64), half)
    down = graph.node("Sub", graph.node("Div", wide, divisor), graph.node("Div", half, divisor))
    return graph.wrapped(down, x.dtype) if x.dtype.kind == "u" else graph.cast(down, np.int32)


def _divide(op: str) -> Callable:
    """Divides as XLA does: an integer divided by 0 gives -1 with itself as the remainder.

    ONNX Runtime would fail.
    """

    def handler(graph: Graph, params: dict[str, Any], x: Value, y: Value) -> str:
        names, dtype = [graph.name_of(x), graph.name_of(y)], x.dtype
        fmod = 1 if op == "Mod" else None
        if dtype.kind == "f":
            return graph.node(op, *names, fmod=fmod)
        if isinstance(y, np.ndarray) and np.all(y != 0):
            return graph.wrapped(graph.node(op, *names, fmod=fmod), dtype)
        zero, one = (graph.name_of(np.asarray(n, dtype)) for n in (0, 1))
        is_zero = graph.node("Equal", names[1], zero)
        output = graph.node(op, names[0], graph.node("Where", is_zero, one, names[1]), fmod=fmod)
        minus_one = graph.name_of(np.asarray(-1).astype(dtype))
        output = graph.node("Where", is_zero, names[0] if op == "Mod" else minus_one, output)
        return graph.wrapped(output, dtype)

    return handler


def _compare(op: str) -> Callable:
    def handler(graph: Graph, params: dict[str, Any], x: Value, y: Value) -> str:
        numbers = np.dtype(np.int32) if x.dtype == np.bool_ and op != "Equal" else x.dtype
        return graph.node(op, *(convert_dtype(graph, value, numbers) for value in (x, y)))

    return handler


def _not_equal(graph: Graph, params: dict[str, Any], x: Value, y: Value) -> str:
    if x.dtype == np.bool_:
        return graph.node("Xor", graph.name_of(x), graph.name_of(y))
    return graph.node("Not", graph.node("Equal", graph.name_of(x), graph.name_of(y)))


def _population_count(graph: Graph, params: dict[str, Any], x: Value) -> str:
    """Counts bits by sums of groups of 1, 2 and 4 bits (Warren, Hacker's Delight, 5-1)."""

    def number(n: int) -> str:
        return graph.constant(np.int64(n))

    def masked(name: str, mask: int) -> str:
        return graph.node("BitwiseAnd", name, number(mask))

    def shifted(name: str, by: int) -> str:
        return graph.node("Div", name, number(1 << by))

    bits = convert_dtype(graph, x, np.dtype(f"u{x.dtype.itemsize}"))
    bits = graph.node("Sub", bits, masked(shifted(bits, 1), 0x55555555))
    bits = graph.node("Add", masked(bits, 0x33333333), masked(shifted(bits, 2), 0x33333333))
    bits = masked(graph.node("Add", bits, shifted(bits, 4)), 0x0F0F0F0F)
    bits = shifted(masked(graph.node("Mul", bits, number(0x01010101)), 0xFFFFFFFF), 24)
    return bits if x.dtype.kind == "u" else graph.cast(bits, np.int32)


def _leading_zeros(graph: Graph, params: dict[str, Any], x: Value) -> str:
    """Counts the powers of two that are larger than the number."""
    width = 8 * x.dtype.itemsize
    bits = convert_dtype(graph, x, np.dtype(f"u{x.dtype.itemsize}"))
    last = graph.node("Unsqueeze", bits, graph.shape(len(x.shape)))
    powers = graph.constant(np.array([1 << n for n in range(width)], np.int64))
    below = graph.cast(graph.node("Less", last, powers), storage(x.dtype))
    return graph.node("ReduceSum", below, graph.shape(len(x.shape)), keepdims=0)


def _integer_power(graph: Graph, params: dict[str, Any], x: Value) -> str:
    name, power = graph.name_of(x), params["y"]
    if x.dtype.kind == "f":
        return graph.node("Pow", name, graph.constant(np.float32(power)))
    output = name
    for _ in range(power - 1):
        output = graph.wrapped(graph.node("Mul", output, name), x.dtype)
    return output if power else graph.name_of(np.ones(x.shape, x.dtype))


def _clamp(graph: Graph, params: dict[str, Any], low: Value, x: Value, high: Value) -> str:
    names = [graph.name_of(value) for value in (low, x, high)]
    if x.dtype.kind == "u":
        return graph.lower(graph.higher(names[0], names[1]), names[2])
    return graph.node("Min", graph.node("Max", names[0], names[1]), names[2])


def _extreme(op: str, bool_op: str) -> Callable:
    def handler(graph: Graph, params: dict[str, Any], x: Value, y: Value) -> str:
        if x.dtype.kind != "u":
            return _simple(op, bool_op=bool_op)(graph, params, x, y)
        which = graph.lower if op == "Min" else graph.higher
        return which(graph.name_of(x), graph.name_of(y))

    return handler


def _square(graph: Graph, params: dict[str, Any], x: Value) -> str:
    return _simple("Mul", wraps=True)(graph, params, x, x)


def _rsqrt(graph: Graph, params: dict[str, Any], x: Value) -> str:
    return graph.node("Reciprocal", graph.node("Sqrt", graph.name_of(x)))


def _is_finite(graph: Graph, params: dict[str, Any], x: Value) -> str:
    largest = graph.constant(np.finfo(np.float32).max)
    return graph.node("LessOrEqual", graph.node("Abs", graph.name_of(x)), largest)


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
    "square": _square,
    "sqrt": _simple("Sqrt"),
    "rsqrt": _rsqrt,
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
