"""What runtimes compute otherwise inside a network, found with ONNX's node tests between two Reshapes."""

from __future__ import annotations

import numpy
import pytest
from onnx import numpy_helper

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import Evaluator
from opsetlift.model.files import ModelFileError, all_tensors
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
        found = converted(text, runtime).graph
        made = {node.output[0] for node in found.node if node.op_type == "Reshape"}
        assert "y" not in made
        assert not made or "Concat" in [node.op_type for node in found.node]
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
    assert operators(converted(text, "opencv==4.14")) == [
        "Reshape",
        "Reshape",
        "Abs",
        "Reshape",
        "Reshape",
        "Sqrt",
        "Reshape",
    ]
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
    text = "g (double[17] x) => (double[17] y) <int32 a = {0}> { y = CumProd (x, a) }"
    assert operators(converted(text, "openvino==2026.4", opset=26)) == ["Scan"]


_FUNCTIONS_OF_NUMBERS = [
    *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor"),
    *("Gelu", "HardSwish", "Log", "Mish", "Round", "Selu", "Sign", "Sin", "Sinh", "Sqrt", "Swish", "Tan"),
    "ThresholdedRelu",
]


class TestVectorsInOpenCV:
    """4.14 gives a vector that lies where another value was another shape, and then fails on functions of it."""

    @pytest.mark.parametrize("operator", _FUNCTIONS_OF_NUMBERS)
    def test_are_rows(self, operator: str) -> None:
        text = f"g (float[3] x) => (float[3] y) {{ a = Identity (x) y = {operator} (a) }}"
        found = converted(text, "opencv==4.14", opset={"Gelu": 20, "Mish": 18, "Swish": 24}.get(operator, 15))
        read = {name: node.op_type for node in found.graph.node for name in node.output}
        functions = [node for node in found.graph.node if node.op_type == operator]
        assert all(read[node.input[0]] == "Reshape" for node in functions)

    def test_of_truth_values_are_rows(self) -> None:
        text = "g (float[3] x) => (float[3] y) { a = Cast <to = 9> (x) b = Not (a) y = Cast <to = 1> (b) }"
        found = converted(text, "opencv==4.14").graph
        rows = {node.output[0] for node in found.node if node.op_type == "Reshape"}
        makers = {node.output[0]: node for node in found.node}
        read = [makers[node.input[0]] for node in found.node if node.op_type == "Not"]
        assert read
        assert all(node.op_type == "Cast" and node.input[0] in rows for node in read)

    @pytest.mark.parametrize("operator", ["Celu", "HardSigmoid", "LeakyRelu", "Neg", "Reciprocal", "Relu", "Softsign"])
    def test_are_rows_of_other_operators(self, operator: str) -> None:
        text = f"g (float[3] x) => (float[3] y) {{ y = {operator} (x) }}"
        assert "Reshape" in operators(converted(text, "opencv==4.14"))

    @pytest.mark.parametrize("operator", ["Exp", "Sqrt", "Tanh"])
    def test_single_numbers_are_rows_of_one(self, operator: str) -> None:
        nodes = f"a = ReduceMax <keepdims = 0> (x) b = {operator} (a) y = Sub (x, b)"
        names = operators(converted(f"g (float[2,3] x) => (float[2,3] y) {{ {nodes} }}", "opencv==4.14"))
        assert names[: names.index(operator)] == ["ReduceMax", "Reshape"]
        assert names[names.index(operator) + 1 :] == ["Concat", "ReduceMax", "Sub"]


def test_opencv_gets_what_rules_compute_from_constants() -> None:
    text = """g (float[1,2,3,4] q) => (float[1,2,3,4] y) <float[1,1,2,4] k = {1, 2, 3, 4, 5, 6, 7, 8},
        float[1,1,2,4] v = {1, 2, 3, 4, 5, 6, 7, 8}> { y = Attention (q, k, v) }"""
    found = converted(text, "opencv==4.14", opset=23)
    constants = {tensor.name for tensor in found.graph.initializer}
    assert not [node.op_type for node in found.graph.node if constants.issuperset(node.input)]


