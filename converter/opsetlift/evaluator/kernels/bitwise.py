"""Operators on the bits of integers, and BitCast, which takes the bits of any dtype for another's."""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.broadcasting import check_numpy_broadcast
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import dtype_name, name_of_numpy_dtype, numpy_dtype

_NARROW_WIDTHS = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4e2m1": 4}


@kernel("BitwiseAnd", since=(18,))
def bitwise_and(call: Call, a: Array, b: Array) -> Array:
    """BitwiseAnd-18: a & b of one integer dtype, broadcast."""
    check_numpy_broadcast(call, a, b)
    return numpy.asarray(a & b)


@kernel("BitwiseOr", since=(18,))
def bitwise_or(call: Call, a: Array, b: Array) -> Array:
    """BitwiseOr-18: a | b of one integer dtype, broadcast."""
    check_numpy_broadcast(call, a, b)
    return numpy.asarray(a | b)


@kernel("BitwiseXor", since=(18,))
def bitwise_xor(call: Call, a: Array, b: Array) -> Array:
    """BitwiseXor-18: a ^ b of one integer dtype, broadcast."""
    check_numpy_broadcast(call, a, b)
    return numpy.asarray(a ^ b)


@kernel("BitwiseNot", since=(18,))
def bitwise_not(call: Call, x: Array) -> Array:
    """BitwiseNot-18: ~x, for integers [*shape]."""
    return numpy.asarray(~x)


@kernel("BitShift", since=(11, 28), changes=())
def bit_shift(call: Call, x: Array, amount: Array) -> Array:
    """BitShift-11, 28: x shifted by amount, unsigned integers, broadcast.

    Amounts beyond the width shift every bit out: the text of version 28. Version 11 leaves it open, but onnxruntime and
    onnx.reference do the same, so that nothing is reported as open.
    """
    check_numpy_broadcast(call, x, amount)
    direction = call.attributes["direction"]
    if direction not in ("LEFT", "RIGHT"):
        call.fail(f'direction must be "LEFT" or "RIGHT", not {direction!r}')
    return numpy.asarray(numpy.left_shift(x, amount) if direction == "LEFT" else numpy.right_shift(x, amount))


@kernel("BitCast", since=(26,))
def bit_cast(call: Call, x: Array) -> Array:
    """BitCast-26: The bits of x [*shape] as those of a dtype as wide."""
    try:
        target = dtype_name(call.attributes["to"])
    except ValueError:
        call.fail(f"to={call.attributes['to']} is not one of TensorProto.DataType")
    source = name_of_numpy_dtype(x.dtype)
    if target == "string":
        call.fail("bitcasting to string is not supported")
    if _width(source) != _width(target):
        call.fail(f"{source} has {_width(source)} bits, {target} has {_width(target)}")
    if source in _NARROW_WIDTHS:
        # One element a byte, the upper bits of which numpy's extension dtypes set as they like.
        mask = (1 << _NARROW_WIDTHS[source]) - 1
        return (x.view(numpy.uint8) & numpy.uint8(mask)).view(numpy_dtype(target))
    return x.view(numpy_dtype(target))


def _width(name: str) -> int:
    return _NARROW_WIDTHS.get(name, 8 * numpy_dtype(name).itemsize)
