"""Runs a function and counts how often its loops repeat and which branches it takes.

A loop whose end depends on data has no number of repetitions in the compiled program. This runs
the same function on this machine, with counters in its loops and branches, and keeps the counts by
the line of Python that each stands in. A batched loop goes on until its last game is done, here as
on an accelerator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core

from azjax.jaxprs.equations import called_function, evaluate, scan_sizes, while_sizes
from azjax.plan.hlo import Frame
from azjax.types import Array

Line = tuple[str, str, int]  # (name of the file, function, line)
_JAX = str(Path(jax.__file__).parent)


@dataclass(frozen=True)
class Counts:
    """How often loops ran and repeated, and branches were taken, by line."""

    loops: dict[Line, tuple[float, float]]  # (runs, repetitions of all runs)
    branches: dict[Line, tuple[float, ...]]  # runs of each branch

    def repetitions(self, frames: Sequence[Frame]) -> float | None:
        """Returns the mean repetitions of the loop at a line; None if none was counted there."""
        found = _at(self.loops, frames)
        runs = sum(run for run, _ in found)
        return sum(repeated for _, repeated in found) / runs if runs else None

    def shares(self, frames: Sequence[Frame], count: int) -> list[float] | None:
        """Returns how often each of `count` branches at a line was taken, as shares of 1."""
        found = [taken for taken in _at(self.branches, frames) if len(taken) == count]
        sums = [sum(column) for column in zip(*found, strict=True)]
        return [x / sum(sums) for x in sums] if sum(sums) else None


def _at(counts: dict[Line, Any], frames: Sequence[Frame]) -> list[Any]:
    """Returns the counts at a line, or of the whole function if a loop's line is told otherwise."""
    if not frames:
        return []
    file, function, line = line_of(frames[0])
    if (file, function, line) in counts:
        return [counts[file, function, line]]
    return [count for place, count in counts.items() if place[:2] == (file, function)]


def line_of(frame: Frame) -> Line:
    """Returns a frame's line without what differs between versions of JAX."""
    return Path(frame.file).name, frame.function.split(".")[-1], frame.line


def count(function: Callable[..., Any], *arguments: Any) -> Counts:
    """Runs a function, which `jax.jit` must be able to compile, and returns its counts.

    Conditions of loops are run, but not counted.
    """
    closed = jax.make_jaxpr(function)(*arguments)
    places = _Places({}, {})
    _find(closed.jaxpr, places)

    @jax.jit
    def run(*leaves: Array) -> Array:
        zeros = jnp.zeros(max(1, places.size), jnp.float32)
        return _run(closed.jaxpr, closed.consts, leaves, zeros, places)[1]

    numbers = jax.device_get(run(*jax.tree.leaves(arguments))).tolist()
    return Counts(
        loops={line: (numbers[at], numbers[at + 1]) for line, at in places.loops.items()},
        branches={
            line: tuple(numbers[at : at + count]) for line, (at, count) in places.branches.items()
        },
    )


@dataclass
class _Places:
    """Where each line's counters are in the array of all."""

    loops: dict[Line, int]  # two counters each: runs, repetitions
    branches: dict[Line, tuple[int, int]]  # (the first counter, their number)
    size: int = 0


def _line(equation: Any) -> Line:
    """Returns the innermost line of Python that is not JAX's."""
    traceback = equation.source_info.traceback
    for frame in traceback.frames if traceback else ():
        if not frame.file_name.startswith(_JAX) and not frame.file_name.startswith("<"):
            return line_of(Frame(frame.function_name, frame.file_name, frame.line_num))
    return "", "", 0


def _find(jaxpr: Any, places: _Places) -> None:
    """Gives counters to all loops and branches of a program."""
    for equation in jaxpr.eqns:
        name, line = equation.primitive.name, _line(equation)
        if name == "while" and line not in places.loops:
            places.loops[line] = places.size
            places.size += 2
        elif name == "cond":
            branches = len(equation.params["branches"])
            if places.branches.get(line, (0, 0))[1] < branches:
                places.branches[line] = places.size, branches
                places.size += branches
        for inner in _inner(equation.params):
            _find(inner, places)


