"""What onnx's own inference says of the outputs of a node, and of all values of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    TypeProto,
    shape_inference,
)

from converter import history
from converter.arrays import Array, array_of, tensor_of
from converter.dtypes import element_type
from converter.facts.value_types import has_rank
from converter.scopes import (
    GRAPH_PATH,
    FunctionKey,
    called_function_key,
    function_path,
    referenced_names,
    subgraph_path,
    subgraphs,
    subgraphs_within,
)

if TYPE_CHECKING:
    from converter.facts.model import ModelFacts
    from converter.facts.scope import ScopeFacts

_MOST_ELEMENTS = 1 << 10
"""Inference reads the values of inputs up to this many elements (target shapes, axes, repeats...)."""

_MOST_DIMENSIONS = 64
"""A longer vector is hardly a shape."""

_LONGEST_VECTOR = 1 << 22
"""Elements of a vector up to which onnx's data propagation is let loose on a model."""


def whole_model_types(model: ModelProto) -> Mapping[str, Mapping[str, TypeProto]]:
    """Types by scope path and name as onnx's whole-model inference (with its data propagation) sees them."""
    light = ModelProto()
    light.CopyFrom(model)
    # The inference would take the default of an initializer that callers may override for its value.
    inputs = {info.name for info in light.graph.input}
    fixed = [tensor for tensor in light.graph.initializer if tensor.name not in inputs]
    if len(fixed) < len(light.graph.initializer):
        del light.graph.initializer[:]
        light.graph.initializer.extend(fixed)
    for tensor in light.graph.initializer:
        if tensor.HasField("raw_data") and len(tensor.raw_data) > 8 * _MOST_ELEMENTS:
            # The inference reads shapes from small tensors only; without their bytes large ones cost nothing.
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
    try:
        # Where a function has the name of an operator, the inference would take it for that.
        if not any(map(overrides_operator, model.functions)):
            light = shape_inference.infer_shapes(light, data_prop=not _has_long_vectors(light))
    except Exception:
        # Inference is a hint; a model that it does not get through is still read node by node.
        light = model
    found: dict[str, dict[str, TypeProto]] = {}

    def visit(path: str, graph: GraphProto) -> None:
        found[path] = {info.name: info.type for info in (*graph.value_info, *graph.output, *graph.input)}
        for index, node in enumerate(graph.node):
            for attribute, subgraph in subgraphs(node):
                visit(subgraph_path(path, index, node, attribute), subgraph)

    visit(GRAPH_PATH, light.graph)
    for function in model.functions:
        found[function_path(function)] = {info.name: info.type for info in function.value_info}
    return found


def overrides_operator(function: FunctionProto) -> bool:
    """Whether a function takes the place of an operator, as it has its name."""
    return history.history(history.canonical_domain(function.domain), function.name) is not None


def _calls_overriding(function: FunctionProto, functions: Mapping[FunctionKey, FunctionProto]) -> bool:
    nodes = chain(function.node, *(graph.node for graph in subgraphs_within(function)))
    called = (functions.get(called_function_key(node)) for node in nodes)
    return any(one is not None and overrides_operator(one) for one in called)


def _has_long_vectors(model: ModelProto) -> bool:
    """Whether a vector is too long for data propagation, which makes a list of it even if it knows none of its values.

    Only where a constant is as large, as sizes come from constants, are the sizes of all values looked at.
    """
    if not any(map(_holds_large_number, _small_tensors(model.graph))):
        return False
    inferred = shape_inference.infer_shapes(model).graph
    shapes = (info.type.tensor_type.shape.dim for info in (*inferred.value_info, *inferred.output, *inferred.input))
    return any(len(dims) == 1 and dims[0].dim_value > _LONGEST_VECTOR for dims in shapes)


def _small_tensors(graph: GraphProto) -> Iterator[TensorProto]:
    held = (attribute.t for node in graph.node for attribute in node.attribute if attribute.HasField("t"))
    for tensor in (*graph.initializer, *held):
        if math.prod(tensor.dims) <= _MOST_DIMENSIONS and tensor.data_type != TensorProto.STRING:
            yield tensor


def _holds_large_number(tensor: TensorProto) -> bool:
    dtype = _READ_IN_PLACE.get(int(tensor.data_type))
    if dtype is not None and tensor.HasField("raw_data"):
        return any(abs(number) > _LONGEST_VECTOR for number in numpy.frombuffer(tensor.raw_data, dtype).tolist())
    value = array_of(tensor, "")
    if value is None or value.dtype.kind not in "iuf":
        return False
    return bool((abs(value.astype(numpy.float64)) > _LONGEST_VECTOR).any())


_READ_IN_PLACE: Mapping[int, Any] = {
    int(TensorProto.INT64): numpy.dtype("<i8"),
    int(TensorProto.INT32): numpy.dtype("<i4"),
    int(TensorProto.FLOAT): numpy.dtype("<f4"),
    int(TensorProto.DOUBLE): numpy.dtype("<f8"),
}
"""What is read many thousands of times a second, as most constants of nodes are of these."""


