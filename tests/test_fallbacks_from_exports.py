"""Fallbacks and refusals for what exported models showed of old runtimes: each was narrowed down to a few nodes."""

from __future__ import annotations

import numpy
import onnx
import pytest

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import Evaluator
from testing.conversion import model
from tests.test_fallbacks import converted, operators
from tests.test_fallbacks_for_other_runtimes import refused


class TestPartsThatMayHaveNoElements:
    """onnxruntime 0.2 and 0.3 end on a Concat of which one part has no elements."""

    _TEXT = "g (float[2,A] x, float[2,B] w) => (float[2,C] y) { y = Concat <axis = 1> (x, w) }"

    @pytest.mark.parametrize("sizes", [(2, 3), (2, 0), (0, 3), (0, 0)])
    def test_are_joined_where_both_have_some(self, sizes: tuple[int, int]) -> None:
        found = converted(self._TEXT, "onnxruntime==0.3", opset=9)
        parts = [numpy.full((2, size), value, numpy.float32) for value, size in enumerate(sizes)]
        result = Evaluator(found).run({"x": parts[0], "w": parts[1]})["y"]
        numpy.testing.assert_array_equal(result, numpy.concatenate(parts, axis=1))
        assert [node.op_type for node in found.graph.node if node.op_type in ("Loop", "Concat")] == ["Loop"]

    def test_share_one_branch_with_neighbours_of_known_sizes(self) -> None:
        text = "g (float[2,3] x, float[2,4] v, float[2,A] w) => (float[2,C] y) { y = Concat <axis = 1> (x, v, w) }"
        found = converted(text, "onnxruntime==0.3", opset=9)
        assert sorted(one for one in operators(found) if one in ("Loop", "Concat")) == ["Concat", "Loop"]

    def test_stay_where_sizes_along_the_axis_are_known_or_the_release_joins_them(self) -> None:
        known = "g (float[A,2] x, float[A,3] w) => (float[A,5] y) { y = Concat <axis = 1> (x, w) }"
        assert operators(converted(known, "onnxruntime==0.3", opset=9)) == ["Concat"]
        assert operators(converted(self._TEXT, "onnxruntime==0.4", opset=9)) == ["Concat"]


class TestNumbersOfRunsThatBodiesGive:
    """onnxruntime 0.4 to 1.4 give the last number for all runs where a body copies it by Identity alone."""

    _TEXT = """
        g (int64 x, int64 n, bool c) => (int64 y, int64[A] z) {
            y, z = Loop (n, c, x) <body = b (int64 i, bool go, int64 s) => (bool on, int64 t, int64 number) {
                on = Identity (go)
                t = Add (s, i)
                number = Identity (i)
            }>
        }
    """

    def _makers(self, runtime: str) -> list[str]:
        """What computes the input of the node that gives the number."""
        (loop,) = (node for node in converted(self._TEXT, runtime, opset=10).graph.node if node.op_type == "Loop")
        body = next(one.g for one in loop.attribute if one.name == "body")
        makers = {name: node for node in body.node for name in node.output}
        last = makers[body.output[2].name]
        return [makers[name].op_type if name in makers else "input" for name in last.input]

    @pytest.mark.parametrize("release", ["0.5", "1.4"])
    def test_are_reshaped_before(self, release: str) -> None:
        assert self._makers(f"onnxruntime=={release}") == ["Reshape"]

    def test_stay_in_later_releases(self) -> None:
        assert self._makers("onnxruntime==1.5") == ["input"]


@pytest.mark.parametrize(("release", "has_condition"), [("0.3", True), ("1.10", True), ("1.11", False)])
def test_loops_get_a_condition_at_old_opsets_too(release: str, has_condition: bool) -> None:
    """onnxruntime ends on a Loop without one until 1.11."""
    text = """
        g (int64[2] x, int64 n) => (int64[2] y) {
            y = Loop (n, , x) <body = b (int64 i, bool go, int64[2] s) => (bool on, int64[2] t) {
                on = Identity (go)
                t = Add (s, s)
            }>
        }
    """
    (loop,) = (
        node for node in converted(text, f"onnxruntime=={release}", opset=9).graph.node if node.op_type == "Loop"
    )
    assert bool(loop.input[1]) is has_condition


class TestConstantsInBodies:
    """onnxruntime 0.5 to 1.3 fold nodes of a body, and then graphs inside do not find the constants that these read."""

    _TEXT = """
        g (float[3] x, int64 n, bool c) => (float[3] y) <float k = {2.0}, int64[1] row = {-1}> {
            y = Loop (n, c, x) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] t) {
                on = Identity (go)
                m = Reshape (k, row)
                u = Loop (n, c, s) <body = inner (int64 j, bool more, float[3] v) => (bool again, float[3] w) {
                    again = Identity (more)
                    w = Mul (v, k)
                }>
                t = Add (u, m)
            }>
        }
    """

    @pytest.mark.parametrize(("release", "remain"), [("0.5", 0), ("1.3", 0), ("1.4", 1)])
    def test_are_folded_before(self, release: str, remain: int) -> None:
        (loop,) = converted(self._TEXT, f"onnxruntime=={release}", opset=10).graph.node
        body = next(one.g for one in loop.attribute if one.name == "body")
        assert [node.op_type for node in body.node].count("Reshape") == remain


class TestQuotientsThatCopiesAreMultipliedWith:
    """onnxruntime since 1.8 merges x * (1 / y) into x / y, but finds no x that is copied after the quotient."""

    _TEXT = """
        g (float[2,3] x, float[2,1] v) => (float[2,3] y) <float one = {{1.0}}> {{
            d = Div (one, v)
            c = {copy} (x)
            y = Mul ({factors})
        }}
    """

    @pytest.mark.parametrize("copy", ["Identity", "Cast <to = 1>"])
    @pytest.mark.parametrize("factors", ["c, d", "d, c"])
    @pytest.mark.parametrize("release", ["1.8", "1.32"])
    def test_negate_both_factors(self, copy: str, factors: str, release: str) -> None:
        found = converted(self._TEXT.format(copy=copy, factors=factors), f"onnxruntime=={release}")
        assert operators(found).count("Neg") == 2

    def test_stay_before_that_and_where_the_factor_is_computed(self) -> None:
        text = self._TEXT.format(copy="Identity", factors="c, d")
        assert "Neg" not in operators(converted(text, "onnxruntime==1.7", opset=12))
        assert "Neg" not in operators(converted(text.replace("Identity", "Abs"), "onnxruntime==1.8"))


