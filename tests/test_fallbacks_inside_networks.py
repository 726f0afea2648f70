"""What runtimes compute otherwise inside a network, found with ONNX's node tests between two Reshapes."""

from __future__ import annotations

import numpy
import pytest
from onnx import numpy_helper

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import Evaluator
from testing.conversion import model
from tests.test_fallbacks import converted, operators
from tests.test_fallbacks_for_other_runtimes import refused


@pytest.mark.parametrize("indices", ["int64[1,1] i = {2}", "int64[2,1] i = {0, 1}", "int64[1,2,1] i = {2, 0}"])
def test_opencv_gathers_by_no_indices_of_several_axes(indices: str) -> None:
    shape = indices[6 : indices.index("]")]
    text = f"g (float[2,3,4,5] x) => (float[2,{shape},4,5] y) <{indices}> {{ y = Gather <axis = 1> (x, i) }}"
    assert "Gather" not in operators(converted(text, "opencv==4.5"))
    assert operators(converted(text, "opencv==4.14")) == ["Gather"]


@pytest.mark.parametrize("dtype", ["float", "bool", "int64"])
@pytest.mark.parametrize("shape", ["1", "1,1,1,1,1"])
def test_openvino_reshapes_nothing_to_a_scalar(dtype: str, shape: str) -> None:
    text = f"g ({dtype}[{shape}] x) => ({dtype} y) <int64[0] s = {{}}> {{ y = Reshape (x, s) }}"
    for runtime in ("openvino==2021.4", "openvino==2022.3"):
        assert "Reshape" not in operators(converted(text, runtime))
    assert operators(converted(text, "openvino==2026.4")) == ["Reshape"]


@pytest.mark.parametrize("slopes", ["3,4,5", "5", "3,1,1", "4,5"])
def test_opencv_multiplies_by_slopes_of_other_axes_than_channels(slopes: str) -> None:
    sizes = [*map(int, slopes.split(","))]
    numbers = ",".join(str(number % 7 / 8) for number in range(numpy.prod(sizes)))
    text = f"g (float[3,4,5] x) => (float[3,4,5] y) <float[{slopes}] s = {{{numbers}}}> {{ y = PRelu (x, s) }}"
    for runtime in ("opencv==4.14", "opencv==5.0"):
        assert "PRelu" not in operators(converted(text, runtime))


def test_slopes_that_are_not_finite_are_refused() -> None:
    source = model("""<ir_version: 7, opset_import: ["": 13]> g (float[3,4,5] x) => (float[3,4,5] y)
        <float[5] s = {1, 2, 3, 4, 5}> { y = PRelu (x, s) }""")
    slopes = numpy.array([1, 2, 3, 4, numpy.inf], numpy.float32)
    source.graph.initializer[0].CopyFrom(numpy_helper.from_array(slopes, "s"))
    with pytest.raises(ConversionRefused, match="slopes of channels only"):
        convert(source, target="opencv==5.0")


def test_openvino_selects_no_class_by_a_negative_number() -> None:
    text = """g (float[3] x) => (float[3,5] y) <int64 d = {5}, float[2] v = {1, 3}>
        { i = Cast <to = 7> (x) y = OneHot <axis = 1> (i, d, v) }"""
    for runtime in ("openvino==2021.4", "openvino==2022.3"):
        found = converted(text, runtime)
        assert "OneHot" not in operators(found)
        (result,) = Evaluator(found).run({"x": numpy.array([-1, 0, -6], numpy.float32)}).values()
        assert result.tolist() == [[1, 1, 1, 1, 3], [3, 1, 1, 1, 1], [1] * 5]
    assert "OneHot" in operators(converted(text, "openvino==2026.4"))


def test_opencv_computes_steps_on_vectors_as_rows() -> None:
    text = "g (float[1,1,1,3] x) => (float[3] y) <int64[1] s = {3}> { a = Reshape (x, s) b = Abs (a) y = Sqrt (b) }"
    assert operators(converted(text, "opencv==4.14")) == ["Reshape", "Abs", "Reshape", "Sqrt", "Reshape"]
    text = "g (float[1,1,1,3] x) => (int32[3] y) <int64[1] s = {3}> { a = Reshape (x, s) y = Cast <to = 6> (a) }"
    found = [node for node in converted(text, "opencv==4.14").graph.node if node.op_type in ("Relu", "Floor")]
    assert {node.input[0] for node in found}.isdisjoint(["a"])


def test_opencv_reads_no_bounds_of_int8() -> None:
    text = "g (int8[2,3] x) => (int8[2,3] y) <int8 low = {0}, int8 high = {2}> { y = Clip (x, low, high) }"
    assert operators(converted(text, "opencv==4.14")) == ["Max", "Min"]


def test_opencv_takes_no_constants_of_unsigned_integers_beside_casts() -> None:
    nodes = "a = Cast <to = 12> (x) b = Add (a, k) y = Cast <to = 1> (b)"
    text = f"g (float[2,3] x) => (float[2,3] y) <uint32 k = {{2}}> {{ {nodes} }}"
    refused(text, "opencv==5.0", because="casts to floats where uint32")


class TestRowsThatAreMaskedAsAWhole:
    """OpenVINO takes a finite number for the largest of only -inf, OpenCV weights evenly."""

    TEXT = """g (float[1,1,2,4] q, float[1,1,2,4] k, float[1,1,2,4] v, bool[2,2] m) => (float[1,1,2,4] y)
        { y = Attention (q, k, v, m) }"""

    @pytest.mark.parametrize("runtime", ["openvino==2022.3", "onnxruntime==1.4"])
    def test_are_found_without_infinities_that_are_reduced(self, runtime: str) -> None:
        found = converted(self.TEXT, runtime, opset=23)
        names = operators(found)
        assert "ReduceMax" not in names
        assert names[names.index("ReduceMin") - 1] in ("Cast", "Equal")
        given = {name: numpy.ones((1, 1, 2, 4), numpy.float32) for name in "qkv"}
        result = Evaluator(found).run({**given, "m": numpy.array([[False, False], [True, False]])})["y"]
        assert result[0, 0].tolist() == [[0] * 4, [1] * 4]

    def test_of_opencv_are_decomposed(self) -> None:
        assert "Attention" not in operators(converted(self.TEXT, "opencv==5.0", opset=23))


def test_openvino_puts_blocks_into_images_alone() -> None:
    text = """g (float[1,8,6] x) => (float[1,1,2,3,4] y) <int64[3] s = {2, 3, 4}, int64[3] b = {2, 2, 2}>
        { y = Col2Im (x, s, b) }"""
    assert "Col2Im" not in operators(converted(text, "openvino==2026.4", opset=18))


def test_a_running_product_of_a_vector_starts_with_a_constant() -> None:
    text = "g (double[5] x) => (double[5] y) <int32 a = {0}> { y = CumProd (x, a) }"
    assert operators(converted(text, "openvino==2026.4", opset=26)) == ["Scan"]
