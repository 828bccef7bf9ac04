"""An ONNX graph under construction, and how JAX's dtypes are stored in it.

ONNX Runtime has few operators for small and for unsigned integers. So within a graph every unsigned
integer is an int64 that lies in its dtype's range, every signed one an int32, and results are
brought back into range where they may have left it: `wrapped`.

ONNX Runtime 1.31 compares only the lower 32 bits of int64 in Min, Max, ReduceMin and ReduceMax, as
signed numbers; so these are never given larger ones (`lower`, `higher`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 18
_IR_VERSION = 9


@dataclass(frozen=True)
class Tensor:
    """A value that is known when the model runs; one that is known already is a numpy array."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype  # as JAX has it


Value = Tensor | np.ndarray


def storage(dtype: np.dtype) -> np.dtype:
    """The dtype that stands for JAX's `dtype` in a graph.

    Raises:
      TypeError: there is none.
    """
    dtype = np.dtype(dtype)
    if dtype in (np.bool_, np.float32):
        return dtype
    if dtype.kind == "u" and dtype.itemsize <= 4:
        return np.dtype(np.int64)
    if dtype.kind == "i" and dtype.itemsize <= 4:
        return np.dtype(np.int32)
    raise TypeError(f"{dtype} cannot be exported")


@dataclass(eq=False)
class Graph:
    """Nodes in the order of their making. A node that was there before is not made again, and what
    a loop's body computes from nothing of its own is computed before the loop."""

    parent: Graph | None = None
    hoists: bool = True  # to its parent what depends on nothing here
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    made: dict[Any, tuple[str, ...]] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)  # of the root: for each name, its graph's
    constants: dict[Any, onnx.TensorProto] = field(default_factory=dict)  # of the root

    @property
    def root(self) -> Graph:
        return self if self.parent is None else self.parent.root

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    def new_name(self) -> str:
        """A name for a value of this graph."""
        name = f"v{len(self.root.depths)}"
        self.root.depths[name] = self.depth
        return name

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """The output of a node with these inputs; an attribute that is None is left out."""
        attributes = {k: v for k, v in attributes.items() if v is not None}
        key = (op, inputs, tuple(sorted((k, _hashable(v)) for k, v in attributes.items())))
        graph: Graph | None = self
        while graph is not None:
            if key in graph.made:
                return graph.made[key][0]
            graph = graph.parent
        home, needed = self, max(self.root.depths.get(name, 0) for name in inputs)
        while home.depth > needed and home.hoists and home.parent is not None:
            home = home.parent
        output = home.new_name()
        home.nodes.append(helper.make_node(op, list(inputs), [output], **attributes))
        home.made[key] = (output,)
        return output

    def control(self, op: str, inputs: list[str], count: int, **attributes: Any) -> list[str]:
        """The `count` outputs of a node that has graphs for attributes."""
        outputs = [self.new_name() for _ in range(count)]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs

    def constant(self, array: np.ndarray) -> str:
        """The name of an array, stored as it is: its dtype must be one of a graph's own."""
        array = np.asarray(array)
        key = (array.dtype.str, array.shape, array.tobytes())
        constants = self.root.constants
        if key not in constants:
            name = f"c{len(constants)}"
            constants[key] = numpy_helper.from_array(np.ascontiguousarray(array), name)
            constants[key].dims[:] = array.shape  # () where numpy makes it (1,)
        return constants[key].name

    def shape(self, *sizes: int) -> str:
        return self.constant(np.array(sizes, np.int64))

    def name_of(self, value: Value) -> str:
        """The name under which nodes find a value."""
        if isinstance(value, Tensor):
            return value.name
        return self.constant(value.astype(storage(value.dtype)))

    def wrapped(self, name: str, dtype: np.dtype) -> str:
        """The result of arithmetic taken modulo the dtype's range, as XLA's integers are."""
        if dtype.kind == "u":
            return self.node("BitwiseAnd", name, self.constant(mask_of(dtype)))
        if dtype.kind == "i" and dtype.itemsize < 4:
            half = self.constant(np.int32(1 << (8 * dtype.itemsize - 1)))
            mask = self.constant(np.int32((1 << (8 * dtype.itemsize)) - 1))
            up = self.node("BitwiseAnd", self.node("Add", name, half), mask)
            return self.node("Sub", up, half)
        return name

    def lower(self, a: str, b: str) -> str:
        """The lesser of two int64."""
        return self.node("Where", self.node("Less", a, b), a, b)

    def higher(self, a: str, b: str) -> str:
        """The greater of two int64."""
        return self.node("Where", self.node("Less", a, b), b, a)

    def cast(self, name: str, dtype: np.dtype) -> str:
        return self.node("Cast", name, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def finished(self, name: str, inputs: list[Any], outputs: list[Any]) -> onnx.GraphProto:
        """The graph, without what no output needs. `inputs` and `outputs` are ONNX's value infos,
        which outputs must be made by a node in this very graph."""
        needed, nodes = {output.name for output in outputs}, []
        for node in reversed(self.nodes):
            if needed.intersection(node.output):
                nodes.append(node)
                needed.update(_names_used(node))
        constants = [] if self.parent else list(self.constants.values())
        kept = [c for c in constants if c.name in needed]
        return helper.make_graph(nodes[::-1], name, inputs, outputs, kept)


def model_of(graph: onnx.GraphProto) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="azjax"
    )


def mask_of(dtype: np.dtype) -> np.ndarray:
    """All bits of an unsigned dtype, as it is stored."""
    return np.array((1 << (8 * dtype.itemsize)) - 1, np.int64)


def info(name: str, shape: tuple[int, ...] | None, dtype: np.dtype) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape
    )


def _names_used(node: onnx.NodeProto) -> set[str]:
    used = set(node.input)
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            used.update(output.name for output in attribute.g.output)
            for inner in attribute.g.node:
                used |= _names_used(inner)
    return used


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
