"""Types of the first versions of operators, for which onnx has no inference: they are those that are computed."""

from __future__ import annotations

import numpy
import onnx.parser
import pytest

import opsetlift
from opsetlift.evaluator import Evaluator
from opsetlift.facts import ModelFacts
from opsetlift.model.files import fault_found
from opsetlift.reporting.inspection import inspect

LIKE_THE_FIRST = [
    *("Abs", "Ceil", "Clip", "Elu", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Neg", "Reciprocal", "Relu"),
    *("Selu", "Sigmoid", "Sqrt", "Tanh", "Max", "Mean", "Min", "Sum"),
]

NODES = {
    **{operator: f"y = {operator} (x)" for operator in LIKE_THE_FIRST},
    **{f"{operator} by channel": f"y = {operator} <axis = 1, broadcast = 1> (x, c)" for operator in ("Add", "Mul")},
    "Div": "y = Div (x, x)",
    "Sub by a number": "y = Sub <broadcast = 1> (x, n)",
    "PRelu": "y = PRelu (x, c)",
    "BatchNormalization": "y = BatchNormalization <consumed_inputs = [0, 0, 0, 1, 1], is_test = 1> (x, c, c, c, c)",
    "InstanceNormalization": "y = InstanceNormalization (x, c, c)",
    "Dropout": "y = Dropout <is_test = 1> (x)",
    "Concat": "y = Concat (x, x)",
    "Concat along an axis": "y = Concat <axis = 3> (x, x, x)",
    "Gemm": "y = Gemm <transA = 1, broadcast = 1> (m, w, n)",
    "GlobalLpPool": "y = GlobalLpPool (x)",
    "Pad": "y = Pad <paddings = [0, 0, 1, 2, 0, 0, 3, 4]> (x)",
    "Reshape": "y = Reshape <shape = [0, -1, 2]> (x)",
    "Split in halves": "y, z = Split <axis = 2> (x)",
    "Split": "z, y = Split <axis = 1, split = [1, 2]> (x)",
    "Upsample": "y = Upsample <height_scale = 2.0, width_scale = 1.5> (x)",
}


@pytest.mark.parametrize("what", NODES)
def test_the_shape_is_the_one_that_is_computed(what: str) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 3, opset_import: ["": 1]> '
        "g (float[2,3,4,6] x, float[3] c, float[1] n, float[5,2] m, float[5,7] w) => (y)"
        f"{{ {NODES[what]} }}"
    )
    values = {"x": numpy.full((2, 3, 4, 6), 0.5), "c": numpy.ones(3), "n": numpy.ones(1)}
    values |= {"m": numpy.ones((5, 2)), "w": numpy.ones((5, 7))}
    computed = Evaluator(model, strict=False).run({name: one.astype(numpy.float32) for name, one in values.items()})
    assert ModelFacts(model).graph.shape("y") == list(computed["y"].shape)
    assert ModelFacts(model).graph.type_string("y") == "tensor(float)"


def test_models_of_2017_without_declared_shapes_are_taken_over_several_steps() -> None:
    """Add-7 counts the axes that it broadcasts from the back, for which the rank has to be known."""
    source = onnx.parser.parse_model(
        """<ir_version: 3, opset_import: ["": 5]> g (float[2,3,4,4] a, float[3] k) => (float[2,3,4,4] y)
        { c = Relu (a)  d = Mul <axis = 1, broadcast = 1> (c, k)  e = Add <axis = 1, broadcast = 1> (d, k)
          y = Relu (e) }"""
    )
    assert opsetlift.convert(source, to=9).certificate.is_proven


def test_open_sizes_stay_open() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 3, opset_import: ["": 1]> g (float[N,3,H,6] x) => (a, b, c)
        { a = Concat (x, x)  b = Reshape <shape = [0, -1]> (x)  c = Concat <axis = 2> (x, x) }"""
    )
    facts = ModelFacts(model).graph
    assert [facts.shape(name) for name in "abc"] == [["N", 6, "H", 6], ["N", None], ["N", 3, None, 6]]


def test_readers_of_what_onnx_does_not_infer_are_not_blamed() -> None:
    """onnx's strict inference wants a type for each input, and gives none for what Cast-1 computes."""
    source = onnx.parser.parse_model(
        """<ir_version: 3, opset_import: ["": 5]> g (double[2,3,4] x) => (float[3,1,2] y)
        { a = Cast <to = "FLOAT"> (x)  b = Identity (a)  c = Transpose <perm = [1, 2, 0]> (b)
          y = ReduceMean <axes = [1]> (c) }"""
    )
    assert fault_found(source) == ""
    assert inspect(source).lowest_opsets is not None
    found = opsetlift.normalize(source).model.graph.node
    assert [node.op_type for node in found] == ["Cast", "Transpose", "ReduceMean"]
    source.graph.node[3].attribute[0].name = "axis"
    assert "axis" in fault_found(source)
