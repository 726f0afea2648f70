"""Matrix products and convolutions of quantized numbers, below their introductions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


def test_few_integers_are_multiplied_in_float_below_10():
    check_rewrite(
        '<ir_version: 5, opset_import: ["": 10]> g (uint8[2, 3] a, int8[3, 4] b) => (int32[2, 4] y) '
        "{ y = MatMulInteger (a, b) }",
        '<ir_version: 4, opset_import: ["": 9]> g (uint8[2, 3] a, int8[3, 4] b) => (int32[2, 4] y) '
        "{ y_Cast = Cast <to: int = 1> (a) y_Cast_1 = Cast <to: int = 1> (b) "
        "y_MatMul = MatMul (y_Cast, y_Cast_1) y = Cast <to: int = 6> (y_MatMul) }",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "shapes", [("2, 3", "3, 4"), ("M, K", "K, N"), ("2, 2, 3", "3, 4"), ("3", "3"), ("2, 300", "300, 1")]
)
@pytest.mark.parametrize("to", [9, 7, 6])
def test_integers_are_multiplied_exactly_below_10(shapes, to):
    left, right = shapes
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g (uint8[{left}] a, int8[{right}] b, uint8 p, int8 q) '
        "=> (int32 y) { z = MatMulInteger (a, b, p, q) o = Constant <value = int64[0] {}> () "
        "one = ReduceMax <keepdims = 0> (z) y = Reshape (one, o) }",
        to,
        exact=True,
    )


@pytest.mark.parametrize(("rows", "columns"), [("[2]", "[4]"), ("[1]", "[1]"), ("[2, 1]", "[1, 4]")])
def test_zero_points_for_each_row_and_column_are_subtracted(rows, columns):
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g (uint8[2, 3] a, uint8[3, 4] b, uint8{rows} p, uint8{columns} q) '
        "=> (int32[2, 4] y) { y = MatMulInteger (a, b, p, q) }",
        9,
        exact=True,
    )


@pytest.mark.parametrize("numbers", ["3, 3, 3, 3", "0, 0, 0, 0", "1, 2, 3, 4"])
def test_constant_zero_points_are_subtracted(numbers):
    check_converts(
        '<ir_version: 5, opset_import: ["": 10]> g (uint8[2, 3] a, uint8[3, 4] b, uint8 p) => (int32[2, 4] y) '
        f"<uint8[4] q = {{{numbers}}}> {{ y = MatMulInteger (a, b, p, q) }}",
        9,
        exact=True,
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("attributes", ["", "<pads = [1, 1, 0, 0], strides = [2, 1]>", '<auto_pad = "SAME_UPPER">'])
@pytest.mark.parametrize("zero_point", ["int8", "int8[2]"])
def test_integers_are_convolved_exactly_below_10(attributes, zero_point):
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g (uint8[1, 3, 4, 4] x, int8[2, 3, 2, 2] w, uint8 p, {zero_point} q) '
        f"=> (int32[1, 2, A, B] y) {{ y = ConvInteger {attributes} (x, w, p, q) }}",
        9,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "zero_point", "bias", "channels"),
    [
        ("float", "int8", "", 3),
        ("float", "int8", ", b", 90),
        ("float[2]", "int8[2]", ", b", 3),
    ],
)
def test_quantized_convolutions_round_once(scale, zero_point, bias, channels):
    declared = ", int32[2] b" if bias else ""
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g (uint8[1, {channels}, 3, 3] x, float xs, uint8 xz, '
        f"int8[2, {channels}, 2, 2] w, {scale} ws, {zero_point} wz, float ys, uint8 yz{declared}) "
        f"=> (uint8[1, 2, 2, 2] y) {{ y = QLinearConv (x, xs, xz, w, ws, wz, ys, yz{bias}) }}",
        9,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("parameters", ["", "[1]"])
@pytest.mark.parametrize(
    "shapes", [("2, 3", "3, 4", "2, 4"), ("2, 2, 3", "2, 3, 4", "2, 2, 4"), ("2, 300", "300, 1", "2, 1")]
)
def test_quantized_matrix_products_round_once(parameters, shapes):
    left, right, result = shapes
    p = parameters
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g (uint8[{left}] a, float{p} s, uint8{p} z, int8[{right}] b, '
        f"float{p} t, int8{p} u, float{p} v, int8{p} w) => (int8[{result}] y) "
        "{ y = QLinearMatMul (a, s, z, b, t, u, v, w) }",
        9,
        exact=True,
    )


@pytest.mark.slow
def test_parameters_for_each_row_and_column_go_along_them():
    check_converts(
        '<ir_version: 5, opset_import: ["": 10]> g (uint8[2, 3] a, float[2] s, uint8[2] z, int8[3, 4] b, '
        "float[4] t, int8[4] u, float[2] v, int8[2] w) => (int8[2, 4] y) "
        "{ y = QLinearMatMul (a, s, z, b, t, u, v, w) }",
        9,
        exact=True,
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_scales_of_a_product_are_cast_below_21(dtype):
    after = check_converts(
        f'<ir_version: 10, opset_import: ["": 21]> g (uint8[2, 3] a, {dtype} s, uint8 z, int8[3, 4] b, '
        f"{dtype} t, int8 u, {dtype} v, int8 w) => (int8[2, 4] y) {{ y = QLinearMatMul (a, s, z, b, t, u, v, w) }}",
        20,
        exact=True,
    )
    assert [node.op_type for node in after.graph.node] == ["Cast"] * 3 + ["QLinearMatMul"]


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("dtype", ["float8e4m3fn", "float8e5m2fnuz"])
def test_products_of_float8_are_computed_below_21(dtype):
    check_converts(
        f'<ir_version: 10, opset_import: ["": 21]> g ({dtype}[2, 3] a, float s, {dtype} z, {dtype}[3, 4] b, '
        f"float t, {dtype} u, float v, {dtype} w) => ({dtype}[2, 4] y) "
        "{ y = QLinearMatMul (a, s, z, b, t, u, v, w) }",
        20,
        exact=True,
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("shape", ["[N, 3]", "[4]", ""])
@pytest.mark.parametrize("to", [10, 9, 7])
def test_ranges_are_quantized_below_11(shape, to):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g (float{shape} x) => (uint8{shape} y, float s, uint8 z) '
        "{ y, s, z = DynamicQuantizeLinear (x) }",
        to,
        exact=True,
    )


def test_an_unknown_rank_is_refused():
    check_refusal(
        '<ir_version: 5, opset_import: ["": 10]> g (uint8[] a, uint8[] b) => (int32[] y) { y = MatMulInteger (a, b) }',
        9,
        Why.RANK_UNKNOWN,
    )
