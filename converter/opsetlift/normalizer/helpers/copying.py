"""Copies of nodes and of the subgraphs in them, with other tensors, and with attributes that a call gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.attached_metadata import GraphMetadata, attach, metadata_of_graph, metadata_of_node
from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.rewriting import Context


class Copier:
    """Copies nodes. `tensors` says what to read and compute by the id of the original; others get fresh names.

    `attributes` are the values of references to attributes; references to others are left out.
    """

    def __init__(self, context: Context, tensors: dict[int, gs.Tensor], attributes: Mapping[str, Any]) -> None:
        self._context = context
        self._tensors = tensors
        self._attributes = attributes

    def tensor(self, original: gs.Tensor) -> gs.Tensor:
        """The copy of a tensor."""
        if original.is_empty():
            return gs.Variable.empty()
        if id(original) not in self._tensors:
            name = self._context.fresh_name(original.name)
            copy = gs.Constant(name, held_values(original)) if isinstance(original, gs.Constant) else gs.Variable(name)
            self._tensors[id(original)] = copy
        return self._tensors[id(original)]

    def nodes(self, originals: Sequence[gs.Node]) -> list[gs.Node]:
        """Copies of nodes, which have no names yet."""
        return [self._node(original) for original in originals]

    def _node(self, original: gs.Node) -> gs.Node:
        copy = gs.Node(
            op=original.op,
            attrs={name: found for name, value in original.attrs.items() if (found := self._value(value)) is not None},
            inputs=[self.tensor(tensor) for tensor in original.inputs],
            outputs=[self.tensor(tensor) for tensor in original.outputs],
            domain=original.domain,
        )
        metadata = metadata_of_node(original)
        if metadata is not None:
            attach(copy, replace(metadata, attributes=dict(metadata.attributes), notes_of=dict(metadata.notes_of)))
        return copy

    def _value(self, value: Any) -> Any:
        if isinstance(value, gs.Node.AttributeRef):
            return self._attributes.get(value.name)
        if isinstance(value, gs.Graph):
            return self._graph(value)
        if isinstance(value, list):
            return [self._graph(item) if isinstance(item, gs.Graph) else item for item in value]
        return value

    def _graph(self, original: gs.Graph) -> gs.Graph:
        copy = gs.Graph(
            inputs=[self.tensor(tensor) for tensor in original.inputs],
            nodes=self.nodes(original.nodes),
            outputs=[self.tensor(tensor) for tensor in original.outputs],
            name=original.name,
            doc_string=original.doc_string,
            opset=original.opset,
            import_domains=original.import_domains,
        )
        metadata = metadata_of_graph(original)
        if metadata is not None:
            copied = GraphMetadata(metadata.proto, None, [self.tensor(tensor) for tensor in metadata.initializers])
            copied.inputs = [(self.tensor(tensor), info) for tensor, info in metadata.inputs]
            copied.outputs = [(self.tensor(tensor), info) for tensor, info in metadata.outputs]
            copied.value_info = [(self.tensor(tensor), info) for tensor, info in metadata.value_info]
            attach(copy, copied)
        return copy
