"""Short spellings for the tables of one-node tests."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from opsetlift.evaluator.errors import EvaluationError
from tests.evaluator.onnxruntime_judge import OneNode, evaluate


def node(operator: str, opset: int, *inputs: Any, outputs: int = 1, **attributes: Any) -> OneNode:
    """A node at an opset; None stands for an absent input."""
    return OneNode(operator, opset, inputs, attributes, outputs)


def floats(*values: Any) -> Any:
    return numpy.array(values, numpy.float32)


def ints(*values: Any) -> Any:
    return numpy.array(values, numpy.int64)


def strings(*values: Any) -> Any:
    return numpy.array(values, object)


def scalar(value: Any, dtype: str = "float32") -> Any:
    return numpy.array(value, dtype)


def assert_gives(case: OneNode, expected: Any, *, strict: bool = True, rtol: float = 0.0) -> None:
    """The node's first output has exactly this dtype and shape, and these values (up to `rtol`; NaN equals NaN)."""
    result = evaluate(case, strict)[0]
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind == "f":
        numpy.testing.assert_allclose(result, expected, rtol=rtol, atol=rtol)
    else:
        assert (result == expected).all()


def assert_rejected(case: OneNode, clause: str, *, strict: bool = True) -> None:
    """The node, or its input, is against this part of the text."""
    with pytest.raises(EvaluationError) as error:
        evaluate(case, strict)
    assert clause in error.value.clause
