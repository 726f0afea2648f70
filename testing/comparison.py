"""When two values count as the same."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy

_TWO_BFLOAT16_ULPS = 2.0**-6
"""What ONNX's own runner allows between results in bfloat16."""


def mismatch(actual: Any, expected: Any, *, rtol: float, atol: float) -> str | None:
    """What tells `actual` from `expected`; None where nothing does. NaN equals NaN; tolerances are for floats only."""
    if expected is None or actual is None:
        return None if actual is expected else f"{_named(actual)} instead of {_named(expected)}"
    if isinstance(expected, dict):
        keys = list(expected)
        if not isinstance(actual, dict) or list(actual) != keys:
            return f"{actual} instead of {expected}"
        return mismatch([actual[key] for key in keys], [expected[key] for key in keys], rtol=rtol, atol=atol)
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(actual) != len(expected):
            return f"{_named(actual)} instead of {len(expected)} elements"
        pairs = zip(actual, expected, strict=True)
        return next(filter(None, (mismatch(one, other, rtol=rtol, atol=atol) for one, other in pairs)), None)
    actual, expected = numpy.asarray(actual), numpy.asarray(expected)
    if expected.dtype.kind in "US":
        expected = expected.astype(object)
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return f"{actual.dtype}{actual.shape} instead of {expected.dtype}{expected.shape}"
    if _equal(actual, expected, rtol, atol):
        return None
    return f"{actual.ravel()[:8]} instead of {expected.ravel()[:8]}"


def _named(value: Any) -> str:
    return "nothing" if value is None else type(value).__name__


def _equal(actual: Any, expected: Any, rtol: float, atol: float) -> bool:
    if actual.dtype.kind in "Obiu":
        return bool(numpy.array_equal(actual, expected))
    if actual.dtype == ml_dtypes.bfloat16:
        rtol = max(rtol, _TWO_BFLOAT16_ULPS)
    if actual.dtype.kind != "c":
        actual, expected = actual.astype(numpy.float64), expected.astype(numpy.float64)
    return bool(numpy.allclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True))
