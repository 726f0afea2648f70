"""Operators that compute, by the evaluator and by onnxruntime, on nodes drawn at random.

Each operator is tried at every since-version that onnxruntime has. Where the two differ, one of them is wrong, or the
text leaves the result open: DISAGREEMENTS says which, with an example that is checked to be real.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import strategies as st

from tests.evaluator import math_strategies as drawn
from tests.evaluator.disagreements import Disagreement, Tolerance, compared_examples, is_real, judged_opsets
from tests.evaluator.onnxruntime_judge import OneNode


def _words(text: str) -> list[str]:
    return text.split()


FRACTION = st.sampled_from([0.25, 0.5, 1.0, 1.5])

TOLERANCE = {"float32": 2e-6, "float64": 1e-12, "float16": 2e-3}
"""Relative; float64 is 1e-12 because onnxruntime's own approximations of Erf and Tanh are no closer."""

STRATEGIES: dict[str, Callable[[int], Any]] = {
    **{
        name: drawn.unary(name)
        for name in _words(
            "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Cos Cosh Erf Exp Floor HardSwish Log Mish Neg Not "
            "Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh"
        )
    },
    **{name: drawn.unary(name, alpha=FRACTION) for name in ("Celu", "Elu", "LeakyRelu", "ThresholdedRelu")},
    "Gelu": drawn.unary("Gelu", approximate=st.sampled_from(["none", "tanh"])),
    "HardSigmoid": drawn.unary("HardSigmoid", alpha=FRACTION, beta=FRACTION),
    "Selu": drawn.unary("Selu", alpha=FRACTION, gamma=FRACTION),
    "Shrink": drawn.unary("Shrink", lambd=FRACTION, bias=st.sampled_from([0.0, 1.0])),
    "IsInf": drawn.unary("IsInf", "T1", detect_negative=st.integers(0, 1), detect_positive=st.integers(0, 1)),
    "IsNaN": drawn.unary("IsNaN", "T1"),
    **{
        name: drawn.binary(name)
        for name in _words(
            "Add And BitwiseAnd BitwiseOr BitwiseXor Equal Greater GreaterOrEqual Less LessOrEqual Mul Or Sub Xor"
        )
    },
    "Div": drawn.binary("Div", divisor=True),
    **{name: drawn.variadic(name) for name in ("Max", "Mean", "Min", "Sum")},
    **{
        name: drawn.reduction(name, 13 if name == "ReduceSum" else 18)
        for name in _words(
            "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
            "ReduceSumSquare"
        )
    },
    **{name: drawn.arg(name) for name in ("ArgMax", "ArgMin")},
    **{name: drawn.normalizing(name) for name in ("Hardmax", "LogSoftmax", "Softmax")},
    "BitShift": drawn.bit_shift,
    "Cast": drawn.cast,
    "Clip": drawn.clip,
    "CumSum": drawn.cumulative_sum,
    "DequantizeLinear": drawn.dequantize,
    "Det": drawn.determinant,
    "DynamicQuantizeLinear": drawn.dynamic_quantize,
    "Einsum": drawn.einsum,
    "Gemm": drawn.gemm,
    "LpNormalization": drawn.lp_normalization,
    "MatMul": drawn.matmul,
    "MatMulInteger": drawn.matmul_integer,
    "Mod": drawn.modulo,
    "PRelu": drawn.prelu,
    "Pow": drawn.power,
    "QLinearMatMul": drawn.qlinear_matmul,
    "QuantizeLinear": drawn.quantize,
    "Where": drawn.where,
}


EXACT = frozenset(
    _words(
        "Abs Add And ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Clip DequantizeLinear "
        "Div Equal Floor Greater GreaterOrEqual Hardmax IsInf IsNaN Less LessOrEqual MatMulInteger Max Min Mod Mul Neg "
        "Not Or PRelu QLinearMatMul QuantizeLinear ReduceMax ReduceMin Relu Round Sign Sub ThresholdedRelu Where Xor"
    )
)
"""Operators that leave no room for rounding: every bit must be the same, but for the sign of zero."""


def _array(value: Any, dtype: str = "float32") -> Any:
    return numpy.array(value, dtype)


def _dtype(case: OneNode) -> numpy.dtype[Any]:
    return case.inputs[0].dtype


def _has_nan(case: OneNode) -> bool:
    return _dtype(case).kind == "f" and bool(numpy.isnan(case.inputs[0]).any())


def _may_overflow(case: OneNode) -> bool:
    factors = numpy.abs(case.inputs[0].astype("float64"))
    return _dtype(case) == "int32" and float(numpy.prod(numpy.maximum(factors, 1))) >= 2**31


