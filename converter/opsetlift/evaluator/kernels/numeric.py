"""What numpy leaves to the platform or rounds twice: conversions between dtypes, the zeros of Min and Max."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy
from numpy.typing import NDArray

from opsetlift.evaluator.open_results import open_values
from opsetlift.specification.dtypes import numpy_dtype

_NARROW_FLOATS = frozenset(
    numpy_dtype(name)
    for name in (
        "float16",
        "bfloat16",
        "float8e4m3fn",
        "float8e4m3fnuz",
        "float8e5m2",
        "float8e5m2fnuz",
        "float8e8m0",
        "float6e2m3",
        "float6e3m2",
        "float4e2m1",
    )
)

_MASKS = {1: numpy.int8, 2: numpy.int16, 4: numpy.int32, 8: numpy.int64}

_SMALL_INTEGERS = frozenset(numpy_dtype(name) for name in ("int2", "uint2", "int4", "uint4"))


def is_narrow_float(dtype: numpy.dtype[Any]) -> bool:
    """Return whether float32 holds every value of a float dtype that is not float32 itself."""
    return dtype in _NARROW_FLOATS


@lru_cache(maxsize=1024)
def is_float(dtype: numpy.dtype[Any]) -> bool:
    """Return whether a dtype is one of floating-point numbers, numpy's or ml_dtypes'."""
    return dtype in _NARROW_FLOATS or dtype.kind == "f"


@lru_cache(maxsize=1024)
def is_integer(dtype: numpy.dtype[Any]) -> bool:
    """Return whether a dtype is one of integers, numpy's or ml_dtypes'; bool is none."""
    return dtype in _SMALL_INTEGERS or dtype.kind in "iu"


def widened(values: NDArray[Any]) -> NDArray[Any]:
    """Return narrow floats [*shape] as float32, so that a chain of operations rounds once; all else as it is."""
    return values.astype(numpy.float32) if values.dtype in _NARROW_FLOATS else values


def as_dtype(values: NDArray[Any], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Return what was computed `widened` in the dtype that it is to have; no copy where it has it already."""
    return numpy.asarray(values).astype(dtype, copy=False)


