"""Fallbacks for operators along an axis, which were converted and run along each axis of one to five."""

from __future__ import annotations

import numpy
import onnx
import pytest
from onnx import helper, numpy_helper

from opsetlift.evaluator import Evaluator
from tests.test_fallbacks import converted, operators
from tests.test_fallbacks_for_other_runtimes import refused

OPENCV_4 = ["opencv==4.5", "opencv==4.14"]


@pytest.mark.parametrize(
    ("text", "runtimes"),
    [
        ("{ y = Softmax <axis = -1> (x) }", OPENCV_4),
        ("{ i = ArgMax <axis = -1> (x) y = Cast <to = 1> (i) }", OPENCV_4),
        ("{ y, z = Split <axis = -1> (x) }", ["opencv==4.5"]),
        ("<int64[3] k = {1, 3, 0}> { y = Gather <axis = -1> (x, k) }", OPENCV_4),
        ("<int64[1] b = {1}, int64[1] e = {3}, int64[1] c = {-1}> { y = Slice (x, b, e, c) }", ["opencv==4.5"]),
        ("<int64 c = {-1}> { y = CumSum (x, c) }", ["opencv==4.14"]),
    ],
)
def test_axes_of_vectors_are_counted_from_the_front_in_opencv_4(text: str, runtimes: list[str]) -> None:
    assert axes_of(converted(f"g (float[4] x) => (float[A] y) {text}", "opencv==5.0", opset=11)) == [-1]
    for runtime in runtimes:
        axes = axes_of(converted(f"g (float[4] x) => (float[A] y) {text}", runtime, opset=11))
        assert axes
        assert min(axes) >= 0


def axes_of(found: onnx.ModelProto) -> list[int]:
    """The axes that nodes name, by attributes or constant inputs."""
    constants = {one.name: numpy_helper.to_array(one).reshape(-1).tolist() for one in found.graph.initializer}
    axes = []
    for node in found.graph.node:
        axes += [axis for one in node.attribute if one.name in ("axis", "axes") for axis in (one.ints or [one.i])]
        place = {"CumSum": 1, "Slice": 3}.get(node.op_type, len(node.input))
        axes += [axis for name in node.input[place : place + 1] for axis in constants[name]]
    return axes


def test_gather_counts_its_axis_from_the_front_in_opencv_4_5() -> None:
    text = "g (float[2,4,6,6] x) => (float[2,4,6] y) <int64 k = {1}> { y = Gather <axis = -2> (x, k) }"
    (node,) = converted(text, "opencv==4.5", opset=11).graph.node
    assert helper.get_node_attr_value(node, "axis") == 2
    (node,) = converted(text, "opencv==4.14", opset=11).graph.node
    assert helper.get_node_attr_value(node, "axis") == -2


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceMean"])
@pytest.mark.parametrize("axes", [[0, 2], [1, 2], [1, 3], [0, 1, 3], [-2], [2, 1]])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_opencv_4_5_reduces_rows(operator: str, axes: list[int], keepdims: int) -> None:
    text = f"g (float[2,3,4,5] x) => (float y) {{ y = {operator} <axes = {axes}, keepdims = {keepdims}> (x) }}"
    found = converted(text, "opencv==4.5", opset=11)
    node = next(node for node in found.graph.node if node.op_type == operator)
    written = list(helper.get_node_attr_value(node, "axes"))
    # One axis, or the last ones, in order and from the front, is what it reads right.
    assert written == [axes[0] % 4] if len(axes) == 1 else written == [2] and "Reshape" in operators(found)


@pytest.mark.parametrize("rank", [1, 5])
def test_opencv_4_5_reduces_neither_vectors_nor_all_of_five_axes(rank: int) -> None:
    shape, axes = ",".join(["2"] * rank), list(range(rank))
    text = f"g (float[{shape}] x) => (float[{','.join('1' * rank)}] y) {{ y = ReduceMax <axes = {axes}> (x) }}"
    found = converted(text, "opencv==4.5", opset=11)
    assert operators(found) == (["Reshape", "ReduceMax", "Reshape"] if rank == 1 else ["ReduceMax"])
    assert axes_of(found) == ([2] if rank == 1 else [])


@pytest.mark.parametrize("text", ["LogSoftmax <axis = 0>", "ReduceLogSumExp <axes = [0]>"])
@pytest.mark.parametrize("runtime", OPENCV_4)
def test_logarithms_of_vectors_are_those_of_rows(text: str, runtime: str) -> None:
    found = operators(converted(f"g (float[4] x) => (float[A] y) {{ y = {text} (x) }}", runtime, opset=11))
    assert (found[0], found[-1]) == ("Reshape", "Reshape")
    assert "Log" in found


@pytest.mark.parametrize("runtime", OPENCV_4)
@pytest.mark.parametrize(
    ("scale", "zero"), [("float s = {0.1}", "uint8 z = {7}"), ("float[2] s = {0.1, 0.2}", "uint8[2] z = {7, 8}")]
)
def test_vectors_are_quantized_as_rows(runtime: str, scale: str, zero: str) -> None:
    text = f"""g (float[2] x) => (float[2] y) <{scale}, {zero}>
        {{ q = QuantizeLinear <axis = 0> (x, s, z) y = DequantizeLinear <axis = 0> (q, s, z) }}"""
    found = operators(converted(text, runtime))
    assert not any(one.endswith("QuantizeLinear") for one in found)
    # Between the two Reshapes all is computed of a row.
    assert found[0] == found[-1] == "Reshape"


