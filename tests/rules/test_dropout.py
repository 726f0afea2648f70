"""Dropout across its versions: what trains goes on training, what infers goes on inferring."""

import numpy
import onnx
import onnxruntime
import pytest

from opsetlift import convert
from testing.conversion import check_converts, check_rewrite


def dropout(opset, attributes="", *, inputs="x", outputs="y", mask="float", dtype="float", more=""):
    declared = f"{dtype}[2, 3] y" + (f", {mask}[2, 3] m" if "m" in outputs else "")
    return (
        f'<ir_version: 10, opset_import: ["": {opset}]> g ({dtype}[2, 3] x) => ({declared}) {more} '
        f"{{ {outputs} = Dropout {attributes and f'<{attributes}>'} ({inputs}) }}"
    )


def test_is_test_goes_at_7_and_is_set_below():
    check_rewrite(dropout(6, "ratio = 0.25, is_test = 1"), dropout(7, "ratio = 0.25"))
    check_rewrite(dropout(7, "ratio = 0.25"), dropout(6, "ratio = 0.25, is_test = 1"))


def test_the_mask_of_a_test_is_computed_below_7():
    check_converts(dropout(7, "ratio = 0.25", outputs="y, m"), 6, exact=True)


@pytest.mark.parametrize("attributes", ["", "ratio = 0.25", "ratio = 0.25, is_test = 0"])
def test_training_becomes_random_numbers_from_7_to_11(attributes):
    check_converts(dropout(6, attributes, outputs="y, m"), 10)


@pytest.mark.parametrize("outputs", ["y", "y, m"])
def test_training_goes_on_at_12(outputs):
    converted = check_converts(dropout(6, "ratio = 0.25", outputs=outputs), 13)
    assert next(node for node in converted.graph.node if node.op_type == "Dropout").input[2]


def test_nothing_is_dropped_with_a_ratio_of_0():
    check_rewrite(dropout(6, "ratio = 0.0"), dropout(7, "ratio = 0.0"))


def test_the_mask_changes_its_dtype_at_10():
    check_converts(dropout(7, outputs="y, m"), 10, exact=True)
    check_converts(dropout(10, outputs="y, m", mask="bool"), 7, exact=True)


def test_a_mask_that_nobody_reads_goes():
    text = dropout(7, outputs="y, m").replace(", float[2, 3] m)", ")")
    check_rewrite(text, dropout(10))


def test_the_ratio_becomes_an_input_at_12():
    check_rewrite(dropout(10, "ratio = 0.25"), dropout(12, inputs="x, y_ratio", more="<float y_ratio = {0.25}>"))
    check_rewrite(dropout(12, "seed = 1", inputs="x, r", more="<float r = {0.25}>"), dropout(10, "ratio = 0.25"))


@pytest.mark.parametrize("ratio", ["1.0", "-0.5", "nan"])
def test_a_ratio_that_12_does_not_take_is_left_out(ratio):
    before = onnx.parser.parse_model(dropout(10, "ratio = 0.5"))
    before.graph.node[0].attribute[0].f = float(ratio)
    after = convert(before, to=12)
    assert list(after.model.graph.node[0].input) == ["x"]
    assert after.certificate is not None
    assert after.certificate.is_proven


def test_a_ratio_computed_at_run_time_is_of_no_use_without_training():
    text = dropout(12, inputs="x, r").replace("x)", "x, float r)", 1)
    check_rewrite(text, dropout(10).replace("x)", "x, float r)", 1))


@pytest.mark.parametrize("to", [10, 7, 6])
def test_the_mask_without_training_is_computed_below_12(to):
    check_converts(dropout(12, outputs="y, m", mask="bool"), to, exact=True)


def trained(opset, attributes="", ratio="float r = {0.25}, "):
    return dropout(opset, attributes, inputs="x, r, t", more=f"<{ratio}bool t = {{1}}>")


def test_training_becomes_random_numbers_below_12():
    check_rewrite(
        trained(12, "seed = 3"),
        """<ir_version: 5, opset_import: ["": 10]> g (float[2, 3] x) => (float[2, 3] y)
            <double y_constant = {0.25}, float y_constant_1 = {1.3333334}> {
            y_RandomUniformLike = RandomUniformLike <dtype = 11, low = 0.0, high = 1.0, seed = 3.0> (x)
            y_Less = Less (y_RandomUniformLike, y_constant)
            y_Not = Not (y_Less)
            y_Cast_2 = Cast <to = 1> (y_Not)
            y_Mul = Mul (x, y_Cast_2)
            y = Mul (y_Mul, y_constant_1)
        }""",
    )


def test_training_goes_on_below_7():
    check_rewrite(trained(12), dropout(6, "ratio = 0.25").replace("{ y =", "{ y, y_Dropout_1 ="))


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("to", [11, 9, 7, 6, 5])
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
@pytest.mark.parametrize("seed", ["", "seed = 3"])
def test_what_is_computed_at_run_time_chooses_between_random_numbers_and_the_data(to, dtype, seed):
    text = dropout(12, seed, inputs="x, r, t", outputs="y, m", mask="bool", dtype=dtype)
    check_converts(text.replace("x)", "x, float r, bool t)", 1), to, exact=True)


@pytest.mark.parametrize(("inputs", "to"), [("x, float r", 6), ("x, float r", 9), ("x, float[1] r", 9)])
def test_a_ratio_computed_at_run_time_is_subtracted_at_run_time(inputs, to):
    check_converts(trained(12, ratio="").replace("x)", f"{inputs})", 1), to)


def test_a_node_without_a_ratio_may_train_with_a_half():
    check_converts(dropout(12, inputs="x, , t").replace("x)", "x, bool t)", 1), 10, exact=True)


def test_training_drops_in_onnxruntime_and_inference_does_not():
    text = dropout(12, inputs="x, r, t", outputs="y, m", mask="bool")
    source = onnx.parser.parse_model(text.replace("[2, 3]", "[N]").replace("x)", "x, float r, bool t)", 1))
    converted = convert(source, to=9).model
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    data = numpy.arange(1, 20001, dtype=numpy.float32)
    for ratio, trains in ((0.25, True), (0.25, False)):
        feeds = {"x": data, "r": numpy.array(ratio, numpy.float32), "t": numpy.array(trains)}
        output, mask = session.run(None, feeds)
        assert numpy.mean(mask) == pytest.approx(1 - ratio if trains else 1, abs=0.02)
        numpy.testing.assert_allclose(output, data * mask / (1 - ratio) if trains else data, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float8e4m3fn", "bfloat16"])
def test_narrow_floats_travel_below_22(dtype):
    check_converts(dropout(22, dtype=dtype), 19, exact=True)


def test_a_narrow_ratio_is_cast_below_22():
    text = dropout(22, inputs="x, r").replace("x)", "x, bfloat16 r)", 1)
    check_converts(text, 13, exact=True)