def inferred_types(
    model: ModelFacts,
    node: NodeProto,
    imports: Mapping[str, int],
    type_of: Callable[[str], TypeProto | None],
    constant: Callable[[str], Array | None] | None = None,
    stand_ins: Mapping[str, Array] | None = None,
) -> Mapping[str, TypeProto]:
    """The types of a node's outputs by name, as far as those of its inputs tell, and the values of its small constants.

    `stand_ins` are taken for the values of inputs, whatever those are.
    """
    function = model.functions.get(called_function_key(node)) if model.functions else None
    inputs = node.input[:]
    try:
        if function is not None:
            if _calls_overriding(function, model.functions):
                return {}
            types = [type_of(name) or TypeProto() if name else TypeProto() for name in inputs]
            results = shape_inference.infer_function_output_types(function, types, node.attribute)
            return dict(zip(node.output, results, strict=False))
        domain = history.canonical_domain(node.domain)
        definition = history.definition(domain, node.op_type, imports.get(domain, 0))
        if definition is None:
            return {}
        types_by_name = {name: type_of(name) or TypeProto() for name in inputs if name}
        if definition.takes_subgraphs:
            captured = {name for _, graph in subgraphs(node) for name in referenced_names(graph)}
            types_by_name.update({name: found for name in captured if (found := type_of(name)) is not None})
        if spelt := _spelt_dtype(node):
            return {node.output[0]: _of_dtype(spelt, types_by_name[inputs[0]])}
        data = {name: tensor_of(value, name) for name, value in (stand_ins or {}).items()}
        if constant is not None:
            for name in inputs:
                if name and name not in data and _is_small(types_by_name[name]):
                    value = constant(name)
                    if value is not None:
                        data[name] = tensor_of(value, name)
        ask = partial(
            shape_inference.infer_node_outputs,
            definition.schema,
            input_types=types_by_name,
            input_data=data,
            opset_imports=_written(tuple(imports.items())),
            ir_version=model.model.ir_version,
        )
        if not definition.takes_subgraphs:
            return ask(node)
        try:
            return ask(node)
        except Exception:
            # Subgraphs that are at the target already hold nodes that mean nothing at this opset.
            return ask(_with_declared_subgraphs(node))
    except Exception:
        # onnx raises errors of many kinds on nodes that it cannot make sense of: nothing is known of their outputs.
        return {}


@lru_cache
def _written(imports: Sequence[tuple[str, int]]) -> list[OperatorSetIdProto]:
    return [OperatorSetIdProto(domain=name, version=version) for name, version in imports]


def _spelt_dtype(node: NodeProto) -> str:
    """The dtype that a node up to opset 5 spells in words, which onnx's inference does not read; "" where none does."""
    for attribute in node.attribute:
        if attribute.name == "to" and attribute.type == AttributeProto.STRING:
            return str(attribute.s.decode()).lower()
    return ""


def _of_dtype(dtype: str, like: TypeProto) -> TypeProto:
    result = TypeProto()
    result.tensor_type.elem_type = element_type(dtype)
    if like.tensor_type.HasField("shape"):
        result.tensor_type.shape.CopyFrom(like.tensor_type.shape)
    return result


def _with_declared_subgraphs(node: NodeProto) -> NodeProto:
    """The node with subgraphs that say of which types their outputs are, and have no nodes."""
    copy = NodeProto()
    copy.CopyFrom(node)
    for _, graph in subgraphs(copy):
        del graph.node[:]
    return copy


def inferred_ranks(scope: ScopeFacts, node: NodeProto, imports: Mapping[str, int]) -> Mapping[str, TypeProto]:
    """Output types whose ranks follow from how many elements an input has, whatever their values are.

    So it is with target shapes, axes, repeats and the like: inference is asked with stand-ins for the values, and
    nothing but the ranks is taken from its answer.
    """
    lengths = {}
    for name in filter(None, node.input):
        shape = scope.shape(name) if scope.type_string(name) == "tensor(int64)" else None
        if shape is None or len(shape) != 1 or scope.constant(name) is not None:
            continue
        if isinstance(shape[0], int) and shape[0] <= _MOST_DIMENSIONS:
            lengths[name] = shape[0]
    answers: list[Mapping[str, TypeProto]] = []
    for stand_in in (numpy.ones, numpy.arange) if lengths else ():
        data = {name: stand_in(length, dtype=numpy.int64) for name, length in lengths.items()}
        answers.append(inferred_types(scope.model, node, imports, scope.type_of, scope.constant, data))
    ranked = {}
    for name in node.output:
        found = [answer[name] for answer in answers if name in answer and has_rank(answer[name])]
        if found and len({len(one.tensor_type.shape.dim) for one in found}) == 1:
            ranked[name] = found[0]
            for dim in ranked[name].tensor_type.shape.dim:
                dim.Clear()
    return ranked


def _is_small(type_proto: TypeProto) -> bool:
    tensor = type_proto.tensor_type
    size = 1
    for dim in tensor.shape.dim:
        size *= dim.dim_value or (0 if dim.HasField("dim_value") else _MOST_ELEMENTS + 1)
    return size <= _MOST_ELEMENTS and tensor.HasField("shape")
