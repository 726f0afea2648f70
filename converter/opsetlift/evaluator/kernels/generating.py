"""Tensors computed from a few numbers: Range, OneHot.

Range   27: +float16, +bfloat16, stash_type
OneHot  11: negative indices count from the back; axis may be any negative
"""

from __future__ import annotations

import math

import numpy

from opsetlift.evaluator.kernels.axes import nonnegative_axis, one_element
from opsetlift.evaluator.kernels.numeric import float_to_integer, is_float
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import dtype_name, numpy_dtype


@kernel("Range", since=(11, 27), changes=())
def range_(call: Call, start: Array, limit: Array, delta: Array) -> Array:
    """Range-11, 27: start + i * delta, up to limit.

    Args:
        call: No attributes.
        start: Scalar of a numeric dtype of the version, as limit and delta.
        limit: Scalar, left out itself.
        delta: Scalar, not 0.

    Returns:
        [max(ceil((limit - start) / delta), 0)], of the same dtype.
    """
    operands = [one_element(call, *pair) for pair in ((start, "start"), (limit, "limit"), (delta, "delta"))]
    dtype = start.dtype
    if operands[2] == 0:
        call.fail("delta is 0; the number of elements divides by it")
    if dtype.kind == "i":
        # In Python's integers: the difference may not fit into the dtype.
        first, last, step = (int(operand) for operand in operands)
        count = max(-((first - last) // step), 0)
        call.reserve(count)
        indices = numpy.arange(count, dtype=numpy.int64)
        return (numpy.int64(first) + indices * numpy.int64(step)).astype(dtype)
    # The precision of the division is not given. The exact quotient decides best; onnxruntime takes double too.
    first_, last_, step_ = (float(operand) for operand in operands)
    quotient = (last_ - first_) / step_
    if not math.isfinite(quotient):
        call.fail(f"the number of elements, ceil({quotient}), is not finite")
    count = max(math.ceil(quotient), 0)
    call.reserve(count)
    if dtype.itemsize == 2:
        stash = dtype_name(call.attributes["stash_type"])
        if stash not in ("float", "float16", "bfloat16", "double"):
            call.fail(f"stash_type is {stash}; it must be a floating-point type")
        precision = numpy_dtype(stash)
    else:
        precision = dtype
    # start + i * delta, as the pseudocode has it; the operator's function body adds delta up instead, and rounds more.
    indices = numpy.arange(count).astype(precision)
    values: Array = operands[0].astype(precision) + indices * operands[2].astype(precision)
    return values.astype(dtype)


@kernel("OneHot", since=(9, 11, 28))
def one_hot(call: Call, indices: Array, depth: Array, values: Array) -> Array:
    """OneHot-9, 11, 28: on_value at each index along a new axis, else off_value.

    Args:
        call: axis.
        indices: [*shape], any numeric dtype; they are truncated, and from 11 on negative ones count from the end.
        depth: One number, the size of the new axis.
        values: [off_value, on_value], any dtype.

    Returns:
        [*shape] with the new axis, of the dtype of values.
    """
    if depth.ndim > 1 or depth.size != 1:
        call.fail(f"depth must be a scalar or have exactly one element, its shape is {list(depth.shape)}")
    if values.shape != (2,):
        call.fail(f"values must be [off_value, on_value], its shape is {list(values.shape)}")
    count = int(_as_int64(depth).reshape(()))
    if count < 0:
        call.fail(f"depth is {count}; a dimension cannot be negative")
    if count > 1 << 53:
        # numpy.arange counts in doubles, and gives an empty array of what is beyond them.
        raise MemoryError(f"a dimension of {count}")
    call.reserve(count * max(indices.size, 1))
    # OneHot-9 gives -1 its meaning, and none to the other negative values.
    axis = call.attributes["axis"]
    axis = nonnegative_axis(call, axis, indices.ndim + 1, negative_since=9 if axis == -1 else 11)
    hot = numpy.expand_dims(_as_int64(indices), axis)
    if call.since_version >= 11 and indices.dtype.kind != "u":
        hot = numpy.where(hot < 0, hot + count, hot)
    classes = numpy.arange(count).reshape([-1 if position == axis else 1 for position in range(hot.ndim)])
    selected = hot == classes
    result = numpy.empty(selected.shape, values.dtype)
    result[...] = values[0]
    result[selected] = values[1]
    return result


def _as_int64(values: Array) -> Array:
    """As Cast does it."""
    return float_to_integer(values, numpy.dtype(numpy.int64)) if is_float(values.dtype) else values.astype(numpy.int64)