class TestWhatScatterNDGives:
    """onnxruntime 1.0 to 1.2 take it for a scalar where they do not know the rank of the data."""

    def test_gets_a_shape_where_the_model_declares_none(self) -> None:
        text = """
            g (float[A,B,C] x, int64[D,3] i, float[D] u) => (float[E,F,G] y) <float[Y,Z,W] d> {
                d = Sigmoid (x)
                y = ScatterND (d, i, u)
            }
        """
        given = model(f'<ir_version: 6, opset_import: ["": 11]> {text}')
        del given.graph.value_info[:]
        given.graph.value_info.append(onnx.helper.make_tensor_value_info("d", onnx.TensorProto.FLOAT, None))
        found = convert(given, target="onnxruntime==1.2")
        (declared,) = (info for info in found.model.graph.value_info if info.name == "d")
        assert len(declared.type.tensor_type.shape.dim) == 3
        assert found.certificate is not None
        assert found.certificate.is_proven

    def test_is_refused_where_the_rank_is_not_known(self) -> None:
        text = """
            g (float[A] x, int64[R] s, int64[D,3] i, float[D] u) => (int64 y) {
                d = Reshape (x, s)
                t = ScatterND (d, i, u)
                y = Size (t)
            }
        """
        refused(text, "onnxruntime==1.2", because="takes what a ScatterND gives for a scalar", opset=11)

    def test_tells_the_rank_of_the_data_by_an_output(self) -> None:
        text = """
            g (float[A] x, int64[R] s, int64[D,3] i, float[D] u) => (float[E,F,G] y) {
                d = Reshape (x, s)
                y = ScatterND (d, i, u)
            }
        """
        found = converted(text, "onnxruntime==1.2", opset=11)
        (declared,) = (info for info in found.graph.value_info if info.name == "d")
        assert len(declared.type.tensor_type.shape.dim) == 3


@pytest.mark.parametrize("dtype", ["float16", "uint8", "int32"])
def test_onnxruntime_1_1_resizes_floats_alone_at_opset_11(dtype: str) -> None:
    text = f"""
        g ({dtype}[1,2,3,3] x) => ({dtype}[1,2,6,6] y) <float[0] roi = {{}}, float[4] scales = {{1.0, 1.0, 2.0, 2.0}}>
        {{
            y = Resize <mode = "nearest", coordinate_transformation_mode = "half_pixel"> (x, roi, scales)
        }}
    """
    found = converted(text, "onnxruntime==1.1", opset=11)
    types = {
        info.name: info.type.tensor_type.elem_type for info in onnx.shape_inference.infer_shapes(found).graph.value_info
    }
    assert all(types[node.input[0]] == onnx.TensorProto.FLOAT for node in found.graph.node if node.op_type == "Resize")


def test_texts_are_not_parted_by_patterns_in_onnxruntime_0_3() -> None:
    """It knows the attribute, and finds no tokens."""
    text = """
        g (string[A] x) => (string[A,B] y) {
            y = com.microsoft.Tokenizer <mark = 0, mincharnum = 1, pad_value = "#", tokenexp = "[a-z]+"> (x)
        }
    """
    imports = '<ir_version: 4, opset_import: ["": 9, "com.microsoft": 1]>'
    given = model(f"{imports} {text}")
    with pytest.raises(ConversionRefused, match=r"has no Tokenizer of com\.microsoft"):
        convert(given, target="onnxruntime==0.3")


class TestConstantsThatRulesCompute:
    """Where a runtime does not compute them."""

    def test_of_doubles_are_folded_for_openvino_2021_4(self) -> None:
        text = """
            g (float[1,2,4,4] x) => (float[1,2,2,2] y, int64[1,2,2,2] i) {
                y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
            }
        """
        graph = converted(text, "openvino==2021.4").graph
        doubles = {tensor.name for tensor in graph.initializer if tensor.data_type == onnx.TensorProto.DOUBLE}
        assert doubles
        assert not [node.op_type for node in graph.node if node.op_type == "Tile" and node.input[0] in doubles]

    def test_are_initializers_of_their_own_names(self) -> None:
        """OpenCV 5.0 ends where the bias of a quantized Gemm comes from an Identity."""
        text = """
            g (float[2,3] x) => (float[2,4] y) <
                float s = {0.5}, int8 z = {0}, int8[4,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
                int32[4] b = {1, 2, 3, 4}, float t = {0.25}, int32 n = {0}
            > {
                q = QuantizeLinear (x, s, z)
                a = DequantizeLinear (q, s, z)
                c = DequantizeLinear (w, s, z)
                d = DequantizeLinear (b, t, n)
                g = Gemm <transB = 1> (a, c, d)
                r = QuantizeLinear (g, s, z)
                y = DequantizeLinear (r, s, z)
            }
        """
        graph = converted(text, "opencv==5.0").graph
        (gemm,) = (node for node in graph.node if node.op_type == "Gemm")
        assert gemm.input[2] in {tensor.name for tensor in graph.initializer}


class TestPoolsOfQuantizedValues:
    """OpenCV 5.0 pools integers behind a quantization, and takes floats there for such."""

    _HEAD = "<float s = {0.1}, uint8 z = {3}>"

    def test_integers_stay_behind_a_quantization(self) -> None:
        text = f"""
            g (float[1,1,4,4] x) => (float[1,1,2,2] y) {self._HEAD} {{
                q = QuantizeLinear (x, s, z)
                p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (q)
                y = DequantizeLinear (p, s, z)
            }}
        """
        assert operators(converted(text, "opencv==5.0")) == ["QuantizeLinear", "MaxPool", "DequantizeLinear"]

    def test_integers_of_no_quantization_are_pooled_as_floats(self) -> None:
        text = (
            "g (uint8[1,1,4,4] x) => (uint8[1,1,2,2] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"
        )
        found = converted(text, "opencv==5.0", opset=12)
        assert [node.op_type for node in found.graph.node] == ["Cast", "MaxPool", "Cast"]

    _MAXIMA = "MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (e)"
    _FLOATS = f"""
        g (float[1,1,4,4] x) => (float[1,1,2,2] y) {_HEAD} {{
            q = QuantizeLinear (x, s, z)
            d = DequantizeLinear (q, s, z)
            e = Exp (d)
            y = {_MAXIMA}
        }}
    """

    def test_floats_behind_one_are_quantized_by_arithmetic(self) -> None:
        assert "QuantizeLinear" not in operators(converted(self._FLOATS, "opencv==5.0"))

    def test_floats_whose_maxima_are_quantized_stay(self) -> None:
        again = f"m = {self._MAXIMA} r = QuantizeLinear (m, s, z) y = DequantizeLinear (r, s, z)"
        found = converted(self._FLOATS.replace(f"y = {self._MAXIMA}", again), "opencv==5.0")
        assert operators(found).count("QuantizeLinear") == 2


