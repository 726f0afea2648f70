"""Types as protobufs, put together from what several sources say of a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from onnx import TensorProto, TypeProto

from opsetlift.specification.dtypes import shape_of_type, type_string

_FLOATS = frozenset((TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16))

MADE_UP = "unk__"
"""How the names begin that onnx's inference gives to sizes that it does not know."""

MOST_FLOATS = 16
"""The same for floats, which are scales, limits or a depth where shapes depend on them."""

MOST_ELEMENTS = 1 << 10
"""Inference reads the values of inputs up to this many elements (target shapes, axes, repeats...)."""


def type_of_tensor(element_type: int, dims: Iterable[int]) -> TypeProto:
    """The type of a tensor whose shape is known."""
    result = TypeProto()
    result.tensor_type.elem_type = element_type
    shape = result.tensor_type.shape
    shape.SetInParent()
    for dim in dims:
        shape.dim.add(dim_value=dim)
    return result


def is_a_type(found: TypeProto) -> bool:
    """Whether a type is one: inference gives others for attributes that name no dtype."""
    try:
        type_string(found)
    except ValueError:
        return False
    return True


def merged(known: TypeProto, hint: TypeProto | None) -> TypeProto:
    """`known`, with what it leaves open of a tensor's shape filled in from `hint`."""
    if hint is None or known == hint or not known.HasField("tensor_type") or not hint.HasField("tensor_type"):
        return known
    if known.tensor_type.elem_type == TensorProto.UNDEFINED:
        known.tensor_type.elem_type = hint.tensor_type.elem_type
    if not hint.tensor_type.HasField("shape"):
        return known
    if not known.tensor_type.HasField("shape"):
        known.tensor_type.shape.CopyFrom(hint.tensor_type.shape)
    elif len(known.tensor_type.shape.dim) == len(hint.tensor_type.shape.dim):
        for dim, hinted in zip(known.tensor_type.shape.dim, hint.tensor_type.shape.dim, strict=True):
            if not dim.HasField("dim_value") and (hinted.HasField("dim_value") or not dim.dim_param):
                dim.CopyFrom(hinted)
    return known


def has_rank(known: TypeProto) -> bool:
    """Whether a type says the rank, or is none of a tensor."""
    return not known.HasField("tensor_type") or known.tensor_type.HasField("shape")


def rank_of(known: TypeProto) -> int | None:
    """The rank of a tensor; None where it is not known, or for what is none."""
    return len(known.tensor_type.shape.dim) if known.tensor_type.HasField("shape") else None


def without_shape(known: TypeProto) -> TypeProto:
    """The type of a tensor with the same dtype, of any shape."""
    result = TypeProto()
    result.tensor_type.elem_type = known.tensor_type.elem_type
    return result


def is_static(known: TypeProto) -> bool:
    """Whether a type is that of a tensor, and nothing more can become known of it: all sizes are numbers."""
    shape = shape_of_type(known)
    if shape is None or known.tensor_type.elem_type == TensorProto.UNDEFINED:
        return False
    return all(type(size) is int for size in shape)


def elements_of(known: TypeProto | None) -> int:
    """How many elements a tensor of the type has; 0 where that is not known."""
    if known is None or not known.HasField("tensor_type") or not known.tensor_type.HasField("shape"):
        return 0
    return prod(dim.dim_value for dim in known.tensor_type.shape.dim)


def common_type(types: Sequence[TypeProto | None]) -> TypeProto | None:
    """What all of `types` agree on; None where they do not agree on the element type."""
    first = types[0] if types else None
    if first is None or any(t is None or type_string(t) != type_string(first) for t in types):
        return None
    result = TypeProto()
    result.CopyFrom(first)
    for other in types[1:]:
        assert other is not None
        if not result.HasField("tensor_type") or not result.tensor_type.HasField("shape"):
            break
        dims, others = result.tensor_type.shape.dim, other.tensor_type.shape.dim
        if not other.tensor_type.HasField("shape") or len(dims) != len(others):
            result.tensor_type.ClearField("shape")
            break
        for dim, other_dim in zip(dims, others, strict=True):
            if dim != other_dim:
                dim.Clear()
    return result


def may_be_sizes(type_proto: TypeProto) -> bool:
    """Whether sizes may follow from the values of a tensor of a type: scales are floats, one or two per dimension."""
    tensor = type_proto.tensor_type
    most = MOST_FLOATS if tensor.elem_type in _FLOATS else MOST_ELEMENTS
    size = 1
    for dim in tensor.shape.dim:
        size *= dim.dim_value or (0 if dim.HasField("dim_value") else MOST_ELEMENTS + 1)
    return size <= most and tensor.HasField("shape")
