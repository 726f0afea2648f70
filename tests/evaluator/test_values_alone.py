"""What a kernel computes depends on values: not on memory layout, the rest of the batch or the number of threads."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import pytest
from onnx import parser

import opsetlift.evaluator.kernels
from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.evaluator.kernels.registry import all_kernels
from opsetlift.specification.contributed import DOMAIN as CONTRIBUTED
from tests.evaluator.drawn_nodes import draw, run
from tests.evaluator.test_node_tests import NODE_CASES

Array = Any
KERNELS = Path(opsetlift.evaluator.kernels.__file__).parent
SOURCES = {path.stem: path.read_text() for path in KERNELS.glob("*.py")}


def same_bits(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if a is None or b is None or isinstance(a, dict):
        return bool(a == b)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    if a.dtype.kind in "fc":
        ours, theirs = numpy.nan_to_num(a, nan=7.0), numpy.nan_to_num(b, nan=7.0)
        return ours.tobytes() == theirs.tobytes() and bool((numpy.isnan(a) == numpy.isnan(b)).all())
    return bool((a == b).all()) if a.dtype.kind == "O" else a.tobytes() == b.tobytes()


# ---- layouts

Layout = Callable[[Array], Array]


def in_fortran_order(x: Array) -> Array:
    return numpy.array(x, order="F")


def backwards(x: Array) -> Array:
    """Negative strides on every axis."""
    flipped = (slice(None, None, -1),) * x.ndim
    return x[flipped].copy()[flipped]


def sliced(x: Array) -> Array:
    """Every other element of a larger array, on every axis."""
    larger = numpy.zeros([2 * size + 1 for size in x.shape], x.dtype)
    larger[(slice(1, None, 2),) * x.ndim] = x
    return larger[(slice(1, None, 2),) * x.ndim]


def at_odd_address(x: Array) -> Array:
    if x.dtype.hasobject:
        return x
    memory = numpy.zeros(x.nbytes + 17, numpy.uint8)
    start = 1 - memory.ctypes.data % 16 + 16
    start = start if start < 17 else start - 16
    moved = numpy.ndarray(x.shape, x.dtype, memory.data, start)
    moved[...] = x
    return moved


LAYOUTS: Sequence[Layout] = (in_fortran_order, backwards, sliced, at_odd_address)


def moved(value: Any, layout: Layout) -> Any:
    if isinstance(value, numpy.ndarray):
        return layout(value)
    return [moved(element, layout) for element in value] if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize("operator", sorted(NODE_CASES))
def test_no_kernel_looks_at_the_layout_of_its_inputs(operator: str) -> None:
    for number, case in enumerate(NODE_CASES[operator]):
        inputs = case.inputs()
        try:
            evaluator = Evaluator(case.model)
            expected = list(evaluator.run(inputs).values())
        except EvaluationError:
            continue
        if not same_bits(expected, list(evaluator.run(inputs).values())):
            continue  # random numbers
        layout = LAYOUTS[number % len(LAYOUTS)]
        found = list(evaluator.run({name: moved(value, layout) for name, value in inputs.items()}).values())
        assert same_bits(found, expected), (case.name, layout.__name__)


# ---- matrix products

SIZES = [(1, 7, 1), (1, 300, 10), (5, 300, 1), (2, 31, 3), (6, 64, 48), (33, 700, 65), (1, 1100, 1000), (3, 1100, 1000)]


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_transpose_that_is_folded_into_the_weights_changes_no_bit(size: tuple[int, int, int], dtype: str) -> None:
    rows, terms, columns = size
    a, b = draw(rows, terms, dtype=dtype), draw(terms, columns, dtype=dtype)
    expected = gemm(a, b)
    assert same_bits(gemm(a, b.T.copy(), transB=1), expected)
    assert same_bits(gemm(a.T.copy(), b, transA=1), expected)
    assert same_bits(gemm(a.T.copy(), b.T.copy(), transA=1, transB=1), expected)
    for layout in LAYOUTS:
        assert same_bits(gemm(layout(a), layout(b)), expected), layout.__name__
    assert same_bits(run("MatMul", 13, [a, b])[0], expected)
    assert same_bits(run("Einsum", 12, [a, b], equation="ij,jk->ik")[0], expected)
    assert same_bits(run("Einsum", 12, [a, b.T.copy()], equation="ij,kj->ik")[0], expected)


def test_a_product_with_its_own_transpose_is_like_any_other() -> None:
    for size in (5, 40, 1050):
        a = draw(size, 37)
        assert same_bits(gemm(a, a, transB=1), gemm(a, a.T.copy()))


def gemm(a: Array, b: Array, **attributes: int) -> Array:
    return run("Gemm", 13, [a, b], **attributes)[0]


def test_weights_that_the_model_transposes_itself_give_the_same_bits() -> None:
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float[3,300] x, float[20,300] w) => (float[3,20] y)
        { t = Transpose <perm = [1, 0]> (w)  y = MatMul (x, t) }"""
    x, w = draw(3, 300), draw(20, 300)
    found = Evaluator(parser.parse_model(text)).run({"x": x, "w": w})["y"]
    assert same_bits(found, run("MatMul", 13, [x, w.T.copy()])[0])