def _inner(params: dict[str, Any]) -> list[Any]:
    found = []
    for value in params.values():
        for part in value if isinstance(value, tuple | list) else (value,):
            part = getattr(part, "jaxpr", part)
            if hasattr(part, "eqns"):
                found.append(part)
    return found


def _run(
    jaxpr: Any, consts: Sequence[Any], arguments: Sequence[Any], counts: Array, places: _Places
) -> tuple[list[Any], Array]:
    """Evaluates a program and returns its results and the counts after it."""
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, arguments, strict=True))
    for equation in jaxpr.eqns:
        given = [x.val if isinstance(x, core.Literal) else values[x] for x in equation.invars]
        results, counts = _run_one(equation, given, counts, places)
        values.update(zip(equation.outvars, results, strict=True))
    outputs = [x.val if isinstance(x, core.Literal) else values[x] for x in jaxpr.outvars]
    return outputs, counts


def _run_one(
    equation: Any, given: list[Any], counts: Array, places: _Places
) -> tuple[list[Any], Array]:
    """Evaluates one equation, with counters if it is a loop or a branch."""
    name, params, line = equation.primitive.name, equation.params, _line(equation)
    if name == "while":
        return _run_while(equation, given, counts, places, places.loops[line])
    if name == "scan":
        return _run_scan(equation, given, counts, places)
    if name == "cond":
        first = places.branches[line][0]

        def branch(number: int, closed: Any) -> Callable[..., Any]:
            def run(counts: Array, *operands: Any) -> Any:
                counts = counts.at[first + number].add(1)
                return _run(closed.jaxpr, closed.consts, operands, counts, places)

            return run

        branches = [branch(i, closed) for i, closed in enumerate(params["branches"])]
        return jax.lax.switch(given[0], branches, counts, *given[1:])
    called = called_function(equation)
    if called is not None:
        return _run(called.jaxpr, called.consts, given, counts, places)
    return evaluate(equation, given), counts


def _run_while(
    equation: Any, given: list[Any], counts: Array, places: _Places, at: int
) -> tuple[list[Any], Array]:
    test, body = equation.params["cond_jaxpr"], equation.params["body_jaxpr"]
    tests, of_body = while_sizes(equation)
    bodies = tests + of_body

    def lives(values: list[Any]) -> Array:
        return core.jaxpr_as_fun(test)(*given[:tests], *values)[0]

    def goes_on(state: Any) -> Array:
        return jnp.any(lives(state[0]))  # a batched loop has a predicate for each of its rows

    def repeat(state: Any) -> Any:
        values, counts = state
        arguments = [*given[tests:bodies], *values]
        counts = counts.at[at + 1].add(1)
        results, counts = _run(body.jaxpr, body.consts, arguments, counts, places)
        live = lives(values)
        if live.ndim:
            results = [_where(live, *pair) for pair in zip(results, values, strict=True)]
        return results, counts

    return jax.lax.while_loop(goes_on, repeat, (given[bodies:], counts.at[at].add(1)))


def _where(live: Array, new: Array, old: Array) -> Array:
    rows = live.reshape(live.shape + (1,) * (jnp.ndim(new) - live.ndim))
    return jnp.where(rows, new, old)


def _run_scan(
    equation: Any, given: list[Any], counts: Array, places: _Places
) -> tuple[list[Any], Array]:
    params, (consts, of_carry) = equation.params, scan_sizes(equation)
    carried, body = consts + of_carry, params["jaxpr"]

    def step(state: Any, slices: Any) -> Any:
        values, counts = state
        arguments = [*given[:consts], *values, *slices]
        results, counts = _run(body.jaxpr, body.consts, arguments, counts, places)
        return (results[:of_carry], counts), results[of_carry:]

    (values, counts), stacked = jax.lax.scan(
        step,
        (given[consts:carried], counts),
        given[carried:],
        length=params["length"],
        reverse=params["reverse"],
    )
    return [*values, *stacked], counts
