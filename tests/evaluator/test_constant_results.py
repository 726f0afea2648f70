"""Constants are computed ahead of the run only where every runtime computes the same of them."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from onnx import helper

from opsetlift.evaluator import constant_results

LEAST = numpy.iinfo(numpy.int32).min


def results(operator: str, inputs: list[Any], **attributes: Any) -> list[Any] | None:
    names = [f"x{index}" for index in range(len(inputs))]
    return constant_results(
        helper.make_node(operator, names, ["y"], **attributes), inputs, {"": 18}, element_limit=1000
    )


def floats(*values: float) -> Any:
    return numpy.array(values, numpy.float32)


def integers(*values: int) -> Any:
    return numpy.array(values, numpy.int32)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("Cast", [floats(1, numpy.inf)], {"to": 7}),
        ("Cast", [floats(numpy.nan)], {"to": 6}),
        ("Cast", [floats(300)], {"to": 2}),
        ("QuantizeLinear", [floats(numpy.nan), floats(1)[0]], {}),
        ("Div", [integers(1), integers(0)], {}),
        ("Div", [integers(LEAST), integers(-1)], {}),
        ("Mod", [integers(1), integers(0)], {}),
        ("Pow", [integers(2), integers(-1)], {}),
        ("Pow", [integers(10), integers(12)], {}),
        ("Clip", [floats(-0.0), floats(0)[0]], {}),
        ("Relu", [floats(-0.0, 1)], {}),
        ("Max", [floats(-0.0), floats(0.0)], {}),
        ("ReduceMin", [floats(-0.0, 0.0)], {}),
    ],
)
def test_results_on_which_runtimes_may_differ_are_left_to_them(operator, inputs, attributes):
    assert results(operator, inputs, **attributes) is None


def test_what_cannot_be_executed_has_none():
    assert results("ReduceMin", [floats(1), integers(0)]) is None


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "expected"),
    [
        ("Cast", [floats(1.5, -2.5)], {"to": 7}, [1, -2]),
        ("QuantizeLinear", [floats(numpy.inf), floats(1)[0]], {}, [255]),
        ("Div", [integers(-7, LEAST), integers(2, 1)], {}, [-3, LEAST]),
        ("Pow", [integers(10), integers(9)], {}, [10**9]),
        ("Clip", [floats(-1, 0.0), floats(0)[0]], {}, [0, 0]),
        ("Max", [floats(0.0), floats(0.0)], {}, [0]),
    ],
)
def test_other_results_are_computed(operator, inputs, attributes, expected):
    (found,) = results(operator, inputs, **attributes)
    assert found.tolist() == expected
