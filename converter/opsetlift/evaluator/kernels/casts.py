"""Cast and CastLike, for numbers, booleans and strings.

Where the texts say "undefined", a result is fixed here all the same, so that both sides of a proof agree; only strings
that are no number are refused.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy

from opsetlift.evaluator.kernels.numeric import (
    float_to_integer,
    is_float,
    is_integer,
    narrowed,
    widened,
)
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import dtype_name, element_type, numpy_dtype

_STRING = numpy_dtype("string")
_FLOAT8 = frozenset(numpy_dtype(name) for name in ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"))
_FLOAT8E8M0 = numpy_dtype("float8e8m0")
_FLOAT6 = frozenset(numpy_dtype(name) for name in ("float6e2m3", "float6e3m2"))
_FLOAT4 = numpy_dtype("float4e2m1")
_SMALL_INTEGERS = frozenset(numpy_dtype(name) for name in ("int2", "uint2", "int4", "uint4"))


@kernel("Cast", since=(1, 6, 9, 13, 19, 21, 23, 24, 25, 28), changes=())
def cast(call: Call, values: Array) -> Array:
    """Cast-1, 6, 9, 13, 19, 21, 23, 24, 25, 28: x [*shape] in the dtype `to`.

    Numbers, booleans and strings, as far as the version has them.
    """
    to = call.attributes["to"]
    try:
        number = element_type(to) if isinstance(to, str) else to
        dtype = numpy_dtype(dtype_name(number))
    except ValueError:
        call.fail(f"to={to!r} is not one of TensorProto.DataType")
    return converted(call, values, dtype)


@kernel("CastLike", since=(15, 19, 21, 23, 24, 25), changes=())
def cast_like(call: Call, values: Array, target_type: Array) -> Array:
    """CastLike-15, 19, 21, 23, 24, 25: x [*shape] in the dtype of target_type, whose values do not matter."""
    return converted(call, values, target_type.dtype)


def converted(call: Call, values: Array, dtype: numpy.dtype[Any]) -> Array:
    """Convert values [*shape] to another dtype, by the tables of Cast in force at the call's version."""
    if values.dtype == dtype:
        return values
    if dtype == _STRING:
        return _to_strings(values)
    if values.dtype == _STRING:
        values = _from_strings(call, values, dtype)
    if dtype.kind == "b":
        return numpy.asarray(values != 0)
    if dtype in _FLOAT8:
        # Where there is no such attribute there is no float8 either: the gate rejects the result by its type.
        return to_float8(values, dtype, bool(call.attributes.get("saturate", 1)))
    if dtype == _FLOAT8E8M0:
        return _to_float8e8m0(call, values)
    if is_float(dtype):
        return _to_float(values, dtype)
    return _to_integer(values, dtype)


def _to_float(values: Array, dtype: numpy.dtype[Any]) -> Array:
    # ml_dtypes does not convert between all of its own dtypes.
    values = values.astype(numpy.float32) if values.dtype in _SMALL_INTEGERS else widened(values)
    if dtype.kind == "f":
        return values.astype(dtype)
    result = narrowed(values, dtype)
    if values.dtype.kind == "f" and (dtype in _FLOAT6 or dtype == _FLOAT4):
        # Neither has NaN, and Cast's text leaves it open: maximum by the notes on float6, zero by the tests of float4.
        substitute = dtype.type(numpy.inf) if dtype in _FLOAT6 else dtype.type(0)
        return numpy.where(numpy.isnan(values), substitute, result)
    return result


def _to_integer(values: Array, dtype: numpy.dtype[Any]) -> Array:
    if not is_float(values.dtype):
        # Integers discard their higher bits; ml_dtypes' own conversions between integers do so from int64 only.
        return values.astype(numpy.int64).astype(dtype) if dtype in _SMALL_INTEGERS else values.astype(dtype)
    values = widened(values)
    # The notes on 4-bit and 2-bit integers demand the nearest even integer; all others truncate, as C does.
    return float_to_integer(numpy.rint(values) if dtype in _SMALL_INTEGERS else values, dtype)