class TestOutputsThatNodesRead:
    """OpenCV loses those that it computes within the layer that it makes of a node and its readers."""

    TEXT = """g (float[2,3] x) => (float[2,4] y, float[2,4] w)
        <float[3,4] k = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[4] b = {1, 2, 3, 4}>
        { w = MatMul (x, k) y = Add (w, b) }"""

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    def test_are_read_through_an_identity(self, runtime: str) -> None:
        found = converted(self.TEXT, runtime)
        assert operators(found) == ["MatMul", "Identity", "Add"]
        assert found.graph.node[0].output[0] == "w"

    def test_others_stay(self) -> None:
        assert operators(converted(self.TEXT.replace(", float[2,4] w", ""), "opencv==5.0")) == ["MatMul", "Add"]

    def test_are_not_added_to_a_convolution(self) -> None:
        text = """g (float[1,2,3,4] x) => (float[1,2,3,4] y, float[1,2,3,4] a) <float[2,2,1,1] k = {1, 2, 3, 4},
            float[1,2,1,1] b = {1, 2}> { c = Conv <kernel_shape = [1, 1]> (x, k) a = Add (c, b) y = Relu (a) }"""
        assert operators(converted(text, "opencv==4.5", opset=11)) == ["Conv", "Max", "Sub", "Relu"]
        assert "Identity" in operators(converted(text, "opencv==4.14", opset=11))


@pytest.mark.parametrize(("node", "opset"), [('Gelu <approximate = "tanh"> (x)', 20), ("Swish <alpha = 0.5> (x)", 24)])
def test_opencv_5_approximates_by_formulas(node: str, opset: int) -> None:
    text = f"g (float[2,3] x) => (float[2,3] y) {{ y = {node} }}"
    operator = node.split()[0]
    assert operator not in operators(converted(text, "opencv==5.0", opset=opset))
    plain = f"g (float[2,3] x) => (float[2,3] y) {{ y = {operator} (x) }}"
    assert operators(converted(plain, "opencv==5.0", opset=opset)) == [operator]


@pytest.mark.parametrize("operator", ["GRU", "LSTM"])
def test_opencv_takes_no_batches_first(operator: str) -> None:
    gates = 3 if operator == "GRU" else 4
    halves = ",".join(["0.5"] * 2 * gates)
    weights = f"float[1,{gates},2] w = {{{halves}}}, float[1,{gates},1] r = {{{halves[: 4 * gates - 1]}}}"
    node = f"y = {operator} <hidden_size = 1, layout = 1> (x, w, r)"
    text = f"g (float[2,3,2] x) => (float[2,3,1,1] y) <{weights}> {{ {node} }}"
    (node,) = [one for one in converted(text, "opencv==5.0", opset=14).graph.node if one.op_type == operator]
    assert "layout" not in [attribute.name for attribute in node.attribute]


def test_opencv_writes_no_float8() -> None:
    text = "g (float[2,3] x) => (float[2,3] y) { a = Cast <to = 19> (x) y = Cast <to = 1> (a) }"
    refused(text, "opencv==5.0", because="has no float8", opset=21)


def test_opencv_4_resizes_by_constants() -> None:
    text = """g (float[1,1,2,2] x, int32[4] n) => (float[1,1,4,4] y)
        { s = Cast <to = 7> (n) y = Resize <mode = "nearest"> (x, , , s) }"""
    refused(text, "opencv==4.14", because="takes constant sizes only", opset=12)


def test_opencv_dequantizes_by_computed_scales_itself() -> None:
    text = """g (float[2,3] x, float[3] f) => (float[2,3] y)
        { q = Cast <to = 3> (x) s = Abs (f) y = DequantizeLinear (q, s) }"""
    assert "DequantizeLinear" not in operators(converted(text, "opencv==4.14"))


def test_opencv_quantizes_to_16_bits_by_sums() -> None:
    text = """g (float[2,3] x) => (float[2,3] y) <float s = {0.5}>
        { q = QuantizeLinear <output_dtype = 5> (x, s) y = Cast <to = 1> (q) }"""
    assert "QuantizeLinear" not in operators(converted(text, "opencv==5.0", opset=21))