class TestOpenCV414:
    """What few nodes showed of it."""

    def test_updates_that_are_a_vector_are_scattered_as_a_row(self) -> None:
        text = (
            "g (float[4,4] x, float[2] u) => (float[4,4] y) <int64[2,2] i = {0, 1, 2, 2}> { y = ScatterND (x, i, u) }"
        )
        found = converted(text, "opencv==4.14", opset=12)
        (node,) = (one for one in found.graph.node if one.op_type == "ScatterND")
        values = numpy.arange(16, dtype=numpy.float32).reshape(4, 4)
        result = Evaluator(found).run({"x": values, "u": numpy.array([50, 60], numpy.float32)})["y"]
        assert [result[0, 1], result[2, 2]] == [50, 60]
        assert node.input[2] != "u"

    def test_constant_indices_are_for_one_gather_alone(self) -> None:
        text = """
            g (float[2,2] x, float[2,2] v) => (float[2,2] y, float[2,2] z) <int64[2,2] i = {0, 1, 1, 0}> {
                y = GatherElements <axis = 1> (x, i)
                z = GatherElements <axis = 1> (v, i)
            }
        """
        first, second = (node.input[1] for node in converted(text, "opencv==4.14").graph.node)
        assert first != second

    @pytest.mark.parametrize("keepdims", [0, 1])
    def test_all_axes_are_not_named(self, keepdims: int) -> None:
        result = "float[1,1]" if keepdims else "float"
        text = f"g (float[2,3] x) => ({result} y) {{ y = ReduceMax <axes = [0, 1], keepdims = {keepdims}> (x) }}"
        nodes = converted(text, "opencv==4.14").graph.node
        assert not [one.name for node in nodes if node.op_type == "ReduceMax" for one in node.attribute if one.ints]

    @pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
    def test_the_axis_of_an_index_is_removed_behind_it(self, operator: str) -> None:
        text = f"g (float[3,3] x) => (int64[3] y) {{ y = {operator} <axis = 1, keepdims = 0> (x) }}"
        assert operators(converted(text, "opencv==4.14")) == [operator, "Squeeze"]
        assert operators(converted(text, "opencv==5.0")) == [operator]

    @pytest.mark.parametrize("axes", ["1, 2, 3", "-3, -2, -1"])
    def test_the_last_three_axes_are_reduced_in_two_steps(self, axes: str) -> None:
        text = f"g (float[2,3,4,5] x) => (float[2,1,1,1] y) {{ y = ReduceMean <axes = [{axes}]> (x) }}"
        inner, outer = converted(text, "opencv==4.14").graph.node
        assert [[*one.attribute[0].ints] for one in (inner, outer)] == [[2, 3], [1]]
        assert operators(converted(text, "opencv==5.0")) == ["ReduceMean"]


class TestDoublesInOpenVINO20214:
    """It merges factors and terms that are constants with those before, which fails for doubles."""

    _TEXT = (
        "g (float[{1}] f) => (double[{1}] y) <double k = {{3}}, double two = {{2}}> {{ x = Cast <to = 11> (f) {0} }}"
    )

    @pytest.mark.parametrize(
        ("nodes", "shape", "found"),
        [
            ("p = Mul (x, k) y = Mul (p, two)", "3", ["Mul", "Div"]),
            ("p = Mul (x, k) y = Mul (p, k)", "3", ["Mul", "Reshape", "Mul", "Reshape"]),
            ("p = Add (x, k) y = Mul (p, k)", "3", ["Add", "Reshape", "Mul", "Reshape"]),
            ("p = Mul (x, k) y = Mul (p, k)", "2,3", ["Mul", "Max", "Mul"]),
            ("v = Neg (x) p = Mul (x, k) y = Mul (p, v)", "3", ["Neg", "Mul", "Mul"]),
        ],
    )
    def test_are_kept_apart(self, nodes: str, shape: str, found: list[str]) -> None:
        assert operators(converted(self._TEXT.format(nodes, shape), "openvino==2021.4")) == found

    def test_are_no_inputs(self) -> None:
        with pytest.raises(ConversionRefused, match="takes no inputs of that dtype"):
            converted("g (double[3] x) => (double[3] y) { y = Neg (x) }", "openvino==2021.4")


@pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
def test_a_label_that_an_input_has_twice_is_gathered(runtime: str) -> None:
    """OpenCV ends now and then on such an Einsum."""
    text = """g (float[3,3] x) => (float[3] y) { y = Einsum <equation = "ii->i"> (x) }"""
    assert "Einsum" not in operators(converted(text, runtime))


@pytest.mark.parametrize("release", ["2022.3", "2026.4"])
@pytest.mark.parametrize(
    ("before", "constant"),
    [
        ("m = ReduceMean <axes = [2], keepdims = 1> (x)", "float[3,1] k = {1, 2, 3}"),
        ("m = ReduceMax <axes = [2], keepdims = 0> (x)", "float[3] k = {1, 2, 3}"),
        ("r = ReduceL1 <axes = [2], keepdims = 0> (x) m = Relu (r)", "float[3] k = {1, 2, 3}"),
        ("m = GlobalAveragePool (x)", "float[1,3,1] k = {1, 2, 3}"),
    ],
)
def test_openvino_joins_no_constant_with_the_channels_of_a_reduction(release: str, before: str, constant: str) -> None:
    """It takes the constant along the wrong axis, unless the Max of the value and itself comes between."""
    text = f"g (float[b,3,4] x) => (float[?,?,?] y) <{constant}> {{ {before} y = Mul (m, k) }}"
    text = text.replace("[?,?,?]", "[p,q]" if "keepdims = 0" in before else "[p,q,r]")
    assert operators(converted(text, f"openvino=={release}"))[-2:] == ["Max", "Mul"]


@pytest.mark.parametrize(
    ("before", "constant"),
    [
        ("m = ReduceMean <axes = [2], keepdims = 1> (x)", "float[2,3,1] k"),
        ("m = ReduceMean <axes = [2], keepdims = 1> (x)", "float k = {2}"),
        ("m = ReduceMean <axes = [1], keepdims = 1> (x)", "float[4] k = {1, 2, 3, 4}"),
        ("m = Relu (x)", "float[3,1] k = {1, 2, 3}"),
    ],
)
def test_openvino_joins_other_values_with_reductions_as_they_are(before: str, constant: str) -> None:
    text = f"g (float[b,3,4] x) => (float[p,q,r] y) <{constant}> {{ {before} y = Mul (m, k) }}"
    if "=" not in constant:
        text = f"g (float[2,3,4] x, {constant}) => (float[2,3,1] y) {{ {before} y = Mul (m, k) }}"
    assert "Max" not in operators(converted(text, "openvino==2026.4"))


