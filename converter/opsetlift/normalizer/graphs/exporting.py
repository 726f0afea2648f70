"""From a gs.Graph to a ModelProto: what nobody touched is written as it was read.

A graph that the bridge did not make is written as graphsurgeon would, types and attributes that its exporter fails on
included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import attrgetter
from typing import Any

import onnx_graphsurgeon as gs
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto

from opsetlift.model.files import copy_without
from opsetlift.model.ir_version import natural_ir_version
from opsetlift.model.scopes import imported_opsets
from opsetlift.normalizer.graphs.attached_metadata import (
    GraphMetadata,
    NodeMetadata,
    metadata_of_graph,
    metadata_of_node,
    metadata_of_tensor,
)
from opsetlift.normalizer.graphs.dead_code import nodes_in_order
from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.graphs.stored import StoredSparseTensor, stored_values
from opsetlift.normalizer.graphs.traversal import tensors_in
from opsetlift.normalizer.graphs.value_infos import ValueInfos, element_type_of
from opsetlift.normalizer.graphs.values import (
    copy_tensor,
    is_same,
    set_text,
    write_attribute,
    write_sparse,
    write_tensor,
)
from opsetlift.specification.history import AI_ONNX, canonical_domain

Order = Callable[[gs.Graph], Sequence[gs.Node]]
_nodes_of: Order = attrgetter("nodes")

_LISTED_BY_GRAPHS = frozenset(
    ("node", "initializer", "sparse_initializer", "input", "output", "value_info", "quantization_annotation")
)
_LISTED_BY_FUNCTIONS = frozenset(("node", "input", "output", "value_info", "attribute", "attribute_proto"))
_LISTED_BY_MODELS = frozenset(("graph", "functions"))
_NOTHING = NodeMetadata(NodeProto())
"""The metadata of a node that was not imported."""


def to_model(graph: gs.Graph, *, largest: int | None = None, in_order: bool = False) -> ModelProto:
    """The model of a gs.Graph. Weights are copied as they are stored; references to files stay references.

    Args:
        graph: A graph of the bridge, or one that graphsurgeon or a user built.
        largest: Of tensors of more bytes only dtype and shape are written, for uses that need no more.
        in_order: Whether to write each node after what it reads, whatever order the graph has them in.
    """
    metadata = metadata_of_graph(graph)
    model = ModelProto()
    if metadata is not None and metadata.model is not None:
        copy_without(metadata.model, model, except_for=_LISTED_BY_MODELS)
    set_text(model, "producer_name", graph.producer_name)
    set_text(model, "producer_version", graph.producer_version)
    order = nodes_in_order if in_order else _nodes_of
    writer = _Writer(largest, order)
    writer.graph(graph, model.graph)
    for function in graph.functions:
        _write_function(function, model.functions.add(), largest, order)
    _write_imports(graph, writer.new_domains, model)
    model.ir_version = graph.ir_version if graph.ir_version is not None else natural_ir_version(model)
    return model


def write_node(node: gs.Node) -> NodeProto:
    """The protobuf of one node."""
    target = NodeProto()
    _Writer(None, _nodes_of).node(node, target)
    return target


def _write_imports(graph: gs.Graph, new_domains: Collection[str], target: ModelProto | FunctionProto) -> None:
    """The opsets that the graph imports, and version 1 of other domains that new nodes name, as graphsurgeon does."""
    imports = graph.import_domains
    if imports is None:
        imports = [OperatorSetIdProto(domain=AI_ONNX, version=graph.opset)]
    if list(target.opset_import) != list(imports):
        del target.opset_import[:]
        target.opset_import.extend(imports)
    known = imported_opsets(target.opset_import)
    if isinstance(target, ModelProto):
        known.update((canonical_domain(function.domain), 0) for function in graph.functions if function.domain)
    for domain in sorted(new_domains):
        if canonical_domain(domain) not in known:
            target.opset_import.add(domain=domain, version=1)


def _write_function(function: gs.Function, target: FunctionProto, largest: int | None, order: Order) -> None:
    metadata = metadata_of_graph(function)
    if metadata is not None:
        copy_without(metadata.proto, target, except_for=_LISTED_BY_FUNCTIONS)
    set_text(target, "name", function.name)
    set_text(target, "domain", function.domain)
    set_text(target, "doc_string", function.doc_string)
    target.input.extend(tensor.name for tensor in function.inputs)
    target.output.extend(tensor.name for tensor in function.outputs)
    writer = _Writer(largest, order)
    tensors = tensors_in(function)
    for constant in _constants(tensors):
        # A function's body has no initializers.
        node = target.node.add(op_type="Constant", output=[constant.name])
        value = node.attribute.add(name="value", type=AttributeProto.TENSOR)
        writer.tensor(constant, value.t, name="")
    for node in order(function):
        writer.node(node, target.node.add())
    imported = metadata.attributes if metadata is not None else {}
    for name, value in function.attrs.items():
        if value is None:
            target.attribute.append(name)
        else:
            writer.attribute(name, value, imported.get(name), target.attribute_proto.add())
    _write_imports(function, writer.new_domains, target)
    ValueInfos(metadata.value_info if metadata else []).write_values(function, tensors, target.value_info)


class _Writer:
    """Writes graphs; knows the tensors of the scopes around them, whose constants are written there."""

    def __init__(self, largest: int | None, order: Order) -> None:
        self._largest = largest
        self._order = order
        self._outer: frozenset[int] = frozenset()
        self.new_domains: set[str] = set()
        """The domains of nodes that have not been imported with them."""

    def graph(self, graph: gs.Graph, target: GraphProto) -> None:
        """Write a graph and its subgraphs."""
        metadata = metadata_of_graph(graph) or GraphMetadata(GraphProto())
        copy_without(metadata.proto, target, except_for=_LISTED_BY_GRAPHS)
        set_text(target, "name", graph.name)
        set_text(target, "doc_string", graph.doc_string)
        tensors = tensors_in(graph)
        outer = self._outer
        self._outer = outer.union(map(id, tensors), map(id, metadata.initializers))
        for node in self._order(graph):
            self.node(node, target.node.add())
        self._outer = outer
        ValueInfos(metadata.inputs).write(graph.inputs, target.input)
        ValueInfos(metadata.outputs).write(graph.outputs, target.output)
        self._write_initializers(graph, metadata, _constants(tensors), target)
        ValueInfos(metadata.value_info).write_values(graph, tensors, target.value_info)
        self._write_annotations(graph, metadata, target)

    def _write_initializers(
        self, graph: gs.Graph, metadata: GraphMetadata, constants: Iterable[gs.Constant], target: GraphProto
    ) -> None:
        inputs = {id(tensor) for tensor in graph.inputs}
        written = set(self._outer)
        for tensor in (*metadata.initializers, *constants):
            if id(tensor) in written:
                continue
            of_tensor = metadata_of_tensor(tensor)
            if isinstance(tensor, gs.Constant):
                values = stored_values(tensor)
                if isinstance(values, StoredSparseTensor):
                    write_sparse(values, tensor.name, target.sparse_initializer.add())
                else:
                    self.tensor(tensor, target.initializer.add(), name=tensor.name)
            elif of_tensor is not None and of_tensor.default is not None and id(tensor) in inputs:
                if isinstance(of_tensor.default, StoredSparseTensor):
                    write_sparse(of_tensor.default, tensor.name, target.sparse_initializer.add())
                else:
                    copy_tensor(of_tensor.default, target.initializer.add(), tensor.name)
            written.add(id(tensor))

    @staticmethod
    def _write_annotations(graph: gs.Graph, metadata: GraphMetadata, target: GraphProto) -> None:
        for annotation in metadata.annotations:
            entry = target.quantization_annotation.add()
            entry.CopyFrom(annotation.proto)
            set_text(entry, "tensor_name", annotation.tensor.name)
            for pair in entry.quant_parameter_tensor_names:
                set_text(pair, "value", annotation.parameters[pair.key].name)

    def node(self, node: gs.Node, target: NodeProto) -> None:
        """Write a node; one that was imported is written as it was, but for what has changed."""
        metadata = metadata_of_node(node) or _NOTHING
        proto = metadata.proto
        inputs = [tensor.name for tensor in node.inputs]
        outputs = [tensor.name for tensor in node.outputs]
        has_kept_head = (
            inputs == metadata.inputs
            and outputs == metadata.outputs
            and node.op == proto.op_type
            and (node.name or "") == proto.name
            and (node.domain or "") == proto.domain
            and not metadata.notes_of
        )
        # An order of attributes is no reason to write a node anew.
        if self._keeps_attributes(node, metadata) and (has_kept_head or [*node.attrs] == [*metadata.attributes]):
            target.CopyFrom(proto)
        else:
            copy_without(proto, target, except_for=("attribute",))
            for name, value in node.attrs.items():
                self.attribute(name, value, metadata.attributes.get(name), target.attribute.add())
        if not has_kept_head:
            if metadata.notes_of:
                _add_notes(metadata, target)
            if (node.op, node.domain or "") != (proto.op_type, proto.domain):
                target.op_type = node.op
                target.ClearField("overload")
            set_text(target, "name", node.name)
            set_text(target, "domain", node.domain)
            target.input[:] = inputs
            target.output[:] = outputs
        if metadata is _NOTHING or (node.domain or "") != proto.domain:
            self.new_domains.add(node.domain or "")

    def _keeps_attributes(self, node: gs.Node, metadata: NodeMetadata) -> bool:
        """Whether the attributes are, all of them, what the protobuf says."""
        imported = metadata.attributes
        if node.attrs.keys() != imported.keys() or len(imported) != len(metadata.proto.attribute):
            return False
        for name, value in node.attrs.items():
            if not is_same(value, imported[name][0]) or self._is_too_large(value) or _holds_graphs(value):
                return False
        return True

    def attribute(
        self, name: str, value: Any, imported: tuple[Any, AttributeProto] | None, target: AttributeProto
    ) -> None:
        """Write an attribute; as it was imported, where it is still the same."""
        if _holds_graphs(value):
            graphs = value if isinstance(value, list) else [value]
            if imported is not None:
                copy_without(imported[1], target, except_for=frozenset(("g", "graphs")))
            else:
                target.type = AttributeProto.GRAPHS if isinstance(value, list) else AttributeProto.GRAPH
            target.name = name
            for graph in graphs:
                self.graph(graph, target.graphs.add() if isinstance(value, list) else target.g)
        elif imported is not None and is_same(value, imported[0]) and not self._is_too_large(value):
            target.CopyFrom(imported[1])
        elif isinstance(value, gs.Constant):
            target.name = name
            target.type = AttributeProto.TENSOR
            self.tensor(value, target.t, name=value.name)
        else:
            write_attribute(name, value, target)
            if imported is not None and imported[1].doc_string:
                target.doc_string = imported[1].doc_string

    def tensor(self, constant: gs.Constant, target: TensorProto, *, name: str) -> None:
        """Write a constant, or what it is if it is too large."""
        if not self._is_too_large(constant):
            write_tensor(constant, target, name=name)
            return
        target.name = name
        target.data_type = element_type_of(constant.dtype)
        target.dims.extend(constant.shape)
        target.data_location = TensorProto.EXTERNAL

    def _is_too_large(self, value: Any) -> bool:
        return (
            self._largest is not None and isinstance(value, gs.Constant) and held_values(value).nbytes > self._largest
        )


def _holds_graphs(value: Any) -> bool:
    return isinstance(value[0] if type(value) is list and value else value, gs.Graph)


def _constants(tensors: Iterable[gs.Tensor]) -> list[gs.Constant]:
    return [tensor for tensor in tensors if isinstance(tensor, gs.Constant)]


def _add_notes(metadata: NodeMetadata, target: NodeProto) -> None:
    texts = list(filter(None, [target.doc_string, *(one.doc_string for one in metadata.notes_of.values())]))
    if texts:
        target.doc_string = "\n".join(dict.fromkeys(texts))
    known = {entry.key for entry in target.metadata_props}
    for one in metadata.notes_of.values():
        for entry in one.metadata_props:
            if entry.key not in known:
                target.metadata_props.add().CopyFrom(entry)
                known.add(entry.key)
