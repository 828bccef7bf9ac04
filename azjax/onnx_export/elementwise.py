"""Elementwise primitives with XLA's semantics."""

from collections.abc import Callable
from typing import Any

import numpy as np

from azjax.onnx_export.graph import Graph, Input, Tensor, Value, mask_of, storage

_LEAST = -(1 << 63)  # the int64 whose only bit is the highest
_POWERS = np.array([*(1 << n for n in range(63)), _LEAST])  # the bits of an int64


def convert_dtype(graph: Graph, value: Value, dtype: np.dtype) -> str:
    """Returns the name of the value as `dtype`; integers are truncated to its width."""
    name, source, target = graph.name_of(value), value.dtype, np.dtype(dtype)
    if source == target:
        return name
    if np.uint64 in (source, target) and "f" in (source.kind, target.kind):
        raise NotImplementedError("uint64 and floats")
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
    return convert_dtype(graph, x, _unsigned_type(x))


def _unsigned_type(x: Value) -> np.dtype:
    return np.dtype(f"u{x.dtype.itemsize}")


def _shift(*, left: bool) -> Callable:
    """Shifts by multiplication and division.

    ONNX's own shifts support few dtypes, and do not give 0 like XLA if all bits are shifted out.
    """
    ends = np.array([0 if left else _LEAST])  # what shifts all bits out

    def handler(graph: Graph, params: dict[str, Any], x: Value, by: Value) -> str:
        bits, width = _unsigned(graph, x), 8 * x.dtype.itemsize
        powers = np.concatenate([_POWERS[:width], ends])
        # As unsigned, a negative amount is a large one.
        amount = _amount(graph, by, width)

        def of(table: np.ndarray) -> Input:
            known = isinstance(amount, np.ndarray)
            return table[amount] if known else graph.node("Gather", table, amount)

        if left:
            output = graph.wrapped(graph.node("Mul", bits, of(powers)), _unsigned_type(x))
        elif width < 64:
            output = graph.node("Div", bits, of(powers))
        else:  # the highest bit, which divides as a sign, is shifted apart
            highest = np.concatenate([_POWERS[::-1], [0]])
            is_set = graph.node("Less", bits, 0)
            output = graph.node("Div", graph.node("BitwiseAnd", bits, ~_LEAST), of(powers))
            output = graph.node("BitwiseOr", output, graph.node("Where", is_set, of(highest), 0))
        if x.dtype.kind == "u":
            return output
        return graph.wrapped(graph.cast(output, storage(x.dtype)), x.dtype)

    return handler


def _amount(graph: Graph, by: Value, width: int) -> Any:
    """Returns the amount of a shift, at most the width; in numpy if it is known."""
    if isinstance(by, np.ndarray):
        return np.minimum(by.astype(_unsigned_type(by)), width).astype(np.int64)
    bits = _unsigned(graph, by)
    if by.dtype.itemsize == 8:  # as int64 a large one is negative
        bits = graph.node("Where", graph.node("Less", bits, 0), width, bits)
    return graph.lower(bits, width)


def _shift_arithmetic(graph: Graph, params: dict[str, Any], x: Value, by: Value) -> str:
    """Adds an offset so that no number is negative, shifts, and subtracts the shifted offset.

    Unsigned integers count as signed integers with the same bits.
    """
    if x.dtype.itemsize == 8:
        raise NotImplementedError("numbers of 64 bits")
    signed = convert_dtype(graph, x, np.dtype(f"i{x.dtype.itemsize}"))
    amount = _amount(graph, by, 8 * x.dtype.itemsize - 1)
    divisor = graph.node("Gather", _POWERS[:32], amount)
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
        if x.dtype == np.uint64:
            raise NotImplementedError("division of uint64")
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
        names: list[Input] = [convert_dtype(graph, value, numbers) for value in (x, y)]
        if x.dtype == np.uint64 and op != "Equal":  # the highest bit counts as a sign
            names = [graph.node("BitwiseXor", name, _LEAST) for name in names]
        return graph.node(op, *names)

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

    def counted(bits: str) -> str:
        bits = graph.node("Sub", bits, masked(shifted(bits, 1), 0x55555555))
        bits = graph.node("Add", masked(bits, 0x33333333), masked(shifted(bits, 2), 0x33333333))
        bits = masked(graph.node("Add", bits, shifted(bits, 4)), 0x0F0F0F0F)
        return shifted(masked(graph.node("Mul", bits, 0x01010101), 0xFFFFFFFF), 24)

    bits = _unsigned(graph, x)
    if x.dtype.itemsize == 8:
        high = _shift(left=False)(graph, {}, x, np.asarray(32, x.dtype))
        count = graph.node(
            "Add", counted(masked(bits, 0xFFFFFFFF)), counted(masked(high, 0xFFFFFFFF))
        )
    else:
        count = counted(bits)
    return graph.cast(count, storage(x.dtype))


def _leading_zeros(graph: Graph, params: dict[str, Any], x: Value) -> str:
    """Counts the powers of two that are larger than the number."""
    if x.dtype.itemsize == 8:
        raise NotImplementedError("numbers of 64 bits")
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
    if x.dtype == np.uint64:
        raise NotImplementedError("limits of uint64")
    if storage(x.dtype) == np.int64:
        return graph.lower(graph.higher(low, x), high)
    return graph.node("Min", graph.node("Max", low, x), high)


def _extreme(op: str, bool_op: str) -> Callable:
    def handler(graph: Graph, params: dict[str, Any], x: Value, y: Value) -> str:
        if storage(x.dtype) == np.int64:
            is_less = _compare("Less" if op == "Min" else "Greater")(graph, params, x, y)
            return graph.node("Where", is_less, x, y)
        return graph.node(bool_op if x.dtype == np.bool_ else op, x, y)

    return handler


def _sign(graph: Graph, params: dict[str, Any], x: Value) -> str:
    if storage(x.dtype) != np.int64:
        return graph.node("Sign", x)
    # ONNX Runtime's Sign looks only at the lower 32 bits of int64.
    is_zero = graph.node("Equal", x, 0)
    negative = x.dtype.kind == "i"
    sign = graph.node("Where", graph.node("Less", x, 0), -1, 1) if negative else graph.name_of(1)
    return graph.node("Where", is_zero, 0, sign)


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
    "sign": _sign,
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
