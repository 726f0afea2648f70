"""Casts behind others that lose numbers, which optimisers merge into one that does not."""

from __future__ import annotations

from typing import Any

import numpy
from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.specification.dtypes import dtype_of_type, numpy_dtype

_NUMBERS = "biuf"
_WIDE_INTEGERS = frozenset(map(numpy.dtype, ["int64", "uint64"]))


def follows_a_narrowing_cast(node: NodeProto, scope: ScopeFacts) -> bool:
    """Whether a Cast reads what a Cast lost numbers of, so that one from the first dtype to the last gives others.

    Fractions of floats that became integers count for truth values alone: optimisers know them to be lost.

    Args:
        node: A Cast.
        scope: The facts of the scope that it is in.
    """
    before = scope.producer(node.input[0])
    if before is None or before.op_type != "Cast":
        return False
    names = (before.input[0], node.input[0], node.output[0])
    dtypes = [dtype_of_type(scope.type_string(name) or "") for name in names]
    if not all(dtypes) or "string" in dtypes:
        return False
    first, between, last = (numpy_dtype(str(dtype)) for dtype in dtypes)
    if not {first.kind, between.kind, last.kind} <= set(_NUMBERS) or _holds(between, first):
        return False
    if last.kind == "b":
        return True
    if first.kind == "f" and between.kind != "f":
        return False
    are_alike = (between.kind == "f") == (last.kind == "f")
    return not (are_alike and last.itemsize <= between.itemsize)


def _holds(dtype: numpy.dtype[Any], other: numpy.dtype[Any]) -> bool:
    """Whether all numbers of another dtype are ones of this dtype, too."""
    return numpy.can_cast(other, dtype, "safe") and not (dtype.kind == "f" and other in _WIDE_INTEGERS)
