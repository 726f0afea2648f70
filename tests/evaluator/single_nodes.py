"""Single nodes in short: how the tests of kernels run one and compare its results."""

from __future__ import annotations

from typing import Any

import numpy
from onnx import helper

from opsetlift.evaluator import run_node
from opsetlift.specification.dtypes import numpy_dtype


def run(operator: str, opset: int, *inputs: Any, strict: bool = True, outputs: int = 1, **attributes: Any) -> Any:
    """The output of one node, or a list of several."""
    names = ["" if value is None else f"input{index}" for index, value in enumerate(inputs)]
    node = helper.make_node(operator, names, [f"output{index}" for index in range(outputs)], **attributes)
    results = run_node(node, list(inputs), {"": opset}, strict=strict)
    return results[0] if outputs == 1 else results


def array(values: Any, dtype: str = "float") -> Any:
    return numpy.array(values, numpy_dtype(dtype))


def same_bits(actual: Any, expected: Any) -> bool:
    """Equal dtype, shape and values, the sign of zero included; NaN equals NaN."""
    actual, expected = numpy.asarray(actual), numpy.asarray(expected)
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return False
    if actual.dtype == object or actual.dtype.kind in "biu":
        return bool((actual == expected).all())
    actual, expected = actual.astype(numpy.float64), expected.astype(numpy.float64)
    signs = numpy.signbit(actual) == numpy.signbit(expected)
    return bool(((actual == expected) & signs | numpy.isnan(actual) & numpy.isnan(expected)).all())
