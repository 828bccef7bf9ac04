"""Reads the text of a compiled XLA program, which `jax.stages.Compiled.as_text` returns."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

Path = tuple[str, ...]  # JAX's names around an operation, see `path`
_BITS = {"pred": 8, "token": 0, "opaque": 0}


@dataclass(frozen=True)
class Shape:
    """The type of an array."""

    dtype: str  # "f32", "bf16", "pred", ...
    dims: tuple[int, ...]
    minor_to_major: tuple[int, ...] = ()
    tile: tuple[int, ...] = ()  # the innermost dimensions are padded to its multiples
    memory: int = 0  # 0: the device's main memory; on TPUs, 1 is the vector memory

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.dims)

    @property
    def bytes(self) -> int:
        """Bytes in main memory, with the padding of a TPU's tiles."""
        return 0 if self.memory else self.bytes_anywhere

    @property
    def bytes_anywhere(self) -> int:
        """Bytes in any kind of memory, with the padding of a TPU's tiles."""
        dims = list(self.dims)
        for size, place in zip(reversed(self.tile), self.minor_to_major, strict=False):
            dims[place] = -(-dims[place] // size) * size
        digits = re.search(r"\d+", self.dtype)
        bits = _BITS.get(self.dtype, int(digits[0]) if digits else 0)
        return math.prod(dims) * bits // 8


@dataclass(frozen=True)
class Instruction:
    """One instruction of a computation."""

    name: str
    opcode: str
    shapes: tuple[Shape, ...]  # of its result: one, or the parts of a tuple
    operands: tuple[str, ...]  # names of instructions of the same computation
    attributes: str  # the rest of the line
    arguments: str = ""  # what stands between the parentheses

    def attribute(self, name: str) -> str:
        """Returns the word or quoted text after `name=`, without a leading percent sign."""
        found = re.search(rf'\b{name}=(?:%?([\w.\-]+)|"((?:[^"\\]|\\.)*)")', self.attributes)
        return (found[1] or found[2]) if found else ""

    @property
    def branches(self) -> list[str]:
        """Computations that a conditional chooses from, in the order of its index."""
        if found := re.search(r"branch_computations=\{([^}]*)\}", self.attributes):
            return re.findall(r"[\w.\-]+", found[1])
        return [self.attribute("false_computation"), self.attribute("true_computation")]

    @property
    def path(self) -> Path:
        """JAX's names of what the instruction is part of, such as `("plies", "while", "body")`."""
        return path(self.attribute("op_name"))


def path(op_name: str) -> Path:
    """Returns the parts of JAX's name of an operation, without the wrappers of transformations."""
    parts = (re.sub(r"^(?:\w+\()+|\)+$", "", part) for part in op_name.split("/"))
    return tuple(part for part in parts if part)


Table = dict[str, Instruction]  # the instructions of one computation, by name


@dataclass(frozen=True)
class Program:
    """A compiled program."""

    entry: str
    computations: dict[str, Table]

    def trip_count(self, loop: Instruction) -> int | None:
        """Returns how often a `while` repeats its body; None if that depends on data.

        XLA writes it down for GPUs and CPUs. On TPUs, loops of JAX compare a counter from 0 with a
        constant.
        """
        if found := re.search(r'"known_trip_count":\{"n":"(\d+)"', loop.attributes):
            return int(found[1])
        table = self.computations.get(loop.attribute("condition"), {})
        test = list(table.values())[-1] if table else None
        if test is None or test.opcode != "compare" or test.attribute("direction") != "LT":
            return None
        limit = table[test.operands[1]]
        while limit.opcode == "copy":
            limit = table[limit.operands[0]]
        return int(limit.arguments) if re.fullmatch(r"\d+", limit.arguments) else None


def parse(text: str) -> Program:
    """Reads a program's text.

    Raises:
      ValueError: the text has no entry computation.
    """
    computations: dict[str, Table] = {}
    entry = current = ""
    for line in text.splitlines():
        if start := re.match(r"(ENTRY )?%?([\w.\-]+) .*\{$", line):
            current = start[2]
            computations[current] = {}
            entry = current if start[1] else entry
        elif line.startswith("}"):
            current = ""
        elif current and (instruction := _instruction(line)):
            computations[current][instruction.name] = instruction
    if not entry:
        raise ValueError("this is not the text of an XLA program: it has no ENTRY computation")
    return Program(entry, computations)


_NAME = re.compile(r"\s+(?:ROOT )?%?([\w.\-]+) = ")
_OPCODE = re.compile(r"\s*([\w\-]+)\(")
_SHAPE = re.compile(r"([a-z]\w*)\[([^\]]*)\](?:\{([^}:]*):?([^}]*)\})?")


def _instruction(line: str) -> Instruction | None:
    name = _NAME.match(line)
    if not name:
        return None
    rest = line[name.end() :]
    end = _closing(rest) + 1 if rest.startswith("(") else rest.find(" ")
    opcode = _OPCODE.match(rest, end)
    if end <= 0 or not opcode:
        return None
    start = opcode.end() - 1
    stop = _closing(rest, start)
    arguments = rest[start + 1 : stop]
    shapes = tuple(_shapes(re.sub(r"/\*.*?\*/", "", rest[:end])))
    operands = tuple(re.findall(r"%([\w.\-]+)", arguments))
    return Instruction(name[1], opcode[1], shapes, operands, rest[stop + 1 :], arguments)


def _closing(text: str, start: int = 0) -> int:
    """Returns where the parenthesis that opens at `start` closes."""
    depth = 0
    for found in re.compile(r"[()]").finditer(text, start):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.start()
    return len(text)


def _shapes(text: str) -> Iterator[Shape]:
    for dtype, dims, order, tiles in _SHAPE.findall(text):
        tile, memory = re.search(r"T\(([\d,]*)\)", tiles), re.search(r"S\((\d+)\)", tiles)
        sizes = (re.findall(r"\d+", x) for x in (dims, order, tile[1] if tile else ""))
        dims, order, tile = (tuple(map(int, x)) for x in sizes)
        yield Shape(dtype, dims, order, tile, int(memory[1]) if memory else 0)
