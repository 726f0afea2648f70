"""The types of all values of a model, by onnx's own inference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, shape_inference

from opsetlift.facts.environment import Types
from opsetlift.facts.inference import MOST_DIMENSIONS
from opsetlift.facts.value_types import MOST_ELEMENTS, is_a_type, is_static
from opsetlift.facts.wrongly_inferred_axes import hide_wrongly_inferred_axes
from opsetlift.facts.wrongly_inferred_scales import hide_wrongly_inferred_scales
from opsetlift.facts.wrongly_inferred_scores import infer_scores_rightly
from opsetlift.facts.wrongly_inferred_slices import hide_wrongly_inferred_slices
from opsetlift.facts.wrongly_inferred_spectra import hide_wrongly_inferred_spectra
from opsetlift.facts.wrongly_inferred_splits import hide_wrongly_inferred_splits
from opsetlift.facts.wrongly_inferred_windows import infer_windows_rightly
from opsetlift.model.arrays import array_of
from opsetlift.model.files import inferred_in_parts, needs_parts
from opsetlift.model.inlined_calls import with_calls_inlined
from opsetlift.model.scopes import (
    GRAPH_PATH,
    Container,
    function_path,
    imported_opsets,
    overrides_operator,
    subgraph_path,
    subgraphs,
)
from opsetlift.specification.history import AI_ONNX, canonical_domain
from opsetlift.support.onnx_errors import ONNX_ERRORS

_LONGEST_VECTOR = 1 << 22
"""Elements of a vector up to which onnx's data propagation is let loose on a model."""


def whole_model_types(model: ModelProto, *, twice: bool) -> tuple[Types, Types]:
    """What onnx's whole-model inference says without its propagation of data, and with it.

    The first is what it would say node by node, of values that are no constants of the file; it is worked out if
    `twice`, and otherwise the second stands for it, which is at least as much and less certain.
    """
    light = ModelProto()
    light.CopyFrom(model)
    # The inference would take the default of an initializer that callers may override for its value.
    inputs = {info.name for info in light.graph.input}
    fixed = [tensor for tensor in light.graph.initializer if tensor.name not in inputs]
    if len(fixed) < len(light.graph.initializer):
        del light.graph.initializer[:]
        light.graph.initializer.extend(fixed)
    for tensor in light.graph.initializer:
        if tensor.HasField("raw_data") and len(tensor.raw_data) > 8 * MOST_ELEMENTS:
            # The inference reads shapes from small tensors only; without their bytes large ones cost nothing.
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
    original = light
    if not twice:
        light = with_calls_inlined(light) or light
    by_operator = _by_operator(light.graph)
    opset = imported_opsets(light.opset_import).get(AI_ONNX, 0)
    hide_wrongly_inferred_axes(by_operator, opset)
    hide_wrongly_inferred_scales(by_operator, light.graph.initializer)
    hide_wrongly_inferred_slices(by_operator, opset)
    hide_wrongly_inferred_spectra(by_operator)
    hide_wrongly_inferred_splits(by_operator)
    infer_windows_rightly(by_operator)
    infer_scores_rightly(by_operator)
    for one in (by_operator, *map(_by_operator, light.functions)):
        _stop_propagation_at_lossy_casts(one.get("Cast", ()))
    holds_large_numbers = _hold_a_large_number(_small_tensors(light.graph))
    in_parts = needs_parts(light)
    plain = _inferred(light, original) if twice or holds_large_numbers or in_parts else {}
    if plain is None:
        declared = _declared(light, original)
        return declared, declared
    if plain and (in_parts or _is_complete(plain) or (holds_large_numbers and _has_long_vectors(plain))):
        return plain, plain
    propagated = _inferred(light, original, data_prop=True) or _declared(light, original)
    return plain or propagated, propagated


def _inferred(model: ModelProto, original: ModelProto, *, data_prop: bool = False) -> Types | None:
    """None where the inference does not get through the model: it is a hint, and nodes are still read one by one."""
    if any(map(overrides_operator, model.functions)):
        return None  # The inference would take such a function for the operator that has its name.
    try:
        if needs_parts(model):
            return _declared_in(inferred_in_parts(model), original)
        return _declared(shape_inference.infer_shapes(model, data_prop=data_prop), original)
    except ONNX_ERRORS:
        return None


def _declared(model: ModelProto, original: ModelProto) -> Types:
    return _declared_in(model.graph, original)


