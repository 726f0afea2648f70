"""The gate: what a definition's schema forbids is rejected, with the clause; what it allows goes through."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from onnx import AttributeProto, NodeProto, TensorProto, helper

import opsetlift
from opsetlift.evaluator import ComputationFailed, EvaluationError, Rejected, run_node
from opsetlift.evaluator.gate import Gate, Illegal, WrongOutput
from opsetlift.evaluator.values import Optional, Sequence
from opsetlift.specification.history import definition

FLOATS = numpy.array([1, 2], dtype=numpy.float32)
DOUBLES = FLOATS.astype(numpy.float64)
LONGS = FLOATS.astype(numpy.int64)


def rejection(opset: int, operator: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> EvaluationError:
    """How a node with these inputs is rejected at `opset`."""
    names = [f"i{index}" if value is not None else "" for index, value in enumerate(inputs)]
    node = helper.make_node(operator, names, [f"o{index}" for index in range(outputs)], name="n", **attributes)
    with pytest.raises(Rejected) as caught:
        run_node(node, inputs, {"": opset})
    return caught.value


@pytest.mark.parametrize(
    ("opset", "operator", "inputs", "attributes", "clause"),
    [
        (13, "Relu", [LONGS], {}, r"input 'X' (0) is tensor(int64); this version takes tensor(bfloat16), "),
        (13, "Add", [FLOATS, DOUBLES], {}, "input 'B' (1) is tensor(double), but T is tensor(float) already"),
        (13, "Concat", [FLOATS, DOUBLES], {"axis": 0}, "input 'inputs' (1) is tensor(double), but T is"),
        (13, "Add", [FLOATS], {}, "1 inputs are given; this version takes 2"),
        (13, "Add", [FLOATS, FLOATS, FLOATS], {}, "3 inputs are given; this version takes 2"),
        (13, "Add", [None, FLOATS], {}, "input 'A' is required, but its name is empty"),
        (13, "Sum", [], {}, "0 inputs are given; this version takes at least 1"),
        (13, "Add", [FLOATS, FLOATS], {"axis": 0}, "this version has no attribute 'axis'"),
        (13, "Concat", [FLOATS], {}, "the required attribute 'axis' is missing"),
        (13, "Concat", [FLOATS], {"axis": 0.5}, "attribute 'axis' must be INT, not FLOAT"),
        (13, "Cast", [FLOATS], {"to": "FLOAT"}, "attribute 'to' must be INT, not STRING"),
        (13, "ReduceMax", [FLOATS], {"keepdims": 2}, "attribute 'keepdims' is 0 or 1, not 2"),
        (13, "Upsample", [FLOATS, FLOATS], {}, "the operator is deprecated in this version"),
        (13, "SequenceLength", [FLOATS], {}, "input 'input_sequence' (0) is tensor(float); this version takes seq("),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_the_schema_forbids_is_rejected(
    opset: int, operator: str, inputs: list[Any], attributes: dict[str, Any], clause: str
) -> None:
    assert rejection(opset, operator, *inputs, **attributes).clause.startswith(clause)


def test_flags_that_are_neither_0_nor_1_run_only_where_not_strict() -> None:
    node = helper.make_node("ReduceMax", ["x"], ["y"], keepdims=2)
    assert run_node(node, [FLOATS], {"": 13}, strict=False)[0].tolist() == [2]
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 13]> g (float[N] x) => (float[M] y) {
            y = ReduceMax <axes = [0], keepdims = 2> (x)
        }"""
    )
    assert opsetlift.convert(model, to=18).certificate.is_proven


def test_deprecated_operators_run_only_where_not_strict() -> None:
    node = helper.make_node("Scatter", ["data", "indices", "updates"], ["y"])
    inputs = [FLOATS, numpy.array([0]), numpy.array([5], dtype=numpy.float32)]
    assert run_node(node, inputs, {"": 11}, strict=False)[0].tolist() == [5, 2]
    with pytest.raises(Rejected, match=r"Scatter-11 .*deprecated"):
        run_node(node, inputs, {"": 11})


def test_too_many_outputs_are_rejected() -> None:
    assert rejection(13, "Relu", FLOATS, outputs=2).clause == "2 outputs are given; this version takes 1"


def test_an_output_that_must_have_a_name_has_one() -> None:
    with pytest.raises(Rejected, match="output 'Y' is required, but its name is empty"):
        run_node(helper.make_node("Relu", ["x"], [""]), [FLOATS], {"": 13})


def test_the_error_names_node_operator_and_version() -> None:
    error = rejection(13, "Relu", LONGS)
    assert (error.place.node, error.place.operator, error.place.since_version) == ("n", "Relu", 13)
    assert str(error).startswith("Relu-13 node 'n': input 'X'")


def test_the_version_in_force_decides_which_dtypes_are_legal() -> None:
    node = helper.make_node("Min", ["a", "b"], ["c"])
    assert run_node(node, [LONGS, LONGS], {"": 12})[0].dtype == numpy.int64
    with pytest.raises(Rejected, match="Min-8"):
        run_node(node, [LONGS, LONGS], {"": 11})


def test_attributes_that_a_version_does_not_have_yet_are_rejected() -> None:
    split = helper.make_node("Split", ["x"], ["a", "b"], num_outputs=2)
    assert len(run_node(split, [FLOATS], {"": 18})) == 2
    with pytest.raises(Rejected, match="no attribute 'num_outputs'"):
        run_node(split, [FLOATS], {"": 17})