def test_opencv_counts_no_uint64_that_it_orders() -> None:
    text = """g (float[2,3] x, int64[1] n) => (float[2,m] v, int64[2,m] i)
        { a = Cast <to = 13> (x) k = Abs (n) u, i = TopK (a, k) v = Cast <to = 1> (u) }"""
    refused(text, "opencv==5.0", because="orders no uint64")


def test_opencv_4_5_keeps_normalizations_apart_from_products_of_matrices() -> None:
    text = """g (float[1,2,3,3] x) => (float[1,2,3,2] y) <float[3,2] k = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}>
        { a = MatMul (x, k) y = BatchNormalization (a, b, b, b, b) }"""
    assert operators(converted(text, "opencv==4.5", opset=11)) == ["MatMul", "Max", "BatchNormalization"]


def test_onnxruntime_puts_zeros_behind_what_is_unpooled() -> None:
    text = """g (float[1,1,2,2] x, int64[1,1,2,2] i) => (float[1,1,5,5] y) <int64[4] s = {1, 1, 5, 5}>
        { y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, s) }"""
    found = converted(text, "onnxruntime==1.16")
    assert operators(found) == ["MaxUnpool", "Pad"]
    given = {"x": numpy.array([[[[5, 6], [7, 8]]]], numpy.float32), "i": numpy.array([[[[5, 7], [13, 15]]]])}
    (result,) = Evaluator(found).run(given).values()
    assert result[0, 0].tolist() == [[0] * 5, [0, 5, 0, 6, 0], [0] * 5, [0, 7, 0, 8, 0], [0] * 5]
    assert operators(converted(text.replace(", s)", ")").replace("5,5]", "4,4]"), "onnxruntime==1.16")) == ["MaxUnpool"]


def test_openvino_2022_tiles_by_constants() -> None:
    text = "g (float[2,3] x, int64[2] n) => (float[a,b] y) { y = Tile (x, n) }"
    refused(text, "openvino==2022.3", because="tiles by constant numbers only")


def test_openvino_2022_counts_what_it_orders_by_constants() -> None:
    text = "g (float[3,4] x, int64[1] n) => (float[3,b] y) { y, i = TopK (x, n) }"
    found = converted(text, "openvino==2022.3")
    x = numpy.array([[1, 3, 2, 0]] * 3, numpy.float32)
    assert Evaluator(found).run({"x": x, "n": numpy.array([2])})["y"].tolist() == [[3, 2]] * 3


class TestScansThatReadAround:
    """OpenVINO 2026 takes each captured value for an input of the body, unless it is a constant."""

    TEXT = """g (float[3] s, float[2,3] x{given}) => (float[3] t, float[2,3] y) {constant} {{
        {before} t, y = Scan <num_scan_inputs = 1, body = b (float[3] a, float[3] v) => (float[3] c, float[3] d)
            {{ d = Mul (v, k) c = Add (a, d) }}> (s, x) }}"""

    @pytest.mark.parametrize(
        "parts",
        [
            {"given": ", float k", "constant": "", "before": ""},
            {"given": "", "constant": "", "before": "k = ReduceMax <keepdims = 0> (x)"},
        ],
    )
    def test_are_written_otherwise(self, parts: dict[str, str]) -> None:
        found = converted(self.TEXT.format(**parts), "openvino==2026.4")
        assert "Scan" not in operators(found)

    @pytest.mark.parametrize(
        "parts",
        [
            {"given": "", "constant": "<float k = {2}>", "before": ""},
            {"given": "", "constant": "", "before": "k = Constant <value = float {2}> ()"},
        ],
    )
    def test_stay_where_they_read_constants(self, parts: dict[str, str]) -> None:
        assert "Scan" in operators(converted(self.TEXT.format(**parts), "openvino==2026.4"))


