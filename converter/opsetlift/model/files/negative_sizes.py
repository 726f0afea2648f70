"""Sizes below zero in declared shapes: exporters write them for dimensions that are open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from onnx import FunctionProto, GraphProto, ModelProto, TensorShapeProto, TypeProto

from opsetlift.model.scopes import subgraphs_within


def with_open_dimensions(model: ModelProto, inner: Iterable[GraphProto]) -> tuple[ModelProto, list[str]]:
    """The model, or a copy whose dimensions of negative sizes are open, and a sentence on the change.

    `inner` are the subgraphs of the model.

    Paddle2ONNX and older exporters write -1 for a size that they do not know. onnxruntime reads any negative size so;
    onnx's inference computes with it, may find a wrong size, and ends the process in some operators.
    """
    if not any(map(_negative, (model.graph, *inner, *model.functions))):
        return model, []
    copied = ModelProto()
    copied.CopyFrom(model)
    outer: Sequence[GraphProto | FunctionProto] = (copied.graph, *copied.functions)
    for container in (*outer, *chain.from_iterable(map(subgraphs_within, outer))):
        for dim in _negative(container):
            dim.Clear()
    return copied, ["dimensions with negative sizes were treated as open, as onnxruntime does"]


def _negative(container: GraphProto | FunctionProto) -> list[TensorShapeProto.Dimension]:
    infos = [container.value_info]
    if isinstance(container, GraphProto):
        infos += [container.input, container.output]
    return [dim for one in infos for info in one for dim in _dimensions(info.type) if dim.dim_value < 0]


def _dimensions(kind: TypeProto) -> Iterable[TensorShapeProto.Dimension]:
    # Nearly all are tensors with a shape, and there may be tens of thousands.
    return kind.tensor_type.shape.dim or _inner_dimensions(kind)


def _inner_dimensions(kind: TypeProto) -> Iterator[TensorShapeProto.Dimension]:
    match kind.WhichOneof("value"):
        case "sparse_tensor_type":
            yield from kind.sparse_tensor_type.shape.dim
        case "sequence_type":
            yield from _dimensions(kind.sequence_type.elem_type)
        case "optional_type":
            yield from _dimensions(kind.optional_type.elem_type)
        case "map_type":
            yield from _dimensions(kind.map_type.value_type)
