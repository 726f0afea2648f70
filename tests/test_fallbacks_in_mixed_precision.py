"""What onnxruntime does with other floats than float, and with Casts between them, found with changed dtypes."""

from __future__ import annotations

import numpy
import pytest
from onnx import TensorProto, numpy_helper

from opsetlift import convert
from testing.conversion import model
from tests.test_fallbacks import converted, operators
from tests.test_fallbacks_for_other_runtimes import refused

LAYER_NORMALIZATION = """
    m = ReduceMean <axes = [-1]> (c)
    d = Sub (c, m)
    p = Pow (d, two)
    v = ReduceMean <axes = [-1]> (p)
    w = Add (v, e)
    s = Sqrt (w)
    y = Div (d, s)
"""


class TestLayerNormalizationsBehindACast:
    """They are merged with the Cast into one that reads what is before it."""

    @pytest.mark.parametrize(
        ("source", "target", "release", "opset", "is_apart"),
        [
            ("float16", "float", "1.11", 13, False),
            ("float16", "float", "1.12", 13, True),
            ("float16", "float", "1.18", 13, False),
            ("float16", "float", "1.18", 17, False),
            ("float16", "float", "1.32", 17, True),
            ("double", "float", "1.18", 13, True),
            ("double", "float", "1.32", 17, True),
            ("float", "double", "1.31", 13, False),
            ("float", "double", "1.32", 13, True),
        ],
    )
    def test_get_a_maximum_before(self, source: str, target: str, release: str, opset: int, is_apart: bool) -> None:
        constants = f"{target} two = {{2}}, {target} e = {{0.001}}"
        cast = f"c = Cast <to = {getattr(TensorProto, target.upper())}> (x)"
        text = f"g ({source}[2,8] x) => ({target}[2,8] y) <{constants}> {{ {cast} {LAYER_NORMALIZATION} }}"
        found = converted(text, f"onnxruntime=={release}", opset=opset).graph.node
        assert [node.op_type for node in found][:3] == ["Cast", *(["Max"] if is_apart else []), "ReduceMean", "Sub"][:3]

    def test_get_a_maximum_before_a_copy_too(self) -> None:
        text = "g (float16[2,8] x) => (float[2,8] y) <float two = {2}, float e = {0.001}> { a = Cast <to = 1> (x) "
        found = converted(f"{text} c = Identity (a) {LAYER_NORMALIZATION} }}", "onnxruntime==1.32", opset=17).graph.node
        assert [node.op_type for node in found][:3] == ["Cast", "Max", "Identity"]

    def test_stay_where_nothing_else_reads_the_cast(self) -> None:
        text = "g (float16[2,8] x) => (float[2,1] y) { c = Cast <to = 1> (x) y = ReduceMean <axes = [-1]> (c) }"
        assert operators(converted(text, "onnxruntime==1.32", opset=17)) == ["ReduceMean"]


@pytest.mark.parametrize(
    ("dtype", "target", "before"),
    [("double", "1.13", 0), ("double", "1.14", 2), ("double", "1.30", 2), ("double", "1.31", 0), ("float", "1.30", 0)],
)
def test_a_product_with_a_sigmoid_of_double_is_no_swish(dtype: str, target: str, before: int) -> None:
    text = f"g ({dtype}[2,3] x) => ({dtype}[2,3] y) {{ s = Sigmoid (x) y = Mul (x, s) }}"
    assert operators(converted(text, f"onnxruntime=={target}")).count("Neg") == before


@pytest.mark.parametrize(("dtype", "target", "stays"), [("double", "1.32", False), ("float", "1.32", True)])
def test_a_clip_of_double_behind_a_relu_is_computed_with_extremes(dtype: str, target: str, stays: bool) -> None:
    bounds = f"{dtype} low = {{0}}, {dtype} high = {{6}}"
    text = f"g ({dtype}[2,3] x) => ({dtype}[2,3] y) <{bounds}> {{ r = Relu (x) y = Clip (r, low, high) }}"
    found = operators(converted(text, f"onnxruntime=={target}"))
    assert found == (["Relu", "Clip"] if stays else ["Relu", "Max", "Min"])


