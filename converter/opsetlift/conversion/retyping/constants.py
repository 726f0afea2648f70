"""Constants on their way to another dtype: some are read in the old one, some in the new one, some in both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onnx import AttributeProto, FunctionProto, NodeProto, TensorProto

from opsetlift.model.arrays import Array
from opsetlift.model.scopes import Container, subgraphs
from opsetlift.support.protobuf import text_of


@dataclass
class Constant:
    """A constant of a scope, which may be read in the old dtype, in the new one, or in both."""

    name: str
    old: str
    node: NodeProto | None
    """None for an initializer."""
    array: Array | None
    retyped: TensorProto | None = None
    """It in the new dtype, under a name of its own."""
    misfit: str = ""
    """Why it cannot be had in the new dtype."""
    is_read_as_it_was: bool = False
    is_read_anew: bool = False

    def nodes(self) -> Iterator[NodeProto]:
        """What computes it, where it is no initializer."""
        if self.node is not None and (self.is_read_as_it_was or not self.is_read_anew):
            yield self.node
        if self.node is not None and self.is_read_anew and self.retyped is not None:
            node = NodeProto(op_type="Constant", name=self.node.name, output=[self.retyped.name])
            node.doc_string = text_of(self.node.doc_string)
            node.metadata_props.extend(self.node.metadata_props)
            node.attribute.add(name="value", type=AttributeProto.TENSOR, t=self.retyped)
            node.attribute[0].t.ClearField("name")
            yield node


def rename_constants(container: Container, names: Mapping[str, str]) -> None:
    """Other names for constants, wherever they stand."""
    if isinstance(container, FunctionProto):
        container.output[:] = [names.get(name, name) for name in container.output]
    else:
        for named in (*container.initializer, *container.output):
            named.name = names.get(named.name, named.name)
    for node in container.node:
        for place in (node.input, node.output):
            for position, name in enumerate(place):
                if name in names:
                    place[position] = names[name]
        for _, graph in subgraphs(node):
            rename_constants(graph, names)
