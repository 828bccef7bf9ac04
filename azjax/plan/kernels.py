"""Counts what a compiled program launches, region by region, and the work of each launch.

A region is the entry, the body of a loop, a branch or a called computation. A program launches the
kernels of a region as often as its loops repeat it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from azjax.plan.hlo import Frame, Instruction, Program, Shape

# Bookkeeping: nothing runs on the device for these.
_FREE = frozenset(
    (
        *("parameter", "tuple", "get-tuple-element", "bitcast", "constant", "after-all"),
        *("partition-id", "replica-id", "opt-barrier", "domain", "add-dependency"),
    )
)
_FREE_TARGETS = ("AllocateBuffer", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape")
_COLLECTIVES = (
    *("all-reduce", "all-gather", "all-to-all", "ragged-all-to-all"),
    *("reduce-scatter", "collective-permute", "collective-broadcast"),
)
_READS_A_PART = ("dynamic-slice", "gather", "slice")
_WRITES_A_PART = {"dynamic-update-slice": 1, "scatter": 2}  # operand that holds what is written
_PASSES_ON = ("bitcast", "copy", "convert", "reshape")
# One operation for each element of the result.
_ARITHMETIC = frozenset(
    (
        *("abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "convert", "cosine"),
        *("count-leading-zeros", "divide", "erf", "exponential", "exponential-minus-one", "floor"),
        *("log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "not"),
        *("or", "popcnt", "power", "remainder", "round-nearest-afz", "round-nearest-even"),
        *("rsqrt", "select", "shift-left", "shift-right-arithmetic", "shift-right-logical"),
        *("sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor"),
    )
)
_REDUCTIONS = ("reduce", "reduce-window")  # one operation for each element of the operand

_CONTRACTED = re.compile(r'lhs_contracting_dim(?:s|ensions)[="]+:?[{\[]([^}\]]*)')


@dataclass(frozen=True)
class Kernel:
    """One launch, and its work."""

    name: str
    opcode: str
    matrix_flops: float = 0.0  # of convolutions and matrix products
    matrix_dtype: str = ""
    operations: float = 0.0  # of all else: one for each element of an arithmetic result
    bytes: float = 0.0  # read and written in the device's main memory
    collective: str = ""  # such as "all-reduce"
    sent: float = 0.0  # bytes of a collective's result
    library: bool = False  # a call of cuBLAS, cuDNN or the like, which may launch several kernels


@dataclass(frozen=True)
class Region:
    """A part of the program, its kernels and the regions in it."""

    kind: str  # "entry", "loop", "branch" or "call"
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

    def branches(self, function: str) -> list[Region]:
        """Returns the branches that stand in `function` and are taken, the largest first."""
        found = [
            region
            for region, times in self.walk()
            if region.kind == "branch" and region.frames and _last(region.frames[0]) == function
            if times
        ]
        return sorted(found, key=lambda region: -region.launches)

    def assumed(self) -> list[Region]:
        """Returns the regions whose number of runs is not known from the program."""
        return [region for region, _ in self.walk() if region.source != "known"]


def _last(frame: Frame) -> str:
    return frame.function.split(".")[-1]


class Runs(Protocol):
    """How often the parts of a program run where the program itself does not say."""

    def trips(self, frames: tuple[Frame, ...], inside: tuple[float, ...]) -> tuple[float, str]:
        """Returns the repetitions of a loop, and "measured" or "assumed".

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
    work: dict[str, Kernel] = field(default_factory=dict)

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
                kernels.append(self._kernel(instruction, table))
        return Region(kind, frames, tuple(kernels), tuple(children), reads=reads)

    def _called(self, instruction: Instruction) -> str:
        name = instruction.attribute("to_apply") or instruction.attribute("calls") or ""
        return name if name in self.program.computations else ""

    def _loop(
        self, instruction: Instruction, table: dict[str, Instruction], inside: tuple[float, ...]
    ) -> list[Region]:
        frames = self.program.frames_of(instruction)
        times, source, reads = self.program.trip_count(instruction, table), "known", 0.0
        if times is None:
            times, source = self.runs.trips(frames, inside)
            reads = 1.0
        body = self.region(instruction.attribute("body") or "", "loop", frames, (*inside, times))
        found = [replace(body, times=float(times), source=source, reads=body.reads + reads)]
        if reads:  # otherwise the condition is never computed: the host counts
            test = instruction.attribute("condition") or ""
            again = self.region(test, "condition", frames, inside)
            found.append(replace(again, times=times + 1.0))
        return found

    def _branches(self, instruction: Instruction, inside: tuple[float, ...]) -> list[Region]:
        frames = self.program.frames_of(instruction)
        found = [self.region(name, "branch", frames, inside) for name in instruction.called]
        shares, source = self.runs.branches(frames, found, inside)
        return [
            replace(region, times=share, source=source)
            for region, share in zip(found, shares, strict=True)
        ]

    def _kernel(self, instruction: Instruction, table: dict[str, Instruction]) -> Kernel:
        operations, flops, dtype = 0.0, 0.0, ""
        for inner, inner_table in self._inside(instruction, table):
            if inner.opcode in _ARITHMETIC:
                operations += sum(shape.elements for shape in inner.shapes)
            elif inner.opcode in _REDUCTIONS and inner.operands:
                source = inner_table.get(inner.operands[0])
                operations += source.shapes[0].elements if source and source.shapes else 0
            product = matrix_flops(inner, inner_table)
            if product:
                flops += product
                dtype = inner_table[inner.operands[0]].shapes[0].dtype
        collective = [name for name in _COLLECTIVES if instruction.opcode.startswith(name)]
        sent = [shape.bytes for shape in instruction.shapes] if collective else []
        if instruction.opcode in ("all-gather-start", "collective-permute-start"):
            sent = sent[1:2]  # (operand, result, ...)
        return Kernel(
            name=instruction.name,
            opcode=instruction.opcode,
            matrix_flops=flops,
            matrix_dtype=dtype,
            operations=operations,
            bytes=float(self._bytes(instruction, table)),
            collective=collective[0] if collective else "",
            sent=float(sum(sent)),
            library=instruction.opcode == "custom-call",
        )

    def _inside(
        self, instruction: Instruction, table: dict[str, Instruction]
    ) -> Iterator[tuple[Instruction, dict[str, Instruction]]]:
        """Yields the instructions that one kernel computes, each with its computation's table."""
        called = instruction.attribute("calls")
        if instruction.opcode != "fusion" or called not in self.program.computations:
            yield instruction, table
            return
        fused = {x.name: x for x in self.program.computations[called]}
        for inner in fused.values():
            yield from self._inside(inner, fused)

    def _bytes(self, instruction: Instruction, table: dict[str, Instruction]) -> int:
        """Returns what a kernel reads and writes: of arrays that it indexes, only the parts."""
        called = instruction.attribute("calls")
        if instruction.opcode == "fusion" and called in self.program.computations:
            return self._fusion_bytes(instruction, called)
        operands = [_size(table[name]) for name in instruction.operands if name in table]
        result = _size(instruction)
        if instruction.opcode in _READS_A_PART:
            return 2 * result
        if instruction.opcode in _WRITES_A_PART:
            place = _WRITES_A_PART[instruction.opcode]
            return 2 * operands[place] if place < len(operands) else result
        return sum(operands) + result

    def _fusion_bytes(self, instruction: Instruction, called: str) -> int:
        fused = {x.name: x for x in self.program.computations[called]}
        users: dict[str, list[Instruction]] = {name: [] for name in fused}
        for inner in fused.values():
            for name in set(inner.operands) & users.keys():
                users[name].append(inner)
        read = sum(
            _bytes_read(inner, users, fused)
            for inner in fused.values()
            if inner.opcode == "parameter"
        )
        root = self.program.computations[called][-1]
        results = [fused[name] for name in root.operands] if root.opcode == "tuple" else [root]
        return read + sum(_bytes_written(result, fused) for result in results)


