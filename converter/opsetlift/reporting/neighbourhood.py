"""Nodes with what they read and who reads them, to be drawn, and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property

import numpy
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, numpy_helper

from opsetlift.model.def_use import uses_of
from opsetlift.model.files import is_external
from opsetlift.model.scopes import Container
from opsetlift.reporting.drawing import Box, Drawing, State, shortened
from opsetlift.specification.dtypes import dtype_name

_MOST_NODES = 24
"""Of those that a drawing is about."""
_MOST_NEIGHBOURS = 6
_MOST_ELEMENTS = 6
"""Tensors up to this size are written out."""
_LONGEST_ATTRIBUTE = 60


class Neighbourhood:
    """The nodes of one scope, with who computes what they read and who reads what they compute."""

    def __init__(self, scope: Container) -> None:
        self.nodes: Sequence[NodeProto] = scope.node[:]
        self._scope = scope

    @cached_property
    def _producers(self) -> Mapping[str, int]:
        return {name: position for position, node in enumerate(self.nodes) for name in node.output if name}

    @cached_property
    def _readers(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for position, node in enumerate(self.nodes):
            for name in _read(node):
                found.setdefault(name, []).append(position)
        return found

    @cached_property
    def _constants(self) -> Mapping[str, TensorProto | SparseTensorProto]:
        if not isinstance(self._scope, GraphProto):
            return {}
        dense = {tensor.name: tensor for tensor in self._scope.initializer}
        return {**dense, **{sparse.values.name: sparse for sparse in self._scope.sparse_initializer}}

    @cached_property
    def _inputs(self) -> frozenset[str]:
        return frozenset(one if isinstance(one, str) else one.name for one in self._scope.input)

    @cached_property
    def _outputs(self) -> frozenset[str]:
        return frozenset(one if isinstance(one, str) else one.name for one in self._scope.output)

    def drawn(
        self,
        title: str,
        focus: Iterable[int],
        state: Callable[[int], State],
        around: Iterable[str] = (),
        added: frozenset[str] = frozenset(),
    ) -> Drawing:
        """Some nodes with their neighbours.

        Args:
            title: What the drawing shows.
            focus: The positions of the nodes.
            state: What became of the node at a position.
            around: Values whose producers and readers are shown even where none of the nodes is left.
            added: Initializers that are new.
        """
        asked = sorted(set(focus))
        shown = asked[:_MOST_NODES]
        drawing = Drawing(title, left_out=len(asked) - len(shown))
        for position in shown:
            drawing.add(self._node(position, state(position)))
        inside = set(shown)
        for position in shown:
            for name in _read(self.nodes[position]):
                self._add_source(drawing, name, str(position), inside, state, added)
            for name in filter(None, self.nodes[position].output):
                self._add_readers(drawing, name, str(position), inside, state)
        if not shown:
            for name in around:
                self._add_passing(drawing, name, state, added)
        return drawing

    def _add_source(
        self,
        drawing: Drawing,
        name: str,
        reader: str,
        inside: set[int],
        state: Callable[[int], State],
        added: frozenset[str],
    ) -> None:
        producer = self._producers.get(name)
        if producer is not None:
            drawing.add(self._node(producer, state(producer)))
            drawing.connect(str(producer), reader, name)
            return
        drawing.add(self._value(name, is_new=name in added))
        drawing.connect(f"={name}", reader, name)

    def _add_readers(
        self, drawing: Drawing, name: str, producer: str, inside: set[int], state: Callable[[int], State]
    ) -> None:
        readers = self._readers.get(name, ())
        for position in readers[:_MOST_NEIGHBOURS]:
            if position not in inside:
                drawing.add(self._node(position, state(position)))
            if any(box.key == str(position) for box in drawing.boxes):
                drawing.connect(producer, str(position), name)
        if len(readers) > _MOST_NEIGHBOURS:
            more = f"{len(readers) - _MOST_NEIGHBOURS} more nodes"
            drawing.add(Box(f"+{name}", more, f"read {name}", State.VALUE))
            drawing.connect(producer, f"+{name}", name)
        if name in self._outputs:
            drawing.add(Box(f">{name}", name, "output", State.VALUE, f"output {name}"))
            drawing.connect(producer, f">{name}", name)

    def _add_passing(self, drawing: Drawing, name: str, state: Callable[[int], State], added: frozenset[str]) -> None:
        """What computes a value and what reads it, where the nodes between them are gone."""
        for position in self._readers.get(name, ())[:_MOST_NEIGHBOURS]:
            drawing.add(self._node(position, state(position)))
            self._add_source(drawing, name, str(position), set(), state, added)

    def _node(self, position: int, state: State) -> Box:
        node = self.nodes[position]
        name = name_of(node)
        operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        detail = constant_text(node) or name
        return Box(str(position), operator, detail, state, node_text(node))

    def _value(self, name: str, *, is_new: bool) -> Box:
        constant = self._constants.get(name)
        state = State.NEW if is_new else State.VALUE
        if constant is not None:
            return Box(f"={name}", name, tensor_text(constant), state, f"constant {name} = {tensor_text(constant)}")
        where = "input" if name in self._inputs else "from the graph around"
        return Box(f"={name}", name, where, state, f"{where} {name}")


def name_of(node: NodeProto) -> str:
    """What a node is called: its name, or its first output."""
    return node.name or next(filter(None, node.output), "")


def _read(node: NodeProto) -> list[str]:
    """What a node takes from its scope, captures included, each once."""
    captured = uses_of([node]) if any(one.type in _GRAPHS for one in node.attribute) else ()
    return list(dict.fromkeys(name for name in (*node.input, *captured) if name))


_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


def node_text(node: NodeProto) -> str:
    """A node in one line, like ONNX's textual form: "Y = ReduceMin <axes = [1]> (X)"."""
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    attributes = ", ".join(f"{one.name} = {attribute_text(one)}" for one in node.attribute)
    shown = f" <{attributes}>" if attributes else ""
    return f"{', '.join(node.output)} = {operator}{shown} ({', '.join(node.input)})"


