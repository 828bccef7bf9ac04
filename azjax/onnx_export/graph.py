"""An ONNX graph under construction, and the storage of JAX's dtypes in it.

ONNX Runtime has few operators for small and for unsigned integers. So a graph stores every unsigned
integer as an int64 within the range of its dtype, and a signed integer as an int32. A uint64 is
stored as the int64 with the same bits, and an int64 as it is. `wrapped` brings results that may
have left the range back into it.

ONNX Runtime 1.31 compares only the lower 32 bits of int64 in Min, Max, ReduceMin and ReduceMax, as
signed numbers. So these operators never get larger numbers; `lower` and `higher` replace them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import DTypeLike
from onnx import helper, numpy_helper

OPSET = 18
_IR_VERSION = 9


@dataclass(frozen=True)
class Tensor:
    """A value that is known only when the model runs; known values are numpy arrays."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype  # its dtype in JAX


Value = Tensor | np.ndarray
Input = str | Value | np.generic | int | Sequence[int]
"""What a node can read: a name, a value, or integers, which become a constant int64."""


def storage(dtype: DTypeLike) -> np.dtype:
    """Returns the dtype that stores JAX's `dtype` in a graph; a TypeError if there is none."""
    dtype = np.dtype(dtype)
    if dtype in (np.bool_, np.float32):
        return dtype
    if dtype.kind == "u" or dtype == np.int64:
        return np.dtype(np.int64)
    if dtype.kind == "i":
        return np.dtype(np.int32)
    raise TypeError(f"{dtype} cannot be exported")


@dataclass(eq=False)
class Graph:
    """A graph's nodes in the order of their creation.

    Equal nodes are created only once. Nodes of a loop's body that depend on nothing in the body are
    created in the graph around the loop.
    """

    parent: "Graph | None" = None
    hoists: bool = True  # creates nodes in the parent if they depend on nothing here
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    made: dict[Any, tuple[str, ...]] = field(default_factory=dict)
    # The root's are used by all graphs: the depth of each name's graph, and the constants.
    depths: dict[str, int] = field(default_factory=dict)
    constants: dict[Any, onnx.TensorProto] = field(default_factory=dict)

    @property
    def root(self) -> "Graph":
        """The outermost graph."""
        return self if self.parent is None else self.parent.root

    @property
    def depth(self) -> int:
        """The number of graphs around this one."""
        return 0 if self.parent is None else self.parent.depth + 1

    def new_name(self) -> str:
        """Returns a new name for a value of this graph."""
        name = f"v{len(self.root.depths)}"
        self.root.depths[name] = self.depth
        return name

    def node(self, op: str, *inputs: Input, **attributes: Any) -> str:
        """Returns the name of the output of a node; attributes that are None are left out."""
        attributes = {k: v for k, v in attributes.items() if v is not None}
        names = tuple(map(self.name_of, inputs))
        key = (op, names, repr(sorted(attributes.items())))
        graph: Graph | None = self
        while graph is not None:
            if key in graph.made:
                return graph.made[key][0]
            graph = graph.parent
        home, needed = self, max(self.root.depths.get(name, 0) for name in names)
        while home.depth > needed and home.hoists and home.parent is not None:
            home = home.parent
        output = home.new_name()
        home.nodes.append(helper.make_node(op, list(names), [output], **attributes))
        home.made[key] = (output,)
        return output

    def control(self, op: str, inputs: list[str], count: int, **attributes: Any) -> list[str]:
        """Returns the names of the `count` outputs of a node whose attributes are graphs."""
        outputs = [self.new_name() for _ in range(count)]
        self.nodes.append(helper.make_node(op, inputs, outputs, **attributes))
        return outputs

    def name_of(self, value: Input) -> str:
        """Returns the name under which nodes refer to a value, a constant if it is known."""
        if isinstance(value, str | Tensor):
            return value if isinstance(value, str) else value.name
        is_array = isinstance(value, np.ndarray | np.generic)
        array = np.asarray(value, None if is_array else np.int64)
        if array.dtype != np.int64:
            array = array.astype(storage(array.dtype))
        key = (array.dtype.str, array.shape, array.tobytes())
        constants = self.root.constants
        if key not in constants:
            name = f"c{len(constants)}"
            constants[key] = numpy_helper.from_array(np.ascontiguousarray(array), name)
            constants[key].dims[:] = array.shape  # () where numpy makes it (1,)
        return constants[key].name

    def wrapped(self, name: str, dtype: np.dtype) -> str:
        """Wraps the result of integer arithmetic into the dtype's range, like XLA."""
        if dtype.itemsize == 8:
            return name
        if dtype.kind == "u":
            return self.node("BitwiseAnd", name, mask_of(dtype))
        if dtype.kind == "i" and dtype.itemsize < 4:
            half, mask = np.int32(1 << (8 * dtype.itemsize - 1)), np.int32(mask_of(dtype))
            return self.node(
                "Sub", self.node("BitwiseAnd", self.node("Add", name, half), mask), half
            )
        return name

    def lower(self, a: Input, b: Input) -> str:
        """Returns the minimum of two int64."""
        return self.node("Where", self.node("Less", a, b), a, b)

    def higher(self, a: Input, b: Input) -> str:
        """Returns the maximum of two int64."""
        return self.node("Where", self.node("Less", a, b), b, a)

    def cast(self, value: Input, dtype: DTypeLike) -> str:
        """Returns the value as `dtype`, without wrapping it into a range."""
        return self.node("Cast", value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def finished(self, name: str, inputs: list[Any], outputs: list[Any]) -> onnx.GraphProto:
        """Returns the finished graph, without nodes that no output needs."""
        needed, nodes = {output.name for output in outputs}, []
        for node in reversed(self.nodes):
            if needed.intersection(node.output):
                nodes.append(node)
                needed.update(_names_used(node))
        constants = [] if self.parent else list(self.constants.values())
        kept = [c for c in constants if c.name in needed]
        return helper.make_graph(nodes[::-1], name, inputs, outputs, kept)


def model_of(graph: onnx.GraphProto) -> onnx.ModelProto:
    """Returns a model of a finished graph."""
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="azjax"
    )


def mask_of(dtype: np.dtype) -> int:
    """Returns the number with all bits of a dtype set, as it is stored: -1 for 64 bits."""
    return (1 << (8 * dtype.itemsize)) - 1 if dtype.itemsize < 8 else -1


def info(name: str, shape: tuple[int, ...] | None, dtype: np.dtype) -> onnx.ValueInfoProto:
    """Returns ONNX's description of an input or output."""
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
