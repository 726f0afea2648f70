"""Attributes as Python values, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from onnx import AttributeProto, GraphProto, TensorProto, TypeProto

from opsetlift.model.arrays import tensor_of


def encode_attribute(attribute: AttributeProto, value: Any) -> None:
    """Write a Python value into an attribute: int, float, str, bytes, array, graph, or a list of one kind.

    Or another attribute, whose value or reference is copied.

    An empty list becomes INTS. Raises TypeError for anything else.
    """
    if isinstance(value, AttributeProto):
        name = attribute.name
        attribute.CopyFrom(value)
        attribute.name = name
    elif isinstance(value, (list, tuple)):
        _encode_list(attribute, value)
    elif isinstance(value, (int, numpy.integer)):
        attribute.type, attribute.i = AttributeProto.INT, int(value)
    elif isinstance(value, (float, numpy.floating)):
        attribute.type, attribute.f = AttributeProto.FLOAT, float(value)
    elif isinstance(value, (str, bytes)):
        attribute.type = AttributeProto.STRING
        attribute.s = _bytes(value)
    elif isinstance(value, numpy.ndarray):
        attribute.type = AttributeProto.TENSOR
        attribute.t.CopyFrom(tensor_of(value))
    elif isinstance(value, TensorProto):
        attribute.type = AttributeProto.TENSOR
        attribute.t.CopyFrom(value)
    elif isinstance(value, GraphProto):
        attribute.type = AttributeProto.GRAPH
        attribute.g.CopyFrom(value)
    elif isinstance(value, TypeProto):
        attribute.type = AttributeProto.TYPE_PROTO
        attribute.tp.CopyFrom(value)
    else:
        raise TypeError(f"no attribute kind for {type(value).__name__}")


def _encode_list(attribute: AttributeProto, values: Sequence[Any]) -> None:
    kinds = set(map(type, values))
    if all(issubclass(kind, (int, numpy.integer)) for kind in kinds):
        attribute.type = AttributeProto.INTS
        attribute.ints.extend(map(int, values))
    elif all(issubclass(kind, (int, float, numpy.number)) for kind in kinds):
        attribute.type = AttributeProto.FLOATS
        attribute.floats.extend(map(float, values))
    elif kinds <= {str, bytes}:
        attribute.type = AttributeProto.STRINGS
        attribute.strings.extend(map(_bytes, values))
    elif kinds == {GraphProto}:
        attribute.type = AttributeProto.GRAPHS
        attribute.graphs.extend(values)
    else:
        raise TypeError("a list attribute holds values of one kind")


def _bytes(text: str | bytes) -> bytes:
    """As the model had them, be they no UTF-8."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
