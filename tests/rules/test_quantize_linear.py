"""QuantizeLinear and DequantizeLinear across their versions."""

import onnx
import pytest

from opsetlift import convert
from opsetlift.specification.dtypes import element_type
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model


def test_one_scale_needs_no_axis_below_13():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 13]> g (float[A, B] x, float s, int8 z) => (int8[A, B] y) '
        "{ y = QuantizeLinear <axis = 0> (x, s, z) }",
        '<ir_version: 5, opset_import: ["": 10]> g (float[A, B] x, float s, int8 z) => (int8[A, B] y) '
        "{ y = QuantizeLinear (x, s, z) }",
    )


def test_a_vector_of_one_scale_becomes_a_number_at_13():
    check_rewrite(
        '<ir_version: 5, opset_import: ["": 10]> g (uint8[A, B] x) => (float[A, B] y) '
        "<float[1] s = {0.5}, uint8[1] z = {3}> { y = DequantizeLinear (x, s, z) }",
        '<ir_version: 7, opset_import: ["": 13]> g (uint8[A, B] x) => (float[A, B] y) '
        "<float y_constant = {0.5}, uint8 y_constant_1 = {3}> "
        "{ y = DequantizeLinear (x, y_constant, y_constant_1) }",
    )


@pytest.mark.quick_share(18)
@pytest.mark.parametrize("operator", ["QuantizeLinear", "DequantizeLinear"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("to", [12, 9, 6])
def test_scales_for_each_index_are_computed_below_13(operator, axis, to):
    dtypes = ("float", "int8") if operator == "QuantizeLinear" else ("int8", "float")
    length = [2, 3, 4][axis]
    check_converts(
        f'<ir_version: 7, opset_import: ["": 13]> g ({dtypes[0]}[2, 3, 4] x, float[{length}] s, int8[{length}] z) => '
        f"({dtypes[1]}[2, 3, 4] y) {{ y = {operator} <axis = {axis}> (x, s, z) }}",
        to,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float", "int32"])
@pytest.mark.parametrize("zero_point", ["", ", z"])
@pytest.mark.parametrize("to", [9, 7, 6])
def test_quantization_is_computed_below_10(dtype, zero_point, to):
    declared = ", uint8 z" if zero_point else ""
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g ({dtype}[N, 3] x, float s{declared}) => (uint8[N, 3] y) '
        f"{{ y = QuantizeLinear (x, s{zero_point}) }}",
        to,
        exact=True,
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
@pytest.mark.parametrize("to", [9, 7, 1])
def test_dequantization_is_computed_below_10(dtype, to):
    check_converts(
        f'<ir_version: 5, opset_import: ["": 10]> g ({dtype}[2, 3] x, float s, {dtype} z) => (float[2, 3] y) '
        "{ y = DequantizeLinear (x, s, z) }",
        to,
        exact=True,
    )


def test_a_quotient_of_narrow_floats_is_rounded_before_it_is_quantized_below_19():
    check_rewrite(
        '<ir_version: 9, opset_import: ["": 19]> g (float16[N] x, float16 s, int8 z) => (int8[N] y) '
        "{ y = QuantizeLinear <saturate = 1> (x, s, z) }",
        '<ir_version: 8, opset_import: ["": 18]> g (float16[N] x, float16 s, int8 z) => (int8[N] y) '
        "<float y_one = {1}> { y_Cast = Cast <to: int = 1> (x) y_Cast_1 = Cast <to: int = 1> (s) "
        "y_Div = Div (y_Cast, y_Cast_1) y_Cast_2 = Cast <to: int = 10> (y_Div) "
        "y_Cast_3 = Cast <to: int = 1> (y_Cast_2) y = QuantizeLinear (y_Cast_3, y_one, z) }",
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32"])
def test_other_scales_for_each_index_are_computed_below_19(dtype):
    check_converts(
        f'<ir_version: 9, opset_import: ["": 19]> g ({dtype}[2, 3] x, {dtype}[3] s, int8[3] z) => (int8[2, 3] y) '
        "{ y = QuantizeLinear (x, s, z) }",
        18,
        exact=True,
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_scales_are_cast_to_dequantize_below_19(dtype):
    after = check_converts(
        f'<ir_version: 9, opset_import: ["": 19]> g (uint8[2, 3] x, {dtype}[3] s, uint8[3] z) => ({dtype}[2, 3] y) '
        "{ y = DequantizeLinear (x, s, z) }",
        18,
        exact=True,
    )
    assert [node.op_type for node in after.graph.node] == ["Cast", "DequantizeLinear", "Cast"]


@pytest.mark.parametrize(("scale", "shape"), [("float", "N"), ("float[3]", "N, 3"), ("float[M]", "N, M")])
def test_output_dtype_becomes_a_zero_point_below_21(scale, shape):
    after = check_converts(
        f'<ir_version: 10, opset_import: ["": 21]> g (float[{shape}] x, {scale} s) => (int8[{shape}] y) '
        "{ y = QuantizeLinear <output_dtype = 3> (x, s) }",
        20,
        exact=True,
    )
    assert after.graph.node[-1].op_type == "QuantizeLinear"
    assert len(after.graph.node[-1].input) == 3


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_16_bits_are_computed_below_21(dtype):
    check_converts(
        f'<ir_version: 10, opset_import: ["": 21]> g (float[2, 3] x, float s, {dtype} z) => ({dtype}[2, 3] y) '
        "{ y = QuantizeLinear (x, s, z) }",
        20,
        exact=True,
    )
    check_converts(
        f'<ir_version: 10, opset_import: ["": 21]> g ({dtype}[2, 3] x, float[3] s, {dtype}[3] z) => (float[2, 3] y) '
        "{ y = DequantizeLinear (x, s, z) }",
        20,
        exact=True,
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("dim", ["5", "D"])
@pytest.mark.parametrize("dtype", ["int8", "float8e4m3fn", "float8e5m2"])
def test_blocks_are_computed_below_21(dim, dtype):
    check_converts(
        f'<ir_version: 10, opset_import: ["": 21]> g (float[2, {dim}] x, float[2, 3] s, {dtype}[2, 3] z) => '
        f"({dtype}[2, {dim}] y) {{ y = QuantizeLinear <block_size = 2> (x, s, z) }}",
        20,
        exact=True,
    )
    check_converts(
        f'<ir_version: 10, opset_import: ["": 21]> g ({dtype}[2, {dim}] x, float[2, 3] s) => (float[2, {dim}] y) '
        "{ y = DequantizeLinear <block_size = 2> (x, s) }",
        20,
        exact=True,
    )


@pytest.mark.parametrize(
    ("x", "scale", "attribute"),
    [
        ("float16", "float", ""),
        ("float", "float16", ""),
        ("bfloat16", "float", ", precision = 10"),
        ("int32", "float", ""),
        ("float16", "float16", ", precision = 1"),
        ("float", "float", ", precision = 16"),
    ],
)
def test_the_precision_of_the_division_is_cast_below_23(x, scale, attribute):
    check_converts(
        f'<ir_version: 11, opset_import: ["": 23]> g ({x}[2, 3] x, {scale} s) => (int8[2, 3] y) '
        f"{{ y = QuantizeLinear <output_dtype = 3{attribute}> (x, s) }}",
        22,
        exact=True,
    )


@pytest.mark.parametrize(("scale", "to"), [("float16", 1), ("float", 10), ("bfloat16", 10), ("float", 1)])
def test_output_dtype_is_cast_to_below_23(scale, to):
    result = {1: "float", 10: "float16"}[to]
    check_converts(
        f'<ir_version: 11, opset_import: ["": 23]> g (int8[2, 3] x, {scale} s) => ({result}[2, 3] y) '
        f"{{ y = DequantizeLinear <output_dtype = {to}> (x, s) }}",
        22,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float8e4m3fnuz", "float8e5m2fnuz"])
@pytest.mark.parametrize(("before", "to"), [(23, 24), (24, 23), (28, 21), (21, 28)])
def test_infinities_saturate_as_the_versions_of_cast_have_it(dtype, before, to):
    check_converts(
        f'<ir_version: 10, opset_import: ["": {before}]> g (float[N] x, float s, {dtype} z) => ({dtype}[N] y) '
        "{ y = QuantizeLinear (x, s, z) }",
        to,
        exact=True,
    )


def test_without_saturation_nothing_changes_at_24():
    check_rewrite(
        '<ir_version: 11, opset_import: ["": 23]> g (float[N] x, float s, float8e5m2fnuz z) => (float8e5m2fnuz[N] y) '
        "{ y = QuantizeLinear <saturate = 0> (x, s, z) }",
        '<ir_version: 11, opset_import: ["": 24]> g (float[N] x, float s, float8e5m2fnuz z) => (float8e5m2fnuz[N] y) '
        "{ y = QuantizeLinear <saturate: int = 0> (x, s, z) }",
    )


@pytest.mark.parametrize("dtype", ["int4", "uint4", "float8e4m3fn", "float4e2m1", "int2"])
def test_constants_of_a_dtype_that_is_lost_are_dequantized_from_another(dtype):
    weights = onnx.helper.make_tensor("x", element_type(dtype), [4], [0, 1, 1, 0])
    before = model(
        '<ir_version: 13, opset_import: ["": 25]> g (float s) => (float[4] y) { y = DequantizeLinear (x, s) }'
    )
    before.graph.initializer.append(weights)
    conversion = convert(before, to=13, exact=True)
    assert [node.op_type for node in conversion.model.graph.node if node.op_type != "Cast"] == ["Mul"]
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven


@pytest.mark.parametrize(("dtype", "before", "to"), [("int4", 21, 20), ("float4e2m1", 23, 22), ("float8e5m2", 19, 18)])
def test_results_of_a_dtype_that_does_not_exist_are_refused(dtype, before, to):
    check_refusal(
        f'<ir_version: 10, opset_import: ["": {before}]> g (float[4] x, float s, {dtype} z) => ({dtype}[4] y) '
        "{ y = QuantizeLinear (x, s, z) }",
        to,
        Why.DTYPE_NOT_AVAILABLE,
        dtype,
    )


def test_a_scale_of_unknown_rank_is_refused_below_13():
    check_refusal(
        '<ir_version: 7, opset_import: ["": 13]> g (float[4] x, float[] s) => (uint8[4] y) '
        "{ y = QuantizeLinear (x, s) }",
        12,
        Why.RANK_UNKNOWN,
        "'s'",
    )


def test_a_vector_of_one_scale_needs_no_axis_below_13():
    check_rewrite(
        '<ir_version: 7, opset_import: ["": 13]> g (float[N] x) => (uint8[N] y) <float[1] s = {0.5}> '
        "{ y = QuantizeLinear <axis = 0> (x, s) }",
        '<ir_version: 7, opset_import: ["": 12]> g (float[N] x) => (uint8[N] y) <float y_constant = {0.5}> '
        "{ y = QuantizeLinear (x, y_constant) }",
    )
