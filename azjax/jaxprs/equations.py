"""What an equation of a jaxpr holds, told alike under every supported version of JAX.

JAX renames the parameters of its primitives: from 0.11 on, `scan` has no `num_consts`. So the
constants of a loop and a called function are told here by their numbers and shapes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from jax.extend import core


def scan_sizes(equation: Any) -> tuple[int, int]:
    """Returns how many constants and how many carried values a `scan` has.

    Its inputs are the constants, the carried values and the arrays that it goes along. Its outputs
    are the carried values and the stacked arrays. Along and stacked arrays have one more dimension
    than in the body.
    """
    body = equation.params["jaxpr"].jaxpr
    carried = len(equation.outvars) - _stacked(equation.outvars, body.outvars)
    return len(equation.invars) - _stacked(equation.invars, body.invars) - carried, carried


def while_sizes(equation: Any) -> tuple[int, int]:
    """Returns how many constants the condition and how many the body of a `while` has.

    Its inputs are the condition's constants, the body's constants and the carried values, which are
    also its outputs.
    """
    condition, body = (equation.params[f"{part}_jaxpr"].jaxpr for part in ("cond", "body"))
    carried = len(equation.outvars)
    return len(condition.invars) - carried, len(body.invars) - carried


def called_function(equation: Any) -> Any:
    """Returns the closed jaxpr that the equation calls with its inputs; None if it calls none.

    That is what `jit`, checkpoints, and custom derivatives and batching do.
    """
    for part in equation.params.values():
        jaxpr = getattr(part, "jaxpr", part)
        if hasattr(jaxpr, "eqns") and _shapes(jaxpr) == _shapes(equation):
            return part if hasattr(part, "consts") else core.ClosedJaxpr(jaxpr, ())
    return None


def interpret(
    jaxpr: Any, consts: Iterable[Any], inputs: Iterable[Any], apply: Callable[..., Sequence[Any]]
) -> list[Any]:
    """Returns the outputs of a jaxpr; `apply` makes an equation and its inputs into its outputs."""
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, inputs, strict=True))

    def read(variable: Any) -> Any:
        if isinstance(variable, core.Literal):
            return np.asarray(variable.val, variable.aval.dtype)  # type: ignore[attr-defined]
        return values[variable]

    for equation in jaxpr.eqns:
        results = apply(equation, [read(x) for x in equation.invars])
        values.update(zip(equation.outvars, results, strict=True))
    return [read(x) for x in jaxpr.outvars]


def evaluate(equation: Any, inputs: Sequence[Any]) -> list[Any]:
    """Evaluates an equation that calls no function."""
    results = equation.primitive.bind(*inputs, **equation.params)
    return list(results) if equation.primitive.multiple_results else [results]


def _stacked(outer: Sequence[Any], inner: Sequence[Any]) -> int:
    pairs = zip(outer, inner, strict=True)
    return sum(len(x.aval.shape) > len(y.aval.shape) for x, y in pairs)


def _shapes(jaxpr: Any) -> list[list[tuple[int, ...]]]:
    return [[x.aval.shape for x in side] for side in (jaxpr.invars, jaxpr.outvars)]