@pytest.mark.parametrize("release", ["2022.3", "2026.4"])
def test_constants_that_are_quantized_and_dequantized_are_computed_for_openvino(release: str) -> None:
    """It merges them with the arithmetic that reads them, and fails on that."""
    text = """
        g (float[2,3] x) => (float[2,3] y) <float[3] k = {1, 2, 3}, float s = {0.5}, uint8 z = {0}> {
            q = QuantizeLinear (k, s, z)
            d = DequantizeLinear (q, s, z)
            y = Mul (x, d)
        }
    """
    found = converted(text, f"openvino=={release}")
    assert "DequantizeLinear" not in operators(found)


def test_a_loop_with_a_run_for_each_element_of_another_loops_sequence_is_refused_for_openvino() -> None:
    loop = """
        {0}e = SequenceEmpty ()
        {0}h, {0}q = Loop <body = {0}b (int64 i, bool c, float[2] {0}s, seq(float[2]) {0}l)
            => (bool d, float[2] {0}t, seq(float[2]) {0}m) {{
                {0}t = Add ({0}s, x) {0}m = SequenceInsert ({0}l, {0}t) d = Identity (c)
            }}> ({1}, go, x, {0}e)
        {0}y = ConcatFromSequence <axis = 0, new_axis = 1> ({0}q)
    """
    text = f"""
        g (float[2] x) => (float[p,q] y) <int64 n = {{4}}, bool go = {{1}}, int64 zero = {{0}}> {{
            {loop.format("a", "n")} t = Shape (ay) k = Gather <axis = 0> (t, zero)
            {loop.format("b", "k")} y = Identity (by)
        }}
    """
    refused(text, "openvino==2026.4", because="number of runs of a Loop is a size")
    converted(text.replace("Shape (ay)", "Shape (x)"), "openvino==2026.4")


@pytest.mark.parametrize("operation", ["Sub (u, k)", "Div (u, k)", "Div (k, u)"])
def test_an_axis_put_back_behind_a_reduction_is_kept_apart_for_openvino_2022_3(operation: str) -> None:
    text = f"""
        g (float[2,3,4] x) => (float[2,3,1] y) <float[2,3,1] k = {{1, 2, 3, 4, 5, 6}}, int64[1] last = {{2}}> {{
            m = ReduceMean <axes = [2], keepdims = 0> (x)
            u = Unsqueeze (m, last)
            y = {operation}
        }}
    """
    assert "Max" in operators(converted(text, "openvino==2022.3"))


@pytest.mark.parametrize("summed", ["d", "t"])
def test_sums_of_dequantized_values_are_kept_apart_from_them_for_openvino_2022_3(summed: str) -> None:
    text = f"""
        g (float[2,2] x) => (float[2] y, float[2,2] t) <float s = {{0.5}}, int8 z = {{3}}, int64[1] k = {{1}}> {{
            q = QuantizeLinear (x, s, z)
            d = DequantizeLinear (q, s, z)
            t = Transpose (d)
            y = ReduceSum <keepdims = 0> ({summed}, k)
        }}
    """
    assert "Max" in operators(converted(text, "openvino==2022.3"))


def test_openvino_2021_4_slices_negative_pads_off() -> None:
    text = """
        g (float[1,5,4] x) => (float[1,5,4] y) <int64[6] p = {0, 1, 0, 0, -1, 0}> {
            r = Relu (x)
            y = Pad (r, p)
        }
    """
    found = converted(text, "openvino==2021.4")
    pads = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in found.graph.initializer}
    assert all((pads[node.input[1]] >= 0).all() for node in found.graph.node if node.op_type == "Pad")


def test_opencv_5_0_reads_no_branches_of_unknown_rank() -> None:
    text = """
        g (float[4] x, bool c, int64[A] s) => (int64 z) {
            y = If (c) <
                then_branch = t () => (float[B] a) { a = Reshape (x, s) },
                else_branch = e () => (float[D] b) { b = Expand (x, s) }
            >
            z = Size (y)
        }
    """
    given = model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
    for attribute in given.graph.node[0].attribute:
        attribute.g.output[0].type.tensor_type.ClearField("shape")
    with pytest.raises(
        ConversionRefused, match=r"reads no graph that gives a value of unknown rank|ends on most of Loop"
    ):
        convert(given, target="opencv==5.0")


class TestFeaturesOfTraditionalModels:
    """Runtimes without ai.onnx.ml get what onnx itself computes them by; scikit-learn's ensembles look labels up so."""

    @pytest.mark.parametrize("runtime", ["openvino==2022.3", "opencv==5.0"])
    @pytest.mark.parametrize(("shape", "result"), [("2,4", "2,3"), ("4", "1,3")])
    def test_columns_are_gathered(self, runtime: str, shape: str, result: str) -> None:
        text = f"""
            g (float[{shape}] x) => (float[{result}] y) <int64[1,3] i = {{3, 0, 3}}> {{
                y = ai.onnx.ml.ArrayFeatureExtractor (x, i)
            }}
        """
        found = converted(text, runtime, ml_opset=1)
        assert "ArrayFeatureExtractor" not in operators(found)

    def test_features_above_a_threshold_are_ones(self) -> None:
        text = "g (float[2,3] x) => (float[2,3] y) { y = ai.onnx.ml.Binarizer <threshold = 0.5> (x) }"
        assert operators(converted(text, "openvino==2022.3", ml_opset=1)) == ["Greater"]

    @pytest.mark.parametrize(("dtype", "runtime"), [("float", "opencv==5.0"), ("int64", "openvino==2026.4")])
    def test_features_are_shifted_and_scaled(self, dtype: str, runtime: str) -> None:
        text = f"""
            g ({dtype}[2,3] x) => (float[2,3] y) {{
                y = ai.onnx.ml.Scaler <offset = [1.0, 2.0, 3.0], scale = [0.5]> (x)
            }}
        """
        assert operators(converted(text, runtime, ml_opset=1)) == ["Sub", "Mul"]

    @pytest.mark.parametrize(("norm", "reduction"), [("MAX", "ReduceMax"), ("L1", "ReduceL1"), ("L2", "ReduceL2")])
    @pytest.mark.parametrize("shape", ["2,3", "3"])
    def test_rows_are_divided_by_their_norm_unless_it_is_zero(self, norm: str, reduction: str, shape: str) -> None:
        text = f'g (float[{shape}] x) => (float[{shape}] y) {{ y = ai.onnx.ml.Normalizer <norm = "{norm}"> (x) }}'
        found = converted(text, "openvino==2022.3", ml_opset=1)
        assert operators(found) == [reduction, "Equal", "Add", "Div"]

    @pytest.mark.parametrize(
        ("transform", "added"), [("NONE", []), ("LOGISTIC", ["Sigmoid"]), ("SOFTMAX", ["Softmax"])]
    )
    def test_linear_regressions_are_products(self, transform: str, added: list[str]) -> None:
        text = f"""
            g (float[N,3] x) => (float[N,2] y) {{
                y = ai.onnx.ml.LinearRegressor <targets = 2, coefficients = [1.5, -2.0, 0.25, 1.0, 0.5, -1.0],
                    intercepts = [0.5, -0.5], post_transform = "{transform}"> (x)
            }}
        """
        assert operators(converted(text, "openvino==2022.3", ml_opset=1)) == ["MatMul", "Add", *added]

    @pytest.mark.parametrize("labels", ["[0, 1]", "[7, 5]"])
    @pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
    @pytest.mark.quick_share(8)
    @pytest.mark.parametrize(("features", "intercepts"), [(3, "[0.5, -0.5]"), (6, "[0.5]"), (3, "[]"), (6, "[]")])
    def test_linear_classifiers_are_products(self, features: int, intercepts: str, transform: str, labels: str) -> None:
        """One set of coefficients does for two classes."""
        given = "" if intercepts == "[]" else f"intercepts = {intercepts}, "
        text = f"""
            g (float[N,{features}] x) => (int64[N] label, float[N,2] scores) {{
                label, scores = ai.onnx.ml.LinearClassifier <coefficients = [1.5, -2.0, 0.25, 1.0, 0.5, -1.0], {given}
                    classlabels_ints = {labels}, post_transform = "{transform}"> (x)
            }}
        """
        found = operators(converted(text, "openvino==2022.3", ml_opset=1))
        assert found[0] == "MatMul"
        assert ("Greater" if features == 6 else "ArgMax") in found
        assert ("Gather" in found) == (labels != "[0, 1]")

    def test_how_many_sets_of_coefficients_two_classes_have_may_not_be_known(self) -> None:
        text = """
            g (float[N,M] x) => (int64[N] label, float[N,2] scores) {
                label, scores = ai.onnx.ml.LinearClassifier <coefficients = [1.5, -2.0], classlabels_ints = [0, 1]> (x)
            }
        """
        with pytest.raises(ConversionRefused, match="number of features"):
            converted(text, "openvino==2022.3", ml_opset=1)

    def test_a_score_that_stays_zero_in_a_softmax_is_no_operator(self) -> None:
        text = """
            g (float[N,3] x) => (float[N,1] y) {
                y = ai.onnx.ml.LinearRegressor <coefficients = [1.5, -2.0, 0.25], post_transform = "SOFTMAX_ZERO"> (x)
            }
        """
        with pytest.raises(ConversionRefused, match="no LinearRegressor"):
            converted(text, "openvino==2022.3", ml_opset=1)


