"""What the texts of single versions say of arithmetic, activations and matrix products: one test per clause."""

from __future__ import annotations

import math

import ml_dtypes
import numpy
import pytest
from onnx import TensorProto

from opsetlift.evaluator import Rejected
from opsetlift.specification.dtypes import numpy_dtype
from tests.evaluator.one_node import assert_gives, assert_rejected, node
from tests.evaluator.single_nodes import array, run, same_bits

NAN, INF = math.nan, math.inf


# Broadcasting before opset 7


def test_add_6_without_broadcast_takes_equal_shapes_only() -> None:
    with pytest.raises(Rejected, match="without broadcast=1 both shapes must be equal"):
        run("Add", 6, array([[1, 2]]), array([1, 2]))


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((), None), ((1, 1), None), ((5,), None), ((4, 5), None), ((3, 4), 1), ((2,), 0)],
    ids=["scalar", "one element", "last dimension", "last two", "the middle", "the first"],
)
def test_add_6_broadcasts_every_example_of_its_text(shape: tuple[int, ...], axis: int | None) -> None:
    a = numpy.arange(120, dtype=numpy.float32).reshape(2, 3, 4, 5)
    b = numpy.arange(1, math.prod(shape) + 1, dtype=numpy.float32).reshape(shape)
    attributes = {"broadcast": 1, **({} if axis is None else {"axis": axis})}
    start = 4 - b.ndim if axis is None else axis
    aligned = b if b.size == 1 else b.reshape((1,) * start + shape + (1,) * (4 - start - b.ndim))
    assert same_bits(run("Add", 6, a, b, **attributes), a + aligned)


def test_legacy_broadcasting_never_enlarges_the_first_operand() -> None:
    with pytest.raises(Rejected, match="rank 2 is greater than the first one's"):
        run("Mul", 6, array([1, 2]), array([[1, 2]]), broadcast=1)
    with pytest.raises(Rejected, match="is not the part"):
        run("Mul", 6, array([1]), array([1, 2]), broadcast=1)


def test_one_dimension_expansion_does_not_work_yet_unless_lenient() -> None:
    a, b = array([[1, 2], [3, 4]]), array([[10], [20]])
    with pytest.raises(Rejected, match="is not the part"):
        run("Add", 6, a, b, broadcast=1)
    assert same_bits(run("Add", 6, a, b, broadcast=1, strict=False), a + b)


def test_negative_legacy_axis_counts_from_the_end_if_lenient() -> None:
    a, b = numpy.zeros((2, 3, 4), numpy.float32), array([1, 2, 3])
    with pytest.raises(Rejected, match="axis -2 is negative"):
        run("Sub", 6, a, b, broadcast=1, axis=-2)
    assert same_bits(run("Sub", 6, a, b, broadcast=1, axis=-2, strict=False), a - b[:, None])


@pytest.mark.parametrize("operator", ["And", "Or", "Xor"])
def test_logical_operators_broadcast_like_add_before_version_7(operator: str) -> None:
    a, b = array([[True, False], [True, False]], "bool"), array([True, False], "bool")
    combine = {"And": numpy.logical_and, "Or": numpy.logical_or, "Xor": numpy.logical_xor}[operator]
    assert same_bits(run(operator, 1, a, b, broadcast=1, axis=0), combine(a, b[:, None]))
    assert same_bits(run(operator, 7, a, b), combine(a, b))


@pytest.mark.parametrize("operator", ["Min", "Max", "Sum", "Mean"])
def test_variadic_operators_broadcast_since_version_8_only(operator: str) -> None:
    inputs = array([[1, 5], [3, 2]]), array([2, 4])
    with pytest.raises(Rejected, match="must have the same shape"):
        run(operator, 6, *inputs)
    assert run(operator, 8, *inputs).shape == (2, 2)


def test_shapes_that_do_not_broadcast_are_rejected_by_name() -> None:
    with pytest.raises(Rejected, match=r"\[2\], \[3\] cannot be broadcast"):
        run("Add", 14, array([1, 2]), array([1, 2, 3]))


