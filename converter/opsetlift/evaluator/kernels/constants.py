"""Constant, ConstantOfShape, EyeLike, Identity, Shape, Size.

Each means the same in all versions, but for what Constant and Shape take as attributes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification import dtypes


@kernel("Constant", since=(1, 9, 11, 12, 13, 19, 21, 23, 24, 25))
def constant(call: Call) -> Array:
    """Constant-1, 9, 11, 12, 13, 19, 21, 23, 24, 25: The value of the one attribute that is given.

    Returns:
        [*shape] of a tensor; [N] of a list, [] of a single number or string, in float32, int64 or as text.
    """
    if len(call.attributes) != 1:
        call.fail(f"exactly one attribute must be given, not {', '.join(sorted(call.attributes)) or 'none'}")
    name, value = next(iter(call.attributes.items()))
    match name:
        case "value_int" | "value_ints":
            return numpy.array(value, dtype=numpy.int64)
        case "value_float" | "value_floats":
            return numpy.array(value, dtype=numpy.float32)
        case "value_string" | "value_strings":
            if any(isinstance(text, bytes) for text in (value if isinstance(value, list) else [value])):
                call.fail(f"the text of {name} must be UTF-8")
            return numpy.array(value, dtype=object)
    tensor: Array = value
    return tensor


@kernel("ConstantOfShape", since=(9, 20, 21, 23, 24, 25), changes=())
def constant_of_shape(call: Call, shape: Array) -> Array:
    """ConstantOfShape-9, 20, 21, 23, 24, 25: A tensor full of one value.

    Args:
        call: value, a tensor of one element; absent, the float32 0.
        shape: int64 [rank].

    Returns:
        The shape asked for, of the dtype of value.
    """
    if shape.ndim != 1:
        call.fail(f"the shape must be a 1D tensor, not of rank {shape.ndim}")
    if (shape < 0).any():
        call.fail(f"all sizes must be >= 0, not {shape.tolist()}")
    value = call.attributes.get("value", numpy.zeros(1, dtype=numpy.float32))
    if value.size != 1:
        call.fail(f"value must be a one-element tensor, not of shape {value.shape}")
    call.reserve(math.prod(shape.tolist()))
    return numpy.full(tuple(shape), value.reshape(()), dtype=value.dtype)


@kernel("EyeLike", since=(9, 22), changes=())
def eye_like(call: Call, like: Array) -> Array:
    """EyeLike-9, 22: Ones on the diagonal k, like [rows, columns].

    Returns:
        The shape of the input, of its dtype unless the attribute dtype names another.
    """
    if like.ndim != 2:
        call.fail(f"the input must be of rank 2, not {like.ndim}")
    dtype = like.dtype
    if "dtype" in call.attributes:
        try:
            dtype = dtypes.numpy_dtype(dtypes.dtype_name(call.attributes["dtype"]))
        except ValueError:
            call.fail(f"dtype {call.attributes['dtype']} is not an element type")
    rows, columns = like.shape
    diagonal = min(max(call.attributes["k"], -rows), columns)
    return numpy.eye(rows, columns, diagonal, dtype=dtype)


@kernel("Identity", since=(1, 13, 14, 16, 19, 21, 23, 24, 25), changes=(), keeps_form=True)
def identity(call: Call, value: Any) -> Any:
    """Identity-1, 13, 14, 16, 19, 21, 23, 24, 25: The input itself, a tensor, sequence or optional."""
    return value


@kernel("Shape", since=(1, 13, 15, 19, 21, 23, 24, 25), changes=(), reads_only_shapes=True)
def shape(call: Call, data: Array) -> Array:
    """Shape-1, 13, 15, 19, 21, 23, 24, 25: The sizes of data [*shape] of any dtype.

    Returns:
        int64 [rank], cut by the attributes start and end (from 15 on).
    """
    # Python clamps slices as the text of version 15 does; before it there are no attributes.
    kept = data.shape[call.attributes.get("start", 0) : call.attributes.get("end")]
    return numpy.array(kept, dtype=numpy.int64)


@kernel("Size", since=(1, 13, 19, 21, 23, 24, 25), changes=(), reads_only_shapes=True)
def size(call: Call, data: Array) -> Array:
    """Size-1, 13, 19, 21, 23, 24, 25: The number of elements of data [*shape] of any dtype.

    Returns:
        int64 scalar.
    """
    return numpy.array(data.size, dtype=numpy.int64)