class TestOpenCV43:
    """Its importer reads axes, bounds and scales as they are written, and knows images and volumes only."""

    @pytest.mark.parametrize("bounds", ["starts = [1], ends = [9223372036854775807]", "starts = [-3], ends = [4]"])
    def test_bounds_of_slices_are_counted_from_the_front(self, bounds: str) -> None:
        text = f"g (float[1,3,4,5] x) => (float[1,3,3,5] y) {{ y = Slice <axes = [2], {bounds}> (x) }}"
        (node,) = converted(text, "opencv==4.3", opset=9).graph.node
        assert {one.name: list(one.ints) for one in node.attribute} == {"axes": [2], "starts": [1], "ends": [4]}

    @pytest.mark.parametrize("axes", ["-1, -2", "3, 2"])
    def test_means_state_keepdims_and_ordered_axes(self, axes: str) -> None:
        text = f"g (float[2,3,4,5] x) => (float[2,3,1,1] y) {{ y = ReduceMean <axes = [{axes}]> (x) }}"
        (node,) = converted(text, "opencv==4.3", opset=11).graph.node
        values = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        assert values == {"axes": [2, 3], "keepdims": 1}

    @pytest.mark.parametrize("term", ["float k = {2}", "float[1] k = {2}", "float[1,1] k = {2}"])
    def test_a_term_of_one_number_is_repeated(self, term: str) -> None:
        constants = f"float[2,3] w = {{1, 2, 3, 4, 5, 6}}, {term}"
        text = f"g (float[4,3] x) => (float[4,2] y) <{constants}> {{ y = Gemm <transB = 1> (x, w, k) }}"
        found = converted(text, "opencv==4.3", opset=9)
        assert operators(found) == ["Gemm"]
        assert [2] in [list(one.dims) for one in found.graph.initializer]

    def test_constants_beside_the_channels_are_repeated(self) -> None:
        text = "g (float[2,3,1,2] x) => (float[2,3,1,2] y) <float[2] k = {1, 2}> { a = Sigmoid (x) y = Add (a, k) }"
        found = converted(text, "opencv==4.3", opset=9)
        assert [list(one.dims) for one in found.graph.initializer] == [[2, 3, 1, 2]]

    def test_windows_rounded_up_are_padded(self) -> None:
        pool = "MaxPool <ceil_mode = 1, kernel_shape = [2, 2], strides = [2, 2]>"
        text = f"g (float[1,1,3,3] x) => (float[1,1,2,2] y) {{ y = {pool} (x) }}"
        (*_, last) = converted(text, "opencv==4.3", opset=10).graph.node
        assert "ceil_mode" not in [one.name for one in last.attribute if one.i]

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("g (float[1,3,4] x) => (float[1,3,4] y) { y = Max (x, x) }", "three axes for matrices"),
            ("g (float[2,3,4,5] x) => (float[2,1,4,5] y) { y = ReduceMean <axes = [1]> (x) }", "images and volumes"),
            ("g (float[1,3,8] x) => (float[1,3,1] y) { y = GlobalAveragePool (x) }", "images and volumes only"),
        ],
    )
    def test_what_it_does_not_read_is_refused(self, text: str, reason: str) -> None:
        refused(text, "opencv==4.3", because=reason, opset=8)


def test_a_cast_to_bool_and_back_is_kept_in_onnxruntime_0_2() -> None:
    """It drops both, so that numbers other than 0 and 1 stay."""
    text = "g (int64[3] x) => (int64[3] y) { b = Cast <to = 9> (x) y = Cast <to = 7> (b) }"
    assert operators(converted(text, "onnxruntime==0.2", opset=8)) == ["Not", "Not"]
    assert operators(converted(text, "onnxruntime==0.3", opset=8)) == []


def test_integers_rounded_by_a_cast_to_floats_and_back_stay_rounded() -> None:
    """Releases before 1.17 drop both, so that numbers stay that no float holds."""
    text = "g (int64[3] x) => (int64[3] y) { b = Cast <to = 1> (x) y = Cast <to = 7> (b) }"
    assert "Floor" in operators(converted(text, "onnxruntime==1.13"))
    assert operators(converted(text, "onnxruntime==1.17")) == []


