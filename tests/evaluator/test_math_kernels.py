"""What the texts of single versions say of the operators that compute: one test per clause."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy
import pytest
from onnx import TensorProto, helper

from converter.dtypes import dtype_name, element_type, numpy_dtype
from converter.evaluator import Rejected, run_node

NAN, INF = math.nan, math.inf


def run(operator: str, opset: int, *inputs: Any, strict: bool = True, outputs: int = 1, **attributes: Any) -> Any:
    """The output of one node, or a list of several."""
    names = ["" if value is None else f"input{index}" for index, value in enumerate(inputs)]
    node = helper.make_node(operator, names, [f"output{index}" for index in range(outputs)], **attributes)
    results = run_node(node, list(inputs), {"": opset}, strict=strict)
    return results[0] if outputs == 1 else results


def array(values: Any, dtype: str = "float") -> Any:
    return numpy.array(values, numpy_dtype(dtype))


def same_bits(actual: Any, expected: Any) -> bool:
    """Equal dtype, shape and values, the sign of zero included; NaN equals NaN."""
    actual, expected = numpy.asarray(actual), numpy.asarray(expected)
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return False
    if actual.dtype == object or actual.dtype.kind in "biu":
        return bool((actual == expected).all())
    actual, expected = actual.astype(numpy.float64), expected.astype(numpy.float64)
    signs = numpy.signbit(actual) == numpy.signbit(expected)
    return bool(((actual == expected) & signs | numpy.isnan(actual) & numpy.isnan(expected)).all())


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
    with pytest.raises(Rejected, match="fmod must be 0 or 1"):
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


# Reductions

REDUCTIONS_OF_NOTHING = [
    ("ReduceSum", 11, "float", 0.0),
    ("ReduceSumSquare", 13, "float", 0.0),
    ("ReduceL1", 13, "int32", 0),
    ("ReduceL2", 13, "float", 0.0),
    ("ReduceProd", 13, "float", 1.0),
    ("ReduceMin", 13, "float", INF),
    ("ReduceMin", 13, "int8", 127),
    ("ReduceMin", 20, "bool", True),
    ("ReduceMax", 13, "bfloat16", -INF),
    ("ReduceMax", 13, "uint8", 0),
    ("ReduceMax", 20, "bool", False),
    ("ReduceLogSum", 13, "float", -INF),
    ("ReduceLogSumExp", 13, "float", -INF),
    ("ReduceMean", 13, "float", NAN),
]


@pytest.mark.parametrize(("operator", "opset", "dtype", "expected"), REDUCTIONS_OF_NOTHING)
def test_reduction_of_nothing(operator: str, opset: int, dtype: str, expected: Any) -> None:
    empty = numpy.zeros((2, 0), numpy_dtype(dtype))
    if opset < 18:
        result = run(operator, opset, empty, axes=[1], keepdims=0)
    else:
        result = run(operator, opset, empty, array([1], "int64"), keepdims=0)
    assert same_bits(result, array([expected, expected], dtype))


def test_no_axes_mean_all_axes_unless_noop_is_asked_for() -> None:
    x = array([[1, -2], [3, 4]])
    none = array([], "int64")
    assert same_bits(run("ReduceSum", 13, x), array([[6]]))
    assert same_bits(run("ReduceSum", 13, x, none), array([[6]]))
    assert same_bits(run("ReduceSum", 13, x, none, noop_with_empty_axes=1), x)
    assert same_bits(run("ReduceSumSquare", 18, x, noop_with_empty_axes=1), x * x)
    assert same_bits(run("ReduceL2", 18, x, noop_with_empty_axes=1), numpy.abs(x))


def test_negative_axes_are_legal_since_version_11_only() -> None:
    x = array([[1, 2], [3, 4]])
    with pytest.raises(Rejected, match="negative values"):
        run("ReduceMax", 10, x, axes=[-1])
    assert same_bits(run("ReduceMax", 10, x, axes=[-1], strict=False), array([[2], [4]]))
    assert same_bits(run("ReduceMax", 11, x, axes=[-1], keepdims=0), array([2, 4]))


def test_axes_outside_the_rank_are_rejected() -> None:
    with pytest.raises(Rejected, match="accepted range"):
        run("ReduceMean", 13, array([1, 2]), axes=[1])
    with pytest.raises(Rejected, match="accepted range"):
        run("ReduceMean", 18, array(1.0), array([0], "int64"))


def test_scalars_can_be_reduced() -> None:
    assert same_bits(run("ReduceMean", 13, array(3.0)), array(3.0))


def test_mean_of_integers_does_not_overflow_and_truncates() -> None:
    assert same_bits(run("ReduceMean", 13, array([2**31 - 1] * 3, "int32"), keepdims=0), array(2**31 - 1, "int32"))
    assert same_bits(run("ReduceMean", 13, array([-3, -4], "int32"), keepdims=0), array(-3, "int32"))


def test_sum_of_integers_wraps() -> None:
    assert same_bits(run("ReduceSum", 13, array([2**31 - 1, 1], "int32"), keepdims=0), array(-(2**31), "int32"))


@pytest.mark.parametrize("operator", ["ReduceMin", "ReduceMax", "ReduceMean"])
def test_reductions_pass_nan_on(operator: str) -> None:
    assert numpy.isnan(run(operator, 13, array([1, NAN, 2])))


def test_log_sum_exp_overflows_only_where_its_result_does() -> None:
    assert same_bits(run("ReduceLogSumExp", 13, array([1000, -INF]), keepdims=0), array(1000.0))
    assert same_bits(run("ReduceLogSumExp", 13, array([INF, 0]), keepdims=0), array(INF))


WIDENED = [
    ("ReduceMean", 13, {}),
    ("ReduceL2", 13, {}),
    ("ReduceLogSumExp", 13, {}),
    ("ReduceProd", 13, {}),
    ("Softmax", 13, {}),
    ("LogSoftmax", 13, {}),
    ("Gelu", 20, {}),
    ("Mish", 22, {}),
    ("Tanh", 13, {}),
    ("Elu", 22, {}),
    ("CumSum", 14, {}),
    ("LpNormalization", 22, {}),
]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("operator", "opset", "attributes"), WIDENED)
def test_computing_in_float_and_casting_back_changes_nothing(
    operator: str, opset: int, attributes: dict[str, Any], dtype: str
) -> None:
    x = numpy.random.default_rng(5).normal(size=(7, 9)).astype(numpy_dtype(dtype))
    extra = [array(1, "int64")] if operator == "CumSum" else []
    wide = run(operator, opset, x.astype(numpy.float32), *extra, **attributes)
    assert same_bits(run(operator, opset, x, *extra, **attributes), wide.astype(x.dtype))


def test_sums_do_not_depend_on_the_memory_layout() -> None:
    x = numpy.random.default_rng(5).normal(size=(300, 200)).astype(numpy.float32)
    moved = numpy.ascontiguousarray(x.T).T
    assert same_bits(run("ReduceSum", 13, x), run("ReduceSum", 13, moved))
    assert same_bits(run("Softmax", 13, x), run("Softmax", 13, moved))


# Indices and running sums


def test_arg_max_takes_the_first_or_the_last_of_several() -> None:
    x = array([3, 5, 5, 1])
    assert run("ArgMax", 11, x).tolist() == [1]
    assert run("ArgMax", 12, x, select_last_index=1).tolist() == [2]
    assert run("ArgMin", 13, array([[2, 1, 1]]), axis=1, keepdims=0, select_last_index=1).tolist() == [2]


def test_arg_max_of_nothing_is_rejected() -> None:
    with pytest.raises(Rejected, match="must not be empty"):
        run("ArgMax", 11, numpy.zeros((2, 0), numpy.float32), axis=0)
    assert run("ArgMax", 12, numpy.zeros((2, 0), numpy.float32), axis=0).shape == (1, 0)
    with pytest.raises(Rejected, match="no extreme"):
        run("ArgMax", 12, numpy.zeros((2, 0), numpy.float32), axis=1)


@pytest.mark.parametrize(
    ("exclusive", "reverse", "sums", "products"),
    [
        (0, 0, [1, 3, 6], [1, 2, 6]),
        (1, 0, [0, 1, 3], [1, 1, 2]),
        (0, 1, [6, 5, 3], [6, 6, 3]),
        (1, 1, [5, 3, 0], [6, 3, 1]),
    ],
)
def test_running_sums_and_products_of_the_texts(
    exclusive: int, reverse: int, sums: list[int], products: list[int]
) -> None:
    x, axis, options = array([1, 2, 3]), array(0, "int32"), {"exclusive": exclusive, "reverse": reverse}
    assert same_bits(run("CumSum", 14, x, axis, **options), array(sums))
    assert same_bits(run("CumProd", 26, x, axis, **options), array(products))


def test_the_axis_of_cum_sum_is_a_scalar_in_range() -> None:
    with pytest.raises(Rejected, match="must be a scalar"):
        run("CumSum", 14, array([1, 2]), array([0], "int64"))
    with pytest.raises(Rejected, match="accepted range"):
        run("CumSum", 14, array([1, 2]), array(1, "int64"))


# Softmax and its like


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
def test_before_version_13_the_axis_stands_for_all_after_it(operator: str) -> None:
    x = numpy.random.default_rng(1).normal(size=(2, 3, 4)).astype(numpy.float32)
    flat = run(operator, 13, x.reshape(2, 12), axis=1).reshape(x.shape)
    assert same_bits(run(operator, 11, x, axis=1), flat)
    assert same_bits(run(operator, 11, x), flat)
    assert not same_bits(run(operator, 13, x, axis=1), flat)


def test_softmax_13_is_by_the_last_axis_unless_told_otherwise() -> None:
    x = array([[1, 2], [3, 5]])
    assert same_bits(run("Softmax", 13, x), run("Softmax", 13, x, axis=-1))
    numpy.testing.assert_allclose(run("Softmax", 13, x, axis=0).sum(axis=0), [1, 1], rtol=1e-6)


def test_softmax_1_has_no_negative_axis() -> None:
    with pytest.raises(Rejected, match="negative values"):
        run("Softmax", 1, array([[1, 2]]), axis=-1)
    assert same_bits(run("Softmax", 1, array([[1, 1]]), axis=-1, strict=False), array([[0.5, 0.5]]))


def test_softmax_does_not_overflow() -> None:
    assert same_bits(run("Softmax", 13, array([1e30, 0])), array([1, 0]))
    assert same_bits(run("LogSoftmax", 13, array([1e30, 1e30])), array([-math.log(2)] * 2))


def test_hardmax_marks_the_first_maximum_only() -> None:
    assert same_bits(run("Hardmax", 13, array([1, 3, 3])), array([0, 1, 0]))


def test_lp_normalization_of_zeros_is_zero() -> None:
    assert same_bits(run("LpNormalization", 1, array([[0, 0], [3, 4]])), array([[0, 0], [0.6, 0.8]]))
    with pytest.raises(Rejected, match="only p=1 and p=2"):
        run("LpNormalization", 1, array([[1]]), p=3)


# Casts


@pytest.mark.parametrize("name", ["DOUBLE", "INT32", "BOOL"])
def test_cast_1_names_its_target(name: str) -> None:
    dtype = numpy_dtype(dtype_name(TensorProto.DataType.Value(name)))
    assert run("Cast", 1, array([1.5, 0]), to=name).dtype == dtype
    with pytest.raises(Rejected, match="DataType"):
        run("Cast", 1, array([1.5]), to="REAL")


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


@pytest.mark.parametrize("target", FLOAT8)
def test_float8_saturates_by_the_first_table(target: str) -> None:
    largest = float(ml_dtypes.finfo(numpy_dtype(target)).max)
    zero = 0.0 if target.endswith("fnuz") else -0.0
    x = array([0, -0.0, NAN, INF, -INF, 1e9, -1e9, largest])
    expected = [0, zero, NAN, largest, -largest, largest, -largest, largest]
    assert same_bits(cast(x, target, opset=24), array(expected, target))


@pytest.mark.parametrize("target", FLOAT8)
@pytest.mark.parametrize("opset", [19, 21, 23])
def test_infinities_became_nan_for_fnuz_before_version_24(target: str, opset: int) -> None:
    largest = float(ml_dtypes.finfo(numpy_dtype(target)).max)
    expected = [NAN, NAN] if target.endswith("fnuz") else [largest, -largest]
    assert same_bits(cast(array([INF, -INF]), target, opset=opset), array(expected, target))
    like = run("CastLike", opset, array([INF, -INF]), array([1], target))
    assert same_bits(like, array(expected, target))


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


def test_einsum_rejects_equations_that_do_not_fit() -> None:
    a = array([[1, 2], [3, 4]])
    with pytest.raises(Rejected, match="1 terms for 2 inputs"):
        run("Einsum", 12, a, a, equation="ij")
    with pytest.raises(Rejected, match="names 1 dimensions"):
        run("Einsum", 12, a, equation="i->i")
    with pytest.raises(Rejected, match="same number of dimensions"):
        run("Einsum", 12, a, numpy.ones((2, 2, 2), numpy.float32), equation="...i,...i->...i")


def test_det_takes_square_matrices() -> None:
    assert same_bits(run("Det", 11, array([[[1, 2], [3, 4]]])), array([-2]))
    with pytest.raises(Rejected, match="square"):
        run("Det", 11, array([[1, 2]]))


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