class TestSingleNumbersInOpenCV:
    """4.14 keeps an axis of what is no sum or extreme of several: a number is the largest of two copies there."""

    def test_are_differences_of_extremes(self) -> None:
        text = """g (float[2,3] x) => (float[2,3] y)
            { h = ReduceMax <keepdims = 0> (x) l = ReduceMin <keepdims = 0> (x) d = Sub (h, l) y = Div (x, d) }"""
        found = converted(text, "opencv==4.14")
        names = operators(found)
        assert names[names.index("Sub") + 1 :] == ["Concat", "ReduceMax", "Div"]
        x = numpy.array([[1, 2, 3], [4, 5, 9]], numpy.float32)
        numpy.testing.assert_array_equal(Evaluator(found).run({"x": x})["y"], x / numpy.float32(8))

    def test_are_squeezed(self) -> None:
        text = """g (float[2,3] x) => (float[2,3] y) <int64[2] a = {0, 1}>
            { m = ReduceMax <keepdims = 1> (x) s = Squeeze (m, a) y = Sub (x, s) }"""
        assert "Squeeze" not in operators(converted(text, "opencv==4.14"))


@pytest.mark.parametrize(("shape", "wanted"), [("1,1", "3,1"), ("2,1,1,1", "2,3,1,1"), ("1,2,1", "3,2,1")])
def test_opencv_repeats_before_last_axes_of_one_element(shape: str, wanted: str) -> None:
    count = wanted.count(",") + 1
    text = f"g (float[{shape}] x) => (float[{wanted}] y) <int64[{count}] s = {{{wanted}}}> {{ y = Expand (x, s) }}"
    first, repeats, last = operators(converted(text, "opencv==4.14"))
    assert (first, last) == ("Reshape", "Reshape")
    assert repeats in ("Expand", "Tile")


def test_opencv_takes_no_product_of_products_for_a_gelu() -> None:
    text = """g (float[2,3] x) => (float[2,3] y) <float r = {1.4142135}, float one = {1}, float half = {0.5}>
        { d = Div (x, r) e = Erf (d) a = Add (e, one) h = Mul (x, half) g = Mul (h, a) y = Mul (g, half) }"""
    for runtime in ("opencv==4.14", "opencv==5.0"):
        assert operators(converted(text, runtime)) != ["Div", "Erf", "Add", "Mul", "Mul", "Mul"]
    plain = text.replace("h = Mul (x, half) g = Mul (h, a)", "g = Mul (x, a)")
    assert operators(converted(plain, "opencv==5.0")) == ["Div", "Erf", "Add", "Mul", "Mul"]


@pytest.mark.parametrize("runtime", ["opencv==4.14", "openvino==2021.4"])
def test_outputs_that_are_there_twice_are_refused(runtime: str) -> None:
    text = "g (float[2,3] x) => (float[2,3] y, float[2,3] y) { y = Neg (x) }"
    refused(text, runtime, because="the output 'y' is there 2 times")
    assert operators(converted(text, "opencv==5.0")) == ["Neg"]


@pytest.mark.parametrize(
    ("indices", "axis", "shape"),
    [("int64[3] i = {2, 1, 0}", 1, "1,3"), ("int64 i = {1}", -1, "1"), ("int64 i = {0}", 0, "4")],
)
def test_opencv_gathers_from_a_stack_of_one_row(indices: str, axis: int, shape: str) -> None:
    text = f"g (float[1,4] x) => (float[{shape}] y) <{indices}> {{ a = Relu (x) y = Gather <axis = {axis}> (a, i) }}"
    assert operators(converted(text, "opencv==4.14")) == ["Relu", "Reshape", "Gather", "Reshape"]


def test_openvino_2022_takes_extremes_of_what_is_joined_itself() -> None:
    text = """g (float[4,3] x) => (float[4,1] y)
        { a = Relu (x) b = Neg (x) c = Concat <axis = 1> (a, b) y = ReduceMax <axes = [1]> (c) }"""
    assert operators(converted(text, "openvino==2022.3"))[-2:] == ["Max", "ReduceMax"]
    assert operators(converted(text, "openvino==2021.4"))[-2:] == ["Concat", "ReduceMax"]


def test_openvino_2021_transposes_no_output_of_a_node_with_several() -> None:
    text = """g (float[2,3] x) => (float[3,2] y) <float[2,1] w = {1, 2}, float[2] b = {1, 2}>
        { k = Relu (x) p, q = Split <axis = 0> (k) y = Gemm <transA = 1, transB = 1> (p, w, b) }"""
    names = operators(converted(text, "openvino==2021.4"))
    assert names[:2] == ["Relu", "Split"]
    assert names[2] != "Gemm"
    assert operators(converted(text, "openvino==2022.3")) == ["Relu", "Split", "Gemm"]


@pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14"])
def test_opencv_reads_pads_once(runtime: str) -> None:
    text = """g (float[4,6] x) => (float[4,9] y, float[4,9] z) <int64[4] p = {0, 1, 0, 2}>
        { a = Relu (x) y = Pad (a, p) b = Neg (a) z = Pad (b, p) }"""
    first, second = (node.input[1] for node in converted(text, runtime).graph.node if node.op_type == "Pad")
    assert first != second


@pytest.mark.parametrize("operator", ["Mul", "Div"])
def test_openvino_keeps_factors_that_give_a_convolution_its_axes(operator: str) -> None:
    text = f"""g (float[2,2] x) => (float[1,1,2,2] y) <float[1,2,1,1] d = {{1, 2}}, float[1,2,1,1] k = {{3, 4}}>
        {{ a = Relu (x) b = {operator} (a, d) y = Conv (b, k) }}"""
    assert operators(converted(text, "openvino==2022.3")) != ["Relu", operator, "Conv"]
    assert operators(converted(text, "openvino==2021.4")) == ["Relu", operator, "Conv"]


@pytest.mark.parametrize("opset", [11, 13])
def test_openvino_2022_joins_what_a_squeeze_with_axes_gives(opset: int) -> None:
    text = """g (float[1,2,3] x, float[2,3] z) => (float[2,6] y)
        { a = Exp (x) s = Squeeze (a) y = Concat <axis = 1> (s, z) }"""
    for runtime, count in (("openvino==2022.3", 2), ("openvino==2026.4", 1)):
        nodes = converted(text, runtime, opset=opset).graph.node
        (squeeze,) = (node for node in nodes if node.op_type == "Squeeze")
        assert len(squeeze.input) + len(squeeze.attribute) == count


@pytest.mark.parametrize("parameters", ["m, b, b, s", "s, m, b, s", "s, b, m, s", "s, b, b, v", "v, m, m, v"])
@pytest.mark.parametrize("opset", [9, 15])
def test_opencv_normalises_batches_by_constants_only(parameters: str, opset: int) -> None:
    text = f"""g (float[2,3,4,4] x, float[2,3] k) => (float[2,3,4,4] y)
        <float[3] s = {{1, 2, 3}}, float[3] b = {{0.5, 0, -1}}>
        {{ m = ReduceMean <axes = [0], keepdims = 0> (k) v = Exp (m) y = BatchNormalization (x, {parameters}) }}"""
    assert "BatchNormalization" not in operators(converted(text, "opencv==4.14", opset=opset))
    assert operators(converted(text, "opencv==5.0", opset=opset))[-1] == "BatchNormalization"


def test_what_is_normalised_by_constants_stays() -> None:
    text = """g (float[2,3,4] x) => (float[2,3,4] y) <float[3] s = {1, 2, 3}, float[3] b = {0.5, 0, -1}>
        { y = BatchNormalization (x, s, b, b, s) }"""
    assert operators(converted(text, "opencv==4.14"))[-1] == "BatchNormalization"


def test_opencv_quantizes_what_it_measures_itself() -> None:
    text = """g (float[2,3,4] x) => (float[2,3,4] y)
        { q, s, z = DynamicQuantizeLinear (x) y = DequantizeLinear (q, s, z) }"""
    assert "DynamicQuantizeLinear" not in operators(converted(text, "opencv==4.14"))


def test_opencv_quantizes_a_single_number_by_arithmetic() -> None:
    text = """g (float[2,3] x) => (float[2,3] y) <float s = {0.5}, uint8 z = {3}> { v = ReduceMax <keepdims = 0> (x)
        q = QuantizeLinear (v, s, z) d = DequantizeLinear (q, s, z) y = Mul (x, d) }"""
    assert not {"QuantizeLinear", "DequantizeLinear"} & {*operators(converted(text, "opencv==4.14"))}
    assert "QuantizeLinear" in operators(converted(text, "opencv==5.0"))