# Arithmetic


def test_integer_division_truncates() -> None:
    quotient = run("Div", 14, array([7, -7, 7, -7, -128], "int8"), array([2, 2, -2, -2, -1], "int8"))
    assert same_bits(quotient, array([3, -3, -3, 3, -128], "int8"))


def test_division_of_integers_by_zero_does_not_stop_the_run() -> None:
    assert run("Div", 14, array([1, 2], "int32"), array([0, 1], "int32"))[1] == 2


def test_mod_takes_the_divisors_sign_and_fmod_the_dividends() -> None:
    a, b = array([-7, 7, -7, 7], "int32"), array([3, -3, -3, 3], "int32")
    assert same_bits(run("Mod", 13, a, b), array([2, -2, -1, 1], "int32"))
    assert same_bits(run("Mod", 13, a, b, fmod=1), array([-1, 1, -1, 1], "int32"))


@pytest.mark.parametrize("opset", [10, 13])
def test_mod_of_floats_needs_fmod_before_version_28(opset: int) -> None:
    with pytest.raises(Rejected, match="need fmod=1"):
        run("Mod", opset, array([1.5]), array([1]))
    assert same_bits(run("Mod", opset, array([-1.5]), array([1]), fmod=1), array([-0.5]))


def test_mod_28_floors_floats_with_the_special_cases_of_its_text() -> None:
    dividend = array([-1.5, 0.0, -0.0, INF, 1, 2, -2, NAN])
    divisor = array([1, -3, 3, 2, 0, INF, INF, 1])
    expected = array([0.5, -0.0, 0.0, NAN, NAN, 2, INF, NAN])
    assert same_bits(run("Mod", 28, dividend, divisor), expected)


def test_mod_rejects_other_values_of_fmod() -> None:
    with pytest.raises(Rejected, match="'fmod' is 0 or 1, not 2"):
        run("Mod", 13, array([1], "int32"), array([1], "int32"), fmod=2)


def test_pow_keeps_the_dtype_of_the_base() -> None:
    assert same_bits(run("Pow", 13, array([2, 3], "int32"), array([2.5, 0.5])), array([5, 1], "int32"))
    assert same_bits(run("Pow", 15, array([2], "bfloat16"), array([3], "int64")), array([8], "bfloat16"))


def test_powers_of_integers_wrap_like_products() -> None:
    expected = (3**25 + 2**31) % 2**32 - 2**31
    assert same_bits(run("Pow", 13, array([3], "int32"), array([25], "int64")), array([expected], "int32"))


def test_pow_does_not_depend_on_how_the_exponent_is_shaped_or_typed() -> None:
    base = numpy.random.default_rng(7).normal(size=200).astype(numpy.float32)
    for exponent in (2, 3):
        spread = run("Pow", 13, base, numpy.full(200, exponent, numpy.float32))
        assert same_bits(run("Pow", 13, base, array(exponent)), spread)
        assert same_bits(run("Pow", 13, base, array(exponent, "int64")), spread)


@pytest.mark.parametrize("size", [1, 3, 4, 17])
def test_zeros_are_ordered_wherever_they_stand(size: int) -> None:
    minus, plus = numpy.full(size, -0.0, numpy.float32), numpy.zeros(size, numpy.float32)
    for pair in ((minus, plus), (plus, minus)):
        assert same_bits(run("Min", 13, *pair), minus)
        assert same_bits(run("Max", 13, *pair), plus)
        assert same_bits(run("ReduceMin", 13, numpy.concatenate(pair)), array([-0.0]))
        assert same_bits(run("ReduceMax", 13, numpy.concatenate(pair)), array([0.0]))