def _declared_in(graph: GraphProto, original: ModelProto) -> Types:
    """The types that a model declares; those that are equal are one object.

    Paths are those of the original, whose calls may be inlined here, so that nodes have other positions.
    """
    found: dict[str, Mapping[str, TypeProto]] = {}
    shared: dict[bytes, TypeProto] = {}

    def visit(path: str, graph: GraphProto, original: GraphProto) -> None:
        found[path] = declared_types((*graph.value_info, *graph.output, *graph.input), shared)
        held = {tuple(node.output): own for node in graph.node if node.attribute and (own := dict(subgraphs(node)))}
        for index, node in enumerate(original.node if held else ()):
            for attribute, subgraph in subgraphs(node):
                if attribute in (own := held.get(tuple(node.output), {})):
                    visit(subgraph_path(path, index, node, attribute), own[attribute], subgraph)

    visit(GRAPH_PATH, graph, original.graph)
    for function in original.functions:
        found[function_path(function)] = declared_types(function.value_info, shared)
    return found


def declared_types(
    values: Sequence[ValueInfoProto], shared: dict[bytes, TypeProto] | None = None
) -> Mapping[str, TypeProto]:
    """The declared types by name; those that are equal are one object, in `shared` by what they say."""
    shared = {} if shared is None else shared
    types = [info.type for info in values]
    distinct = list(map(shared.setdefault, map(TypeProto.SerializeToString, types), types))
    found = dict(zip([info.name for info in values], distinct, strict=True))
    if all(map(is_a_type, {id(one): one for one in distinct}.values())):
        return found
    return {name: one for name, one in found.items() if is_a_type(one)}


def _is_complete(found: Types) -> bool:
    """Whether nothing more can become known of any value."""
    return all(is_static(one) for types in found.values() for one in types.values())


_HOLD_SIZES = frozenset((TensorProto.INT64, TensorProto.INT32, TensorProto.DOUBLE))


def _by_operator(container: Container) -> Mapping[str, Sequence[NodeProto]]:
    """The nodes of a graph or function and of the subgraphs in it, by the name of their operator."""
    found: dict[str, list[NodeProto]] = {}
    pending: list[Container] = [container]
    while pending:
        for node in pending.pop().node:
            found.setdefault(node.op_type, []).append(node)
            if node.attribute:
                pending += (subgraph for _, subgraph in subgraphs(node))
    return found


def _stop_propagation_at_lossy_casts(casts: Iterable[NodeProto]) -> None:
    """Replace casts to dtypes that do not hold every size by nodes of the same types that stop data propagation.

    onnx's data propagation passes values through a Cast unchanged, though a cast to bool turns 3 into 1.
    """
    for cast in casts:
        if canonical_domain(cast.domain) == AI_ONNX:
            _stop_propagation_if_lossy(cast)


def _stop_propagation_if_lossy(cast: NodeProto) -> None:
    for attribute in cast.attribute:
        if attribute.name == "to" and attribute.i not in _HOLD_SIZES:
            attribute.name = "dtype"
            cast.op_type = "RandomUniformLike"


def _has_long_vectors(found: Types) -> bool:
    """Whether a vector is too long for data propagation, which makes a list of it even if it knows none of its values.

    Only where a constant is as large, as sizes come from constants, is that so.
    """
    shapes = (one.tensor_type.shape.dim for types in found.values() for one in types.values())
    return any(len(dims) == 1 and dims[0].dim_value > _LONGEST_VECTOR for dims in shapes)


def _small_tensors(graph: GraphProto) -> Iterator[TensorProto]:
    held = (attribute.t for node in graph.node for attribute in node.attribute if attribute.HasField("t"))
    for tensor in (*graph.initializer, *held):
        if math.prod(tensor.dims) <= MOST_DIMENSIONS and tensor.data_type != TensorProto.STRING:
            yield tensor


def _hold_a_large_number(tensors: Iterable[TensorProto]) -> bool:
    contents: dict[Any, list[bytes]] = {dtype: [] for dtype in _READ_TOGETHER.values()}
    for tensor in tensors:
        dtype = _READ_TOGETHER.get(int(tensor.data_type))
        if dtype is not None and tensor.HasField("raw_data"):
            content = tensor.raw_data
            contents[dtype].append(content[: len(content) // dtype.itemsize * dtype.itemsize])
        elif _holds_large_number(tensor):
            return True
    with numpy.errstate(invalid="ignore"):
        return any(
            bool((abs(numpy.frombuffer(b"".join(parts), dtype)) > _LONGEST_VECTOR).any())
            for dtype, parts in contents.items()
        )


def _holds_large_number(tensor: TensorProto) -> bool:
    value = array_of(tensor, "")
    if value is None or value.dtype.kind not in "iuf":
        return False
    return bool((abs(value.astype(numpy.float64)) > _LONGEST_VECTOR).any())


_READ_TOGETHER: Mapping[int, Any] = {
    int(TensorProto.INT64): numpy.dtype("<i8"),
    int(TensorProto.INT32): numpy.dtype("<i4"),
    int(TensorProto.FLOAT): numpy.dtype("<f4"),
    int(TensorProto.DOUBLE): numpy.dtype("<f8"),
}
"""What is read many thousands of times a second, as most constants of nodes are of these."""