def is_kernel(instruction: Instruction) -> bool:
    """Returns whether an instruction, other than a loop, branch or call, runs on the device."""
    if instruction.opcode == "custom-call":
        return instruction.target not in _FREE_TARGETS
    return instruction.opcode not in _FREE and not instruction.opcode.endswith(("-done", "-update"))


def matrix_flops(instruction: Instruction, table: dict[str, Instruction]) -> float:
    """Returns the operations of a convolution or matrix product, two for each multiplication.

    Args:
      instruction: any instruction; others than products have none.
      table: the instructions of its computation, by name.
    """
    target = instruction.target
    product = instruction.opcode in ("dot", "convolution")
    if not product and "conv" not in target and "matmul" not in target and "gemm" not in target:
        return 0.0
    if any(name not in table for name in instruction.operands[:2]) or not instruction.shapes:
        return 0.0
    left, right = (table[name].shapes[0] for name in instruction.operands[:2])
    result = instruction.shapes[0]
    if found := re.search(r"dim_labels=\w+_(\w+)->\w+", instruction.attributes):
        if "BackwardInput" in target:
            result, kernel = left, right
        elif "BackwardFilter" in target:
            result, kernel = right, result
        else:
            kernel = right
        return 2.0 * result.elements * kernel.elements / kernel.dims[found[1].index("o")]
    found = re.search(
        r'lhs_contracting_dim(?:s|ensions)[="]+:?[{\[]([^}\]]*)', instruction.attributes
    )
    places = [int(x) for x in re.findall(r"\d+", found[1])] if found else []
    return 2.0 * result.elements * math.prod(left.dims[place] for place in places)