def test_heterogeneous_variadics_may_mix_types() -> None:
    body = onnx.parser.parse_graph(
        "b (int64 i, bool c, float[2] x, int64[2] y) => (bool d, float[2] p, int64[2] q) "
        "{ d = Identity(c) p = Neg(x) q = Identity(y) }"
    )
    node = helper.make_node("Loop", ["m", "", "x", "y"], ["p", "q"], body=body)
    results = run_node(node, [numpy.array(3), None, FLOATS, LONGS], {"": 13})
    assert [result.dtype for result in results] == [numpy.float32, numpy.int64]


def test_an_output_type_that_the_version_lacks_is_rejected() -> None:
    cast = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.BFLOAT16)
    assert run_node(cast, [FLOATS], {"": 13})[0].itemsize == 2
    with pytest.raises(Rejected):
        run_node(cast, [FLOATS], {"": 9})


def test_attributes_given_twice_are_rejected() -> None:
    node = helper.make_node("Concat", ["x"], ["y"], axis=0)
    node.attribute.append(helper.make_attribute("axis", 0))
    with pytest.raises(Rejected, match="attribute 'axis' is given twice"):
        run_node(node, [FLOATS], {"": 13})


def test_references_to_function_attributes_are_rejected_outside_functions() -> None:
    node = helper.make_node("Concat", ["x"], ["y"])
    node.attribute.append(AttributeProto(name="axis", ref_attr_name="a", type=AttributeProto.INT))
    with pytest.raises(Rejected, match="only nodes of functions"):
        run_node(node, [FLOATS], {"": 13})


def test_attributes_from_before_they_had_a_type_are_understood() -> None:
    node = helper.make_node("Concat", ["x", "x"], ["y"])
    node.attribute.append(AttributeProto(name="axis", i=0))
    assert run_node(node, [FLOATS, FLOATS], {"": 4})[0].shape == (4,)


def test_optionals_are_no_tensors_before_version_18() -> None:
    node = helper.make_node("OptionalHasElement", ["x"], ["y"])
    wrapped = Optional(FLOATS, "optional(tensor(float))")
    assert run_node(node, [wrapped], {"": 15})[0].item() is True
    assert run_node(node, [FLOATS], {"": 18})[0].item() is True
    with pytest.raises(Rejected, match=r"is tensor\(float\); this version takes optional\("):
        run_node(node, [FLOATS], {"": 15})


def test_an_empty_sequence_keeps_its_type() -> None:
    insert = helper.make_node("SequenceInsert", ["s", "t"], ["r"])
    assert run_node(insert, [Sequence([], "seq(tensor(float))"), FLOATS], {"": 11})[0][0] is FLOATS
    with pytest.raises(Rejected):
        run_node(insert, [Sequence([], "seq(tensor(int64))"), FLOATS], {"": 11})


def test_the_elements_of_a_sequence_are_of_one_type() -> None:
    with pytest.raises(Rejected, match="elements of one type"):
        run_node(helper.make_node("SequenceLength", ["s"], ["n"]), [[FLOATS, LONGS]], {"": 11})


def test_shapes_that_do_not_fit_end_in_an_error_that_names_the_node() -> None:
    with pytest.raises((ComputationFailed, Rejected), match="MatMul-13 node 'm'"):
        run_node(helper.make_node("MatMul", ["a", "b"], ["c"], name="m"), [FLOATS, numpy.ones(3, "f")], {"": 13})


# What kernels give back is checked, too.


def gate(operator: str, opset: int) -> Gate:
    found = definition("", operator, opset)
    assert found is not None
    return Gate(found)


@pytest.mark.parametrize(
    ("results", "error", "clause"),
    [
        ([DOUBLES], WrongOutput, r"output 'Y' \(0\) is tensor\(double\), but T is tensor\(float\)"),
        ([None], WrongOutput, "was not computed"),
        ([], WrongOutput, "was not computed"),
        ([[FLOATS, LONGS]], WrongOutput, "elements of one type"),
        (["text"], WrongOutput, "str is not an ONNX value"),
    ],
    ids=["type", "none", "nothing", "mixed sequence", "no value"],
)
def test_a_kernel_cannot_give_back_what_its_schema_does_not_promise(
    results: list[Any], error: type[Exception], clause: str
) -> None:
    relu = gate("Relu", 13)
    with pytest.raises(error, match=clause):
        relu.check_outputs(results, relu.check_inputs([FLOATS]), ["y"])


def test_numpy_scalars_become_arrays() -> None:
    relu = gate("Relu", 13)
    (result,) = relu.check_outputs([numpy.float32(1)], relu.check_inputs([FLOATS]), ["y"])
    assert isinstance(result, numpy.ndarray)
    assert result.shape == ()


def test_defaults_of_the_version_are_filled_in() -> None:
    node = NodeProto(op_type="Softmax")
    assert gate("Softmax", 11).attributes(node) == {"axis": 1}
    assert gate("Softmax", 13).attributes(node) == {"axis": -1}


def test_names_of_implementations_are_let_through() -> None:
    relu = gate("Relu", 13)
    relu.check_node(helper.make_node("Relu", ["x"], ["y"], __vendor="anything"))
    with pytest.raises(Illegal):
        relu.check_node(helper.make_node("Relu", ["x"], ["y"], vendor="anything"))
