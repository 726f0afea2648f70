"""What the texts of single versions say of reductions, running sums and Softmax: one test per clause."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from opsetlift.evaluator import Rejected
from opsetlift.specification.dtypes import numpy_dtype
from tests.evaluator.single_nodes import array, run, same_bits

NAN, INF = math.nan, math.inf


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