def _size(instruction: Instruction) -> int:
    """Returns the bytes of a result in main memory, without a library's workspace."""
    shapes = list(instruction.shapes)
    if instruction.opcode == "custom-call" and len(shapes) > 1:
        shapes = [x for x in shapes if x.dtype not in ("u8", "s8")] or shapes
    if instruction.opcode.endswith("-start"):  # (operand, result, context)
        shapes = shapes[:1]
    return sum(_main_bytes(shape) for shape in shapes)


def _main_bytes(shape: Shape) -> int:
    return shape.bytes if shape.memory == 0 else 0


def _bytes_read(
    parameter: Instruction, users: dict[str, list[Instruction]], fused: dict[str, Instruction]
) -> int:
    whole, parts = _size(parameter), 0
    for user in users[parameter.name]:
        first = user.operands[0] == parameter.name
        if first and user.opcode in _READS_A_PART:
            parts += sum(shape.bytes for shape in user.shapes)
        elif first and user.opcode in _WRITES_A_PART:
            parts += _written_part(user, fused)
        else:
            return whole
    return min(whole, parts)


def _bytes_written(result: Instruction, fused: dict[str, Instruction]) -> int:
    whole = _size(result)
    while result.opcode in _PASSES_ON and result.operands and result.operands[0] in fused:
        result = fused[result.operands[0]]
    if result.opcode in _WRITES_A_PART:
        return min(whole, _written_part(result, fused))
    return whole


def _written_part(instruction: Instruction, fused: dict[str, Instruction]) -> int:
    place = _WRITES_A_PART[instruction.opcode]
    part = fused.get(instruction.operands[place]) if place < len(instruction.operands) else None
    return sum(shape.bytes for shape in (part or instruction).shapes)


def collectives(region: Region) -> dict[str, tuple[float, float]]:
    """Returns the number and bytes of each kind of collective when the region runs once."""
    found: dict[str, tuple[float, float]] = {}
    for part, times in region.walk():
        for kernel in part.kernels:
            if kernel.collective:
                number, sent = found.get(kernel.collective, (0.0, 0.0))
                found[kernel.collective] = number + times, sent + times * kernel.sent
    return found