@pytest.mark.parametrize(
    ("before", "is_whole"),
    [
        ("r = Round (x) w = Clip (r, l, h)", True),
        ("i = Cast <to = 6> (x) f = Cast <to = 1> (i) w = Add (f, h)", True),
        ("r = Floor (x) w = Mul (r, half)", False),
        ("w = Clip (x, l, h)", False),
    ],
)
def test_opencv_drops_fractions_only_where_there_may_be_some(before: str, is_whole: bool) -> None:
    text = f"""g (float[2,3,4] x) => (uint8[2,3,4] y) <float l = {{0}}, float h = {{255}}, float half = {{0.5}}>
        {{ {before} y = Cast <to = 2> (w) }}"""
    found = converted(text, "opencv==4.14").graph
    made = {name: node.op_type for node in found.node for name in node.output}
    assert (made[found.node[-1].input[0]] != "Floor") == is_whole


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(("shape", "axis", "keepdims"), [("2,9", -1, 1), ("2,3,9", 2, 0), ("9", 0, 0)])
def test_openvino_finds_the_first_of_equal_numbers_with_an_axis_behind(
    operator: str, shape: str, axis: int, keepdims: int
) -> None:
    sizes = shape.split(",")
    sizes[axis:] = ["1"] * keepdims
    text = f"""g (float[{shape}] x) => (int64[{",".join(sizes)}] y)
        {{ y = {operator} <axis = {axis}, keepdims = {keepdims}> (x) }}"""
    assert operators(converted(text, "openvino==2022.3"))[:2] == ["Unsqueeze", operator]
    assert operators(converted(text, "openvino==2026.4")) == [operator]


def test_an_axis_that_is_not_the_last_one_gets_none_behind() -> None:
    text = "g (float[2,9,3] x) => (int64[2,1,3] y) { y = ArgMax <axis = 1> (x) }"
    assert operators(converted(text, "openvino==2022.3")) == ["ArgMax"]


@pytest.mark.parametrize(("count", "expected"), [(1, ["Unsqueeze", "TopK", "Squeeze", "Squeeze"]), (2, ["TopK"])])
def test_openvino_finds_the_first_of_the_largest_with_an_axis_behind(count: int, expected: list[str]) -> None:
    text = f"""g (float[2,9] x) => (float[2,{count}] v, int64[2,{count}] y) <int64[1] k = {{{count}}}>
        {{ v, y = TopK (x, k) }}"""
    for runtime in ("openvino==2022.3", "openvino==2026.4"):
        assert operators(converted(text, runtime)) == expected


@pytest.mark.parametrize(("runtime", "opset"), [("1.3", 10), ("1.6", 13), ("1.16", 19), ("1.20", 21), ("1.32", 21)])
def test_onnxruntime_quantizes_to_int8(runtime: str, opset: int) -> None:
    text = "g (float[2,3] x) => (int8[2,3] y) <float s = {0.5}, int8 z = {3}> { y = QuantizeLinear (x, s, z) }"
    assert operators(converted(text, f"onnxruntime=={runtime}", opset=opset)) == ["QuantizeLinear"]


@pytest.mark.parametrize("opset", [9, 15])
def test_a_vector_is_normalised_by_computed_parameters_as_a_vector(opset: int) -> None:
    text = """g (float[5] x, float[2,1] k) => (float[5] y) <float[1] s = {2}, float[1] b = {0.5}>
        { m = ReduceMean <axes = [0], keepdims = 0> (k) v = Exp (m) y = BatchNormalization (x, s, b, m, v) }"""
    assert "BatchNormalization" not in operators(converted(text, "opencv==4.14", opset=opset))


def test_doubles_are_normalised_with_the_epsilon_of_float() -> None:
    text = "g (double[2,3,4] x, double[3] s) => (double[2,3,4] y) { y = BatchNormalization (x, s, s, s, s) }"
    found = converted(text, "tract==0.23", opset=15)
    assert "BatchNormalization" not in operators(found)
    x = numpy.arange(24.0).reshape(2, 3, 4)
    given = {"x": x, "s": numpy.array([1e-6, 2.0, 3.0])}
    before = Evaluator(model(f'<ir_version: 8, opset_import: ["": 15]> {text}')).run(given)
    numpy.testing.assert_array_equal(Evaluator(found).run(given)["y"], before["y"])


