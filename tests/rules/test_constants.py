"""Constant, ConstantOfShape, EyeLike, Identity and Shape across their versions."""

import numpy
import onnx
import pytest

from opsetlift import convert
from opsetlift.evaluator import Evaluator
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model


@pytest.mark.parametrize(
    ("form", "tensor", "declared"),
    [
        ("value_int = 3", "int64 {3}", "int64"),
        ("value_ints = [3, -4]", "int64[2] {3, -4}", "int64[2]"),
        ("value_float = 1.5", "float {1.5}", "float"),
        ("value_floats = [1.5, -0.5]", "float[2] {1.5, -0.5}", "float[2]"),
        ('value_string = "é"', 'string {"é"}', "string"),
        ('value_strings = ["a", ""]', 'string[2] {"a", ""}', "string[2]"),
    ],
)
def test_every_form_of_a_constant_becomes_a_tensor_below_12(form, tensor, declared):
    check_rewrite(
        f'<ir_version: 7, opset_import: ["": 12]> g () => ({declared} y) {{ y = Constant <{form}> () }}',
        f'<ir_version: 6, opset_import: ["": 11]> g () => ({declared} y) {{ y = Constant <value = {tensor}> () }}',
    )


@pytest.mark.parametrize("linear", [True, False])
def test_a_sparse_constant_becomes_dense_below_11(linear):
    values = onnx.helper.make_tensor("", onnx.TensorProto.FLOAT, [2], [1.5, -0.0])
    indices = [1, 5] if linear else [0, 1, 1, 2]
    places = onnx.helper.make_tensor("", onnx.TensorProto.INT64, [2] if linear else [2, 2], indices)
    sparse = onnx.helper.make_sparse_tensor(values, places, [2, 3])
    node = onnx.helper.make_node("Constant", [], ["y"], sparse_value=sparse)
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 3])
    graph = onnx.helper.make_graph([node], "g", [], [output])
    source = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)])
    conversion = convert(source, to=10)
    assert conversion.certificate.is_proven
    (node,) = conversion.model.graph.node
    found = onnx.numpy_helper.to_array(node.attribute[0].t)
    numpy.testing.assert_array_equal(found, numpy.array([[0, 1.5, 0], [0, 0, 0]], numpy.float32))
    assert numpy.signbit(found[1, 2])


@pytest.mark.parametrize("tensor", ["int64[2] {3, 4}", "bool {1}", 'string[1] {"a"}', "uint8[0] {}"])
def test_below_9_constants_of_other_dtypes_are_initializers(tensor):
    declared, values = tensor.split(" ", 1)
    check_rewrite(
        f'<ir_version: 4, opset_import: ["": 9]> g () '
        f"=> (int64[N] y) {{ c = Constant <value = {tensor}> () y = Shape (c) }}",
        f'<ir_version: 3, opset_import: ["": 8]> g () => (int64[N] y) <{declared} c = {values}> {{ y = Shape (c) }}',
    )


def test_below_9_an_output_of_the_graph_is_no_initializer():
    check_rewrite(
        '<ir_version: 4, opset_import: ["": 9]> g () => (int64 y) { y = Constant <value = int64 {3}> () }',
        '<ir_version: 3, opset_import: ["": 8]> g () '
        "=> (int64 y) <int64 y_constant = {3}> { y = Identity (y_constant) }",
    )


def test_below_9_constants_in_subgraphs_are_initializers_of_the_subgraph():
    converted = check_converts(
        '<ir_version: 4, opset_import: ["": 9]> g (bool c, int64[2] x) => (int64[2] y) { y = If (c) '
        "<then_branch = t () => (int64[2] u) { a = Constant <value = int64 {3}> () u = Add (x, a) }, "
        "else_branch = e () => (int64[2] v) { v = Identity (x) }> }",
        8,
        exact=True,
    )
    then = next(attribute.g for attribute in converted.graph.node[0].attribute if attribute.name == "then_branch")
    assert [tensor.name for tensor in then.initializer] == ["a"]
    assert not converted.graph.initializer


def test_below_9_constants_in_functions_are_cast_from_doubles():
    largest = 2**63 - 1
    converted = check_converts(
        '<ir_version: 8, opset_import: ["": 13, "f": 1]> g (int64[2] x) => (int64[2] y) { y = f.add (x) } '
        '<domain: "f", opset_import: ["": 13]> add (x) => (y) '
        f"{{ c = Constant <value = int64[2] {{{largest}, -{largest}}}> () y = Add (x, c) }}",
        8,
        exact=True,
    )
    (function,) = converted.functions
    assert {node.op_type for node in function.node} == {"Constant", "Cast", "Mul", "Add"}


def test_below_9_a_string_in_a_function_is_refused():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 13, "f": 1]> g () => (string y) { y = f.text () } '
        '<domain: "f", opset_import: ["": 13]> text () => (y) { y = Constant <value_string = "a"> () }',
        8,
        Why.NO_EQUIVALENT,
        "a Constant in a function is string",
    )


