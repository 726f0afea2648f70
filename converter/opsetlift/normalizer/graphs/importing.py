"""From a ModelProto to a gs.Graph; what its objects have no place for is attached to them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from itertools import chain
from typing import Any

import onnx_graphsurgeon as gs
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TypeProto,
)

from opsetlift.evaluator import attribute_type
from opsetlift.model.scopes import imported_opsets
from opsetlift.normalizer.graphs.attached_metadata import (
    AnnotationMetadata,
    GraphMetadata,
    NodeMetadata,
    TensorMetadata,
    attach,
    declared,
    metadata_of_graph,
    metadata_of_tensor,
)
from opsetlift.normalizer.graphs.graphsurgeon_internals import (
    attribute_type_of,
    merge_subgraph_functions,
    new_constant,
    new_node,
    new_variable,
)
from opsetlift.normalizer.graphs.stored import Stored, StoredSparseTensor, StoredTensor
from opsetlift.specification import dtypes
from opsetlift.specification.history import AI_ONNX

Tensors = ChainMap[str, gs.Tensor]

_KINDS_WITHOUT_GRAPHS = frozenset(AttributeProto.AttributeType.values()) - {
    AttributeProto.UNDEFINED,
    AttributeProto.GRAPH,
    AttributeProto.GRAPHS,
}


def to_graph(model: ModelProto, base_dir: str = "") -> gs.Graph:
    """A gs.Graph of a model; `base_dir` is the folder of its external data, which is not read.

    The graph refers to the model's tensors, so the model has to stay as it is while the graph is in use.
    """
    imports = _imports(model.opset_import)
    opset = imported_opsets(imports).get(AI_ONNX)
    functions = [_function(function, base_dir) for function in model.functions]
    scope = _Scope(model.graph, ChainMap(), imports, base_dir)
    graph = scope.graph()
    graph.functions = functions
    if functions or scope.has_subgraphs:
        merge_subgraph_functions(graph)
    graph.opset = gs.Graph.DEFAULT_OPSET if opset is None else opset
    graph.producer_name = model.producer_name
    graph.producer_version = model.producer_version
    graph.ir_version = model.ir_version
    metadata = metadata_of_graph(graph)
    assert metadata is not None
    metadata.model = model
    return graph


def _imports(entries: Iterable[OperatorSetIdProto]) -> list[OperatorSetIdProto]:
    """Copies, as graphsurgeon adds to the list."""
    copies = []
    for entry in entries:
        copies.append(OperatorSetIdProto())
        copies[-1].CopyFrom(entry)
    return copies


def _function(function: FunctionProto, base_dir: str) -> gs.Function:
    imports = _imports(function.opset_import)
    scope = _Scope(function, ChainMap(), imports, base_dir)
    attributes = {entry.name: (attribute_value(entry, base_dir), entry) for entry in function.attribute_proto}
    result = gs.Function(
        function.name,
        function.domain,
        inputs=[scope.tensors[name] for name in function.input],
        outputs=[scope.resolve(name) for name in function.output],
        nodes=scope.nodes(),
        doc_string=function.doc_string,
        opset=imported_opsets(imports).get(AI_ONNX),
        import_domains=imports,
        attrs={**dict.fromkeys(function.attribute), **{name: value for name, (value, _) in attributes.items()}},
    )
    value_info = [(scope.resolve(info.name), info) for info in function.value_info]
    attach(result, GraphMetadata(function, value_info=value_info, attributes=attributes))
    return result


class _Scope:
    """A graph or a function body while it is imported: its own tensors by name, those around it, and what it lists."""

    def __init__(
        self, container: GraphProto | FunctionProto, outer: Tensors, imports: list[OperatorSetIdProto], base_dir: str
    ) -> None:
        self._container = container
        self._outer = outer
        self._imports = imports
        self._base_dir = base_dir
        self.tensors: dict[str, gs.Tensor] = {}
        self.has_subgraphs = False
        self._initializers: list[gs.Tensor] = []
        if isinstance(container, FunctionProto):
            self.tensors.update({name: _variable(name) for name in container.input})
        else:
            self.tensors.update({info.name: _variable(info.name) for info in container.input})
            for tensor in container.initializer:
                self._add_initializer(tensor.name, StoredTensor(tensor, base_dir))
            for sparse in container.sparse_initializer:
                self._add_initializer(sparse.values.name, StoredSparseTensor(sparse, base_dir))
        # Before any node is imported, as a subgraph may read what a later node computes, where nodes are not in order.
        self._computed = [node.output[:] for node in container.node]
        for name in chain.from_iterable(self._computed):
            if name and name not in self.tensors:
                self.tensors[name] = _variable(name)
        infos = container.value_info
        if isinstance(container, GraphProto):
            infos = (*container.input, *container.output, *container.value_info)
        for info in infos:
            if info.name in outer and info.name not in self.tensors:
                continue  # what a subgraph passes on is declared where it is computed
            _declare(self.resolve(info.name), info.type)

    def _add_initializer(self, name: str, stored: Stored) -> None:
        tensor = self.tensors.get(name)
        if tensor is None:
            tensor = new_constant(name, stored)
            attach(tensor, TensorMetadata(stored=stored))
            self.tensors[name] = tensor
        elif isinstance(tensor, gs.Variable):
            # The caller may give another value, so it is no constant.
            attach(tensor, TensorMetadata(default=stored))
        self._initializers.append(tensor)

    def resolve(self, name: str) -> gs.Tensor:
        """The tensor of a name, seen from here; a new one where nothing computes it."""
        if name in self.tensors:
            return self.tensors[name]
        if name in self._outer:
            return self._outer[name]
        self.tensors[name] = _variable(name)
        return self.tensors[name]

    def graph(self) -> gs.Graph:
        """The graph, when all tensors are there."""
        container = self._container
        assert isinstance(container, GraphProto)
        inputs = [(self.tensors[info.name], info) for info in container.input]
        outputs = [(self.resolve(info.name), info) for info in container.output]
        value_info = [(self.resolve(info.name), info) for info in container.value_info]
        result = gs.Graph(
            inputs=[tensor for tensor, _ in inputs],
            outputs=[tensor for tensor, _ in outputs],
            name=container.name,
            doc_string=container.doc_string,
            opset=imported_opsets(self._imports).get(AI_ONNX),
            import_domains=self._imports,
        )
        # Not given to the constructor, which would look for subgraphs in each of them.
        result.nodes = self.nodes()
        annotations = [
            AnnotationMetadata(
                entry,
                self.resolve(entry.tensor_name),
                {pair.key: self.resolve(pair.value) for pair in entry.quant_parameter_tensor_names},
            )
            for entry in container.quantization_annotation
        ]
        attach(result, GraphMetadata(container, None, self._initializers, inputs, outputs, value_info, annotations))
        return result

    def nodes(self) -> list[gs.Node]:
        """The nodes, and the subgraphs in them."""
        return list(map(self._node, self._container.node, self._computed))

    def _node(self, node: NodeProto, outputs: list[str]) -> gs.Node:
        inputs = node.input[:]
        imported = {attribute.name: (self._attribute(attribute), attribute) for attribute in node.attribute[:]}
        result = new_node(
            node.op_type,
            node.name,
            {name: list(value) if type(value) is list else value for name, (value, _) in imported.items()},
            [self.resolve(name) if name else new_variable("") for name in inputs],
            [self.tensors[name] if name else new_variable("") for name in outputs],
            node.domain if node.HasField("domain") else None,
        )
        attach(result, NodeMetadata(node, imported, inputs=inputs, outputs=outputs))
        return result

    def _attribute(self, attribute: AttributeProto) -> Any:
        if attribute.type not in _KINDS_WITHOUT_GRAPHS and (attribute.HasField("g") or attribute.graphs):
            self.has_subgraphs = True
            return self._subgraphs(attribute)
        return attribute_value(attribute, self._base_dir)

    def _subgraphs(self, attribute: AttributeProto) -> gs.Graph | list[gs.Graph]:
        visible = ChainMap(self.tensors, *self._outer.maps)
        if attribute_type(attribute) == AttributeProto.GRAPHS:
            return [_Scope(graph, visible, self._imports, self._base_dir).graph() for graph in attribute.graphs]
        return _Scope(attribute.g, visible, self._imports, self._base_dir).graph()


def _variable(name: str) -> gs.Variable:
    """One whose name stays, also where another scope has it: what has no metadata is new, and may be renamed."""
    tensor = new_variable(name)
    attach(tensor, TensorMetadata())
    return tensor


def _declare(tensor: gs.Tensor, kind: TypeProto) -> None:
    """Let a variable say what is declared of it. What the first declaration leaves open is taken from later ones."""
    if not isinstance(tensor, gs.Variable) or kind.WhichOneof("value") is None:
        return
    if tensor.dtype is None and tensor.shape is None:
        tensor.type = kind.WhichOneof("value")
    # Of other kinds graphsurgeon knows nothing, and what it guesses its own exporter cannot write.
    holder = kind.sequence_type.elem_type if tensor.type == "sequence_type" else kind
    if (
        tensor.type in ("tensor_type", "sequence_type", "sparse_tensor_type")
        and kind.WhichOneof("value") == tensor.type
    ):
        inner = holder.sparse_tensor_type if tensor.type == "sparse_tensor_type" else holder.tensor_type
        if tensor.dtype is None and inner.elem_type in _KNOWN_DTYPES:
            tensor.dtype = dtypes.numpy_dtype(dtypes.dtype_name(inner.elem_type))
        if tensor.shape is None and inner.HasField("shape"):
            tensor.shape = [
                dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or None) for dim in inner.shape.dim
            ]
    metadata = metadata_of_tensor(tensor)
    if metadata is not None:
        metadata.declared = declared(tensor)


_KNOWN_DTYPES = frozenset(TensorProto.DataType.values()) - {TensorProto.UNDEFINED}


def attribute_value(attribute: AttributeProto, base_dir: str) -> Any:
    """An attribute as graphsurgeon holds it; what it has no form for is held as its protobuf."""
    kind = attribute_type(attribute)
    if attribute.ref_attr_name:
        return gs.Node.AttributeRef(attribute.ref_attr_name, attribute_type_of(kind))
    match kind:
        case AttributeProto.FLOAT:
            return attribute.f
        case AttributeProto.INT:
            return attribute.i
        case AttributeProto.STRING:
            return _text(attribute.s)
        case AttributeProto.TENSOR:
            return new_constant(attribute.t.name, StoredTensor(attribute.t, base_dir))
        case AttributeProto.FLOATS:
            return attribute.floats[:]
        case AttributeProto.INTS:
            return attribute.ints[:]
        case AttributeProto.STRINGS:
            return [_text(text) for text in attribute.strings]
        case AttributeProto.SPARSE_TENSOR:
            return attribute.sparse_tensor
        case AttributeProto.TYPE_PROTO:
            return attribute.tp
    return attribute


def _text(text: bytes) -> str | bytes:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text