class TestResamplingWithARest:
    """OpenCV resamples by the quotient of the sizes, which is another scale where a size was rounded down."""

    @pytest.mark.parametrize("mode", ["nearest", "linear"])
    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize(("scale", "stays"), [("1.7", False), ("2.5", False), ("2.0", True)])
    def test_is_decomposed(self, runtime: str, mode: str, scale: str, *, stays: bool) -> None:
        text = f"""
            g (float[1,3,7,8] x) => (float[1,3,A,B] y) <float[4] s = {{1, 1, {scale}, 1}}> {{
                y = Resize <mode = "{mode}", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">
                    (x, , s)
            }}
        """
        assert ("Resize" in operators(converted(text, runtime))) is stays

    @pytest.mark.parametrize(
        ("text", "runtime"),
        [
            ("y = Upsample (x, s)", "openvino==2026.4"),
            ("y = Upsample (x, s)", "opencv==4.14"),
            ('y = Upsample <mode = "linear"> (x, s)', "opencv==4.14"),
        ],
    )
    def test_of_old_opsets_is_decomposed(self, text: str, runtime: str) -> None:
        graph = f"g (float[1,3,7,8] x) => (float[1,3,A,B] y) <float[4] s = {{1, 1, 1.7, 2}}> {{ {text} }}"
        assert "Upsample" not in operators(converted(graph, runtime, opset=9))
        whole = graph.replace("1.7", "3").replace("linear", "nearest")
        assert operators(converted(whole, runtime, opset=9)) == ["Upsample"]

    def test_scales_of_opset_7_are_whole_numbers(self) -> None:
        text = "g (float[1,3,8,8] x) => (float[1,3,12,8] y) { y = Upsample <scales = [1.0, 1.0, 1.5, 1.0]> (x) }"
        assert "Upsample" not in operators(converted(text, "opencv==4.14", opset=8))

    @pytest.mark.parametrize(("transformation", "stays"), [("half_pixel", False), ("asymmetric", True)])
    def test_nearest_elements_of_half_pixels_are_gathered_in_414(self, transformation: str, *, stays: bool) -> None:
        text = f"""
            g (float[1,3,8,8] x) => (float[1,3,16,8] y) <float[4] s = {{1, 1, 2, 1}}> {{
                y = Resize <coordinate_transformation_mode = "{transformation}", nearest_mode = "floor"> (x, , s)
            }}
        """
        assert ("Resize" in operators(converted(text, "opencv==4.14"))) is stays


class TestPadsByTheSizes:
    """OpenCV puts the odd pad of auto_pad at the other end, and others give a ConvTranspose other sizes."""

    @pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "Conv"])
    @pytest.mark.parametrize(
        ("runtime", "auto_pad", "pads"),
        [
            ("opencv==5.0", "SAME_UPPER", [0, 0, 1, 1]),
            ("opencv==4.14", "SAME_LOWER", [1, 1, 0, 0]),
            ("opencv==4.14", "SAME_UPPER", None),
            ("openvino==2021.4", "SAME_LOWER", None),
        ],
    )
    def test_are_written(self, runtime: str, auto_pad: str, pads: list[int] | None, operator: str) -> None:
        weights = ", w" if operator == "Conv" else ""
        attributes = f'{"" if weights else "kernel_shape = [3, 3], "}strides = [2, 2], auto_pad = "{auto_pad}"'
        text = f"""
            g (float[1,1,8,8] x) => (float[1,1,4,4] y) <float[1,1,3,3] w = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}> {{
                y = {operator} <{attributes}> (x{weights})
            }}
        """
        found = next(one for one in converted(text, runtime, opset=11).graph.node if one.op_type == operator)
        assert next((list(one.ints) for one in found.attribute if one.name == "pads"), None) == pads

    @pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2022.3", "opencv==5.0"])
    def test_are_written_for_transposed_convolutions(self, runtime: str) -> None:
        text = """
            g (float[1,1,4,4] x) => (float[1,1,8,8] y) <float[1,1,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
                y = ConvTranspose <strides = [2, 2], auto_pad = "SAME_UPPER"> (x, w)
            }
        """
        (found,) = converted(text, runtime, opset=11).graph.node
        attributes = {one.name: list(one.ints) for one in found.attribute}
        assert attributes["pads"] == [0, 0, 1, 1]
        assert "auto_pad" not in attributes


@pytest.mark.parametrize("release", ["2021.4", "2022.3", "2026.4"])
def test_what_a_last_window_has_behind_the_pads_is_not_counted_in_openvino(release: str) -> None:
    """All three divide by 9 where a window has 8 elements or fewer, pads included."""
    windows = "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1, count_include_pad = 1"
    text = f"g (float[1,2,6,6] x) => (float[1,2,4,4] y) {{ y = AveragePool <{windows}> (x) }}"
    found = converted(text, f"openvino=={release}", opset=11)
    assert not any(one.name == "ceil_mode" and one.i for node in found.graph.node for one in node.attribute)


@pytest.mark.parametrize("release", ["4.5", "4.14", "5.0"])
def test_averages_have_no_windows_that_start_in_the_pads_in_opencv(release: str) -> None:
    windows = "kernel_shape = [2, 2], strides = [2, 2], pads = [0, 0, 1, 1], ceil_mode = 1"
    text = f"g (float[1,2,6,6] x) => (float[1,2,3,3] y) {{ y = AveragePool <{windows}> (x) }}"
    found = converted(text, f"opencv=={release}", opset=11)
    assert not any(one.name == "ceil_mode" and one.i for node in found.graph.node for one in node.attribute)


def test_averages_that_count_pads_but_not_what_is_behind_them_are_kept_apart_from_their_pad_in_opencv() -> None:
    windows = "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1, count_include_pad = 1"
    text = f"g (float[1,2,6,6] x) => (float[1,2,4,4] y) {{ y = AveragePool <{windows}> (x) }}"
    assert operators(converted(text, "opencv==4.14", opset=11)) == ["Pad", "Max", "AveragePool"]


def test_an_rnn_in_both_directions_with_states_is_written_as_two_in_onnxruntime_0_3() -> None:
    """It reads the states of one direction for the other."""
    rng = numpy.random.default_rng(0)
    held = {"w": (2, 4, 3), "r": (2, 4, 4), "b": (2, 8), "h": (2, 2, 4)}
    given = "g (float[5,2,3] x) => (float[5,2,2,4] y, float[2,2,4] last)"
    nodes = "y, last = RNN <direction = 'bidirectional', hidden_size = 4> (x, w, r, b, , h)".replace("'", '"')
    original = model(f'<ir_version: 4, opset_import: ["": 9]> {given} {{ {nodes} }}')
    for name, shape in held.items():
        value = rng.standard_normal(shape).astype(numpy.float32)
        original.graph.initializer.append(onnx.numpy_helper.from_array(value, name))
    found = convert(original, target="onnxruntime==0.3", prove=False).model
    assert operators(found).count("RNN") == 2
    inputs = {"x": rng.standard_normal((5, 2, 3)).astype(numpy.float32)}
    expected, actual = Evaluator(original).run(inputs), Evaluator(found).run(inputs)
    for name, value in expected.items():
        numpy.testing.assert_array_equal(actual[name], value)