def test_constant_of_shape_is_a_scalar_expanded_below_9():
    check_rewrite(
        '<ir_version: 4, opset_import: ["": 9]> g (int64[N] s) => (int32[] y) '
        "{ y = ConstantOfShape <value = int32[1] {7}> (s) }",
        '<ir_version: 3, opset_import: ["": 8]> g (int64[N] s) => (int32[] y) <int32 y_value = {7}> '
        "{ y = Expand (y_value, s) }",
    )


@pytest.mark.parametrize("to", [8, 7, 6])
@pytest.mark.parametrize("length", [0, 1, 3])
def test_constants_of_shapes_of_every_length_go_below_9(to, length):
    check_converts(
        f'<ir_version: 4, opset_import: ["": 9]> g (int64[{length}] s) => (float[] y) {{ y = ConstantOfShape (s) }}',
        to,
        exact=True,
    )


def test_a_constant_of_float8_is_cast_into_shape_below_20():
    check_rewrite(
        # The text format has these floats in bits: 0x3e and 0x3e00 are 1.5.
        '<ir_version: 9, opset_import: ["": 20]> g (int64[2] s) => (float8e5m2[A, B] y) '
        "{ y = ConstantOfShape <value = float8e5m2[1] {62}> (s) }",
        '<ir_version: 9, opset_import: ["": 19]> g (int64[2] s) => (float8e5m2[A, B] y) '
        "{ y_ConstantOfShape = ConstantOfShape <value = float16[1] {15872}> (s) "
        "y = Cast <to = 19, saturate = 0> (y_ConstantOfShape) }",
    )


def test_eye_like_of_known_shape_is_a_constant_below_9():
    converted = check_converts(
        '<ir_version: 4, opset_import: ["": 9]> g (float[2, 3] x) '
        "=> (bool[2, 3] y) { y = EyeLike <dtype = 9, k = 1> (x) }",
        8,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node] == ["Identity"]


@pytest.mark.parametrize("k", [-2, 0, 1, 9])
@pytest.mark.parametrize("to", [8, 7])
def test_eye_like_of_unknown_shape_compares_rows_and_columns_below_9(k, to):
    check_converts(
        '<ir_version: 4, opset_import: ["": 9]> g (double[N, M] x) => (double[N, M] y) '
        f"{{ y = EyeLike <k = {k}> (x) }}",
        to,
        exact=True,
    )


@pytest.mark.parametrize(
    ("attributes", "result"), [("k = 0", "bfloat16"), ("dtype = 1", "float"), ("dtype = 16", "bfloat16")]
)
def test_eye_like_of_bfloat16_travels_in_float_below_22(attributes, result):
    check_converts(
        f'<ir_version: 10, opset_import: ["": 22]> g (bfloat16[N, M] x) => ({result}[N, M] y) '
        f"{{ y = EyeLike <{attributes}> (x) }}",
        21,
        exact=True,
    )


@pytest.mark.parametrize("dtype", ["float", "string", "complex64", "bool"])
def test_a_sequence_passes_unchanged_where_identity_has_none(dtype):
    check_rewrite(
        f'<ir_version: 7, opset_import: ["": 14]> g (seq({dtype}[N]) x) => (seq({dtype}[N]) y) {{ y = Identity (x) }}',
        f'<ir_version: 7, opset_import: ["": 13]> g (seq({dtype}[N]) x) => (seq({dtype}[N]) y) '
        f"<{_FILLERS[dtype]}> "
        "{ y_SequenceInsert = SequenceInsert (x, y_filler) y = SequenceErase (y_SequenceInsert) }",
    )


_FILLERS = {
    "float": "float y_filler = {0}",
    "string": 'string y_filler = {""}',
    "complex64": "complex64 y_filler = {0, 0}",
    "bool": "bool y_filler = {0}",
}


def test_an_optional_is_refused_below_16():
    check_refusal(
        '<ir_version: 8, opset_import: ["": 16]> g (optional(float[N]) x) '
        "=> (optional(float[N]) y) { y = Identity (x) }",
        15,
        Why.DTYPE_NOT_AVAILABLE,
        "optional(tensor(float))",
    )


@pytest.mark.parametrize("attributes", ["start = 1", "end = -1", "start = -2, end = 9"])
@pytest.mark.parametrize("to", [14, 9])
def test_a_part_of_a_shape_is_sliced_below_15(attributes, to):
    check_converts(
        f'<ir_version: 8, opset_import: ["": 15]> g (float[A, B, C] x) '
        f"=> (int64[N] y) {{ y = Shape <{attributes}> (x) }}",
        to,
        exact=True,
    )


def test_no_part_of_a_shape_is_an_empty_slice_below_15():
    text = (
        '<ir_version: 8, opset_import: ["": 15]> g (float[A, B] x) => (int64[N] y) '
        "{ y = Shape <start = 1, end = 1> (x) }"
    )
    converted = convert(model(text), to=9).model
    assert Evaluator(converted).run({"x": numpy.zeros((2, 3), numpy.float32)})["y"].shape == (0,)


def test_a_whole_shape_needs_nothing_below_15():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 15]> g (float[A, B] x) => (int64[2] y) { y = Shape <start = 0> (x) }',
        '<ir_version: 7, opset_import: ["": 14]> g (float[A, B] x) => (int64[2] y) { y = Shape (x) }',
    )