def attribute_text(attribute: AttributeProto) -> str:
    """The value of an attribute, in short."""
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"
    match attribute.type:
        case AttributeProto.TENSOR:
            return tensor_text(attribute.t)
        case AttributeProto.SPARSE_TENSOR:
            return tensor_text(attribute.sparse_tensor)
        case AttributeProto.GRAPH:
            return f"graph of {len(attribute.g.node)} nodes"
        case AttributeProto.GRAPHS:
            return f"{len(attribute.graphs)} graphs"
        case AttributeProto.TYPE_PROTO | AttributeProto.TYPE_PROTOS | AttributeProto.UNDEFINED:
            return str(AttributeProto.AttributeType.Name(attribute.type)).lower()
        case AttributeProto.STRING:
            return shortened(repr(attribute.s.decode(errors="backslashreplace")), _LONGEST_ATTRIBUTE)
    return shortened(str(onnx.helper.get_attribute_value(attribute)), _LONGEST_ATTRIBUTE)


def constant_text(node: NodeProto) -> str:
    """The value of a Constant node; "" for any other."""
    if node.op_type != "Constant" or node.domain or len(node.attribute) != 1:
        return ""
    return attribute_text(node.attribute[0])


def tensor_text(tensor: TensorProto | SparseTensorProto) -> str:
    """A tensor in short: its elements where they are few, else its dtype and shape."""
    if isinstance(tensor, SparseTensorProto):
        return f"sparse {_kind(tensor.values.data_type)}{list(tensor.dims)}"
    shown = f"{_kind(tensor.data_type)}{list(tensor.dims)}"
    count = numpy.prod(tensor.dims, dtype=object)
    if is_external(tensor) or not 0 <= count <= _MOST_ELEMENTS:
        return shown
    try:
        elements = numpy_helper.to_array(tensor).tolist()
    except (ValueError, TypeError, KeyError, NotImplementedError):
        return shown
    return shortened(f"{elements} {_kind(tensor.data_type)}", _LONGEST_ATTRIBUTE)


def _kind(data_type: int) -> str:
    try:
        return dtype_name(data_type)
    except (ValueError, KeyError):
        return f"dtype {data_type}"