@pytest.mark.parametrize(("dtype", "opset"), [("double", 18), ("float", 20)])
def test_mish_of_double_goes_back_to_opset_18(dtype: str, opset: int) -> None:
    found = converted(f"g ({dtype}[2,3] x) => ({dtype}[2,3] y) {{ y = Mish (x) }}", "onnxruntime==1.23", opset=20)
    assert (found.opset_import[0].version, operators(found)) == (opset, ["Mish"])


@pytest.mark.parametrize(("target", "stays"), [("1.22", True), ("1.23", False), ("1.26", False), ("1.27", True)])
def test_squares_of_halves_are_products(target: str, stays: bool) -> None:
    source = model(
        '<ir_version: 7, opset_import: ["": 13]> g (float16[2,3] x) => (float16[2,3] y) { y = Pow (x, two) }'
    )
    source.graph.initializer.append(numpy_helper.from_array(numpy.array(2, numpy.float16), "two"))
    assert (operators(convert(source, target=f"onnxruntime=={target}").model) == ["Pow"]) == stays


@pytest.mark.parametrize(
    ("nodes", "shape", "target", "before"),
    [
        ("t = Transpose <perm = [1, 0, 2]> (x) y = MatMul (t, w)", (5, 3), "1.22", 0),
        ("t = Transpose <perm = [1, 0, 2]> (x) y = MatMul (t, w)", (5, 3), "1.23", 1),
        ("t = Transpose <perm = [1, 2, 0]> (x) s = Relu (t) y = MatMul (s, w)", (2, 3), "1.32", 1),
        ("t = Transpose <perm = [1, 0, 2]> (x) y = MatMul (w, t)", (3, 2), "1.32", 1),
        ("y = MatMul (x, w)", (5, 3), "1.32", 0),
    ],
)
def test_a_matrix_of_halves_behind_a_transpose_is_a_stack(
    nodes: str, shape: tuple[int, int], target: str, before: int
) -> None:
    head = '<ir_version: 7, opset_import: ["": 13]> g (float16[2,4,5] x) => (float16[a,b,c] y)'
    source = model(f"{head} {{ {nodes} }}")
    source.graph.initializer.append(numpy_helper.from_array(numpy.ones(shape, numpy.float16), "w"))
    found = convert(source, target=f"onnxruntime=={target}")
    assert operators(found.model).count("Unsqueeze") == before
    assert found.certificate is not None
    assert found.certificate.is_proven


def test_pooling_of_double_is_refused_where_it_is_computed_in_blocks_of_channels() -> None:
    text = "g (double[1,8,4,4] x) => (double[1,8,2,2] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"
    refused(text, "onnxruntime==1.4", because="in blocks of channels")
    assert operators(converted(text, "onnxruntime==1.5")) == ["MaxPool"]


class TestRangesOfSizes:
    """From 1.24 on sizes that pass through other nodes are taken for int64, whatever a Cast makes of them."""

    @pytest.mark.parametrize("between", ["n = Gather (k, i)", "h = Gather (k, i) n = Mul (h, o)"])
    @pytest.mark.parametrize(
        ("dtype", "target", "is_apart"),
        [("int32", "1.23", False), ("int32", "1.24", True), ("double", "1.32", True), ("int64", "1.32", False)],
    )
    def test_read_a_maximum(self, between: str, dtype: str, target: str, is_apart: bool) -> None:
        constants = f"{dtype} z = {{0}}, {dtype} o = {{1}}, int64 i = {{1}}"
        cast = f"k = Cast <to = {getattr(TensorProto, dtype.upper())}> (s)"
        text = (
            f"g (float[2,N] x) => ({dtype}[m] y) <{constants}> {{ s = Shape (x) {cast} {between} y = Range (z, n, o) }}"
        )
        assert ("Max" in operators(converted(text, f"onnxruntime=={target}"))) == is_apart


@pytest.mark.parametrize(
    ("signature", "node"),
    [
        ("(float[2,3] x) => (float[2,3] y)", "RandomNormalLike (x)"),
        ("(float[2,3] x) => (float[2,3] y)", "RandomUniform <shape = [2, 3]> ()"),
        ("(float[2,3] x) => (int32[2,4] y)", "Multinomial <sample_size = 4> (x)"),
        ("(float[2,3,4] x) => (float[2,3,1] y)", "GlobalLpPool (x)"),
    ],
)
def test_operators_whose_version_22_no_release_has_are_written_at_21(signature: str, node: str) -> None:
    source = model(f'<ir_version: 10, opset_import: ["": 22]> g {signature} {{ y = {node} }}')
    found = convert(source, target="onnxruntime==1.32").model
    assert found.opset_import[0].version == 21
    assert operators(found) == operators(source)


