"""The numbers and texts in a model's constants and attributes: where a node compares, it is with these."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from opsetlift.proof.limits import is_floating

MOST_ELEMENTS = 16
"""Of constants with more elements the numbers are left out: they are weights or tables."""

Found = TypeVar("Found", float, str)


def numbers_of(models: Sequence[ModelProto], most: int) -> list[float]:
    """The distinct finite numbers in two models: first those that only one of them has, as a difference is there."""
    found = [[one for one in _in_model(model) if not isinstance(one, bytes) and math.isfinite(one)] for model in models]
    return _distinct(found)[:most]


def texts_of(models: Sequence[ModelProto], most: int) -> list[str]:
    """The distinct texts in two models: first those that only one of them has."""
    found = [[one.decode(errors="replace") for one in _in_model(model) if isinstance(one, bytes)] for model in models]
    return _distinct(found)[:most]


def _distinct(sides: Sequence[Sequence[Found]]) -> list[Found]:
    shared = set(sides[0]).intersection(*sides[1:])
    every = dict.fromkeys(one for side in sides for one in side)
    return sorted(every, key=lambda one: one in shared)


def _in_model(model: ModelProto) -> Iterator[float | bytes]:
    yield from _in_graph(model.graph)
    for function in model.functions:
        yield from _in_nodes(function.node)


def _in_graph(graph: GraphProto) -> Iterator[float | bytes]:
    for tensor in graph.initializer:
        yield from _in_tensor(tensor)
    yield from _in_nodes(graph.node)


def _in_nodes(nodes: Iterable[NodeProto]) -> Iterator[float | bytes]:
    for node in nodes:
        for attribute in node.attribute:
            yield from _in_attribute(attribute)


def _in_attribute(attribute: AttributeProto) -> Iterator[float | bytes]:
    match attribute.type:
        case AttributeProto.FLOAT:
            yield attribute.f
        case AttributeProto.INT:
            yield attribute.i
        case AttributeProto.FLOATS:
            yield from attribute.floats[:MOST_ELEMENTS]
        case AttributeProto.INTS:
            yield from attribute.ints[:MOST_ELEMENTS]
        case AttributeProto.STRING:
            yield attribute.s
        case AttributeProto.STRINGS:
            yield from attribute.strings[:MOST_ELEMENTS]
        case AttributeProto.TENSOR:
            yield from _in_tensor(attribute.t)
        case AttributeProto.GRAPH:
            yield from _in_graph(attribute.g)


def _in_tensor(tensor: TensorProto) -> Iterator[float | bytes]:
    if tensor.data_location == TensorProto.EXTERNAL or math.prod(tensor.dims) > MOST_ELEMENTS:
        return
    if tensor.data_type == TensorProto.STRING:
        yield from tensor.string_data
    if tensor.data_type in (TensorProto.STRING, TensorProto.BOOL, TensorProto.UNDEFINED):
        return
    values = numpy_helper.to_array(tensor)
    if values.dtype.kind in "iu" or (values.dtype.kind == "V" and not is_floating(values.dtype)):
        yield from map(int, values.reshape(-1))
    elif values.dtype.kind != "c":
        yield from map(float, values.reshape(-1))