def narrowed(values: NDArray[Any], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Return numbers in a dtype of ml_dtypes, rounded once to nearest even; out of range as ml_dtypes does.

    ml_dtypes goes through float32; rounding to odd on the way there keeps the second rounding from going astray.
    """
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        values = _int64_to_odd_float64(values)
    elif values.dtype.kind in "iu":
        values = values.astype(numpy.float64)
    if values.dtype == numpy.float64:
        values = _float64_to_odd_float32(values)
    return values.astype(dtype)


def narrowed_as(values: NDArray[Any], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Return what was computed from `widened` operands in their dtype."""
    return values if values.dtype == dtype else values.astype(dtype)


def _int64_to_odd_float64(values: NDArray[Any]) -> NDArray[Any]:
    """64-bit integers as float64; the last place is set to odd where bits are lost."""
    low = values & values.dtype.type(0x7FF)
    wide = (values < -(2**53)) | (values > 2**53) if values.dtype.kind == "i" else values > 2**53
    sticky = (values ^ low) | (low != 0).astype(values.dtype) << values.dtype.type(11)
    return numpy.where(wide, sticky, values).astype(numpy.float64)


def _float64_to_odd_float32(values: NDArray[Any]) -> NDArray[Any]:
    """float64 as float32, truncated; the last place is set to odd where bits are lost."""
    single = values.astype(numpy.float32)
    exact = (single == values) | numpy.isnan(values)
    if exact.all():
        return single
    beyond = numpy.abs(single) > numpy.abs(values)
    truncated = numpy.where(beyond, numpy.nextafter(single, numpy.float32(0)), single)
    odd = (truncated.view(numpy.uint32) | numpy.uint32(1)).view(numpy.float32)
    return numpy.where(exact, single, odd)


def float_to_integer(values: NDArray[Any], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Truncate floats [*shape] toward zero, then to the dtype's bits.

    Out of range is undefined by the texts, and reported. Ours: the higher bits are discarded, as among integers; what
    does not fit 64 bits becomes the nearest extreme, and NaN becomes 0.
    """
    values = widened(values)
    is_open = ~is_within(values, dtype)
    return open_values(_own_integers(values, dtype), is_open, "casts a float to an integer that does not hold it")


def is_within(values: NDArray[Any], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """Return where the whole parts of float32 or float64 [*shape] are integers of a dtype."""
    whole = numpy.trunc(values)
    # Of 64 bits the largest number is not a float: what rounds to it is one too many.
    return numpy.asarray((whole >= float(smallest(dtype))) & (whole < float(largest(dtype)) + 1.0))


def _own_integers(values: NDArray[Any], dtype: numpy.dtype[Any]) -> NDArray[Any]:
    unsigned = dtype == numpy.uint64
    limit = values.dtype.type(2.0**64 if unsigned else 2.0**63)
    fits = numpy.abs(values) < limit
    if fits.all():
        return _wrapped(values, unsigned).astype(dtype)
    result = _wrapped(numpy.where(fits, values, 0), unsigned).astype(dtype)
    extreme = numpy.where(values > 0, numpy.array(largest(dtype), dtype), numpy.array(smallest(dtype), dtype))
    return numpy.where(fits | numpy.isnan(values), result, extreme)


def _wrapped(values: NDArray[Any], unsigned: bool) -> NDArray[Any]:
    """Floats within 64 bits as int64, or modulo 2**64 as uint64."""
    if not unsigned:
        return values.astype(numpy.int64)
    magnitude = numpy.abs(values).astype(numpy.uint64)
    return numpy.asarray(numpy.where(values < 0, ~magnitude + numpy.uint64(1), magnitude))


@lru_cache(maxsize=1024)
def smallest(dtype: numpy.dtype[Any]) -> Any:
    """Return -inf, or the least value of an integer dtype, or False."""
    if dtype.kind == "b":
        return False
    return dtype.type(-numpy.inf) if is_float(dtype) else ml_dtypes.iinfo(dtype).min  # type: ignore[no-untyped-call]


@lru_cache(maxsize=1024)
def largest(dtype: numpy.dtype[Any]) -> Any:
    """Return +inf, or the greatest value of an integer dtype, or True."""
    if dtype.kind == "b":
        return True
    return dtype.type(numpy.inf) if is_float(dtype) else ml_dtypes.iinfo(dtype).max  # type: ignore[no-untyped-call]


def select(condition: NDArray[Any], chosen: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Do numpy.where by bit masks: where conditions alternate, branches cost ten times as much."""
    dtype = chosen.dtype
    if dtype != other.dtype or dtype.hasobject or dtype.itemsize not in _MASKS:
        return numpy.where(condition, chosen, other)
    bits = _MASKS[dtype.itemsize]
    mask = numpy.negative(condition.view(numpy.int8) != 0, dtype=bits)
    ours, theirs = chosen.view(bits), other.view(bits)
    return numpy.asarray(((ours ^ theirs) & mask) ^ theirs).view(dtype)


def minimum(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the lesser of numbers, broadcast; NaN where either is NaN, and -0 is less than +0.

    The texts leave the zeros open, and numpy's choice hangs on the memory layout; IEEE 754-2019's does not.
    """
    result = numpy.asarray(numpy.minimum(a, b))
    return _with_zeros_signed(result, numpy.logical_or, a, b) if is_float(result.dtype) else result


def maximum(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the greater of numbers, broadcast; NaN where either is NaN, and +0 is greater than -0."""
    result = numpy.asarray(numpy.maximum(a, b))
    return _with_zeros_signed(result, numpy.logical_and, a, b) if is_float(result.dtype) else result


def _with_zeros_signed(result: NDArray[Any], combine: numpy.ufunc, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    for operand in (a, b):
        if operand.ndim == 0 and operand != 0:
            return result
        if operand.ndim == 0 and combine is numpy.logical_and and not numpy.signbit(operand):
            return numpy.asarray(result + operand)  # the greater of anything and +0 is never -0
    ties = (a == 0) & (b == 0)
    if not ties.any():
        return result
    negative = combine(numpy.signbit(a), numpy.signbit(b))
    zeros = numpy.where(negative, result.dtype.type(-0.0), result.dtype.type(0.0))
    return numpy.where(ties, zeros, result)