@pytest.mark.parametrize(("low", "is_whole"), [("1.0", True), ("0.5", False)])
def test_bounds_that_are_attributes_may_have_fractions(low: str, is_whole: bool) -> None:
    text = f"""g (float[2,3,4] x) => (int32[2,3,4] y)
        {{ w = Ceil (x) c = Clip <min = {low}, max = 9.0> (w) y = Cast <to = 6> (c) }}"""
    assert ("Floor" not in operators(converted(text, "opencv==4.14", opset=10))) == is_whole


def test_openvino_finds_the_first_of_the_largest_of_the_first_top_k() -> None:
    text = "g (float[2,9] x) => (float[2,1] v, int64[2,1] y) { v, y = TopK <k = 1> (x) }"
    for runtime in ("openvino==2022.3", "openvino==2026.4"):
        assert operators(converted(text, runtime, opset=7))[0] == "Unsqueeze"


def test_the_refusal_of_sizes_of_0_does_not_speak_of_equal_numbers() -> None:
    text = "g (float[0,9] x) => (int64[0,1] y) { y = ArgMax <axis = -1> (x) }"
    refused(text, "openvino==2022.3", because="with a size of 0", opset=13)


def test_sums_of_many_products_may_round_more_often() -> None:
    text = """g (float[2,1,16,16] r) => (float[2,1,1] y)
        { x = Exp (r) y = Einsum <equation = "bchw,bdhw->bcd"> (x, x) }"""
    found = convert(model(f'<ir_version: 8, opset_import: ["": 13]> {text}'), to=11)
    assert found.certificate is not None
    assert found.certificate.is_proven


@pytest.mark.parametrize(("shape", "pads"), [("2,3,1,5", "0,0,0,1,0,0,0,2"), ("1,3,1,6,6", "0,0,0,0,1,0,0,0,1,0")])
def test_openvino_reflects_nothing_beside_a_later_axis_of_one_element(shape: str, pads: str) -> None:
    rank = shape.count(",") + 1
    text = f"""g (float[{shape}] x) => (float[{",".join("abcde"[:rank])}] y) <int64[{2 * rank}] p = {{{pads}}}>
        {{ y = Pad <mode = "reflect"> (x, p) }}"""
    assert "Pad" not in operators(converted(text, "openvino==2021.4"))
    for found, runtime in ((text, "openvino==2022.3"), (text.replace("3,1,", "3,2,"), "openvino==2021.4")):
        assert operators(converted(found, runtime)) == ["Pad"]


@pytest.mark.parametrize(("dtype", "runtime"), [("bool", "opencv==5.0"), ("float16", "openvino==2021.4")])
@pytest.mark.parametrize(
    "held",
    ["<{0}[4] c = {{1, 0, 1, 0}}> {{ {1} }}", "{{ c = Constant <value = {0}[4] {{1, 0, 1, 0}}> () {1} }}"],
)
def test_constants_of_some_dtypes_are_raw_data(dtype: str, runtime: str, held: str) -> None:
    nodes = "y = Where (c, x, z)" if dtype == "bool" else "w = Cast <to = 1> (c) m = Mul (x, w) y = Add (m, z)"
    head = '<ir_version: 7, opset_import: ["": 13]> g (float[2,4] x, float[2,4] z) => (float[2,4] y)'
    source = model(f"{head} {held.format(dtype, nodes)}")
    found = convert(source, target=runtime).model
    assert not any(tensor.int32_data for tensor in all_tensors(found))
    assert any(tensor.int32_data for tensor in all_tensors(source))


def test_constants_that_do_not_fit_their_shape_are_a_fault_of_the_model() -> None:
    source = model("""<ir_version: 7, opset_import: ["": 13]> g (float[2,4] x, float[2,4] z) => (float[2,4] y)
        <bool[4] c = {1, 0, 1, 0}> { y = Where (c, x, z) }""")
    del source.graph.initializer[0].int32_data[3]
    with pytest.raises(ModelFileError, match="tensor 'c' holds 3 entries in int32_data, and its shape"):
        convert(source, target="opencv==5.0")


