"""What the texts of single versions say of Cast and of quantization: one test per clause."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy
import pytest
from onnx import TensorProto

from opsetlift.evaluator import Rejected
from opsetlift.specification.dtypes import dtype_name, element_type, numpy_dtype
from tests.evaluator.single_nodes import array, run, same_bits
from tests.evaluator.verdict import schemas

NAN, INF = math.nan, math.inf


# Casts


@pytest.mark.parametrize("name", ["DOUBLE", "INT32", "BOOL"])
def test_cast_1_names_its_target(name: str) -> None:
    dtype = numpy_dtype(dtype_name(TensorProto.DataType.Value(name)))
    assert run("Cast", 1, array([1.5, 0]), to=name).dtype == dtype
    with pytest.raises(Rejected, match="DataType"):
        run("Cast", 1, array([1.5]), to="REAL")


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("opset", sorted(schemas("", "Cast")))
def test_every_pair_of_types_that_the_schema_allows_can_be_cast(opset: int) -> None:
    sources, targets = (
        [name.removeprefix("tensor(").removesuffix(")") for name in constraint.allowed_type_strs]
        for constraint in schemas("", "Cast")[opset].type_constraints
    )
    for source in sources:
        values = array(["1", "0"] if source == "string" else [1, 0], source)
        for target in targets:
            number = element_type(target)
            to = number if opset >= 6 else TensorProto.DataType.Name(number)
            result = run("Cast", opset, values, to=to)
            assert result.dtype == numpy_dtype(target), f"{source} to {target}"
            assert float(result[0]) == 1, f"{source} to {target}"


def cast(values: Any, to: str, opset: int = 25, **attributes: Any) -> Any:
    return run("Cast", opset, values, to=element_type(to), **attributes)


def test_integers_out_of_range_lose_their_higher_bits() -> None:
    assert same_bits(cast(array([200, -1, 300], "int16"), "int8"), array([-56, -1, 44], "int8"))
    assert same_bits(cast(array([200, -9, 17], "int32"), "int4"), array([-8, 7, 1], "int4"))


def test_floats_are_truncated_to_integers_but_rounded_to_the_smallest_ones() -> None:
    x = array([1.5, 2.5, -1.7, 0.6])
    assert same_bits(cast(x, "int32"), array([1, 2, -1, 0], "int32"))
    assert same_bits(cast(x, "int4"), array([2, 2, -2, 1], "int4"))


def test_everything_but_zero_is_true() -> None:
    assert cast(array([0, -0.0, NAN, 0.25, INF]), "bool").tolist() == [False, False, True, True, True]
    assert cast(array([0, 36], "int32"), "bool").tolist() == [False, True]


def test_floats_out_of_range_are_infinite() -> None:
    assert same_bits(cast(array([1e6, -1e6]), "float16"), array([INF, -INF], "float16"))
    assert same_bits(cast(array([70000], "int32"), "float16"), array([INF], "float16"))


@pytest.mark.parametrize("target", ["bfloat16", "float8e4m3fn", "float8e5m2", "float6e2m3", "float4e2m1"])
def test_casts_from_wide_types_round_once(target: str) -> None:
    """Just above halfway between two neighbours: rounding to float32 first would end up on the lower one."""
    step = float(ml_dtypes.finfo(numpy_dtype(target)).eps)
    halfway = numpy.array([1 + step / 2, 1 + step / 2 + 2.0**-40, 1 + step / 2 - 2.0**-40])
    assert cast(halfway, target, opset=28).astype(numpy.float64).tolist() == [1, 1 + step, 1]


def test_wide_integers_round_once_to_bfloat16() -> None:
    x = array([2**40 + 2**32 + 1, 2**40 + 2**32, -(2**40) - 2**32 - 1, 2**63 - 1], "int64")
    assert cast(x, "bfloat16").astype(numpy.float64).tolist() == [2**40 + 2**33, 2**40, -(2**40) - 2**33, 2**63]


FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")


@pytest.mark.parametrize("opset", [19, 21, 23, 24])
@pytest.mark.parametrize("target", FLOAT8)
def test_float8_saturates_by_the_first_table_of_24_at_every_version(target: str, opset: int) -> None:
    largest = float(ml_dtypes.finfo(numpy_dtype(target)).max)
    zero = 0.0 if target.endswith("fnuz") else -0.0
    x = array([0, -0.0, NAN, INF, -INF, 1e9, -1e9, largest])
    expected = [0, zero, NAN, largest, -largest, largest, -largest, largest]
    assert same_bits(cast(x, target, opset=opset), array(expected, target))
    assert same_bits(run("CastLike", opset, x, array([1], target)), array(expected, target))


@pytest.mark.parametrize(
    ("target", "infinity"),
    [("float8e4m3fn", NAN), ("float8e4m3fnuz", NAN), ("float8e5m2", INF), ("float8e5m2fnuz", NAN)],
)
def test_float8_without_saturation_by_the_second_table(target: str, infinity: float) -> None:
    x = array([INF, -INF, 1e9, -1e9, NAN])
    expected = array([infinity, -infinity, infinity, -infinity, NAN], target)
    actual = cast(x, target, saturate=0)
    numpy.testing.assert_array_equal(actual.astype(numpy.float32), expected.astype(numpy.float32))


def test_what_rounds_to_the_largest_float8_is_not_out_of_range() -> None:
    assert same_bits(cast(array([464, 465]), "float8e4m3fn", saturate=0), array([448, NAN], "float8e4m3fn"))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("up", [1, 2, 2, 4, 4]), ("down", [1, 1, 1, 2, 2]), ("nearest", [1, 1, 2, 2, 4])],
)
def test_float8e8m0_rounds_as_told(mode: str, expected: list[float]) -> None:
    x = array([1, 1.25, 1.5, 2.75, 3])
    assert same_bits(cast(x, "float8e8m0", round_mode=mode), array(expected, "float8e8m0"))
    with pytest.raises(Rejected, match="round_mode"):
        cast(x, "float8e8m0", round_mode="away")


def test_special_values_of_float8e8m0_by_the_table() -> None:
    least, greatest = 2.0**-127, 2.0**127
    x = array([0, NAN, INF, 1e39, 1e-45], "double")
    up = cast(x, "float8e8m0", saturate=1, round_mode="up")
    assert same_bits(up, array([least, NAN, greatest, greatest, least], "float8e8m0"))
    nearest = cast(x, "float8e8m0", saturate=0, round_mode="nearest")
    assert same_bits(nearest, array([NAN] * 5, "float8e8m0"))


def test_strings_become_numbers() -> None:
    literals = numpy.array(["3.14", "1e-5", "+INF", "-inf", "nan"], object)
    assert same_bits(cast(literals, "float"), array([3.14, 1e-5, INF, -INF, NAN]))
    assert same_bits(cast(numpy.array(["1000", "-1"], object), "int64"), array([1000, -1], "int64"))
    assert same_bits(cast(numpy.array([str(2**64 - 1)], object), "uint64"), array([2**64 - 1], "uint64"))


def test_what_is_no_number_is_rejected() -> None:
    with pytest.raises(Rejected, match="no numerical literal"):
        cast(numpy.array(["Hello World!"], object), "float")


def test_numbers_become_plain_decimals() -> None:
    x = array([314.15926, 1e-7, NAN, INF, -INF])
    assert cast(x, "string").tolist() == ["314.15927", "0.0000001", "NaN", "INF", "-INF"]
    assert cast(array([[-5, 7]], "int8"), "string").tolist() == [["-5", "7"]]


# Quantization


def test_quotients_round_to_even_before_the_zero_point_is_added() -> None:
    x = array([0.5, 1.5, 2.5, -0.5])
    assert same_bits(run("QuantizeLinear", 10, x, array(1.0), array(3, "uint8")), array([3, 5, 5, 3], "uint8"))


def test_quantize_saturates() -> None:
    x = array([1e9, -1e9, INF, -INF])
    assert same_bits(run("QuantizeLinear", 13, x, array(1.0)), array([255, 0, 255, 0], "uint8"))
    signed = run("QuantizeLinear", 13, x, array(1.0), array(0, "int8"))
    assert same_bits(signed, array([127, -128, 127, -128], "int8"))


def test_quantize_10_has_scalar_scales() -> None:
    x = array([[1, 2], [3, 4]])
    with pytest.raises(Rejected, match="must be a scalar"):
        run("QuantizeLinear", 10, x, array([1, 2]))
    assert same_bits(run("QuantizeLinear", 13, x, array([1, 2])), array([[1, 1], [3, 2]], "uint8"))
    assert same_bits(run("QuantizeLinear", 13, x, array([1, 2]), axis=0), array([[1, 2], [2, 2]], "uint8"))


def test_blocks_repeat_their_scale_and_the_last_one_may_be_short() -> None:
    x = array([[2, 4, 6, 8, 10]])
    scale = array([[1, 2, 10]])
    assert same_bits(run("QuantizeLinear", 21, x, scale, axis=1, block_size=2), array([[2, 4, 3, 4, 1]], "uint8"))
    for block_size in (1, 3):
        with pytest.raises(Rejected, match=f"for blocks of {block_size}"):
            run("QuantizeLinear", 21, x, scale, axis=1, block_size=block_size)


def test_output_dtype_must_not_contradict_the_zero_point() -> None:
    x, scale = array([1.0]), array(1.0)
    assert run("QuantizeLinear", 21, x, scale, output_dtype=TensorProto.INT16).dtype == numpy.int16
    with pytest.raises(Rejected, match="another dtype"):
        run("QuantizeLinear", 21, x, scale, array(0, "uint8"), output_dtype=TensorProto.INT16)


def test_precision_decides_where_the_quotient_is_rounded() -> None:
    x, scale = array([1.0009765625]), array(2.0**-10)
    assert run("QuantizeLinear", 23, x, scale, output_dtype=TensorProto.INT16)[0] == 1025
    half = {"output_dtype": TensorProto.INT16, "precision": TensorProto.BFLOAT16}
    assert run("QuantizeLinear", 23, x, scale, **half)[0] == 1024


def test_dequantize_subtracts_without_overflow() -> None:
    x, zero_point = array([-128], "int8"), array(127, "int8")
    assert same_bits(run("DequantizeLinear", 10, x, array(2.0), zero_point), array([-510]))


def test_int32_is_dequantized_without_a_zero_point() -> None:
    x = array([6], "int32")
    with pytest.raises(Rejected, match="no zero point in the case of int32"):
        run("DequantizeLinear", 13, x, array(0.5), array(1, "int32"))
    assert same_bits(run("DequantizeLinear", 13, x, array(0.5), array(0, "int32")), array([3]))


def test_dequantize_23_can_give_another_dtype_than_its_scale() -> None:
    y = run("DequantizeLinear", 23, array([3], "int8"), array(0.5), output_dtype=TensorProto.FLOAT16)
    assert same_bits(y, array([1.5], "float16"))


def test_zero_points_have_the_shape_of_the_scales() -> None:
    with pytest.raises(Rejected, match="must have one shape"):
        run("QuantizeLinear", 13, array([[1, 2]]), array([1, 2]), array(0, "uint8"))


def test_dynamic_quantization_includes_zero_in_its_range() -> None:
    y, scale, zero_point = run("DynamicQuantizeLinear", 11, array([51, 255]), outputs=3)
    assert (y.tolist(), float(scale), int(zero_point)) == ([51, 255], 1.0, 0)
    y, scale, zero_point = run("DynamicQuantizeLinear", 11, array([-255, -51]), outputs=3)
    assert (y.tolist(), float(scale), int(zero_point)) == ([0, 204], 1.0, 255)


def test_matmul_integer_subtracts_zero_points_per_row_and_column() -> None:
    a, b = array([[11, 12], [21, 22]], "uint8"), array([[2, 3], [2, 3]], "int8")
    rows, columns = array([11, 21], "uint8"), array([1, 2], "int8")
    assert same_bits(run("MatMulInteger", 10, a, b, rows, columns), array([[1, 1], [1, 1]], "int32"))
