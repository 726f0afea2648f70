"""ArgMax, ArgMin, CumSum and CumProd across their versions and below their introductions."""

import numpy
import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model
from testing.onnxruntime_judge import run_in_onnxruntime


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
def test_a_negative_axis_is_counted_from_the_front_below_11(operator):
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[N, 3] x) => (int64[N, 1] y) '
        f"{{ y = {operator} <axis = -1> (x) }}",
        '<ir_version: 5, opset_import: ["": 10]> g (float[N, 3] x) => (int64[N, 1] y) '
        f"{{ y = {operator} <axis: int = 1> (x) }}",
    )


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(("keepdims", "shape"), [(0, "[0]"), (1, "[1, 0]")])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("to", [11, 7])
def test_an_empty_input_which_11_does_not_take_has_no_indices(operator, keepdims, shape, last, to):
    converted = check_converts(
        f'<ir_version: 7, opset_import: ["": 12]> g (float[3, 0] x) => (int64{shape} y) '
        f"{{ y = {operator} <keepdims = {keepdims}, select_last_index = {last}> (x) }}",
        to,
        exact=True,
    )
    assert operator not in {node.op_type for node in converted.graph.node}


@pytest.mark.parametrize("shape", ["0, 0", "0, 3, 0", "0, N"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("to", [11, 7])
def test_an_axis_without_elements_becomes_1_where_another_axis_has_none_either(shape, keepdims, to):
    """As the texts say, and onnxruntime 1.18 to 1.32; onnxruntime 1.0 to 1.10 keep the 0, or refuse."""
    rank = shape.count(",") + keepdims
    text = (
        f'<ir_version: 7, opset_import: ["": 12]> g (float[{shape}] x) => (int64[{", ".join("ABC"[:rank])}] y) '
        f"{{ y = ArgMax <keepdims = {keepdims}> (x) }}"
    )
    converted = check_converts(text, to, exact=True)
    data = {"x": numpy.zeros([0 if size == "N" else int(size) for size in shape.split(", ")], numpy.float32)}
    shapes = [run_in_onnxruntime(one, data)[0].shape for one in (model(text), converted)]
    assert shapes[0] == shapes[1]


def test_there_is_no_extreme_where_only_the_axis_has_no_elements():
    check_refusal(
        '<ir_version: 7, opset_import: ["": 12]> g (float[0, 3] x) => (int64[1, 3] y) { y = ArgMax (x) }',
        11,
        Why.INVALID_MODEL,
        "axis 0 has no elements",
    )


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("to", [11, 9, 7])
def test_the_last_index_is_the_first_from_the_back_below_12(operator, keepdims, axis, to):
    shape = {(0, 0): "[4]", (0, -1): "[3]", (1, 0): "[1, 4]", (1, -1): "[3, 1]"}[keepdims, axis]
    check_converts(
        f'<ir_version: 7, opset_import: ["": 12]> g (float[3, 4] x) => (int64{shape} y) '
        f"{{ y = {operator} <axis = {axis}, keepdims = {keepdims}, select_last_index = 1> (x) }}",
        to,
        exact=True,
    )


def accumulated(operator, opset, dtype, shape, attributes="", axis="<int64 a = {1}>"):
    inputs = f"{dtype}[{shape}] x" if axis else f"{dtype}[{shape}] x, int64 a"
    return (
        f'<ir_version: 10, opset_import: ["": {opset}]> g ({inputs}) => ({dtype}[{shape}] y) {axis} '
        f"{{ y = {operator} {attributes} (x, a) }}"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("operator", "opset"), [("CumSum", 11), ("CumProd", 26)])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float", "double"])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", ["2, 17, 4", "A, B, C", "2, 0, 4"])
def test_a_scan_accumulates_exactly_before_its_introduction(operator, opset, dtype, exclusive, reverse, shape):
    attributes = f"<exclusive = {exclusive}, reverse = {reverse}>"
    after = check_converts(accumulated(operator, opset, dtype, shape, attributes), opset - 1, exact=True)
    assert "Scan" in [node.op_type for node in after.graph.node]


@pytest.mark.quick_share(4)
@pytest.mark.parametrize(("operator", "opset", "to"), [("CumSum", 11, 10), ("CumSum", 11, 6), ("CumProd", 26, 25)])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float", "double"])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", ["2, 3, 4", "2, 1, 4"])
def test_few_elements_accumulate_one_by_one(operator, opset, to, dtype, exclusive, reverse, shape):
    attributes = f"<exclusive = {exclusive}, reverse = {reverse}>"
    after = check_converts(accumulated(operator, opset, dtype, shape, attributes), to, exact=True)
    assert "Scan" not in [node.op_type for node in after.graph.node]


def test_two_elements_accumulate_by_one_sum():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (float[2, N] x) => (float[2, N] y) <int64 a = {-2}> '
        "{ y = CumSum (x, a) }",
        '<ir_version: 5, opset_import: ["": 10]> g (float[2, N] x) => (float[2, N] y) '
        "{ y_Split, y_Split_1 = Split <axis: int = 0, split: ints = [1, 1]> (x) y_Add = Add (y_Split, y_Split_1) "
        "y = Concat <axis: int = 0> (y_Split, y_Add) }",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(("operator", "opset"), [("CumSum", 11), ("CumProd", 26)])
@pytest.mark.parametrize("shape", ["3", "2, 3", "A, B, C"])
def test_an_axis_of_the_run_chooses_among_scans(operator, opset, shape):
    check_converts(accumulated(operator, opset, "int64", shape, axis=""), opset - 1, exact=True)


def test_narrow_floats_accumulate_in_float_below_26():
    check_converts(accumulated("CumProd", 26, "bfloat16", "N, 3"), 25, exact=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_accumulate_in_float_below_14(dtype):
    check_converts(accumulated("CumSum", 14, dtype, "N, 3"), 13)


def test_an_unknown_rank_is_refused():
    check_refusal(
        '<ir_version: 6, opset_import: ["": 11]> g (float[] x) => (float[] y) <int64 a = {0}> { y = CumSum (x, a) }',
        10,
        Why.RANK_UNKNOWN,
        "'x'",
    )


@pytest.mark.parametrize("to", [8, 6])
def test_an_axis_of_the_run_is_found_among_three(to):
    check_converts(
        '<ir_version: 13, opset_import: ["": 26]> g (int32[1, 2, 3] x, int32 axis) => (int32[1, 2, 3] y) '
        "{ y = CumProd (x, axis) }",
        to,
        exact=True,
    )