def to_float8(values: Array, dtype: numpy.dtype[Any], saturate: bool) -> Array:
    """Convert float32 [*shape] to float8 by Cast's two tables, as version 24 has them.

    The first table of 19 to 23 makes NaN of infinities for the FNUZ types. ONNX's tests of opsets 19, 21 and 23 and
    onnxruntime agree on the largest value, and 24 corrected the table.
    """
    values = widened(values)
    result = narrowed(values, dtype)
    if not saturate:
        return result
    limit = ml_dtypes.finfo(dtype).max  # type: ignore[no-untyped-call]
    return numpy.where(numpy.abs(values) > float(limit), numpy.where(values < 0, -limit, limit), result)


def _to_float8e8m0(call: Call, values: Array) -> Array:
    """A power of two, 2**-127 to 2**127. Negative numbers, left open, count as below the least, as in onnxruntime."""
    mode, saturate = call.attributes.get("round_mode", "up"), bool(call.attributes.get("saturate", 1))
    if mode not in ("up", "down", "nearest"):
        call.fail(f"round_mode must be up, down or nearest, not {mode!r}")
    wide = widened(values).astype(numpy.float64)
    magnitude = numpy.where(wide < 0, 0.0, wide)
    fraction, exponent = numpy.frexp(magnitude)
    exponent = exponent - 1  # magnitude == 2 * fraction * 2**exponent, with 2 * fraction in [1, 2)
    threshold = {"up": 0.5, "nearest": 0.75, "down": 1.0}[mode]
    rounded = exponent + (fraction > threshold if mode == "up" else fraction >= threshold)
    below = magnitude < 2.0**-127
    if saturate:
        above = numpy.isinf(magnitude) | (rounded > 127)
        biased = numpy.where(above, 254, numpy.where(below, 0, rounded + 127))
        biased = numpy.where(numpy.isnan(magnitude), 255, biased)
    else:
        biased = numpy.where(below | ~(magnitude <= 2.0**127), 255, rounded + 127)
    return biased.astype(numpy.uint8).view(_FLOAT8E8M0)


def _to_strings(values: Array) -> Array:
    """Plain decimals, as short as they identify the value; "NaN", "INF", "-INF"; booleans as onnxruntime, 1 and 0."""
    if values.dtype.kind == "b":
        values = values.astype(numpy.uint8)
    if values.dtype.kind == "V" and is_float(values.dtype):
        values = widened(values)
    spell = _spelled_float if is_float(values.dtype) else str
    result = numpy.empty(values.shape, dtype=object)
    result.reshape(-1)[:] = [spell(value) for value in values.reshape(-1)]
    return result


def _spelled_float(value: Any) -> str:
    if numpy.isnan(value):
        return "NaN"
    if numpy.isinf(value):
        return "INF" if value > 0 else "-INF"
    return numpy.format_float_positional(value, unique=True, trim="-")


def _from_strings(call: Call, values: Array, dtype: numpy.dtype[Any]) -> Array:
    """Strings as numbers: 64-bit integers where an integer is wanted and the literal is one, else float64."""
    literals = [str(value).strip() for value in values.reshape(-1)]
    try:
        if is_integer(dtype):
            numbers: list[Any] = [_integer(literal) for literal in literals]
            wide: Any = numpy.uint64
        else:
            numbers, wide = [float(literal) for literal in literals], numpy.float64
    except (ValueError, OverflowError):
        call.fail("converting a string that is no numerical literal is undefined")
    return numpy.array(numbers, dtype=wide).reshape(values.shape)


def _integer(literal: str) -> int:
    """Modulo 2**64, so that the target's higher bits can be discarded."""
    try:
        number = int(literal)
    except ValueError:
        number = int(float(literal))
    return number % 2**64
