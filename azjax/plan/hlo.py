"""Reads the text of a compiled XLA program: its computations, instructions and source lines.

The text is what `jax.stages.Compiled.as_text` returns. XLA has lowered it for one kind of device.
In a GPU program, every instruction that is no bookkeeping is a kernel launch or a library call.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_BITS = {"pred": 8, "token": 0, "opaque": 0, "u4": 4, "s4": 4, "u2": 2, "s2": 2}


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
        """Bytes in memory, with the padding of a TPU's tiles."""
        dims = list(self.dims)
        for place, size in zip(reversed(self.tile), self.minor_to_major, strict=False):
            dims[size] = -(-dims[size] // place) * place
        return math.prod(dims) * bits(self.dtype) // 8


def bits(dtype: str) -> int:
    """Returns the bits of an element."""
    if dtype in _BITS:
        return _BITS[dtype]
    digits = re.match(r"[a-z]+(\d+)", dtype)
    return int(digits[1]) if digits else 0


@dataclass(frozen=True)
class Instruction:
    """One instruction of a computation."""

    name: str
    opcode: str
    shapes: tuple[Shape, ...]  # of its result: one, or the parts of a tuple
    operands: tuple[str, ...]  # names of instructions of the same computation
    attributes: str  # the rest of the line
    arguments: str = ""  # what stands between the parentheses

    def attribute(self, name: str) -> str | None:
        """Returns the word after `name=`, without a leading percent sign."""
        found = re.search(rf"\b{name}=%?([\w.\-]+)", self.attributes)
        return found[1] if found else None

    @property
    def called(self) -> tuple[str, ...]:
        """Computations that a conditional chooses from, in the order of its index."""
        if found := re.search(r"branch_computations=\{([^}]*)\}", self.attributes):
            return tuple(name.strip().lstrip("%") for name in found[1].split(","))
        branches = self.attribute("false_computation"), self.attribute("true_computation")
        return tuple(name for name in branches if name is not None)

    @property
    def target(self) -> str:
        """The library function of a custom call."""
        found = re.search(r'custom_call_target="([^"]*)"', self.attributes)
        return found[1] if found else ""

    @property
    def op_name(self) -> str:
        """JAX's name of the operation, with the functions that it is part of."""
        found = re.search(r'op_name="((?:[^"\\]|\\.)*)"', self.attributes)
        return found[1] if found else ""


@dataclass(frozen=True)
class Frame:
    """A line of Python that an instruction comes from."""

    function: str  # qualified, such as "self_play.<locals>.ply"
    file: str
    line: int

    @property
    def place(self) -> str:
        """The function and the end of its file's path, such as `self_play in selfplay.py`."""
        return f"{self.function.split('.')[-1]} in {self.file.rsplit('/', 1)[-1]}"


@dataclass(frozen=True)
class Program:
    """A compiled program."""

    entry: str
    computations: dict[str, list[Instruction]]
    frames: dict[int, tuple[Frame, ...]] = field(default_factory=dict)  # innermost first

    def frames_of(self, instruction: Instruction) -> tuple[Frame, ...]:
        """Returns the lines of Python that an instruction comes from, innermost first."""
        found = re.search(r"stack_frame_id=(\d+)", instruction.attributes)
        if found:
            return self.frames.get(int(found[1]), ())
        file = re.search(r'source_file="([^"]*)"', instruction.attributes)
        line = re.search(r"source_line=(\d+)", instruction.attributes)
        return (Frame("", file[1], int(line[1])),) if file and line else ()

    def trip_count(self, loop: Instruction, table: dict[str, Instruction]) -> int | None:
        """Returns how often a `while` repeats its body; None if that depends on data.

        XLA writes down what it knows for GPUs and CPUs. For TPUs it does not, so a counter is
        looked for that begins at a constant, grows by a constant and is compared with a constant.

        Args:
          loop: the `while` instruction.
          table: the instructions of its computation, by name.
        """
        if found := re.search(r'"known_trip_count":\{"n":"(\d+)"', loop.attributes):
            return int(found[1])
        test = self.computations.get(loop.attribute("condition") or "", [])
        body = self.computations.get(loop.attribute("body") or "", [])
        start = table.get(loop.operands[0]) if loop.operands else None
        if not test or not body or test[-1].opcode != "compare" or start is None:
            return None
        tests, bodies = ({x.name: x for x in part} for part in (test, body))
        counter, limit = (tests.get(name) for name in test[-1].operands)
        end, index = _constant(limit, tests), counter.attribute("index") if counter else None
        if test[-1].attribute("direction") != "LT" or end is None or index is None:
            return None
        place = int(index)
        first = _constant(_element(start, place, table), table)
        step = _step(_element(body[-1], place, bodies), place, bodies)
        return None if first is None or not step else max(0, -((first - end) // step))


def _element(tuple_: Instruction, place: int, table: dict[str, Instruction]) -> Instruction | None:
    return table.get(tuple_.operands[place]) if tuple_.opcode == "tuple" else None


def _original(instruction: Instruction | None, table: dict[str, Instruction]) -> Instruction | None:
    """Returns what an instruction is a copy of."""
    while instruction is not None and instruction.opcode in ("copy", "bitcast"):
        instruction = table.get(instruction.operands[0])
    return instruction


def _constant(instruction: Instruction | None, table: dict[str, Instruction]) -> int | None:
    """Returns the whole number that an instruction or a copy of it is."""
    instruction = _original(instruction, table)
    if instruction is None or instruction.opcode != "constant":
        return None
    return int(instruction.arguments) if re.fullmatch(r"-?\d+", instruction.arguments) else None


def _step(instruction: Instruction | None, place: int, table: dict[str, Instruction]) -> int | None:
    """Returns what a loop's body adds to the counter at `place` of its state."""
    instruction = _original(instruction, table)
    if instruction is None or instruction.opcode != "add":
        return None
    parts = [x for name in instruction.operands if (x := _original(table.get(name), table))]
    steps = [step for part in parts if (step := _constant(part, table)) is not None]
    counters = [part for part in parts if part.attribute("index") == str(place)]
    return steps[0] if len(steps) == len(counters) == 1 else None


def parse(text: str) -> Program:
    """Reads a program's text.

    Raises:
      ValueError: the text has no entry computation.
    """
    computations: dict[str, list[Instruction]] = {}
    entry, current = None, None
    tables: dict[str, dict[int, str]] = {}
    table: dict[int, str] | None = None
    for line in text.splitlines():
        if current is None and line in _TABLES:
            table = tables.setdefault(line, {})
        elif table is not None and (row := re.match(r"(\d+) (.*)", line)):
            table[int(row[1])] = row[2]
        elif start := re.match(r"(ENTRY )?%?([\w.\-]+) .*\{$", line):
            table, current = None, start[2]
            computations[current] = []
            entry = current if start[1] else entry
        elif line.startswith("}"):
            current = None
        elif current is not None and (instruction := _instruction(line)):
            computations[current].append(instruction)
    if entry is None:
        raise ValueError("this is not the text of an XLA program: it has no ENTRY computation")
    return Program(entry, computations, _frames(tables))


_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_NAME = re.compile(r"\s+(?:ROOT )?%?([\w.\-]+) = ")
_OPCODE = re.compile(r"\s*([\w\-]+)\(")
_SHAPE = re.compile(r"([a-z]\w*)\[([^\]]*)\](?:\{([^}]*)\})?")


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
    return Instruction(
        name=name[1],
        opcode=opcode[1],
        shapes=tuple(_shapes(rest[:end])),
        operands=tuple(re.findall(r"%([\w.\-]+)", arguments)),
        attributes=rest[stop + 1 :],
        arguments=arguments,
    )


def _closing(text: str, start: int = 0) -> int:
    """Returns where the parenthesis that opens at `start` closes."""
    depth = 0
    for found in re.compile(r"[()]").finditer(text, start):
        depth += 1 if found[0] == "(" else -1
        if depth == 0:
            return found.start()
    return len(text)


def _shapes(text: str) -> Iterator[Shape]:
    text = re.sub(r"/\*.*?\*/", "", text)
    for dtype, dims, layout in _SHAPE.findall(text):
        order, _, tiles = layout.partition(":")
        tile = re.search(r"T\(([\d,]*)\)", tiles)
        memory = re.search(r"S\((\d+)\)", tiles)
        yield Shape(
            dtype,
            tuple(int(size.lstrip("<=")) for size in dims.split(",") if size.strip()),
            tuple(int(place) for place in order.split(",") if place.isdigit()),
            tuple(int(size) for size in tile[1].split(",") if size) if tile else (),
            int(memory[1]) if memory else 0,
        )


def _frames(tables: dict[str, dict[int, str]]) -> dict[int, tuple[Frame, ...]]:
    """Returns the frames of each stack, innermost first, from the tables at a program's top."""
    if not all(tables.get(name) for name in _TABLES):
        return {}
    files, functions, locations, stacks = (tables[name] for name in _TABLES)
    # Some versions of XLA print a parent's number plus one, so that the first is its own parent.
    shift = _number(stacks[min(stacks)], "parent_frame_id")
    found: dict[int, tuple[Frame, ...]] = {}
    for number, stack in sorted(stacks.items()):
        location = locations[_number(stack, "file_location_id")]
        here = Frame(
            functions[_number(location, "function_name_id")].strip('"'),
            files[_number(location, "file_name_id")].strip('"'),
            _number(location, "line"),
        )
        found[number] = (here, *found.get(_number(stack, "parent_frame_id") - shift, ()))
    return found


def _number(text: str, name: str) -> int:
    found = re.search(rf"\b{name}=(\d+)", text)
    return int(found[1]) if found else 0