def test_onnxruntime_merges_no_transpose_that_moves_nothing_into_a_gemm() -> None:
    """From 1.8 to 1.29 it transposed the matrix: other numbers where that is square, a failure elsewhere."""
    text = """g (float[4,4] x, float[4,4] w) => (float[4,4] y) <float[4] b = {1, 2, 3, 4}>
        { t = Transpose <perm = PERM> (x) y = Gemm (t, w, b) }"""
    for runtime in ("onnxruntime==1.8", "onnxruntime==1.14", "onnxruntime==1.29"):
        assert "Transpose" not in operators(converted(text.replace("PERM", "[0, 1]"), runtime))
        assert "Transpose" in operators(converted(text.replace("PERM", "[1, 0]"), runtime))
    for runtime in ("onnxruntime==1.7", "onnxruntime==1.30"):
        assert "Transpose" in operators(converted(text.replace("PERM", "[0, 1]"), runtime))


@pytest.mark.parametrize("node", ["Mul (a, b)", "Add (a, b)", "Sigmoid (a)", "Conv (a, w)"])
@pytest.mark.parametrize(
    ("given", "made", "is_kept"), [("int8", "uint8", False), ("uint8", "int8", False), ("int8", "int8", True)]
)
def test_opencv_merges_no_quantization_to_another_dtype(node: str, given: str, made: str, is_kept: bool) -> None:
    text = f"""g (float[1,2,4,4] x, float[1,2,4,4] z) => (float[1,A,B,C] y)
        <float s = {{0.5}}, {given} i = {{3}}, {made} o = {{4}}, float[2,2,1,1] w = {{1, 2, 3, 4}}>
        {{ p = QuantizeLinear (x, s, i) a = DequantizeLinear (p, s, i) q = QuantizeLinear (z, s, i)
        b = DequantizeLinear (q, s, i) m = {node} r = QuantizeLinear (m, s, o) y = DequantizeLinear (r, s, o) }}"""
    found = [one.output[0] for one in converted(text, "opencv==5.0").graph.node if one.op_type == "QuantizeLinear"]
    assert ("r" in found) == is_kept


class TestOpenCV45:
    """It lacks these, or reads them otherwise; what they stand for it has."""

    @pytest.mark.parametrize("attributes", ["", "<exclusive = 1>", "<reverse = 1>", "<exclusive = 1, reverse = 1>"])
    @pytest.mark.parametrize("axis", [-2, 3])
    def test_sums_along_an_axis_are_sums_of_its_parts(self, attributes: str, axis: int) -> None:
        text = f"g (float[2,3,4,5] x) => (float[2,3,4,5] y) <int64 a = {{{axis}}}> {{ y = CumSum {attributes} (x, a) }}"
        found = operators(converted(text, "opencv==4.5"))
        assert set(found) == {"Slice", "Add", "Concat"}

    def test_sums_of_more_parts_are_refused(self) -> None:
        text = "g (float[2,65] x) => (float[2,65] y) <int64 a = {1}> { y = CumSum (x, a) }"
        refused(text, "opencv==4.5", because="sums along the last axis")

    @pytest.mark.parametrize(("exponent", "operator"), [("2.5", "Pow"), ("2", "Mul")])
    def test_one_exponent_in_a_vector_is_a_scalar(self, exponent: str, operator: str) -> None:
        text = f"g (float[2,5] x) => (float[2,5] y) <float[1] p = {{{exponent}}}> {{ a = Abs (x)  y = Pow (a, p) }}"
        found = converted(text, "opencv==4.5")
        assert operators(found)[-1] == operator
        assert all(list(one.dims) == [] for one in found.graph.initializer if operator == "Pow")

    @pytest.mark.parametrize("mode", ["DCR", "CRD"])
    @pytest.mark.parametrize(("operator", "shape"), [("DepthToSpace", "2,2,8,8"), ("SpaceToDepth", "2,32,2,2")])
    def test_blocks_are_moved_by_a_transposition(self, operator: str, shape: str, mode: str) -> None:
        attributes = f'blocksize = 2, mode = "{mode}"' if operator == "DepthToSpace" else "blocksize = 2"
        text = f"g (float[2,8,4,4] x) => (float[{shape}] y) {{ y = {operator} <{attributes}> (x) }}"
        assert operators(converted(text, "opencv==4.5")) == ["Reshape", "Transpose", "Reshape"]
