"""What each IR version allows, and which one a model needs.

The needs of content follow the history in onnx.proto (enum Version) and the release notes of onnx. Notes on a model
are no need: metadata_props of nodes, graphs, values, tensors and functions and the value_info of functions came with IR
version 10, but they change nothing of what a model computes, and readers that do not know them pass them over, as
protobuf has it. So they are kept, and do not keep a model from a runtime that is older than they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TypeProto
from onnx.helper import VERSION_TABLE

from opsetlift.model.scopes import GRAPH_PATH, function_path, imported_opsets
from opsetlift.specification.dtypes import by_element_type, dtype_name, element_type
from opsetlift.specification.history import AI_ONNX, AI_ONNX_ML

OLDEST_IR_VERSION = 3
"""The first IR version with opset imports."""

FIRST_WITH_FUNCTIONS = 8

FIRST_WITH_OVERRIDES = 4
"""The first of which runtimes let callers override initializers, and the first whose initializers need be no inputs."""

_COLUMN_OF_DOMAIN = {AI_ONNX: 2, AI_ONNX_ML: 3, "ai.onnx.training": 4}
"""Where the rows of onnx.helper.VERSION_TABLE (release, IR version, opsets...) have each domain."""

_IR_VERSION_OF_DTYPE = by_element_type(
    {
        "bfloat16": 4,
        "float8e4m3fn": 9,
        "float8e4m3fnuz": 9,
        "float8e5m2": 9,
        "float8e5m2fnuz": 9,
        "uint4": 10,
        "int4": 10,
        "float4e2m1": 11,
        "float8e8m0": 12,
        "uint2": 13,
        "int2": 13,
        "float6e2m3": 14,
        "float6e3m2": 14,
    }
)


_VERSIONS_OF_THE_INSIDE = frozenset({4, 6, 9, 10, 11, 12, 13, 14})
"""What nodes, initializers and inner values may need. Optional and sparse types (8) are not among it: inside a graph
they come with operators, whose opset asks for as much."""


_PLAIN_KINDS = frozenset(
    {
        AttributeProto.FLOAT,
        AttributeProto.INT,
        AttributeProto.STRING,
        AttributeProto.FLOATS,
        AttributeProto.INTS,
        AttributeProto.STRINGS,
    }
)


class Need(NamedTuple):
    """An IR version, what in a model does not go without it, and where that is."""

    ir_version: int
    what: str
    path: str
    operator: str = ""
    node: str = ""


@lru_cache(maxsize=1024)
def _first_ir_version(domain: str, opset: int) -> int:
    """The IR version of the first onnx release that had an opset; 3 for domains that have no releases."""
    column = _COLUMN_OF_DOMAIN.get(domain)
    if column is None:
        return OLDEST_IR_VERSION
    rows = [tuple(map(int, row[1:])) for row in VERSION_TABLE if len(row) > column]
    return min((row[0] for row in rows if row[column - 1] >= opset), default=onnx.IR_VERSION)


def minimum_for_opsets(opsets: Mapping[str, int]) -> int:
    """The IR version that came with these opsets (by domain): runtimes that know the opsets know it."""
    return max((_first_ir_version(domain, opset) for domain, opset in opsets.items()), default=OLDEST_IR_VERSION)


def needed_by_content(model: ModelProto) -> Need:
    """The lowest IR version that has everything the model uses, and the first thing that needs it."""
    return max(_needs(model), key=lambda need: need.ir_version)


def overridable_initializers(model: ModelProto) -> list[str]:
    """The initializers for which callers may give another value: those that are inputs, too.

    Every IR version allows that. onnxruntime takes the initializers of models below IR version 4 for constants.
    """
    initialized = {tensor.name for tensor in model.graph.initializer}
    initialized.update(sparse.values.name for sparse in model.graph.sparse_initializer)
    return [value.name for value in model.graph.input if value.name in initialized]


def natural_ir_version(model: ModelProto) -> int:
    """The IR version for the model's opsets and content, and not below 4 where it lets callers override initializers.

    The content is gone through only where it may need more than the opsets do: what the model held before is no newer
    than the IR version that it states, and what rules add is no newer than the opsets (but for the initializers that
    they add to models older than IR version 4).
    """
    opsets = minimum_for_opsets(imported_opsets(model.opset_import))
    possible = range(opsets + 1, max(model.ir_version, 4) + 1)
    if not possible:
        return opsets
    is_deep = not _VERSIONS_OF_THE_INSIDE.isdisjoint(possible)
    needed = max(opsets, *(need.ir_version for need in _needs(model, is_deep=is_deep)))
    if needed < FIRST_WITH_OVERRIDES <= model.ir_version and overridable_initializers(model):
        return FIRST_WITH_OVERRIDES
    return needed


def needs_beyond(model: ModelProto, ir_version: int) -> list[Need]:
    """Everything in a model that an IR version does not have."""
    return [need for need in _needs(model) if need.ir_version > ir_version]


def _needs(model: ModelProto, *, is_deep: bool = True) -> Iterator[Need]:
    yield Need(OLDEST_IR_VERSION, "opset imports", "model")
    yield from _needs_of_graph(model.graph, GRAPH_PATH, is_deep=is_deep)
    for function in model.functions:
        yield from _needs_of_function(function, is_deep=is_deep)
    for number, training in enumerate(model.training_info):
        path = f"training_info[{number}]"
        yield Need(7, "training info", path)
        yield from _needs_of_graph(training.initialization, f"{path}.initialization")
        yield from _needs_of_graph(training.algorithm, f"{path}.algorithm")
    if model.configuration:
        yield Need(11, "device configurations", "model")


def _needs_of_function(function: FunctionProto, *, is_deep: bool) -> Iterator[Need]:
    path = function_path(function)
    yield Need(FIRST_WITH_FUNCTIONS, f"function {function.name!r}", path)
    if function.attribute_proto:
        yield Need(9, f"the attribute defaults of function {function.name!r}", path)
        yield from _needs_of_attributes(function.attribute_proto, Need(0, "", path), "")
    if function.overload:
        yield Need(10, f"the overload of function {function.name!r}", path)
    if is_deep:
        yield from _needs_of_values(function.value_info, path)
        yield from _needs_of_nodes(function.node, path)


def _needs_of_graph(graph: GraphProto, path: str, *, is_deep: bool = True) -> Iterator[Need]:
    for sparse in graph.sparse_initializer:
        name = sparse.values.name
        yield Need(6, f"sparse initializer {name!r}", path)
        yield from _needs_of_dtype(sparse.values.data_type, path, f"initializer {name!r}")
    if graph.quantization_annotation:
        yield Need(5, "quantization annotations", path)
    yield from _needs_of_values((*graph.input, *graph.output), path)
    if is_deep:
        yield from _needs_of_values(graph.value_info, path)
        yield from _needs_of_initializers(graph, path)
        yield from _needs_of_nodes(graph.node, path)


def _needs_of_initializers(graph: GraphProto, path: str) -> Iterator[Need]:
    inputs = {value.name for value in graph.input}
    for tensor in graph.initializer:
        if tensor.name not in inputs:
            yield Need(4, f"initializer {tensor.name!r}, which is not a graph input", path)
        if tensor.data_type in _IR_VERSION_OF_DTYPE:
            yield from _needs_of_dtype(tensor.data_type, path, f"initializer {tensor.name!r}")


def _needs_of_values(values: Iterable[onnx.ValueInfoProto], path: str) -> Iterator[Need]:
    for value in values:
        dtype = value.type.tensor_type.elem_type
        if not dtype or dtype in _IR_VERSION_OF_DTYPE:
            yield from _needs_of_type(value.type, path, value.name)


def _needs_of_type(type_proto: TypeProto, path: str, name: str) -> Iterator[Need]:
    kind = type_proto.WhichOneof("value")
    if kind == "tensor_type":
        if type_proto.tensor_type.elem_type in _IR_VERSION_OF_DTYPE:
            yield from _needs_of_dtype(type_proto.tensor_type.elem_type, path, repr(name))
    elif kind == "sparse_tensor_type":
        yield Need(8, f"the sparse tensor type of {name!r}", path)
        yield from _needs_of_dtype(type_proto.sparse_tensor_type.elem_type, path, repr(name))
    elif kind == "optional_type":
        yield Need(8, f"the optional type of {name!r}", path)
        yield from _needs_of_type(type_proto.optional_type.elem_type, path, name)
    elif kind == "sequence_type":
        yield from _needs_of_type(type_proto.sequence_type.elem_type, path, name)
    elif kind == "map_type":
        yield from _needs_of_type(type_proto.map_type.value_type, path, name)


def came_with_ir_version(dtype: str) -> bool:
    """Whether a dtype is one that only came with a later IR version."""
    return element_type(dtype) in _IR_VERSION_OF_DTYPE


def _needs_of_dtype(element_type: int, path: str, of: str) -> Iterator[Need]:
    version = _IR_VERSION_OF_DTYPE.get(element_type)
    if version is not None:
        yield Need(version, f"the dtype {dtype_name(element_type)} of {of}", path)


def _needs_of_nodes(nodes: Iterable[NodeProto], path: str) -> Iterator[Need]:
    for index, node in enumerate(nodes):
        is_plain = _PLAIN_KINDS.issuperset([attribute.type for attribute in node.attribute[:]])
        if node.overload or node.device_configurations or not is_plain:
            about = Need(0, "", path, node.op_type, node.name or next(iter(node.output), ""))
            if node.overload:
                yield about._replace(ir_version=10, what=f"the overload {node.overload!r} that it calls")
            if node.device_configurations:
                yield about._replace(ir_version=11, what="its device configuration")
            yield from _needs_of_attributes(node.attribute, about, f"{path}/{index}:{node.name or node.op_type}")


def _needs_of_attributes(attributes: Iterable[AttributeProto], about: Need, inner: str) -> Iterator[Need]:
    """What the attributes of a node, or the defaults of a function, need; `inner` is what paths in them begin with."""
    for attribute in attributes:
        kind = attribute.type
        if kind in _PLAIN_KINDS:
            continue
        where = f"attribute {attribute.name!r}"
        found: list[Need] = []
        if kind in (AttributeProto.TENSOR, AttributeProto.TENSORS):
            for tensor in (attribute.t, *attribute.tensors):
                found += _needs_of_dtype(tensor.data_type, about.path, where)
        elif kind in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
            if attribute.HasField("g"):
                yield from _needs_of_graph(attribute.g, f"{inner}.{attribute.name}")
            for number, graph in enumerate(attribute.graphs):
                yield from _needs_of_graph(graph, f"{inner}.{attribute.name}[{number}]")
        elif kind in (AttributeProto.SPARSE_TENSOR, AttributeProto.SPARSE_TENSORS):
            found.append(Need(6, f"the sparse {where}", about.path))
            for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                found += _needs_of_dtype(sparse.values.data_type, about.path, where)
        elif kind in (AttributeProto.TYPE_PROTO, AttributeProto.TYPE_PROTOS):
            for type_proto in (attribute.tp, *attribute.type_protos):
                found += _needs_of_type(type_proto, about.path, attribute.name)
        for need in found:
            yield about._replace(ir_version=need.ir_version, what=need.what)