class TestPatternsThatOpenCVFuses:
    """It looks for operators behind one another, and neither for constants nor for whose inputs they are."""

    _SOFTMAX = "q = Sub (x, m) e = Exp (q) s = ReduceSum (e, a)"
    _VARIANCE = "d = Sub (x, m) p = Pow (d, k) v = ReduceMean (p, a) o = Add (v, k) r = Sqrt (o)"

    @pytest.mark.parametrize(
        ("nodes", "release", "separator"),
        [
            ("e = Exp (x) b = Abs (w) s = Add (b, e) y = Log (s)", "4.14", "Sum"),
            ("e = Exp (x) s = Add (e, k) y = Log (s)", "5.0", "Sum"),
            ("b = Abs (x) s = Add (b, k) y = Log (s)", "5.0", ""),
            ("n = ReduceL2 (x, a) y = Div (w, n)", "4.14", "Max"),
            ("n = ReduceL2 (x, a) y = Div (w, n)", "5.0", ""),
            (f"m = ReduceMax (w, a) {_SOFTMAX} y = Div (e, s)", "4.14", "Max"),
            (f"m = ReduceMax (x, a) {_SOFTMAX} l = Log (s) y = Sub (q, l)", "4.14", "Max"),
            (f"m = ReduceMean (x, a) {_VARIANCE} y = Div (w, r)", "4.14", "Max"),
            (f"m = ReduceMean (x, a) {_VARIANCE} y = Div (d, r)", "4.14", ""),
            (f"m = ReduceMean (w, a) {_VARIANCE} y = Div (d, r)", "4.14", "Max"),
            ("d = Div (x, k) b = Erf (d) s = Add (b, k) y = Mul (w, s)", "5.0", "Neg"),
            ("d = Mul (x, k) b = Erf (d) s = Add (b, k) y = Mul (w, s)", "4.14", "Neg"),
            ("d = Div (x, k) b = Erf (d) s = Add (b, k) y = Mul (x, s)", "4.14", ""),
        ],
    )
    def test_are_kept_apart_where_they_compute_something_else(self, nodes: str, release: str, separator: str) -> None:
        constants = "float k = {2}, int64[1] a = {1}"
        text = f"g (float[2,6] x, float[2,6] w) => (float[2,6] y) <{constants}> {{ {nodes} }}"
        found = operators(converted(text, f"opencv=={release}", opset=18))
        assert [one for one in ("Sum", "Max", "Neg") if one in found] == ([separator] if separator else [])


class TestOpenCV5:
    """Its Trilu keeps too much of matrices with more rows, its DFT-20 ignores the axis, and Conv reads blocks."""

    @pytest.mark.parametrize(
        ("node", "before", "after"),
        [
            ("Log", "Conv", ["Sum", "Log"]),
            ("Log", "MaxPool", ["Sum", "Log"]),
            ("Log", "Abs", ["Log"]),
            ("Reciprocal", "Conv", ["Div"]),
            ("Reciprocal", "Abs", ["Reciprocal"]),
        ],
    )
    def test_zeros_between_channels_become_no_infinities(self, node: str, before: str, after: list[str]) -> None:
        """Conv and its activation leave zeros where 4 channels do not fill a block, and the next Conv reads them."""
        weights = f"float[4,4,1,1] w = {{{', '.join(['0.5'] * 16)}}}"
        first = {"Conv": "Conv (x, w)", "MaxPool": "MaxPool <kernel_shape = [1, 1]> (x)", "Abs": "Abs (x)"}[before]
        nodes = f"c = {first} s = Sigmoid (c) z = {node} (s) y = Conv (z, w)"
        text = f"g (float[1,4,6,5] x) => (float[1,4,6,5] y) <{weights}> {{ {nodes} }}"
        found = operators(converted(text, "opencv==5.0", opset=18))
        assert [one for one in found if one in ("Sum", "Div", "Log", "Reciprocal")] == after

    @pytest.mark.parametrize("shape", ["1,4,9,-1", "0,4,0,-1", "1,2,2,27"])
    def test_volumes_leave_their_blocks_before_they_are_reshaped(self, shape: str) -> None:
        weights = f"float[4,4,1,2,2] w = {{{', '.join(['0.5'] * 64)}}}"
        text = (
            f"g (float[1,4,3,4,4] x) => (float[A,B,C,D] y) <{weights}, int64[4] s = {{{shape}}}> "
            "{ c = Conv (x, w) y = Reshape (c, s) }"
        )
        assert operators(converted(text, "opencv==5.0", opset=18)) == ["Conv", "Sum", "Reshape"]
        exact = text.replace("Reshape (", "Reshape <allowzero = 1> (")
        if "0" not in shape:
            assert operators(converted(exact, "opencv==5.0", opset=18)) == ["Conv", "Sum", "Reshape"]

    def test_volumes_are_normalized_as_images(self) -> None:
        weights = f"float[4,4,1,2,2] w = {{{', '.join(['0.5'] * 64)}}}, float[4] o = {{1, 1, 1, 1}}"
        text = (
            f"g (float[1,4,3,4,4] x) => (float[1,4,3,3,3] y) <{weights}> "
            "{ c = Conv (x, w) y = InstanceNormalization (c, o, o) }"
        )
        found = operators(converted(text, "opencv==5.0", opset=18))
        assert found == ["Conv", "Sum", "Reshape", "InstanceNormalization", "Reshape"]

    @pytest.mark.parametrize(("shape", "stays"), [("2,6,5", False), ("2,5,6", True), ("4,4", True)])
    def test_triangles_of_tall_matrices_are_selected(self, shape: str, *, stays: bool) -> None:
        text = f"g (float[{shape}] x) => (float[{shape}] y) {{ y = Trilu (x) }}"
        assert (operators(converted(text, "opencv==5.0", opset=14)) == ["Trilu"]) is stays

    @pytest.mark.parametrize("runtime", ["opencv==5.0", "openvino==2026.4"])
    @pytest.mark.parametrize("axis", ["a", ""])
    def test_transforms_along_other_axes_are_those_of_opset_17(self, runtime: str, axis: str) -> None:
        text = f"g (float[2,4,9,1] x) => (float[2,4,9,2] y) <int64 a = {{2}}> {{ y = DFT (x, , {axis}) }}"
        given = model(f'<ir_version: 9, opset_import: ["": 20]> {text.replace(", , )", ")")}')
        found = convert(given, target=runtime, prove=False).model
        assert found.opset_import[0].version == 19
        assert next(one.i for one in found.graph.node[0].attribute if one.name == "axis") in (2, -2)