def test_min_and_max_pass_nan_on() -> None:
    assert numpy.isnan(run("Min", 13, array([NAN, 1]), array([1, NAN]))).all()
    assert numpy.isnan(run("Max", 13, array([NAN, 1]), array([1, NAN]))).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_mean_and_sum_of_narrow_floats_round_once(dtype: str) -> None:
    step = float(ml_dtypes.finfo(numpy_dtype(dtype)).eps)
    inputs = [array([1.0], dtype), *[array([step / 4], dtype)] * 3]
    assert same_bits(run("Sum", 13, *inputs), array([1 + step], dtype))


# Activations


def test_clip_by_attributes_binds_infinities_by_default() -> None:
    largest = float(numpy.finfo(numpy.float32).max)
    assert same_bits(run("Clip", 6, array([INF, -INF, NAN])), array([largest, -largest, NAN]))
    assert same_bits(run("Clip", 1, array([INF], "double")), array([numpy.finfo(numpy.float64).max], "double"))
    assert same_bits(run("Clip", 6, array([INF], "double")), array([largest], "double"))


def test_clip_by_inputs_binds_infinities_by_default() -> None:
    largest = float(numpy.finfo(numpy.float32).max)
    assert same_bits(run("Clip", 13, array([INF, -INF]), array(0.0)), array([largest, 0.0]))


def test_clip_gives_max_everywhere_where_min_is_greater() -> None:
    assert same_bits(run("Clip", 13, array([-9, 2, 9]), array(5.0), array(1.0)), array([1, 1, 1]))


def test_bounds_of_clip_must_be_scalars() -> None:
    with pytest.raises(Rejected, match="min must be a scalar"):
        run("Clip", 13, array([1.0]), array([0.0]))
    assert same_bits(run("Clip", 13, array([-1.0]), array([0.0]), strict=False), array([0.0]))


def test_prelu_6_shares_a_slope_or_has_one_per_channel() -> None:
    x = -numpy.ones((2, 3, 2), numpy.float32)
    assert same_bits(run("PRelu", 6, x, array([2])), 2 * x)
    slopes = array([1, 2, 3])
    assert same_bits(run("PRelu", 6, x, slopes), x * slopes[:, None])


def test_prelu_7_broadcasts_the_slope_to_the_last_dimensions_and_never_the_input() -> None:
    x = -numpy.ones((2, 3), numpy.float32)
    assert same_bits(run("PRelu", 7, x, array([1, 2, 3])), x * array([1, 2, 3]))
    with pytest.raises(Rejected, match="cannot be broadcast"):
        run("PRelu", 7, array([-1.0]), array([1, 2]))


def test_selu_1_has_other_defaults_than_selu_6() -> None:
    old, new = run("Selu", 1, array([-1.0])), run("Selu", 6, array([-1.0]))
    assert old != new
    numpy.testing.assert_allclose(old, [1.0507 * 1.6732 * (math.exp(-1) - 1)], rtol=1e-6)
    numpy.testing.assert_allclose(new, [1.05070102214813 * 1.67326319217681 * (math.exp(-1) - 1)], rtol=1e-6)


def test_softplus_does_not_overflow() -> None:
    assert same_bits(run("Softplus", 1, array([1000, -1000, INF, NAN])), array([1000, 0, INF, NAN]))


def test_gelu_takes_its_two_approximations_only() -> None:
    with pytest.raises(Rejected, match='must be "none" or "tanh"'):
        run("Gelu", 20, array([1.0]), approximate="sigmoid")


def test_swiglu_does_not_broadcast() -> None:
    with pytest.raises(Rejected, match="same shape"):
        run("SwiGLU", 28, array([[1, 2]]), array([1, 2]))
    assert same_bits(run("SwiGLU", 28, array([2]), array([3])), 3 * run("Swish", 24, array([2])))


@pytest.mark.parametrize("operator", ["Exp", "Tanh", "Erf", "Sigmoid", "Log", "Sqrt"])
def test_elementwise_results_do_not_depend_on_layout_or_neighbours(operator: str) -> None:
    x = numpy.random.default_rng(3).uniform(0.01, 5, (37, 5)).astype(numpy.float32)
    whole = run(operator, 13, x)
    assert same_bits(run(operator, 13, x.T), whole.T)
    assert same_bits(run(operator, 13, x[::3, 1:2]), whole[::3, 1:2])


