"""The kernels of a compiled program: what one launch computes, reads and writes."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.kernels.hlo import Instruction, Program, Table

# Bookkeeping: nothing runs on the device for these.
_FREE = {
    *("parameter", "tuple", "get-tuple-element", "bitcast", "constant", "after-all", "domain"),
    *("partition-id", "replica-id", "opt-barrier", "add-dependency"),
}
_FREE_TARGETS = ("AllocateBuffer", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape")
_COLLECTIVES = (
    *("all-reduce", "all-gather", "all-to-all", "ragged-all-to-all"),
    *("reduce-scatter", "collective-permute", "collective-broadcast"),
)
# No arithmetic on elements.
_MOVES = {
    *("broadcast", "concatenate", "copy", "dynamic-slice", "dynamic-update-slice", "gather"),
    *("iota", "pad", "reshape", "reverse", "scatter", "slice", "sort", "transpose"),
    *("custom-call", "convolution", "dot", "fusion", *_COLLECTIVES),
}
_REDUCTIONS = ("reduce", "reduce-window")  # one operation for each element of the operand
_READS_A_PART = ("dynamic-slice", "gather", "slice")
_WRITES_A_PART = {"dynamic-update-slice": 1, "scatter": 2}  # operand that holds what is written
_PASSES_ON = ("bitcast", "copy", "convert", "reshape")


@dataclass(frozen=True)
class Kernel:
    """One launch, and its work."""

    opcode: str
    matrix_flops: float = 0.0  # of convolutions and matrix products
    matrix_dtype: str = ""
    operations: float = 0.0  # of all else: one for each element of an arithmetic result
    bytes: float = 0.0  # read and written in the device's main memory
    collective: str = ""  # such as "all-reduce"
    sent: float = 0.0  # bytes of a collective's result


READ = Kernel("read")  # no kernel: the host of a GPU waits for a predicate


def is_kernel(instruction: Instruction) -> bool:
    """Returns whether an instruction, other than a loop, branch or call, runs on the device."""
    if instruction.opcode == "custom-call":
        return instruction.attribute("custom_call_target") not in _FREE_TARGETS
    return instruction.opcode not in _FREE and not instruction.opcode.endswith(("-done", "-update"))


def kernel_of(program: Program, instruction: Instruction, table: Table) -> Kernel:
    """Returns one launch and its work; `is_kernel` must be true for the instruction.

    `table` has the instructions of its computation.
    """
    operations, flops, dtype = 0.0, 0.0, ""
    for inner, inner_table in _inside(program, instruction, table):
        if inner.opcode in _REDUCTIONS:
            operations += sum(x.shapes[0].elements for x in _operands(inner, inner_table)[:1])
        elif inner.opcode not in _MOVES and inner.opcode not in _FREE:
            operations += sum(shape.elements for shape in inner.shapes)
        elif product := matrix_flops(inner, inner_table):
            flops += product
            dtype = inner_table[inner.operands[0]].shapes[0].dtype
    collective = next((name for name in _COLLECTIVES if instruction.opcode.startswith(name)), "")
    sent = [shape.bytes_anywhere for shape in instruction.shapes] if collective else []
    if instruction.opcode in ("all-gather-start", "collective-permute-start"):
        sent = sent[1:2]  # (operand, result, ...)
    moved = float(_bytes(program, instruction, table))
    return Kernel(instruction.opcode, flops, dtype, operations, moved, collective, float(sum(sent)))


def matrix_flops(instruction: Instruction, table: Table) -> float:
    """Returns the operations of a convolution or matrix product, two for each multiplication.

    Other instructions have none. `table` has the instructions of the computation.
    """
    target = instruction.attribute("custom_call_target")
    named = re.search("conv|matmul|gemm", target)
    operands = _operands(instruction, table)[:2]
    if not (instruction.opcode in ("dot", "convolution") or named) or len(operands) < 2:
        return 0.0
    left, right, result = (x.shapes[0] for x in (*operands, instruction))
    if found := re.search(r"dim_labels=\w+_(\w+)->\w+", instruction.attributes):
        if "BackwardInput" in target:
            result, kernel = left, right
        elif "BackwardFilter" in target:
            result, kernel = right, result
        else:
            kernel = right
        return 2.0 * result.elements * kernel.elements / kernel.dims[found[1].index("o")]
    contracted = r'lhs_contracting_dim(?:s|ensions)[="]+:?[{\[]([^}\]]*)'
    found = re.search(contracted, instruction.attributes)
    places = [int(x) for x in re.findall(r"\d+", found[1])] if found else []
    return 2.0 * result.elements * math.prod(left.dims[place] for place in places)


def _operands(instruction: Instruction, table: Table) -> list[Instruction]:
    return [table[name] for name in instruction.operands if name in table and table[name].shapes]


def _inside(
    program: Program, instruction: Instruction, table: Table
) -> Iterator[tuple[Instruction, Table]]:
    """Yields the instructions that one kernel computes, each with its computation."""
    fused = _fused(program, instruction)
    if not fused:
        yield instruction, table
    for inner in fused.values():
        yield from _inside(program, inner, fused)


def _fused(program: Program, instruction: Instruction) -> Table:
    is_fusion = instruction.opcode == "fusion"
    return program.computations.get(instruction.attribute("calls"), {}) if is_fusion else {}


def _bytes(program: Program, instruction: Instruction, table: Table) -> int:
    """Returns what a kernel reads and writes: of arrays that it indexes, only the parts."""
    inside = _fused(program, instruction)
    if inside:
        users = list(inside.values())
        sources = [x for x in users if x.opcode == "parameter"]
        results = _operands(users[-1], inside) if users[-1].opcode == "tuple" else users[-1:]
        written = [(_size(x), _origin(x, inside)) for x in results]
    else:
        inside, sources, users = table, _operands(instruction, table), [instruction]
        written = [(_size(instruction), instruction)]
    moved = sum(_bytes_read(x, [y for y in users if x.name in y.operands], inside) for x in sources)
    for whole, origin in written:
        is_part = origin.opcode in _WRITES_A_PART
        moved += min(whole, _written_part(origin, inside)) if is_part else whole
    return moved


def _origin(result: Instruction, inside: Table) -> Instruction:
    while result.opcode in _PASSES_ON and result.operands and result.operands[0] in inside:
        result = inside[result.operands[0]]
    return result


def _size(instruction: Instruction) -> int:
    """Returns the bytes of a result in main memory, without a library's workspace."""
    shapes = list(instruction.shapes)
    if instruction.opcode == "custom-call" and len(shapes) > 1:
        shapes = [x for x in shapes if x.dtype not in ("u8", "s8")] or shapes
    if instruction.opcode.endswith("-start"):  # (operand, result, context)
        shapes = shapes[:1]
    return sum(shape.bytes for shape in shapes)


def _bytes_read(source: Instruction, users: list[Instruction], inside: Table) -> int:
    whole, parts = _size(source), 0
    for user in users:
        if user.operands[0] == source.name and user.opcode in _READS_A_PART:
            parts += _size(user)
        elif user.operands[0] == source.name and user.opcode in _WRITES_A_PART:
            parts += _written_part(user, inside)
        else:
            return whole
    return min(whole, parts)


def _written_part(instruction: Instruction, inside: Table) -> int:
    place = _WRITES_A_PART[instruction.opcode]
    return _size(inside.get(instruction.operands[place], instruction))