@pytest.mark.parametrize(
    ("runtime", "shape", "operator"),
    [
        ("openvino==2026.4", "7,B,3", "LSTM"),
        ("openvino==2022.3", "7,B,3", "GRU"),
    ],
)
def test_lengths_of_sequences_that_are_ignored_are_refused(runtime: str, shape: str, operator: str) -> None:
    batch, gates = shape.split(",")[1], 3 if operator == "GRU" else 4
    weights = ", ".join(["0.5"] * gates * 2 * 3), ", ".join(["0.25"] * gates * 2 * 2)
    text = f"""
        g (float[{shape}] x, int32[{batch}] n) => (float[7,1,{batch},2] y)
            <float[1,{gates * 2},3] w = {{{weights[0]}}}, float[1,{gates * 2},2] r = {{{weights[1]}}}> {{
            y = {operator} <hidden_size = 2> (x, w, r, , n)
        }}
    """
    refused(text, runtime, because="lengths of sequences", opset=11)
    if batch == "B":
        assert operator in operators(converted(text.replace("B", "2"), runtime, opset=11))


class TestDequantizedValuesInOpenCV:
    """5.0 fails on some operands and on scales in another form than the zero points; 4.5 reads uint8 as int8."""

    @pytest.mark.parametrize(("scale", "zero_point", "stays"), [("[1]", "", False), ("", "[1]", False), ("", "", True)])
    def test_scales_and_zero_points_have_one_form(self, scale: str, zero_point: str, *, stays: bool) -> None:
        text = f"""
            g (uint8[2,3] x) => (float[2,3] y) <float{scale} s = {{0.5}}, uint8{zero_point} p = {{3}}> {{
                y = DequantizeLinear (x, s, p)
            }}
        """
        assert ("DequantizeLinear" in operators(converted(text, "opencv==5.0"))) is stays

    @pytest.mark.parametrize(("node", "first"), [("Sub (a, b)", "Add"), ("Add (b, a)", "Add"), ("Mul (b, a)", "Mul")])
    def test_operands_are_written_otherwise(self, node: str, first: str) -> None:
        text = f"""
            g (uint8[1,6,2] x, uint8[6,2] w) => (float[1,6,2] y) <float s = {{0.5}}, uint8 p = {{3}}> {{
                a = DequantizeLinear (x, s, p)
                b = DequantizeLinear (w, s, p)
                y = {node}
            }}
        """
        found = converted(text, "opencv==5.0").graph.node
        assert [one.op_type for one in found] != ["DequantizeLinear", "DequantizeLinear", node.split()[0]] or list(
            found[-1].input
        ) == ["a", "b"]
        assert first in [one.op_type for one in found]

    def test_uint8_is_computed_in_floats_in_45(self) -> None:
        text = """
            g (float[2,3] x) => (float[2,3] y) <float s = {0.5}, uint8 p = {3}> {
                q = QuantizeLinear (x, s, p)
                y = DequantizeLinear (q, s, p)
            }
        """
        assert not {"QuantizeLinear", "DequantizeLinear"} & {*operators(converted(text, "opencv==4.5"))}


def test_reductions_of_constants_that_fallbacks_leave_are_folded_for_opencv_414() -> None:
    """A Softmax of a constant mask is written as such reductions after constants were folded."""
    text = """
        g (float[2,4] x) => (float[2,4] y) <float[2,4] k = {1, 2, 3, 4, 5, 6, 7, 8}> {
            m = ReduceMax <axes = [1]> (k)
            y = Sub (x, m)
        }
    """
    assert "ReduceMax" not in operators(converted(text, "opencv==4.14"))


def test_slices_whose_ends_and_steps_are_computed_are_gathered_for_openvino_2026() -> None:
    """It reads computed ends as 32 bits, so that -(2^63 - 1) is no longer before the first element."""
    text = """
        g (float[6,3] x, int64[1] s, int64[1] e, int64[1] t) => (float[A,3] y) <int64[1] a = {0}> {
            y = Slice (x, s, e, a, t)
        }
    """
    assert "Slice" not in operators(converted(text, "openvino==2026.4"))
    assert operators(converted(text, "openvino==2022.3")) == ["Slice"]


@pytest.mark.parametrize(
    "step", ["Mul (d, c)", "Mul (c, d)", "Add (d, c)", "Sub (d, c)", "Sub (c, d)", "Div (d, c)", "Neg (d)"]
)
def test_opencv_4_5_merges_no_number_into_the_quotient_of_a_constant(step: str) -> None:
    """It computes 1 / (2x) for 2 (1 / x); another node between keeps both apart."""
    text = f"""g (float[1,2,3,4] x) => (float[1,2,3,4] y) <float one = {{3}}, float c = {{2}}>
        {{ d = Div (one, x) y = {step} }}"""
    found = converted(text, "opencv==4.5", opset=11)
    assert operators(found)[0] == "Div"
    assert operators(found)[1] in ("Max", "Reshape")
    computed = text.replace("one, x", "x, one").replace("(c, d)", "(d, c)")
    assert operators(converted(computed, "opencv==4.5", opset=11)) == ["Div", step.split()[0]]


@pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
def test_opencv_takes_no_product_with_a_reciprocal_norm_for_its_own_normalization(runtime: str) -> None:
    """As TensorFlow's l2_normalize is exported; OpenCV 4 normalizes along the channels whichever axis is named."""
    text = """g (float[1,2,3,4] x) => (float[1,2,3,4] y) <float e = {0.001}> {
        q = Mul (x, x) s = ReduceSum <axes = [3]> (q) m = Max (s, e) t = Sqrt (m) r = Reciprocal (t) y = Mul (x, r)
    }"""
    found = converted(text, runtime, opset=10).graph
    products = [node for node in found.node if node.op_type in ("Mul", "Div") and "x" in node.input]
    assert len(products) == 1, "only the square reads what is normalized as it is"


@pytest.mark.parametrize(
    ("sizes", "target", "opset", "has_axes"),
    [
        ("1,3,16", "1.17", 12, False),
        ("1,3,16", "1.18", 12, True),
        ("1,N,M", "1.22", 13, False),
        ("1,N,M", "1.23", 12, False),
    ],
)
def test_onnxruntime_takes_unknown_sizes_for_1_in_a_squeeze_without_axes(
    sizes: str, target: str, opset: int, has_axes: bool
) -> None:
    text = f"g (float[{sizes}] x) => (float[A,B] y) {{ y = Squeeze (x) }}"
    found = converted(text, f"onnxruntime=={target}", opset=12)
    assert found.opset_import[0].version == opset
    assert bool(found.graph.node[0].attribute) == has_axes