@pytest.mark.parametrize(
    ("dtype", "target", "is_taken"),
    [
        ("int64", "1.5", False),
        ("int64", "1.6", True),
        ("float16", "1.16", False),
        ("bool", "1.22", False),
        ("bool", "1.23", True),
        ("uint8", "1.32", False),
    ],
)
def test_sequences_of_other_dtypes_are_the_parts_themselves(dtype: str, target: str, is_taken: bool) -> None:
    text = f"g ({dtype}[2,3] x) => ({dtype}[2,3] y) {{ s = SplitToSequence (x) y = ConcatFromSequence <axis = 0> (s) }}"
    found = operators(converted(text, f"onnxruntime=={target}", opset=12))
    assert found == (["SplitToSequence", "ConcatFromSequence"] if is_taken else ["Split", "Concat"])


@pytest.mark.parametrize(
    ("node", "behind", "target", "opset", "stays"),
    [
        ("DequantizeLinear (q, s)", "Transpose <perm = [1, 0]> (d)", "1.10", 13, True),
        ("DequantizeLinear (q, s)", "Transpose <perm = [1, 0]> (d)", "1.11", 13, True),
        ("DequantizeLinear (q, s)", "Reshape (d, h)", "1.32", 21, False),
        ("DequantizeLinear (q, s)", "Sigmoid (d)", "1.32", 13, True),
        ("DequantizeLinear (q, s, z)", "Slice (d, b, e)", "1.26", 21, True),
        ("DequantizeLinear (q, s, z)", "Slice (d, b, e)", "1.27", 21, False),
        ("DequantizeLinear (q, s, z)", "Slice (d, b, e)", "1.27", 20, True),
        ("DequantizeLinear (q, s, z)", "MaxPool <kernel_shape = [2]> (d)", "1.32", 21, False),
    ],
)
def test_dequantized_values_that_are_moved_and_not_quantized_again_are_products(
    node: str, behind: str, target: str, opset: int, stays: bool
) -> None:
    constants = "float s = {0.5}, int8 z = {3}, int64[3] h = {4, 3, 2}, int64[1] b = {0}, int64[1] e = {1}"
    shape = "2,3,4" if "Pool" in behind or "Reshape" in behind else "3,4"
    text = f"g (int8[{shape}] q) => (float y) <{constants}> {{ d = {node} y = {behind} }}"
    text = text.replace("(float y)", f"(float[{','.join('abc'[: shape.count(',') + 1])}] y)")
    found = operators(converted(text, f"onnxruntime=={target}", opset=opset))
    assert ("DequantizeLinear" in found) == stays
    assert ("Mul" in found) != stays


def test_dequantized_values_that_are_quantized_again_stay() -> None:
    text = """g (int8[3,4] q) => (int8[4,3] y) <float s = {0.5}, int8 z = {3}>
        { d = DequantizeLinear (q, s, z) t = Transpose <perm = [1, 0]> (d) y = QuantizeLinear (t, s, z) }"""
    found = operators(converted(text, "onnxruntime==1.32", opset=21))
    assert found == ["DequantizeLinear", "Transpose", "QuantizeLinear"]


@pytest.mark.parametrize(("target", "is_written"), [("1.16", False), ("1.17", True), ("1.30", True), ("1.31", False)])
def test_a_transpose_behind_a_dequantization_has_its_order(target: str, is_written: bool) -> None:
    text = """g (int8[2,4] q) => (float[4,2] y) <float[4] s = {1, 2, 3, 4}, int8[4] z = {0, 0, 0, 0}>
        { d = DequantizeLinear <axis = 1> (q, s, z) y = Transpose (d) }"""
    transpose = converted(text, f"onnxruntime=={target}").graph.node[-1]
    assert [one.name for one in transpose.attribute] == ["perm"] * is_written