@pytest.mark.parametrize(("axis", "shape"), [(2, "2,3,4"), (-1, "2,3,4"), (2, "2,3,4,5"), (-2, "2,3,4,5")])
def test_openvino_2022_3_quantizes_along_no_third_axis(axis: int, shape: str) -> None:
    text = f"""g (float[{shape}] x) => (uint8[{shape}] y)
        <float[4] s = {{0.1, 0.2, 0.3, 0.4}}, uint8[4] z = {{1, 2, 3, 4}}>
        {{ y = QuantizeLinear <axis = {axis}> (x, s, z) }}"""
    assert "QuantizeLinear" not in operators(converted(text, "openvino==2022.3"))
    assert operators(converted(text, "openvino==2026.4")) == ["QuantizeLinear"]


def test_blocks_of_vectors_are_no_rows() -> None:
    text = """g (float[4] x) => (uint8[4] y) <float[2] s = {0.5, 0.25}>
        { y = QuantizeLinear <block_size = 2, axis = 0> (x, s) }"""
    assert "Reshape" not in operators(converted(text, "openvino==2026.4", opset=21))


class TestLpNormalization:
    """Onnxruntime up to 1.5 leaves the memory of zeros as it finds it, OpenVINO up to 2022 divides zeros by zero."""

    @pytest.mark.parametrize("axis", [-1, -2, 1])
    def test_stays_where_zeros_are_computed(self, axis: int) -> None:
        text = f"g (float[2,3,4] x) => (float[2,3,4] y) {{ y = LpNormalization <axis = {axis}> (x) }}"
        (node,) = converted(text, "onnxruntime==1.6", opset=9).graph.node
        assert helper.get_node_attr_value(node, "axis") == axis

    @pytest.mark.parametrize("runtime", ["onnxruntime==0.2", "onnxruntime==1.1"])
    @pytest.mark.parametrize("dtype", ["float", "double"])
    def test_of_double_is_the_quotient_where_sums_are_computed(self, runtime: str, dtype: str) -> None:
        text = f"g ({dtype}[2,3] x) => ({dtype}[2,3] y) {{ y = LpNormalization <axis = 0> (x) }}"
        if (runtime, dtype) == ("onnxruntime==0.2", "double"):
            refused(text, runtime, opset=8, because="leaves the memory of what has a norm of 0")
            return
        found = converted(text, runtime, opset=8)
        assert "LpNormalization" not in operators(found)
        given = numpy.array([[0, 0, 3], [0, 0, -4]], dtype=dtype if dtype == "double" else "float32")
        (result,) = Evaluator(found).run({"x": given}).values()
        assert numpy.allclose(result, [[0, 0, 0.6], [0, 0, -0.8]])

    @pytest.mark.parametrize("order", [1, 2])
    @pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2022.3", "opencv==4.14"])
    def test_is_the_quotient_by_the_norm(self, order: int, runtime: str) -> None:
        text = f"g (float[2,3] x) => (float[2,3] y) {{ y = LpNormalization <axis = -1, p = {order}> (x) }}"
        found = converted(text, runtime, opset=13)
        assert "LpNormalization" not in operators(found)
        given = numpy.array([[0, 0, 0], [3, 0, -4]], numpy.float32)
        expected = given / numpy.array([[1], [5 if order == 2 else 7]], numpy.float32)
        numpy.testing.assert_allclose(Evaluator(found).run({"x": given})["y"], expected, rtol=1e-6)
        assert operators(converted(text, "openvino==2026.4", opset=13)) == ["LpNormalization"]


def test_opencv_4_14_does_not_sum_a_label_of_what_is_computed() -> None:
    text = 'g (float[2,3,4] x) => (float[2,3] y) { a = Abs (x) y = Einsum <equation = "ijk->ij"> (a) }'
    assert "Einsum" not in operators(converted(text, "opencv==4.14"))
    moved = text.replace("ijk->ij", "ijk->ikj").replace("float[2,3] y", "float[2,4,3] y")
    assert operators(converted(moved, "opencv==4.14")) == ["Abs", "Einsum"]


@pytest.mark.parametrize("batch_dims", [1, 2])
def test_openvino_2021_4_gathers_by_one_batch_dimension(batch_dims: int) -> None:
    batch = "2,2" if batch_dims == 2 else "2"
    ones = ",".join(["1"] * 2**batch_dims)
    text = f"""g (float[{batch},3] x) => (float[{batch}] y) <int64[{batch},1] k = {{{ones}}}>
        {{ y = GatherND <batch_dims = {batch_dims}> (x, k) }}"""
    found = converted(text, "openvino==2021.4")
    assert (operators(found) == ["GatherND"]) == (batch_dims == 1)
    assert operators(converted(text, "openvino==2022.3")) == ["GatherND"]


def test_an_axis_from_the_back_that_is_removed_is_counted_and_kept_first_in_opencv_4_14() -> None:
    text = """g (float[2,3,4] x) => (int64[2,3] y) <float[4] k = {1, 2, 3, 4}>
        { s = Add (x, k) y = ArgMax <axis = -1, keepdims = 0> (s) }"""
    found = converted(text, "opencv==4.14")
    assert operators(found)[-2:] == ["ArgMax", "Squeeze"]
