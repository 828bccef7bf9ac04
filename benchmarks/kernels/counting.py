"""Runs a function and counts how often its loops repeat and which branches it takes.

A loop whose end depends on data has no number of repetitions in the compiled program. This runs
the same function on this machine, and counts by JAX's names of the loops: the scopes around them. A
batched loop goes on until its last game is done, here as on an accelerator.
"""

import collections
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core

from azjax.jaxprs.equations import called_function, evaluate, interpret, scan_sizes, while_sizes
from azjax.types import Array
from benchmarks.kernels.hlo import Path, path


@dataclass(frozen=True)
class Runs:
    """How often loops repeat and branches are taken, where a compiled program does not say.

    What is neither known nor counted is assumed: four repetitions, and the largest branch.
    """

    loops: dict[Path, tuple[int, int]] = field(default_factory=dict)  # (runs, all repetitions)
    branches: dict[Path, tuple[int, ...]] = field(default_factory=dict)  # runs of each branch
    known: dict[Path, Any] = field(default_factory=dict)  # by the last two parts of a path
    games: int = 0  # that were counted over
    searched_by: str = ""  # the network that was used

    def trips(self, path: Path) -> tuple[float, str]:
        """Returns the repetitions of the loop at a path: "known", "measured" or "assumed"."""
        if path[-2:] in self.known:
            return self.known[path[-2:]], "known"
        found = _nearest(self.loops, path)
        runs = sum(run for run, _ in found)
        return (sum(n for _, n in found) / runs, "measured") if runs else (4.0, "assumed")

    def shares(self, path: Path, kernels: list[float]) -> tuple[list[float], str]:
        """Returns the share of the runs in which each branch at a path is taken.

        `kernels` are the numbers of kernels of the branches.
        """
        if path[-2:] in self.known:
            return self.known[path[-2:]], "known"
        found = [taken for taken in _nearest(self.branches, path) if len(taken) == len(kernels)]
        sums = [sum(column) for column in zip(*found, strict=True)]
        if sum(sums):
            return [x / sum(sums) for x in sums], "measured"
        largest = kernels.index(max(kernels))
        return [float(i == largest) for i in range(len(kernels))], "assumed"


def _nearest(counts: dict[Path, Any], path: Path) -> list[Any]:
    """Returns the counts of the paths that share the longest end with this one."""

    def shared(other: Path) -> int:
        pairs = list(zip(reversed(path), reversed(other), strict=False))
        return next((i for i, (x, y) in enumerate(pairs) if x != y), len(pairs))

    longest = max(map(shared, counts), default=0)
    return [count for other, count in counts.items() if longest > 1 and shared(other) == longest]


def count(function: Callable[..., Any], *arguments: Any) -> Runs:
    """Runs a function, which `jax.jit` must be able to compile, and returns its counts.

    Conditions of loops are run, but not counted.
    """
    closed = jax.make_jaxpr(function)(*arguments)
    counter = Counter(collections.Counter(), {})
    run = jax.jit(lambda *leaves: counter.run(closed, leaves, ()))
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
    with jax.enable_x64(True):  # for equations with numbers of 64 bits
        jax.block_until_ready(run(*leaves))
    jax.effects_barrier()
    seen = counter.seen
    return Runs(
        {
            at: (seen[at, "run"], seen[at, "repeat"])
            for at, size in counter.sizes.items()
            if not size
        },
        {at: tuple(seen[at, i] for i in range(size)) for at, size in counter.sizes.items() if size},
    )


@dataclass(frozen=True)
class Counter:
    """Evaluates programs, and counts events of their loops and branches."""

    seen: collections.Counter[Any]
    sizes: dict[Path, int]  # branches of a condition, 0 of a loop

    def add(self, at: Path, what: str | Array) -> None:
        """Counts one event of the running program."""

        def note(*branch: Any) -> None:
            self.seen[at, int(branch[0]) if branch else what] += 1

        jax.debug.callback(note, *([] if isinstance(what, str) else [what]))

    def run(self, closed: Any, arguments: Sequence[Any], around: Path) -> list[Any]:
        """Evaluates a program inside some scopes."""
        run_one = functools.partial(self.run_one, around=around)
        return interpret(closed.jaxpr, closed.consts, arguments, run_one)

    def run_one(self, equation: Any, given: list[Any], around: Path) -> list[Any]:
        """Evaluates one equation, and counts if it is a loop or a branch."""
        name, params = equation.primitive.name, equation.params
        here = (*around, *path(str(equation.source_info.name_stack)))
        if name == "while":
            return self.run_while(equation, given, (*here, "while"))
        if name == "scan":
            return self.run_scan(equation, given, (*here, "while", "body", "closed_call"))
        if name == "cond":
            here = (*here, "cond")
            self.sizes[here] = len(params["branches"])
            self.add(here, given[0])

            def branch(number: int, closed: Any) -> Callable[..., Any]:
                return lambda *given: self.run(closed, given, (*here, f"branch_{number}_fun"))

            branches = [branch(i, closed) for i, closed in enumerate(params["branches"])]
            return jax.lax.switch(given[0], branches, *given[1:])
        called = called_function(equation)
        if called is not None:
            return self.run(called, given, (*here, *path(str(params.get("name", "")))))
        return evaluate(equation, given)

    def run_while(self, equation: Any, given: list[Any], here: Path) -> list[Any]:
        """Evaluates a loop, whose predicate has a row for each game if it is batched."""
        tests, of_body = while_sizes(equation)
        bodies = tests + of_body
        test = core.jaxpr_as_fun(equation.params["cond_jaxpr"])
        self.sizes[here] = 0
        self.add(here, "run")

        def live(values: Any) -> Array:
            return test(*given[:tests], *values)[0]

        def repeat(values: Any) -> Any:
            self.add(here, "repeat")
            arguments = [*given[tests:bodies], *values]
            new = self.run(equation.params["body_jaxpr"], arguments, (*here, "body"))
            rows = live(values)
            if not rows.ndim:
                return new
            return [
                jnp.where(rows.reshape(rows.shape + (1,) * (jnp.ndim(x) - rows.ndim)), x, y)
                for x, y in zip(new, values, strict=True)
            ]

        return jax.lax.while_loop(lambda values: jnp.any(live(values)), repeat, given[bodies:])

    def run_scan(self, equation: Any, given: list[Any], inside: Path) -> list[Any]:
        """Evaluates a loop of a known number of repetitions, which is not counted."""
        params, (consts, of_carry) = equation.params, scan_sizes(equation)
        carried = consts + of_carry

        def step(values: Any, slices: Any) -> Any:
            results = self.run(params["jaxpr"], [*given[:consts], *values, *slices], inside)
            return results[:of_carry], results[of_carry:]

        values, stacked = jax.lax.scan(
            step,
            given[consts:carried],
            given[carried:],
            length=params["length"],
            reverse=params["reverse"],
        )
        return [*values, *stacked]
