"""The kernels of a compiled program: what one launch computes, reads and writes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from azjax.plan.hlo import Instruction, Program, Shape

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


def is_kernel(instruction: Instruction) -> bool:
    """Returns whether an instruction, other than a loop, branch or call, runs on the device."""
    if instruction.opcode == "custom-call":
        return instruction.target not in _FREE_TARGETS
    return instruction.opcode not in _FREE and not instruction.opcode.endswith(("-done", "-update"))


def kernel_of(program: Program, instruction: Instruction, table: dict[str, Instruction]) -> Kernel:
    """Returns one launch and its work.

    Args:
      program: the program.
      instruction: one for which `is_kernel` is true.
      table: the instructions of its computation, by name.
    """
    operations, flops, dtype = 0.0, 0.0, ""
    for inner, inner_table in _inside(program, instruction, table):
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
        bytes=float(_bytes(program, instruction, table)),
        collective=collective[0] if collective else "",
        sent=float(sum(sent)),
        library=instruction.opcode == "custom-call",
    )


def _inside(
    program: Program, instruction: Instruction, table: dict[str, Instruction]
) -> Iterator[tuple[Instruction, dict[str, Instruction]]]:
    """Yields the instructions that one kernel computes, each with its computation's table."""
    called = instruction.attribute("calls")
    if instruction.opcode != "fusion" or called not in program.computations:
        yield instruction, table
        return
    fused = {x.name: x for x in program.computations[called]}
    for inner in fused.values():
        yield from _inside(program, inner, fused)


def _bytes(program: Program, instruction: Instruction, table: dict[str, Instruction]) -> int:
    """Returns what a kernel reads and writes: of arrays that it indexes, only the parts."""
    called = instruction.attribute("calls")
    if instruction.opcode == "fusion" and called in program.computations:
        return _fusion_bytes(program, called)
    operands = [_size(table[name]) for name in instruction.operands if name in table]
    result = _size(instruction)
    if instruction.opcode in _READS_A_PART:
        return 2 * result
    if instruction.opcode in _WRITES_A_PART:
        place = _WRITES_A_PART[instruction.opcode]
        return 2 * operands[place] if place < len(operands) else result
    return sum(operands) + result


def _fusion_bytes(program: Program, called: str) -> int:
    fused = {x.name: x for x in program.computations[called]}
    users: dict[str, list[Instruction]] = {name: [] for name in fused}
    for inner in fused.values():
        for name in set(inner.operands) & users.keys():
            users[name].append(inner)
    read = sum(
        _bytes_read(inner, users, fused) for inner in fused.values() if inner.opcode == "parameter"
    )
    root = program.computations[called][-1]
    results = [fused[name] for name in root.operands] if root.opcode == "tuple" else [root]
    return read + sum(_bytes_written(result, fused) for result in results)


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