@pytest.mark.parametrize("dtype", ["float", "double"])
def test_erf_is_as_close_as_the_dtype_allows(dtype: str) -> None:
    x = numpy.concatenate([numpy.linspace(-7, 7, 5001), numpy.geomspace(1e-30, 1, 100)]).astype(numpy_dtype(dtype))
    expected = numpy.array([math.erf(float(value)) for value in x]).astype(x.dtype)
    actual = run("Erf", 13, x)
    assert (numpy.abs(actual - expected) <= 2 * numpy.spacing(numpy.abs(expected))).all()
    assert same_bits(run("Erf", 13, array([INF, -INF, NAN, -0.0], dtype)), array([1, -1, NAN, -0.0], dtype))


def test_isinf_detects_the_signs_it_is_asked_for() -> None:
    x = array([INF, -INF, NAN, 1])
    assert run("IsInf", 10, x).tolist() == [True, True, False, False]
    assert run("IsInf", 10, x, detect_negative=0).tolist() == [True, False, False, False]
    assert run("IsInf", 10, x, detect_positive=0).tolist() == [False, True, False, False]


# Bits


def test_bit_shift_28_extends_the_sign_and_shifts_everything_out() -> None:
    x, amount = array([-8, -8, 5, 5, -1, 64], "int8"), array([1, -1, 8, -3, 100, 1], "int8")
    assert same_bits(run("BitShift", 28, x, amount, direction="RIGHT"), array([-4, -1, 0, 0, -1, 32], "int8"))
    assert same_bits(run("BitShift", 28, x, amount, direction="LEFT"), array([-16, 0, 0, 0, 0, -128], "int8"))


def test_bit_shift_needs_one_of_two_directions() -> None:
    with pytest.raises(Rejected, match="direction must be"):
        run("BitShift", 11, array([1], "uint8"), array([1], "uint8"), direction="right")


def test_bit_cast_keeps_the_bits_and_needs_equal_widths() -> None:
    assert run("BitCast", 26, array([1.0]), to=TensorProto.INT32)[0] == 0x3F800000
    narrow = run("BitCast", 26, array([-1, 7], "int4"), to=TensorProto.UINT4)
    assert same_bits(narrow, array([15, 7], "uint4"))
    with pytest.raises(Rejected, match="float has 32 bits, double has 64"):
        run("BitCast", 26, array([1.0]), to=TensorProto.DOUBLE)
    with pytest.raises(Rejected, match="bits"):
        run("BitCast", 26, array([1], "int8"), to=TensorProto.INT4)
    with pytest.raises(Rejected, match="string"):
        run("BitCast", 26, array([1.0]), to=TensorProto.STRING)


# Linear algebra


def test_matrix_products_check_their_shapes() -> None:
    with pytest.raises(Rejected, match="3 is not 2"):
        run("MatMul", 13, numpy.ones((2, 3), numpy.float32), numpy.ones((2, 3), numpy.float32))
    with pytest.raises(Rejected, match="takes no scalar"):
        run("MatMul", 13, array(1.0), array([1.0]))


def test_integer_products_wrap_however_large_they_are() -> None:
    a, b = array([[2**31 - 1, 7]], "int32"), array([[2**31 - 1], [3]], "int32")
    expected = ((2**31 - 1) ** 2 + 21 + 2**31) % 2**32 - 2**31
    assert same_bits(run("MatMul", 9, a, b), array([[expected]], "int32"))
    large = array([[2**40 + 1]], "int64")
    assert same_bits(run("MatMul", 9, large, large), array([[(2**40 + 1) ** 2 % 2**64]], "int64"))


def test_gemm_6_broadcasts_c_only_if_asked_to() -> None:
    a, b, c = array([[1, 2]]), array([[3], [4]]), array([5])
    with pytest.raises(Rejected, match="without broadcast"):
        run("Gemm", 6, a, b, c)
    assert same_bits(run("Gemm", 6, a, b, c, broadcast=1), array([[16]]))
    assert same_bits(run("Gemm", 7, a, b, c), array([[16]]))


