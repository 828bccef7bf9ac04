"""Loops and branches. Each function takes `run(graph, jaxpr, inputs)`, which converts a body."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from azjax.jaxprs.equations import scan_sizes, while_sizes
from azjax.onnx_export.elementwise import choose, elementwise
from azjax.onnx_export.graph import Graph, Tensor, Value, info, storage

Run = Callable[[Graph, Any, Sequence[Value]], list[Value]]

_UNROLLED = 64  # a scan is unrolled up to this product of its length and its body's equations


def while_loop(graph: Graph, run: Run, equation: Any, inputs: Sequence[Value]) -> list[Value]:
    """Converts `while`; a condition [B...] stops each element of a batch by itself."""
    params, (of_cond, of_body) = equation.params, while_sizes(equation)
    cond_inputs, rest = inputs[:of_cond], inputs[of_cond:]
    body_inputs, carried = rest[:of_body], rest[of_body:]

    def goes_on(graph: Graph, carried: Sequence[Value]) -> Value:
        (condition,) = run(graph, params["cond_jaxpr"], [*cond_inputs, *carried])
        return condition

    first = goes_on(graph, carried)
    if isinstance(first, np.ndarray) and not first.any():
        return list(carried)

    def body(inner: Graph, number: str, carried: Sequence[Value]) -> tuple[str, list, list]:
        *before, going = carried
        after = run(inner, params["body_jaxpr"], [*body_inputs, *before])
        after = [_where(inner, going, x, y) for x, y in zip(after, before, strict=True)]
        again = goes_on(inner, after)
        return _any(inner, again), [*after, again], []

    return [*_loop(graph, "", _any(graph, first), [*carried, first], body, [])[:-1]]


def scan(graph: Graph, run: Run, equation: Any, inputs: Sequence[Value]) -> list[Value]:
    """Converts `scan`, unrolled if it is short."""
    params, (of_all, of_carry) = equation.params, scan_sizes(equation)
    length = params["length"]
    fixed, carried = list(inputs[:of_all]), list(inputs[of_all : of_all + of_carry])
    rows, closed = inputs[of_all + of_carry :], params["jaxpr"]
    outputs = [variable.aval for variable in closed.jaxpr.outvars[of_carry:]]
    order = list(range(length))[:: -1 if params["reverse"] else 1]
    if length * len(closed.jaxpr.eqns) <= _UNROLLED:
        stacked: list[list[str]] = [[""] * length for _ in outputs]
        for i in order:
            here = [x[i] if isinstance(x, np.ndarray) else _row(graph, x, i) for x in rows]
            result = run(graph, closed, [*fixed, *carried, *here])
            carried = result[:of_carry]
            for column, value in zip(stacked, result[of_carry:], strict=True):
                column[i] = graph.node("Unsqueeze", value, [0])
        joined = [graph.node("Concat", *column, axis=0) for column in stacked]
    else:

        def body(inner: Graph, number: str, carried: Sequence[Value]) -> tuple[str, list, list]:
            i = inner.node("Gather", order, number)
            here = [_row(inner, x, i) for x in rows]
            result = run(inner, closed, [*fixed, *carried, *here])
            return inner.name_of(np.array(True)), result[:of_carry], result[of_carry:]

        results = _loop(graph, graph.name_of(length), "", carried, body, outputs)
        carried, made = results[:of_carry], results[of_carry:]
        joined = [x.name for x in made]
        if params["reverse"]:
            joined = [graph.node("Gather", name, order, axis=0) for name in joined]
    stacks = [
        Tensor(name, (length, *aval.shape), aval.dtype)
        for name, aval in zip(joined, outputs, strict=True)
    ]
    return [*carried, *stacks]


def branch(graph: Graph, run: Run, equation: Any, inputs: Sequence[Value]) -> list[Value]:
    """Converts `cond` and `switch` to nested `If` nodes."""
    which, operands = inputs[0], inputs[1:]
    branches = equation.params["branches"]
    if isinstance(which, np.ndarray):
        return run(graph, branches[min(max(int(which), 0), len(branches) - 1)], operands)
    avals = [variable.aval for variable in branches[0].jaxpr.outvars]

    def graph_of(parent: Graph, candidates: Sequence[Any], first: int) -> Any:
        inner = Graph(parent, hoists=False)
        if len(candidates) == 1:
            values = run(inner, candidates[0], operands)
        else:
            values = choose(inner, candidates, first)
        return _subgraph(inner, [], [(inner.name_of(value), value) for value in values])

    def choose(graph: Graph, candidates: Sequence[Any], first: int) -> list[Value]:
        here = elementwise(graph, "le", {}, which, np.asarray(first, which.dtype))
        names = graph.control(
            "If",
            [here],
            len(avals),
            then_branch=graph_of(graph, candidates[:1], first),
            else_branch=graph_of(graph, candidates[1:], first + 1),
        )
        return [Tensor(n, a.shape, a.dtype) for n, a in zip(names, avals, strict=True)]

    if which.dtype == np.bool_:
        which = Tensor(graph.cast(which.name, np.int32), (), np.dtype(np.int32))
    return choose(graph, branches, 0)


def _any(graph: Graph, conditions: Value) -> str:
    """Returns whether one of the conditions holds."""
    if not conditions.shape:
        return graph.name_of(conditions)
    numbers = graph.cast(conditions, np.int32)
    axes = list(range(len(conditions.shape)))
    return graph.cast(graph.node("ReduceMax", numbers, axes, keepdims=0), np.bool_)


def _where(graph: Graph, conditions: Value, yes: Value, no: Value) -> Value:
    """Returns `yes` for the elements of a batch whose condition holds, `no` for the others."""
    rank = len(conditions.shape)
    if not rank:
        return yes  # the loop ends
    axes = list(range(rank, len(yes.shape)))
    condition = graph.node("Unsqueeze", conditions, axes) if axes else graph.name_of(conditions)
    return Tensor(choose(graph, condition, yes, no, yes.dtype), yes.shape, yes.dtype)


def _row(graph: Graph, x: Value, i: str | int) -> Tensor:
    return Tensor(graph.node("Gather", x, i, axis=0), x.shape[1:], x.dtype)


def _loop(
    graph: Graph, trips: str, condition: str, carried: Sequence[Value], body: Callable, rows: Any
) -> list[Tensor]:
    """Adds a Loop node; `rows` are the avals that each turn appends to the stacked outputs."""
    inner = Graph(graph)
    number, going = inner.new_name(), inner.new_name()
    inside = [Tensor(inner.new_name(), x.shape, x.dtype) for x in carried]
    again, after, made = body(inner, number, inside)
    inputs = [info(number, (), np.dtype(np.int64)), info(going, (), np.dtype(np.bool_))]
    inputs += [info(x.name, x.shape, storage(x.dtype)) for x in inside]
    proto = _subgraph(
        inner,
        inputs,
        [(again, Tensor(again, (), np.dtype(np.bool_)))]
        + [(inner.name_of(x), x) for x in [*after, *made]],
    )
    names = graph.control(
        "Loop",
        [trips, condition, *map(graph.name_of, carried)],
        len(carried) + len(rows),
        body=proto,
    )
    result = [Tensor(n, x.shape, x.dtype) for n, x in zip(names, carried, strict=False)]
    return result + [
        Tensor(n, row.shape, row.dtype) for n, row in zip(names[len(carried) :], rows, strict=True)
    ]


def _subgraph(inner: Graph, inputs: list, outputs: list[tuple[str, Value]]) -> Any:
    """Returns the graph of a body. Its outputs must be its own nodes, so each is a copy."""
    infos = []
    for name, value in outputs:
        (copy,) = inner.control("Identity", [name], 1)
        infos.append(info(copy, value.shape, storage(value.dtype)))
    return inner.finished("body", inputs, infos)
