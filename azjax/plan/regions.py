"""Counts what a compiled program launches, region by region.

A region is the entry, the body of a loop, a branch or a called computation. A program launches the
kernels of a region as often as its loops repeat it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from azjax.plan.hlo import Frame, Instruction, Program
from azjax.plan.kernels import Kernel, is_kernel, kernel_of


@dataclass(frozen=True)
class Region:
    """A part of the program, its kernels and the regions in it."""

    kind: str  # "entry", "loop", "condition" of a loop, "branch" or "call"
    frames: tuple[Frame, ...]  # where it stands in the source, innermost first
    kernels: tuple[Kernel, ...]
    children: tuple[Region, ...]
    times: float = 1.0  # how often it runs when its parent runs once
    source: str = "known"  # of `times`: "known", "measured" or "assumed"
    reads: float = 0.0  # how often the host waits to read a predicate, each time the region runs

    @property
    def label(self) -> str:
        """The function that the region stands in."""
        return self.frames[0].place if self.frames else self.kind

    def total(self, measure: Callable[[Kernel], float]) -> float:
        """Returns the sum of a number over all kernels, each as often as it is launched."""
        own = sum(measure(kernel) for kernel in self.kernels)
        return own + sum(child.times * child.total(measure) for child in self.children)

    @property
    def launches(self) -> float:
        """Kernels launched when the region runs once."""
        return self.total(lambda kernel: 1.0)

    @property
    def host_reads(self) -> float:
        """How often the host waits for a predicate when the region runs once."""
        return self.reads + sum(child.times * child.host_reads for child in self.children)

    def walk(self, times: float = 1.0) -> Iterator[tuple[Region, float]]:
        """Yields this region and all in it, each with how often it runs."""
        yield self, times
        for child in self.children:
            yield from child.walk(times * child.times)

    def loops(self, function: str) -> list[Region]:
        """Returns the outermost loops that stand in `function`, a name such as `self_play`."""
        found: list[Region] = []
        for child in self.children:
            if child.kind == "loop" and child.frames and _last(child.frames[0]) == function:
                found.append(child)
            else:
                found += child.loops(function)
        return found

    def assumed(self) -> list[Region]:
        """Returns the regions whose number of runs is not known from the program."""
        return [region for region, _ in self.walk() if region.source != "known"]


def _last(frame: Frame) -> str:
    return frame.function.split(".")[-1]


class Runs(Protocol):
    """How often the parts of a program run where the program itself does not say."""

    def trips(self, frames: tuple[Frame, ...], inside: tuple[float, ...]) -> tuple[float, str]:
        """Returns the repetitions of a loop, and "known", "measured" or "assumed".

        Args:
          frames: where the loop stands, innermost first.
          inside: the repetitions of the loops around it, outermost first.
        """

    def branches(
        self, frames: tuple[Frame, ...], regions: list[Region], inside: tuple[float, ...]
    ) -> tuple[list[float], str]:
        """Returns how often each branch is taken (sum 1): "known", "measured" or "assumed".

        Args:
          frames: where the condition stands, innermost first.
          regions: the branches.
          inside: the repetitions of the loops around it, outermost first.
        """


@dataclass(frozen=True)
class Assumed:
    """Assumes a number of repetitions for every loop, and the branch with the most kernels."""

    repetitions: float = 4.0

    def trips(self, frames: tuple[Frame, ...], inside: tuple[float, ...]) -> tuple[float, str]:
        """Returns the assumed repetitions."""
        return self.repetitions, "assumed"

    def branches(
        self, frames: tuple[Frame, ...], regions: list[Region], inside: tuple[float, ...]
    ) -> tuple[list[float], str]:
        """Returns 1 for the branch with the most kernels."""
        launches = [region.launches for region in regions]
        largest = launches.index(max(launches))
        return [float(i == largest) for i in range(len(launches))], "assumed"


def regions(program: Program, runs: Runs | None = None) -> Region:
    """Returns the regions of a program.

    Args:
      program: the program.
      runs: how often loops without a known number of repetitions run; `Assumed()` by default.
    """
    return _Reader(program, runs or Assumed()).region(program.entry, "entry", (), ())


@dataclass
class _Reader:
    program: Program
    runs: Runs

    def region(
        self, name: str, kind: str, frames: tuple[Frame, ...], inside: tuple[float, ...]
    ) -> Region:
        """Returns the region of one computation."""
        kernels: list[Kernel] = []
        children: list[Region] = []
        reads = 0.0
        table = {x.name: x for x in self.program.computations.get(name, ())}
        for instruction in table.values():
            if instruction.opcode == "while":
                children += self._loop(instruction, table, inside)
            elif instruction.opcode == "conditional":
                reads += 1
                children += self._branches(instruction, inside)
            elif instruction.opcode in ("call", "async-start") and self._called(instruction):
                where = self.program.frames_of(instruction)
                children.append(self.region(self._called(instruction), "call", where, inside))
            elif is_kernel(instruction):
                kernels.append(kernel_of(self.program, instruction, table))
        return Region(kind, frames, tuple(kernels), tuple(children), reads=reads)

    def _called(self, instruction: Instruction) -> str:
        name = instruction.attribute("to_apply") or instruction.attribute("calls") or ""
        return name if name in self.program.computations else ""

    def _loop(
        self, instruction: Instruction, table: dict[str, Instruction], inside: tuple[float, ...]
    ) -> list[Region]:
        frames = self.program.frames_of(instruction)
        times, source = self.program.trip_count(instruction, table), "known"
        is_known = times is not None  # then the host counts, and never computes the condition
        if times is None:
            times, source = self.runs.trips(frames, inside)
        body = self.region(instruction.attribute("body") or "", "loop", frames, (*inside, times))
        found = [replace(body, times=float(times), source=source)]
        if not is_known:
            test = instruction.attribute("condition") or ""
            again = self.region(test, "condition", frames, inside)
            found.append(replace(again, times=times + 1.0, reads=again.reads + 1))
        return found

    def _branches(self, instruction: Instruction, inside: tuple[float, ...]) -> list[Region]:
        frames = self.program.frames_of(instruction)
        found = [self.region(name, "branch", frames, inside) for name in instruction.called]
        shares, source = self.runs.branches(frames, found, inside)
        return [
            replace(region, times=share, source=source)
            for region, share in zip(found, shares, strict=True)
        ]


def collectives(region: Region) -> dict[str, tuple[float, float]]:
    """Returns the number and bytes of each kind of collective when the region runs once."""
    found: dict[str, tuple[float, float]] = {}
    for part, times in region.walk():
        for kernel in part.kernels:
            if kernel.collective:
                number, sent = found.get(kernel.collective, (0.0, 0.0))
                found[kernel.collective] = number + times, sent + times * kernel.sent
    return found