def test_gemm_11_needs_no_c() -> None:
    a, b = array([[1, 2]]), array([[3], [4]])
    assert same_bits(run("Gemm", 11, a, b, alpha=2.0), array([[22]]))
    with pytest.raises(Rejected):
        run("Gemm", 9, a, b)


def test_gemm_takes_matrices_only() -> None:
    with pytest.raises(Rejected, match="must be matrices"):
        run("Gemm", 13, array([1]), array([[1]]))


def test_gemm_of_integers_truncates_the_sum_of_both_terms() -> None:
    a, b, c = array([[3]], "int32"), array([[1]], "int32"), array([[1]], "int32")
    assert same_bits(run("Gemm", 13, a, b, c, alpha=0.5, beta=0.5), array([[2]], "int32"))


def test_einsum_distinguishes_upper_from_lower_case() -> None:
    a = array([[1, 2], [3, 4]])
    assert same_bits(run("Einsum", 12, a, equation="aB"), a.T)


def test_einsum_takes_no_equation_that_is_no_text() -> None:
    with pytest.raises(Rejected, match="is no text"):
        run("Einsum", 12, array([1, 2]), equation=b"\xff\xfe")


def test_einsum_broadcasts_letters_only_unless_strict() -> None:
    a, b = numpy.ones((2, 1), numpy.float32), numpy.ones((3, 4), numpy.float32)
    with pytest.raises(Rejected, match="'j' stands for 1 and for 3"):
        run("Einsum", 12, a, b, equation="ij,jk->ik")
    assert (run("Einsum", 12, a, b, equation="ij,jk->ik", strict=False) == 3).all()
    many = run("Einsum", 12, a[None], numpy.ones((5, 1, 4), numpy.float32), equation="...ij,...jk->...ik")
    assert many.shape == (5, 2, 4)


def test_einsum_rejects_equations_that_do_not_fit() -> None:
    a = array([[1, 2], [3, 4]])
    with pytest.raises(Rejected, match="1 terms for 2 inputs"):
        run("Einsum", 12, a, a, equation="ij")
    with pytest.raises(Rejected, match="names 1 dimensions"):
        run("Einsum", 12, a, equation="i->i")
    with pytest.raises(Rejected, match="same number of dimensions"):
        run("Einsum", 12, a, numpy.ones((2, 2, 2), numpy.float32), equation="...i,...i->...i")


def test_det_takes_square_matrices() -> None:
    matrices = array([[[numpy.nan, 1], [1, 1]], [[1, numpy.nan], [1, 1]], [[1, 1], [1, numpy.nan]], [[1, 2], [2, 5]]])
    assert same_bits(run("Det", 11, matrices), array([numpy.nan, numpy.nan, numpy.nan, 1]))
    assert same_bits(run("Det", 11, array([[[1, 2], [3, 4]]])), array([-2]))
    with pytest.raises(Rejected, match="square"):
        run("Det", 11, array([[1, 2]]))


def test_scales_and_zero_points_of_a_quantized_product_have_one_shape() -> None:
    a = numpy.ones((2, 2), numpy.uint8)
    one, zero = numpy.array(1, numpy.float32), numpy.array(0, numpy.uint8)
    ones, zeros = numpy.ones(2, numpy.float32), numpy.zeros(2, numpy.uint8)
    assert_gives(node("QLinearMatMul", 10, a, one, zero, a, ones, zeros, one, zero), numpy.full((2, 2), 2, numpy.uint8))
    for arguments, side in (
        ((one, zeros, a, one, zero, one, zero), "a"),
        ((one, zero, a, ones, zero, one, zero), "b"),
        ((one, zero, a, one, zero, one, zeros), "y"),
    ):
        assert_rejected(node("QLinearMatMul", 10, a, *arguments), f"{side}_scale and {side}_zero_point must have one")