DISAGREEMENTS = [
    Disagreement(
        "Clip",
        "the evaluator",
        "onnxruntime rejects min > max; no text forbids it, and version 13's gives the result: max everywhere",
        lambda case: case.opset < 11 and case.attributes.get("min", -9.0) > case.attributes.get("max", 9.0),
        OneNode("Clip", 7, [_array([1.0])], {"min": 1.0, "max": 0.0}),
    ),
    Disagreement(
        "Clip",
        "the evaluator",
        "onnxruntime computes float16 in float and takes float's limits for absent bounds",
        lambda case: _dtype(case) == "float16" and bool(numpy.isinf(case.inputs[0]).any()),
        OneNode("Clip", 11, [_array([numpy.inf], "float16")]),
    ),
    Disagreement(
        "Gelu",
        "the evaluator",
        "onnxruntime expands the function, whose constants are float32 also for double; the formula's are not",
        lambda case: _dtype(case) == "float64",
        OneNode("Gelu", 20, [_array([0.75], "float64")], {"approximate": "tanh"}),
    ),
    Disagreement(
        "MatMulInteger",
        "the evaluator",
        "onnxruntime rejects zero points per row, which the text allows",
        lambda case: len(case.inputs) > 2 and case.inputs[2].ndim == 1,
        OneNode("MatMulInteger", 10, [_array([[1], [2]], "uint8"), _array([[3]], "uint8"), _array([1, 2], "uint8")]),
    ),
    Disagreement(
        "Mod",
        "the evaluator",
        "onnxruntime takes the fmod of 64-bit integers in double, which does not hold them",
        lambda case: case.attributes["fmod"] == 1 and _dtype(case).name in ("int64", "uint64"),
        OneNode("Mod", 13, [_array(2**64 - 1, "uint64"), _array(14, "uint64")], {"fmod": 1}),
        until=(1, 32),
    ),
    Disagreement(
        "Pow",
        "undefined",
        "a fractional power of a negative integer is NaN, and no integer stands for NaN",
        lambda case: _dtype(case).kind == "i" and case.inputs[1].dtype.kind == "f" and bool((case.inputs[0] < 0).any()),
        OneNode("Pow", 13, [_array([-10], "int32"), _array([3.25])]),
    ),
    *(
        Disagreement(
            operator,
            "the evaluator",
            "onnxruntime rejects blocks along the only axis; the text's shapes include them",
            lambda case: "block_size" in case.attributes and case.inputs[0].ndim == 1,
            OneNode(operator, 21, [_array([1, 2], dtype), _array([0.5])], {"axis": 0, "block_size": 2}),
        )
        for operator, dtype in (("QuantizeLinear", "float32"), ("DequantizeLinear", "uint8"))
    ),
    Disagreement(
        "QuantizeLinear",
        "the evaluator",
        "onnxruntime divides float16 in float; the scale's type determines the precision, as version 23 says",
        lambda case: _dtype(case) == "float16",
        OneNode("QuantizeLinear", 21, [_array([301.0], "float16"), _array(0.1, "float16"), _array(0, "int16")]),
    ),
    Disagreement(
        "ReduceLogSum",
        "undefined",
        "the logarithm of nothing positive is no integer",
        lambda case: _dtype(case).kind == "i",
        OneNode("ReduceLogSum", 13, [_array([-8], "int32")]),
    ),
    Disagreement(
        "ReduceLogSum",
        "the evaluator",
        "onnxruntime expands the function, whose Log takes no integers, although the schema does",
        lambda case: _dtype(case).kind in "iu" and case.opset >= 18,
        OneNode("ReduceLogSum", 18, [_array([7], "uint64")]),
    ),
    Disagreement(
        "ReduceLogSumExp",
        "the evaluator",
        "onnxruntime computes exp of the greatest integers, which overflows; the logarithm does not",
        lambda case: _dtype(case).kind in "iu",
        OneNode("ReduceLogSumExp", 18, [_array([2**32 - 1], "uint32")]),
    ),
    Disagreement(
        "ReduceLogSumExp",
        "the evaluator",
        "onnxruntime loses NaN after infinity; a sum with NaN is NaN",
        _has_nan,
        OneNode("ReduceLogSumExp", 13, [_array([numpy.inf, numpy.nan])]),
    ),
    Disagreement(
        "Sign",
        "open",
        "NaN is neither above, below nor equal to 0; onnxruntime gives 0 for float16, NaN for float",
        _has_nan,
        OneNode("Sign", 13, [_array([numpy.nan], "float16")]),
    ),
    *(
        Disagreement(
            operator,
            "the evaluator",
            "onnxruntime passes over NaN of float16 and double, not of float; the text promises to be like numpy",
            _has_nan,
            OneNode(operator, 20, [_array([[1.0, numpy.nan, 2.0]], "float16")]),
        )
        for operator in ("ReduceMax", "ReduceMin")
    ),
    Disagreement(
        "ReduceProd",
        "open",
        "onnxruntime saturates products that int32 does not hold; here they wrap, as products do everywhere else",
        _may_overflow,
        OneNode("ReduceProd", 13, [_array([2**16, 2**16 + 1], "int32")]),
    ),
    Disagreement(
        "Shrink",
        "the evaluator",
        "onnxruntime computes integers in float, which does not hold those of 32 and 64 bits",
        lambda case: _dtype(case).kind in "iu" and _dtype(case).itemsize >= 4,
        OneNode("Shrink", 9, [_array(2**40 + 1, "int64")]),
    ),
]


def tolerance(operator: str) -> Tolerance:
    if operator == "Det":
        return 5e-5  # differences of products, which onnxruntime rounds to float
    return 0.0 if operator in EXACT else TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "opset"), [(operator, opset) for operator in sorted(STRATEGIES) for opset in judged_opsets(operator)]
)
def test_same_results_as_onnxruntime(operator: str, opset: int) -> None:
    compared = compared_examples(STRATEGIES[operator](opset), DISAGREEMENTS, examples=25, tolerance=tolerance(operator))
    assert compared, "onnxruntime executed none of the nodes"


@pytest.mark.parametrize("entry", DISAGREEMENTS, ids=lambda entry: f"{entry.operator}: {entry.because}")
def test_listed_disagreement_is_real(entry: Disagreement) -> None:
    assert is_real(entry, tolerance=tolerance(entry.operator))