# ---- batches


@dataclass(frozen=True)
class Batched:
    """A node on a batch of 5: the axis of the batch for the inputs that have one, and of the first output."""

    operator: str
    opset: int
    inputs: Sequence[Any]
    axes: Sequence[int | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    output_axes: Sequence[int] = (0,)

    def __str__(self) -> str:
        shapes = [list(value.shape) for value in self.inputs if value is not None]
        return f"{self.operator} {shapes} {dict(self.attributes)}"

    def of(self, elements: list[int]) -> list[Any]:
        inputs = [
            value if axis is None or value is None else numpy.ascontiguousarray(value.take(elements, axis))
            for value, axis in zip(self.inputs, self.axes, strict=True)
        ]
        return run(self.operator, self.opset, inputs, self.outputs, **self.attributes)


def indices(*shape: int, below: int) -> Array:
    return numpy.random.default_rng(list(shape)).integers(0, below, shape)


REDUCTIONS = (
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
)
ML = {"domain": "ai.onnx.ml"}
PREVIEW = {"domain": "ai.onnx.preview"}
SOME = (((5, 9000), 0, [1]), ((300, 5), 1, [0]), ((37, 5, 51), 1, [0, 2]), ((5, 70, 1), 0, [1]))
"""Shapes, where the batch is, and the axes to reduce."""
THIRTY = {"hidden_size": 30}
CUBIC = {"mode": "cubic"}
PLATT = {"prob_a": [1.0, 0.5, 2.0], "prob_b": [0.1, 0.2, 0.3]}
FUNCTIONS = ["Exp", "Log", "Sin", "Cos", "Tan", "Tanh", "Sigmoid", "Erf", "Softplus", "Asin", "Sinh", "Atanh", "Mish"]
SVM = {
    "vectors_per_class": [3, 4, 2],
    "classlabels_ints": [0, 1, 2],
    "support_vectors": draw(9, 40).ravel().tolist(),
    "coefficients": draw(2, 9).ravel().tolist(),
    "rho": [0.1, 0.2, 0.3],
    "kernel_params": [0.05, 0.1, 2.0],
}

BATCHED = [
    Batched("MatMul", 13, [draw(5, 7, 300), draw(300, 9)], [0, None]),
    Batched("MatMul", 13, [draw(5, 1, 300), draw(300, 90)], [0, None]),
    Batched("MatMul", 13, [draw(5, 3, 30), draw(5, 30, 1)], [0, 0]),
    Batched("MatMul", 13, [draw(9, 300), draw(5, 300, 17)], [None, 0]),
    Batched(
        "MatMul", 13, [draw(2, 5, 4, 33, dtype="float64"), draw(5, 33, 6, dtype="float64")], [1, 0], output_axes=(1,)
    ),
    Batched("MatMul", 13, [draw(300), draw(5, 300, 17)], [None, 0]),
    Batched("Einsum", 12, [draw(5, 7, 300), draw(5, 300, 9)], [0, 0], {"equation": "bij,bjk->bik"}),
    Batched("Einsum", 12, [draw(7, 300, 5), draw(5, 300)], [2, 0], {"equation": "ijb,bj->ib"}, output_axes=(1,)),
    Batched("Einsum", 12, [draw(5, 300, 7), draw(300, 7, 5)], [0, 2], {"equation": "bij,ijb->b"}),
    Batched("Einsum", 12, [draw(5, 30, 7), draw(7, 4), draw(4, 30)], [0, None, None], {"equation": "bij,jk,ki->b"}),
    Batched("Einsum", 12, [draw(5), draw(5)], [0, 0], {"equation": "i,i->i"}),
    Batched("Einsum", 12, [draw(30, 5, 70)], [1], {"equation": "ibj->b"}),
    Batched("Einsum", 12, [draw(5, 30, 30)], [0], {"equation": "...ii->..."}),
    Batched("Det", 11, [draw(5, 20, 20)], [0]),
    Batched("Conv", 11, [draw(5, 6, 19, 17), draw(8, 6, 3, 3), draw(8)], [0, None, None]),
    Batched("Conv", 11, [draw(5, 64, 9, 9), draw(30, 64, 1, 1)], [0, None]),
    Batched("Conv", 11, [draw(5, 64, 1, 1), draw(30, 64, 1, 1)], [0, None]),
    Batched("Conv", 11, [draw(5, 6, 19, 17), draw(6, 1, 3, 3)], [0, None], {"group": 6}),
    Batched("Conv", 11, [draw(5, 3, 200), draw(1, 3, 50, dtype="float32")], [0, None]),
    Batched("ConvTranspose", 11, [draw(5, 6, 9, 7), draw(6, 4, 3, 3)], [0, None], {"strides": [2, 2]}),
    Batched("CausalConvWithState", 27, [draw(5, 6, 30), draw(6, 1, 4)], [0, None], {"activation": "silu"}, 2, (0, 0)),
    Batched("DeformConv", 19, [draw(5, 6, 8, 8), draw(4, 6, 3, 3), draw(5, 18, 6, 6)], [0, None, 0]),
    Batched("Col2Im", 18, [draw(5, 18, 36), numpy.array([8, 8]), numpy.array([3, 3])], [0, None, None]),
    Batched("RNN", 14, [draw(6, 5, 40), draw(1, 30, 40), draw(1, 30, 30)], [1, None, None], THIRTY, 2, (2, 1)),
    Batched("GRU", 14, [draw(6, 5, 40), draw(1, 90, 40), draw(1, 90, 30)], [1, None, None], THIRTY, 2, (2, 1)),
    Batched(
        "GRU",
        14,
        [draw(6, 5, 40), draw(1, 90, 40), draw(1, 90, 30)],
        [1, None, None],
        {"hidden_size": 30, "linear_before_reset": 1},
        2,
        (2, 1),
    ),
    Batched(
        "LSTM",
        14,
        [draw(6, 5, 40), draw(2, 60, 40), draw(2, 60, 15)],
        [1, None, None],
        {"hidden_size": 15, "direction": "bidirectional"},
        3,
        (2, 1, 1),
    ),
    Batched("Attention", 23, [draw(5, 4, 9, 30), draw(5, 2, 11, 30), draw(5, 2, 11, 20)], [0, 0, 0]),
    Batched(
        "FlexAttention",
        26,
        [draw(5, 4, 9, 30), draw(5, 4, 11, 30), draw(5, 4, 11, 20)],
        [0, 0, 0],
        PREVIEW,
    ),
    Batched(
        "LinearAttention",
        27,
        [draw(5, 6, 16), draw(5, 6, 16), draw(5, 6, 24)],
        [0, 0, 0],
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"},
        2,
        (0, 0),
    ),
    *(
        Batched(operator, 17, [numpy.abs(draw(*shape)) + 1e-3], [axis], {"axes": axes, "keepdims": 1}, 1, (axis,))
        for operator in REDUCTIONS
        if operator != "ReduceSum"
        for shape, axis, axes in (
            ((5, 3000), 0, [1]),
            ((300, 5), 1, [0]),
            ((37, 5, 51), 1, [0, 2]),
            ((5, 70, 2), 0, [1]),
        )
    ),
    *(
        Batched("ReduceSum", 13, [draw(*shape, dtype=dtype), numpy.array(axes)], [axis, None], {}, 1, (axis,))
        for dtype in ("float32", "float64", "float16")
        for shape, axis, axes in (
            ((5, 9000), 0, [1]),
            ((300, 5), 1, [0]),
            ((37, 5, 51), 1, [0, 2]),
            ((5, 70, 1), 0, [1]),
        )
    ),
    Batched("ReduceMax", 13, [draw(5, 70)], [0], {"axes": [1]}),
    Batched("ReduceMin", 13, [draw(70, 5)], [1], {"axes": [0]}, 1, (1,)),
    Batched("Softmax", 13, [draw(5, 9000)], [0]),
    Batched("Softmax", 13, [draw(90, 5)], [1], {"axis": 0}, 1, (1,)),
    Batched("Softmax", 11, [draw(5, 9, 7)], [0]),
    Batched("LogSoftmax", 13, [draw(5, 3, 70)], [0], {"axis": 1}),
    Batched("Hardmax", 13, [draw(5, 70)], [0]),
    Batched("LpNormalization", 22, [draw(5, 300)], [0]),
    Batched("NegativeLogLikelihoodLoss", 13, [draw(5, 7, 30), indices(5, 30, below=7)], [0, 0], {"reduction": "none"}),
    Batched("SoftmaxCrossEntropyLoss", 13, [draw(5, 7, 30), indices(5, 30, below=7)], [0, 0], {"reduction": "none"}),
    Batched("BatchNormalization", 15, [draw(5, 3, 7, 7), draw(3), draw(3), draw(3), draw(3) ** 2], [0, *[None] * 4]),
    Batched("LayerNormalization", 17, [draw(5, 7, 300), draw(300)], [0, None]),
    Batched("LayerNormalization", 17, [draw(5, 7, 30), draw(7, 30)], [0, None], {"axis": 1}),
    Batched("RMSNormalization", 23, [draw(5, 7, 300), draw(300)], [0, None]),
    Batched("InstanceNormalization", 6, [draw(5, 3, 17, 19), draw(3), draw(3)], [0, None, None]),
    Batched("GroupNormalization", 21, [draw(5, 6, 17, 19), draw(6), draw(6)], [0, None, None], {"num_groups": 2}),
    Batched("MeanVarianceNormalization", 13, [draw(3, 5, 17, 19)], [1], {}, 1, (1,)),
    Batched("LRN", 13, [draw(5, 9, 6, 6)], [0], {"size": 3}),
    Batched("AveragePool", 11, [draw(5, 3, 17, 19)], [0], {"kernel_shape": [3, 4]}),
    Batched("LpPool", 11, [draw(5, 3, 17, 19)], [0], {"kernel_shape": [3, 4], "p": 3}),
    Batched("MaxPool", 11, [draw(5, 3, 17, 19)], [0], {"kernel_shape": [3, 4]}),
    Batched("GlobalAveragePool", 1, [draw(5, 3, 17, 19)], [0]),
    Batched("GlobalLpPool", 2, [draw(5, 3, 17, 19)], [0], {"p": 3}),
    Batched("GlobalMaxPool", 1, [draw(5, 3, 17, 19)], [0]),
    Batched(
        "RoiAlign",
        16,
        [draw(2, 3, 17, 19), numpy.abs(draw(5, 4)) * 9, indices(5, below=2)],
        [None, 0, 0],
        {"output_height": 3},
    ),
    Batched("CumSum", 14, [draw(5, 300), numpy.array(1)], [0, None]),
    Batched("CumSum", 14, [draw(300, 5), numpy.array(0)], [1, None], {}, 1, (1,)),
    Batched("CumProd", 26, [draw(5, 30), numpy.array(1)], [0, None]),
    Batched("DFT", 17, [draw(5, 60, 2)], [0], {"axis": 1}),
    Batched("DFT", 17, [draw(5, 59, 1)], [0], {"axis": 1, "onesided": 1}),
    Batched("DFT", 17, [draw(37, 5, 2)], [1], {"axis": 0, "inverse": 1}, 1, (1,)),
    Batched("STFT", 17, [draw(5, 128, 1), numpy.array(8), draw(16)], [0, None, None]),
    Batched("GridSample", 16, [draw(5, 3, 9, 9), draw(5, 4, 4, 2)], [0, 0]),
    Batched(
        "Resize",
        13,
        [draw(5, 3, 9, 9), None, numpy.array([1, 1, 1.7, 0.6], "f4")],
        [0, None, None],
        {"mode": "cubic"},
    ),
    Batched("Normalizer", 1, [draw(5, 300)], [0], {"norm": "L2", **ML}),
    Batched("LinearRegressor", 1, [draw(5, 300)], [0], {"coefficients": draw(600).tolist(), "targets": 2, **ML}),
    Batched(
        "LinearClassifier",
        1,
        [draw(5, 300)],
        [0],
        {"coefficients": draw(900).tolist(), "classlabels_ints": [0, 1, 2], "post_transform": "SOFTMAX", **ML},
        2,
        (0, 0),
    ),
    *(
        Batched("SVMClassifier", 1, [draw(5, 40)], [0], {**SVM, "kernel_type": kind, **ML}, 2, (0, 0))
        for kind in ("LINEAR", "POLY", "RBF", "SIGMOID")
    ),
    Batched(
        "SVMClassifier",
        1,
        [draw(5, 40)],
        [0],
        {**SVM, **PLATT, "kernel_type": "RBF", **ML},
        2,
        (0, 0),
    ),
    Batched(
        "SVMRegressor",
        1,
        [draw(5, 40)],
        [0],
        {
            "n_supports": 9,
            "support_vectors": draw(360).tolist(),
            "coefficients": draw(9).tolist(),
            "rho": [0.1],
            "kernel_type": "RBF",
            "kernel_params": [0.05, 0.1, 2.0],
            **ML,
        },
    ),
    Batched("Pow", 13, [draw(5, 30, dtype="float64"), numpy.resize([2, 3, 0.5, -1, 1.7], 150).reshape(5, 30)], [0, 0]),
    Batched("Pow", 13, [numpy.abs(draw(5)), numpy.array([2, 3, 0.5, -1, 1.7])], [0, 0]),
    Batched("Gelu", 20, [draw(5, 3)], [0], {"approximate": "tanh"}),
    *(
        Batched(operator, 22, [draw(5, 7, dtype=dtype) * 0.4], [0])
        for dtype in ("float32", "float64", "float16")
        for operator in (
            "Exp",
            "Log",
            "Sin",
            "Cos",
            "Tan",
            "Tanh",
            "Sigmoid",
            "Erf",
            "Softplus",
            "Asin",
            "Sinh",
            "Atanh",
            "Mish",
        )
    ),
]


@pytest.mark.parametrize("case", BATCHED, ids=str)
def test_an_element_of_a_batch_does_not_depend_on_the_others(case: Batched) -> None:
    whole = case.of([0, 1, 2, 3, 4])
    for elements in ([0], [3], [4], [1, 2], [4, 3, 2, 1, 0], [2] * 9):
        for found, expected, axis in zip(case.of(elements), whole, case.output_axes, strict=False):
            assert same_bits(found, numpy.ascontiguousarray(expected.take(elements, axis))), elements


def test_groups_of_a_convolution_are_convolutions() -> None:
    x, w = draw(2, 6, 9, 9), draw(8, 3, 3, 3)
    whole = run("Conv", 11, [x, w], group=2)[0]
    halves = [run("Conv", 11, [x[:, 3 * g : 3 * g + 3], w[4 * g : 4 * g + 4]])[0] for g in (0, 1)]
    assert same_bits(whole, numpy.concatenate(halves, axis=1))


NOT_BATCHED = {
    "ArgMax": "sums nothing",
    "ArgMin": "sums nothing",
    "AffineGrid": "the size of its batch is an input; a product for each element, like MatMul",
    "BlackmanWindow": "sums nothing",
    "HammingWindow": "sums nothing",
    "HannWindow": "sums nothing",
    "MelWeightMatrix": "sums nothing",
    "ConvInteger": "sums of integers are exact",
    "QLinearConv": "sums of integers are exact",
    "Gemm": "has no batch: rows of one product are computed in blocks",
    "ArrayFeatureExtractor": "sums nothing",
    "Binarizer": "sums nothing",
    "FeatureVectorizer": "sums nothing",
    "Imputer": "sums nothing",
    "OneHotEncoder": "sums nothing",
    "RotaryEmbedding": "sums nothing",
    "Scaler": "sums nothing",
}


def test_every_operator_that_accumulates_is_tried_on_batches() -> None:
    accumulating = re.compile(r"kernels\.(accumulation|contraction|convolution|softmax) import|numpy\.fft|accumulate\(")
    modules = {name for name, text in SOURCES.items() if accumulating.search(text)}
    # Those of com.microsoft call kernels of ONNX's, and add nothing up but by `mean`.
    operators = {
        key.operator
        for key, kernel in all_kernels().items()
        if kernel.__module__.rpartition(".")[2] in modules and key.domain != CONTRIBUTED
    }
    tried = {case.operator for case in BATCHED}
    assert operators - tried - set(NOT_BATCHED) == set()


def test_pow_computes_an_element_alike_whether_the_exponent_is_a_scalar_or_not() -> None:
    for dtype in ("float32", "float64"):
        base = numpy.abs(draw(50, dtype=dtype))
        for exponent in (2, 3, 0.5, -1, 1, 0, 1.7):
            one = numpy.array(exponent, dtype)
            assert same_bits(run("Pow", 13, [base, one])[0], run("Pow", 13, [base, numpy.full(50, one)])[0]), exponent


# ---- how kernels add up

EXACT = {
    "quantized_matrix_products": "integers",
    "windows": "counts",
    "sequences": "lengths",
    "convolution": "one product for each image and group",
    "interpolation": "the weights of one point, a row each",
    "ml_trees": "a list of the model's own",
    "accumulation": "where it is decided",
    "contraction": "integers",
}
SUMMING = frozenset(("matmul", "dot", "einsum", "tensordot", "inner", "vdot", "sum", "mean", "average", "var", "std"))


def test_kernels_leave_sums_and_products_of_matrices_to_accumulation() -> None:
    for name, text in SOURCES.items():
        if name in EXACT:
            continue
        for part in ast.walk(ast.parse(text)):
            assert not isinstance(getattr(part, "op", None), ast.MatMult), f"{name}, line {part.lineno}"
            if not isinstance(part, ast.Call) or not isinstance(part.func, ast.Attribute):
                continue
            of_floats = part.func.attr in SUMMING and not _is_of_integers(part)
            assert not of_floats or _is_of_module(part, "accumulation"), f"{name}, line {part.lineno}"


def _is_of_module(call: ast.Call, name: str) -> bool:
    assert isinstance(call.func, ast.Attribute)
    return isinstance(call.func.value, ast.Name) and call.func.value.id == name


def _is_of_integers(call: ast.Call) -> bool:
    return any(keyword.arg == "dtype" and "int" in ast.unparse(keyword.value) for keyword in call.keywords)


# ---- threads

HASHES = """
import hashlib, numpy
from tests.evaluator.drawn_nodes import draw, run
results = [
    run("MatMul", 13, [draw(300, 700), draw(700, 500)]),
    run("MatMul", 13, [draw(1, 700), draw(700, 3000)]),
    run("Gemm", 13, [draw(101, 333, dtype="float64"), draw(205, 333, dtype="float64")], transB=1),
    run("Conv", 11, [draw(1, 64, 57, 57), draw(65, 64, 3, 3)]),
    run("Det", 11, [draw(200, 200)]),
]
print([hashlib.sha256(result[0].tobytes()).hexdigest() for result in results])
"""


@pytest.mark.slow
def test_the_number_of_threads_has_no_say() -> None:
    found = set()
    for threads in ("1", "2", "4"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", HASHES], env=environment, capture_output=True, text=True, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_blas_gets_its_threads_back() -> None:
    from opsetlift.evaluator import one_thread

    controls = one_thread._controls()
    if controls is None:
        pytest.skip("this numpy is not linked with OpenBLAS")
    get, put = controls
    before = get()
    try:
        put(2)
        available = get()
        with one_thread.one_thread(), one_thread.one_thread():
            assert get() == 1
        with pytest.raises(ZeroDivisionError), one_thread.one_thread():
            raise ZeroDivisionError
        assert get() == available
    finally:
        put(before)
