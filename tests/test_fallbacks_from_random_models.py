"""Fallbacks for what random models showed, converted for each runtime and run there."""

from __future__ import annotations

import numpy
import onnx
import pytest
from onnx import numpy_helper

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import Evaluator
from testing.conversion import model
from tests.test_fallbacks import converted, operators


def shape_of(found: onnx.ModelProto, name: str) -> list[int]:
    """What a Reshape that gives the value writes."""
    graph = found.graph
    node = next(node for node in graph.node if name in node.output)
    constants = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    return [int(size) for size in constants[node.input[1]]]


class TestPads:
    """onnxruntime 0.3 to 1.6 repeat other elements where nothing is added along the last axis."""

    def test_of_open_sizes_are_those_of_columns(self) -> None:
        text = """g (float[1,2,A,B] x) => (float[1,2,C,B] y) <int64[8] p = {0,0,1,0,0,0,1,0}>
            { y = Pad <mode="reflect"> (x, p) }"""
        found = converted(text, "onnxruntime==1.1", opset=11)
        assert [node.op_type for node in found.graph.node] == ["Transpose", "Pad", "Transpose"]

    @pytest.mark.parametrize("mode", ["edge", "reflect"])
    def test_of_rows_alone_are_those_of_columns(self, mode: str) -> None:
        text = f'g (float[1,2,4,3] x) => (float[1,2,6,3] y) {{ y = Pad <mode="{mode}"> (x, pads) }}'
        for pads, expected in (("0,0,1,0,0,0,1,0", ["Transpose", "Pad", "Transpose"]), ("0,0,1,1,0,0,1,1", ["Pad"])):
            found = text.replace("{ y", f"<int64[8] pads = {{{pads}}}> {{ y")
            found = found.replace("[1,2,6,3]", "[1,2,6,A]")
            assert operators(converted(found, "onnxruntime==1.6")) == expected
            assert operators(converted(found, "onnxruntime==1.7")) == ["Pad"]

    def test_of_version_2_are_attributes(self) -> None:
        text = 'g (float[4,3] x) => (float[5,3] y) { y = Pad <mode="edge", pads=[1,0,0,0]> (x) }'
        assert operators(converted(text, "onnxruntime==0.4", opset=9)) == ["Transpose", "Pad", "Transpose"]

    def test_that_are_computed_may_leave_the_last_axis_out(self) -> None:
        text = 'g (float[4,3] x, int64[4] p) => (float[A,B] y) { y = Pad <mode="edge"> (x, p) }'
        assert "Pad" not in operators(converted(text, "onnxruntime==1.4"))
        assert operators(converted(text.replace("edge", "constant"), "onnxruntime==1.4")) == ["Pad"]

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14"])
    def test_of_channels_are_gathered_in_opencv(self, runtime: str) -> None:
        text = """g (float[1,2,4,3] x) => (float[1,3,4,4] y) <int64[8] p = {0,1,0,0,0,0,0,1}>
            { y = Pad <mode="edge"> (x, p) }"""
        assert "Pad" not in operators(converted(text, runtime))


class TestConvolutions:
    """Dilated kernels in onnxruntime up to 1.1, and those of one element with pads in OpenCV."""

    @pytest.mark.parametrize(("taps", "expected"), [(3, ["Conv"]), (2, ["ConvTranspose"])])
    def test_transposed_by_a_dilated_kernel_become_conv(self, taps: int, expected: list[str]) -> None:
        weights = ",".join("1" for _ in range(taps * 2))
        text = f"""g (float[1,2,4,5] x) => (float[1,1,4,A] y) <float[2,1,1,{taps}] w = {{{weights}}}>
            {{ y = ConvTranspose <dilations=[1,2]> (x, w) }}"""
        found = operators(converted(text, "onnxruntime==1.1", opset=11))
        assert [one for one in found if one.startswith("Conv")] == expected
        assert operators(converted(text, "onnxruntime==1.2", opset=11)) == ["ConvTranspose"]

    def test_by_one_element_are_padded_before_in_opencv_5(self) -> None:
        text = """g (float[1,2,4,4] x) => (float[1,1,6,6] y) <float[1,2,1,1] w = {1, 2}>
            { y = Conv <pads=[1,1,1,1]> (x, w) }"""
        assert operators(converted(text, "opencv==5.0")) == ["Pad", "Conv"]
        wider = text.replace("[1,2,1,1] w = {1, 2}", "[1,2,1,2] w = {1, 2, 3, 4}").replace("6,6", "6,5")
        assert operators(converted(wider, "opencv==5.0")) == ["Conv"]


class TestCumSum:
    """Up to 1.13 onnxruntime reads beyond a single element that it leaves out of its own sum."""

    @pytest.mark.parametrize("size", ["1", "A"])
    @pytest.mark.parametrize("reverse", [0, 1])
    def test_without_the_own_element_is_one_with_it_behind_a_zero(self, size: str, reverse: int) -> None:
        text = f"""g (float[3,{size}] x) => (float[3,{size}] y) <int64 axis = {{1}}>
            {{ y = CumSum <exclusive=1, reverse={reverse}> (x, axis) }}"""
        found = converted(text, "onnxruntime==1.10", opset=14)
        assert operators(found)[-3:] == ["CumSum", "Slice", "Concat"]
        assert operators(converted(text, "onnxruntime==1.14", opset=14)) == ["CumSum"]

    def test_of_several_elements_stays(self) -> None:
        text = """g (float[3,2] x) => (float[3,2] y) <int64 axis = {1}> { y = CumSum <exclusive=1> (x, axis) }"""
        assert operators(converted(text, "onnxruntime==1.10", opset=14)) == ["CumSum"]


class TestAxes:
    """In another order than the one that a runtime takes."""

    def test_of_squeeze_are_sorted_for_onnxruntime_0_5(self) -> None:
        text = "g (float[1,2,1,4] x) => (float[2,4] y) { y = Squeeze <axes=[2,0]> (x) }"
        found = converted(text, "onnxruntime==0.5", opset=9)
        assert list(found.graph.node[0].attribute[0].ints) == [0, 2]

    def test_of_top_k_are_the_last_in_onnxruntime_0_2(self) -> None:
        text = "g (float[4,3] x) => (float[2,3] y, int64[2,3] z) { y, z = TopK <axis=0, k=2> (x) }"
        found = operators(converted(text, "onnxruntime==0.2", opset=9))
        assert found[:3] == ["Transpose", "TopK", "Transpose"]
        assert operators(converted(text, "onnxruntime==0.3", opset=9)) == ["TopK"]

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    def test_of_reductions_are_sorted_for_opencv(self, runtime: str) -> None:
        text = "g (float[2,3,4,5] x) => (float[1,3,1,1] y) { y = ReduceL2 <axes=[2,3,0]> (x) }"
        found = [list(node.attribute[0].ints) for node in converted(text, runtime).graph.node]
        assert all(axes == sorted(axes) for axes in found)

    @pytest.mark.parametrize(
        ("reduction", "expected"),
        [("ReduceL1", "Abs"), ("ReduceL2", "Sqrt"), ("ReduceLogSum", "Log"), ("ReduceSumSquare", "Mul")],
    )
    def test_of_one_element_are_no_reduction_in_opencv_4(self, reduction: str, expected: str) -> None:
        text = f"g (float[1,3,4] x) => (float[3,4] y) {{ y = {reduction} <axes=[0], keepdims=0> (x) }}"
        assert expected in operators(converted(text, "opencv==4.14"))
        assert reduction not in operators(converted(text, "opencv==4.14"))


class TestOpenvino:
    """Attributes of 0 that are taken for none, merged activations, and what comes straight from an input."""

    def test_a_hard_sigmoid_without_an_offset_is_clipped(self) -> None:
        text = "g (float[3] x) => (float[3] y) { y = HardSigmoid <alpha=0.5, beta=0.0> (x) }"
        assert operators(converted(text, "openvino==2026.4")) == ["Mul", "Add", "Clip"]
        assert operators(converted(text.replace("0.0", "0.5"), "openvino==2026.4")) == ["HardSigmoid"]

    def test_a_selu_without_a_scale_is_refused(self) -> None:
        text = "g (float[3] x) => (float[3] y) { y = Selu <gamma=0.0> (x) }"
        with pytest.raises(ConversionRefused, match="takes the default for a gamma of 0"):
            convert(model(f'<ir_version: 7, opset_import: ["": 13]> {text}'), target="openvino==2026.4")

    @pytest.mark.parametrize("slope", ["2.0", "-0.5"])
    def test_other_slopes_are_those_of_prelu_in_2021(self, slope: str) -> None:
        text = f"g (float[3] x) => (float[3] y) {{ y = LeakyRelu <alpha={slope}> (x) }}"
        assert operators(converted(text, "openvino==2021.4")) == ["PRelu"]
        assert operators(converted(text, "openvino==2022.3")) == ["LeakyRelu"]

    def test_softsign_is_a_quotient_in_2022(self) -> None:
        text = "g (float[3] x) => (float[3] y) { z = Elu (x) y = Softsign (z) }"
        assert operators(converted(text, "openvino==2022.3")) == ["Elu", "Abs", "Add", "Div"]

    @pytest.mark.parametrize("node", ["Sum (x)", "Mean (x)", "Max (x)", "Min (x)"])
    def test_one_term_is_a_copy_in_2021(self, node: str) -> None:
        text = f"g (float[3] x) => (float[3] y) {{ y = {node} }}"
        assert operators(converted(text, "openvino==2021.4")) == ["Identity"]

    def test_a_vector_is_not_transposed(self) -> None:
        text = "g (float[3] x) => (float[3] y) { y = Transpose <perm=[0]> (x) }"
        assert operators(converted(text, "openvino==2022.3")) == ["Identity"]

    @pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2026.4"])
    def test_remainders_are_taken_off_negative_dividends(self, runtime: str) -> None:
        text = "g (int64[3,3] x) => (int64[3,3] y) <int64 two = {2}> { z = Neg (x) y = Div (z, two) }"
        assert operators(converted(text, runtime)) == ["Neg", "Mod", "Sub", "Div"]
        assert operators(converted(text.replace("Neg", "Transpose"), runtime)) == ["Transpose", "Div"]

    def test_remainders_are_taken_off_sums_in_2021(self) -> None:
        text = "g (int64[3] x) => (int64[3] y) <int64 two = {2}> { z = Add (x, two) y = Div (z, two) }"
        assert operators(converted(text, "openvino==2021.4")) == ["Add", "Mod", "Sub", "Div"]
        assert operators(converted(text, "openvino==2022.3")) == ["Add", "Div"]

    def test_a_negative_divisor_is_one_of_what_has_no_remainder(self) -> None:
        text = "g (int64[3] x) => (int64[3] y) <int64 two = {-2}> { y = Div (x, two) }"
        assert operators(converted(text, "openvino==2022.3")) == ["Mod", "Sub", "Div"]

    @pytest.mark.parametrize("node", ["Sum (y)", "Dropout (y)"])
    def test_a_copy_of_an_output_is_an_identity_in_2021(self, node: str) -> None:
        text = f"g (float[3] x) => (float[3] y, float[3] z) {{ y = Neg (x) z = {node} }}"
        assert operators(converted(text, "openvino==2021.4")) == ["Neg", "Identity"]

    def test_slopes_of_the_last_axis_are_none_of_channels(self) -> None:
        text = "g (float[2,4,4] x) => (float[2,4,4] y) <float[4] s = {1, 2, 3, 4}> { y = PRelu (x, s) }"
        found = converted(text, "openvino==2026.4")
        (slopes,) = (one for one in found.graph.initializer if one.name == found.graph.node[0].input[1])
        assert list(slopes.dims) == [1, 1, 4]

    @pytest.mark.parametrize(("runtime", "group"), [("2021.4", 1), ("2021.4", 2), ("2022.3", 2)])
    def test_transposed_convolutions_along_one_axis_are_those_of_images(self, runtime: str, group: int) -> None:
        ones = ",".join("1" for _ in range(12 // group))
        text = f"""g (float[1,2,3] x) => (float[1,2,5] y) <float[2,{2 // group},3] w = {{{ones}}}>
            {{ y = ConvTranspose <group={group}> (x, w) }}"""
        assert operators(converted(text, f"openvino=={runtime}")) == ["Unsqueeze", "ConvTranspose", "Squeeze"]
        assert operators(converted(text, "openvino==2026.4")) == ["ConvTranspose"]

    def test_a_transpose_is_kept_apart_from_a_reduction_in_2026(self) -> None:
        text = """g (float[1,4,2] x) => (float[2,1] y) { r = ReduceMax <axes=[1], keepdims=0> (x)
            y = Transpose <perm=[1,0]> (r) }"""
        assert operators(converted(text, "openvino==2026.4")) == ["ReduceMax", "Max", "Transpose"]
        assert operators(converted(text, "openvino==2022.3")) == ["ReduceMax", "Transpose"]

    def test_a_reshape_is_kept_apart_from_a_reduction_in_2026(self) -> None:
        text = """g (float[1,4,2] x) => (float[2,1] y) <int64[2] s = {2, 1}>
            { r = ReduceMax <axes=[1], keepdims=0> (x) y = Reshape (r, s) }"""
        assert operators(converted(text, "openvino==2026.4")) == ["ReduceMax", "Max", "Reshape"]

    def test_a_part_is_normalized_apart_from_its_split_in_2022(self) -> None:
        text = """g (float[1,6,2,2] x) => (float[1,4,2,2] y) <int64[2] s = {2, 4}>
            { p, q = Split <axis=1> (x, s) y = LRN <size=3> (q) }"""
        assert operators(converted(text, "openvino==2022.3")) == ["Split", "Max", "LRN"]


class TestLargeNumbers:
    """For which a runtime gives NaN or infinity where others do not: all of 44 and above, and differences above 88."""

    def test_have_a_tangent_of_one_in_opencv_5(self) -> None:
        text = "g (float[3,1] x) => (float[3,1] y) { y = Tanh (x) }"
        assert operators(converted(text, "opencv==5.0")) == ["Clip", "Tanh"]
        assert operators(converted(text, "opencv==4.14")) == ["Tanh"]

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14", "opencv==5.0"])
    def test_are_their_own_softplus(self, runtime: str) -> None:
        text = "g (float[1,2,3,4] x) => (float[1,2,3,4] y) { y = Softplus (x) }"
        found = operators(converted(text, runtime))
        assert found.index("Softplus") < found.index("Max")

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0", "openvino==2021.4"])
    def test_are_taken_off_before_the_logarithm_of_a_softmax(self, runtime: str) -> None:
        text = "g (float[2,3] x) => (float[2,3] y) { y = LogSoftmax (x) }"
        found = [one for one in operators(converted(text, runtime)) if one != "Max"]
        assert found == ["ReduceMax", "Sub", "Exp", "ReduceSum", "Log", "Sub"]

    def test_are_taken_off_all_that_follows_the_axis_below_opset_13(self) -> None:
        text = "g (float[2,3,4] x) => (float[2,3,4] y) { y = LogSoftmax <axis=1> (x) }"
        found = converted(text, "opencv==5.0", opset=11)
        assert "LogSoftmax" not in operators(found)

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0", "openvino==2022.3"])
    @pytest.mark.parametrize("keepdims", [0, 1])
    def test_are_taken_off_before_a_sum_of_exponentials(self, runtime: str, keepdims: int) -> None:
        shape = "[2,1]" if keepdims else "[2]"
        text = f"g (float[2,3] x) => (float{shape} y) {{ y = ReduceLogSumExp <axes=[1], keepdims={keepdims}> (x) }}"
        assert "ReduceLogSumExp" not in operators(converted(text, runtime))


class TestOutputsThatNodesRead:
    """onnxruntime 1.1 loses them where it merges what reads them, or changes its layout."""

    TEXT = """g (float[1,8,4,4] x) => (float[1,8,4,4] y, float[1,8,4,4] t) <float[8,1,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8}>
        { t = Conv <group=8> (x, w) z = Relu (t) y = Add (z, t) }"""

    def test_are_read_through_a_maximum_in_onnxruntime_1_1(self) -> None:
        found = converted(self.TEXT, "onnxruntime==1.1", opset=9)
        assert operators(found) == ["Conv", "Max", "Relu", "Max", "Add"]

    def test_stay_in_other_releases(self) -> None:
        assert operators(converted(self.TEXT, "onnxruntime==1.2", opset=9)) == ["Conv", "Relu", "Add"]

    def test_that_none_reads_stay(self) -> None:
        text = self.TEXT.replace("z = Relu (t) y = Add (z, t)", "y = Relu (x)")
        assert operators(converted(text, "onnxruntime==1.1", opset=9)) == ["Conv", "Relu"]


class TestMergedNodes:
    """What runtimes compute otherwise, or do not load, where they merge a node with the one before it."""

    def test_products_along_rows_are_kept_apart_from_a_convolution_in_openvino_2022(self) -> None:
        text = """g (float[1,2,3,3] x) => (float[1,1,2,3] y) <float[3] s = {1, 2, 3}, float[1,2,2,1] w = {1, 2, 3, 4}>
            { z = Mul (x, s) y = Conv (z, w) }"""
        assert operators(converted(text, "openvino==2022.3")) == ["Mul", "Max", "Conv"]
        of_channels = text.replace("float[3] s = {1, 2, 3}", "float[2,1,1] s = {1, 2}")
        assert operators(converted(of_channels, "openvino==2022.3")) == ["Mul", "Conv"]

    @pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2022.3"])
    def test_uneven_pads_of_volumes_are_kept_apart(self, runtime: str) -> None:
        text = """g (float[1,1,2,2,2] x) => (float[1,1,2,3,4] y) <float[1,1,1,1,1] w = {2}>
            { y = Conv <pads=[0,1,1,0,0,1]> (x, w) }"""
        assert operators(converted(text, runtime)) == ["Pad", "Max", "Conv"]

    def test_an_erf_of_what_others_read_is_one_of_a_maximum_in_openvino_2022(self) -> None:
        text = "g (float[3] x) => (float[3] y) { z = Neg (x) e = Erf (z) r = Relu (z) y = Sub (e, r) }"
        assert operators(converted(text, "openvino==2022.3")) == ["Neg", "Max", "Erf", "Relu", "Sub"]

    def test_a_normalization_is_kept_apart_from_a_transposed_convolution_in_opencv_4(self) -> None:
        text = """g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,1,1,1] w = {1, 2}, float[2] one = {1, 1}>
            { z = ConvTranspose <group=2> (x, w) y = BatchNormalization (z, one, one, one, one) }"""
        assert operators(converted(text, "opencv==4.14")) == ["ConvTranspose", "Max", "BatchNormalization"]

    def test_a_gelu_is_kept_apart_from_a_convolution_of_volumes_in_opencv_5(self) -> None:
        text = """g (float[1,1,2,2,2] x) => (float[1,1,2,2,2] y) <float[1,1,1,1,1] w = {2}, float r = {1.4142135}>
            { z = Conv <kernel_shape=[1,1,1]> (x, w) d = Div (z, r) y = Erf (d) }"""
        assert operators(converted(text, "opencv==5.0")) == ["Conv", "Div", "Max", "Erf"]

    def test_groups_of_one_row_are_padded_before_in_opencv_4(self) -> None:
        text = """g (float[1,2,1,4] x) => (float[1,2,1,4] y) <float[2,1,3,1] w = {1, 2, 3, 4, 5, 6}>
            { y = Conv <group=2, pads=[1,0,1,0]> (x, w) }"""
        assert operators(converted(text, "opencv==4.14")) == ["Pad", "Conv"]


def test_pads_at_one_end_are_written_before_a_kernel_of_one_element_in_onnxruntime_0_2() -> None:
    text = """g (float[1,2,3,1] x) => (float[1,1,4,1] y) <float[1,2,1,1] w = {1, 2}>
        { y = Conv <pads=[0,0,1,0]> (x, w) }"""
    assert operators(converted(text, "onnxruntime==0.2", opset=8)) == ["Pad", "Conv"]
    assert operators(converted(text, "onnxruntime==0.3", opset=8)) == ["Conv"]


class TestNormalizedVectors:
    """onnxruntime from 1.17 on loses a value where it merges the normalization of a vector that one number scales."""

    @pytest.mark.parametrize("product", ["Mul (d, s)", "Mul (s, d)"])
    def test_are_scaled_as_rows(self, product: str) -> None:
        text = f"""g (float[8] x) => (float[8] y) <float two = {{2}}, float e = {{0.01}}, float s = {{1.5}}>
            {{ p = Pow (x, two) m = ReduceMean <axes=[-1]> (p) a = Add (m, e) r = Sqrt (a) d = Div (x, r)
               y = {product} }}"""
        assert operators(converted(text, "onnxruntime==1.17"))[-3:] == ["Reshape", "Mul", "Reshape"]
        assert operators(converted(text, "onnxruntime==1.16"))[-1:] == ["Mul"]


class TestOpencv:
    """Sizes of channels that it keeps in blocks, pads that count, and slices of vectors."""

    def test_sizes_that_a_reshape_copies_are_written_in_opencv_5(self) -> None:
        text = """g (float[2,3,4,6] x) => (float[2,3,6,4] y) <int64[4] s = {0, 0, 6, 4}>
            { z = Relu (x) y = Reshape (z, s) }"""
        assert shape_of(converted(text, "opencv==5.0"), "y") == [2, 3, 6, 4]

    def test_pads_that_count_are_written_before_a_pool(self) -> None:
        text = """g (float[1,1,4,5] x) => (float[1,1,4,3] y) { y = AveragePool
            <auto_pad="SAME_UPPER", count_include_pad=1, kernel_shape=[1,2], strides=[1,2]> (x) }"""
        assert operators(converted(text, "opencv==4.14")) == ["Pad", "Max", "AveragePool"]

    def test_parts_of_a_vector_are_those_of_a_row(self) -> None:
        text = """g (float[1,4] x) => (float[1,4] y) <int64[1] l = {2}>
            { y = ReverseSequence <batch_axis=0, time_axis=1> (x, l) }"""
        found = converted(text, "opencv==4.14")
        concat = next(node for node in found.graph.node if node.op_type == "Concat")
        assert concat.attribute[0].i == 1

    @pytest.mark.parametrize("node", ["Mod <fmod=1> (x, z)", "Mean (x, z)"])
    def test_vectors_are_rows(self, node: str) -> None:
        text = f"g (float[4] x, float[4] z) => (float[4] y) {{ y = {node} }}"
        assert operators(converted(text, "opencv==4.14"))[-1] == "Reshape"

    def test_a_remainder_by_a_computed_vector_is_refused(self) -> None:
        text = "g (float[2,4] x, float[4] z) => (float[2,4] y) { y = Mod <fmod=1> (x, z) }"
        with pytest.raises(ConversionRefused, match="repeats a computed vector along the wrong axis"):
            convert(model(f'<ir_version: 7, opset_import: ["": 13]> {text}'), target="opencv==4.14")


class TestAttention:
    """OpenVINO 2026.4 merges attention with the Transpose behind it, OpenCV what looks like a GELU."""

    @pytest.mark.parametrize(("queries", "expected"), [(4, 1), (3, 0)])
    def test_with_as_many_heads_as_queries_is_kept_apart(self, queries: int, expected: int) -> None:
        text = f"""g (float[1,4,{queries},2] q, float[1,4,2,5] k, float[1,4,5,2] v) => (float[1,{queries},4,2] y) {{
            r = Relu (q) s = MatMul (r, k) z = Softmax <axis=3> (s) o = MatMul (z, v)
            y = Transpose <perm=[0,2,1,3]> (o) }}"""
        assert operators(converted(text, "openvino==2026.4")).count("Max") == expected
        assert "Max" not in operators(converted(text, "openvino==2022.3"))

    def test_gelu_by_a_tangent_is_no_product_of_the_last_two(self) -> None:
        text = """g (float[1,3,4] a, float[1,3,4] d) => (float[1,3,4] y)
            <float k = {0.044715}, float s = {0.79788}, float one = {1}, float half = {0.5}> {
            p = Mul (a, a) q = Mul (p, a) r = Mul (q, k) t = Add (a, r) u = Mul (t, s) v = Tanh (u)
            w = Add (v, one) z = Mul (d, w) y = Mul (z, OTHER) }"""
        assert operators(converted(text.replace("OTHER", "half"), "opencv==4.14"))[-1] == "Div"
        assert operators(converted(text.replace("OTHER", "d"), "opencv==4.14")).count("Neg") == 2
        # There a Clip before the tangent is enough.
        assert "Clip" in operators(converted(text.replace("OTHER", "half"), "opencv==5.0"))


class TestMasks:
    """OpenVINO distributes the number of a mask over its sum, and loses what constants are added to that."""

    @pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2022.3", "openvino==2026.4"])
    @pytest.mark.parametrize("number", ["-3.4028235e38", "-1e9"])
    def test_by_large_numbers_are_kept_apart_from_what_follows(self, runtime: str, number: str) -> None:
        text = f"""g (float[1,1,3,3] s, float[1,1,1,3] f) => (float[1,1,3,3] y)
            <float[3,3] c = {{0,-1.5,-2.25,1.5,0,-1.75,2.5,1.25,0}}, float k = {{{number}}}, float one = {{1}}> {{
            a = Sub (one, f) b = Mul (a, k) e = Add (b, c) d = Add (s, e) y = Softmax <axis=3> (d) }}"""
        assert operators(converted(text, runtime))[:3] == ["Sub", "Max", "Mul"]
        assert "Max" not in operators(converted(text.replace(number, "-100"), runtime))


class TestQuantized:
    """What optimisers make of values between DequantizeLinear and QuantizeLinear."""

    @pytest.mark.parametrize("operator", ["Concat <axis=1>", "MatMul"])
    def test_a_value_with_itself_is_two_values(self, operator: str) -> None:
        text = f"""g (uint8[1,4,4] q) => (uint8[A,B,C] y) <uint8 z = {{100}}, float s = {{0.027}}>
            {{ a = DequantizeLinear (q, s, z) c = {operator} (a, a) y = QuantizeLinear (c, s, z) }}"""
        assert {"Max", "Sum"}.intersection(operators(converted(text, "onnxruntime==1.10")))
        assert len(operators(converted(text, "onnxruntime==1.15"))) == 3

    def test_three_times_a_value_are_three_values(self) -> None:
        text = """g (uint8[1,4,4] q) => (uint8[A,B,C] y) <uint8 z = {100}, float s = {0.027}>
            { a = DequantizeLinear (q, s, z) c = Concat <axis=1> (a, a, a) y = QuantizeLinear (c, s, z) }"""
        found = converted(text, "onnxruntime==1.10")
        joined = next(one for one in found.graph.node if one.op_type == "Concat")
        assert len({*joined.input}) == 3

    @pytest.mark.parametrize(("scale", "expected"), [("t", "Slice"), ("s", "Split")])
    def test_parts_with_other_scales_are_slices(self, scale: str, expected: str) -> None:
        text = f"""g (uint8[2,8] q) => (uint8[2,4] c, uint8[2,4] d)
            <uint8 z = {{123}}, float s = {{0.033}}, float t = {{0.017}}> {{
            a = DequantizeLinear (q, s, z) u, v = Split <axis=1> (a)
            c = QuantizeLinear (u, {scale}, z) d = QuantizeLinear (v, s, z) }}"""
        assert expected in operators(converted(text, "onnxruntime==1.15"))
        assert "Split" in operators(converted(text, "onnxruntime==1.17"))

    @pytest.mark.parametrize("runtime", ["openvino==2022.3", "openvino==2026.4"])
    def test_pads_are_no_zero_points(self, runtime: str) -> None:
        text = """g (uint8[1,4,5] q) => (uint8[1,4,7] y)
            <uint8 z = {118}, float s = {0.0164}, int64[6] p = {0,0,2,0,0,0}> {
            a = DequantizeLinear (q, s, z) c = Pad (a, p) y = QuantizeLinear (c, s, z) }"""
        assert "Max" in operators(converted(text, runtime))
        edges = text.replace("Pad (a", 'Pad <mode="edge"> (a')
        assert "Max" not in operators(converted(edges, runtime))

    @pytest.mark.parametrize(("channels", "stays"), [("1,1", False), ("1,3", True)])
    def test_groups_of_single_elements_are_convolved_in_floats(self, channels: str, stays: bool) -> None:
        """Quantized kernels of single elements by groups: onnxruntime 1.6 to 1.8 mixes up the groups."""
        numbers = ",".join(str(number) for number in range(8 * (3 if stays else 1)))
        text = f"""g (uint8[1,4,3,6] x) => (uint8[1,4,3,A] y) <int8[4,2,{channels}] w = {{{numbers}}},
            float s = {{0.5}}, uint8 z = {{100}}, float t = {{0.25}}, int8 o = {{0}}>
            {{ y = QLinearConv <group=2> (x, s, z, w, t, o, s, z) }}"""
        assert ("QLinearConv" in operators(converted(text, "onnxruntime==1.7"))) is stays
        assert "QLinearConv" in operators(converted(text, "onnxruntime==1.9"))

    def test_dequantized_groups_of_single_elements_are_kept_apart(self) -> None:
        text = """g (uint8[1,4,3,6] x) => (uint8[1,4,3,6] y) <int8[4,2,1,1] w = {1,2,3,4,5,6,7,8},
            float s = {0.5}, uint8 z = {100}, float t = {0.25}, int8 o = {0}> {
            a = DequantizeLinear (x, s, z) b = DequantizeLinear (w, t, o) c = Conv <group=2> (a, b)
            y = QuantizeLinear (c, s, z) }"""
        assert operators(converted(text, "onnxruntime==1.8"))[2:] == ["Max", "Conv", "QuantizeLinear"]
        assert "Max" not in operators(converted(text, "onnxruntime==1.9"))

    def test_zero_points_that_differ_are_those_of_floats(self) -> None:
        text = """g (uint8[1,2,3,3] x) => (uint8[1,2,2,2] y) <int8[2,2,2,2] w = {1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8},
            float s = {0.5}, uint8 z = {100}, float[2] t = {0.25, 0.5}, int8[2] o = {ZERO}>
            { y = QLinearConv (x, s, z, w, t, o, s, z) }"""
        for zero, stays in (("1, 2", False), ("1, 1", True)):
            found = converted(text.replace("ZERO", zero), "onnxruntime==1.20")
            assert ("QLinearConv" in operators(found)) is stays

    def test_the_smallest_of_two_scales_is_taken_of_floats(self) -> None:
        text = """g (float[1,3,4] x) => (float[1,3,4] y)
            <float s = {0.5}, uint8 z = {100}, float t = {0.25}, uint8 o = {0}> {
            q = QuantizeLinear (x, s, z) a = DequantizeLinear (q, s, z)
            r = QuantizeLinear (x, t, o) b = DequantizeLinear (r, t, o) y = Min (a, b) }"""
        assert operators(converted(text, "opencv==5.0"))[-1] == "Min"
        assert len(converted(text, "opencv==5.0").graph.node) > len(converted(text, "openvino==2022.3").graph.node)

    def test_a_dequantized_constant_is_one_in_openvino_2021(self) -> None:
        text = """g (float[1,6,4] x) => (float[1,7,4] y) <uint8[1,1,4] k = {1, 2, 3, 4}, float s = {0.5}, uint8 z = {0}>
            { d = DequantizeLinear (k, s, z) y = Concat <axis=1> (d, x) }"""
        assert "Transpose" in operators(converted(text, "openvino==2021.4"))
        assert "Transpose" not in operators(converted(text, "openvino==2022.3"))

    def test_volumes_of_channels_are_padded_before(self) -> None:
        weights = ",".join("1" for _ in range(2 * 27))
        text = f"""g (uint8[1,2,4,4,4] x) => (float[1,2,4,4,4] y)
            <float[2,1,3,3,3] w = {{{weights}}}, float s = {{0.5}}, uint8 z = {{100}}>
            {{ a = DequantizeLinear (x, s, z) y = Conv <group=2, pads=[1,1,1,1,1,1]> (a, w) }}"""
        assert "Pad" in operators(converted(text, "openvino==2026.4"))
        assert "Pad" not in operators(converted(text, "openvino==2021.4"))


@pytest.mark.parametrize(("release", "is_kept"), [("1.16", False), ("1.17", True)])
def test_cubic_samples_beyond_a_border_are_computed_in_steps_in_onnxruntime_1_16(release: str, is_kept: bool) -> None:
    text = """g (float[1,1,3,3] x, float[1,2,2,2] g) => (float[1,1,2,2] y)
        { y = GridSample <mode = "bicubic", padding_mode = "border"> (x, g) }"""
    assert ("GridSample" in operators(converted(text, f"onnxruntime=={release}", opset=16))) == is_kept
    zeros = text.replace("border", "zeros")
    assert operators(converted(zeros, f"onnxruntime=={release}", opset=16)) == ["GridSample"]


@pytest.mark.parametrize("runtime", ["openvino==2022.3", "openvino==2026.4"])
@pytest.mark.parametrize(
    "arithmetic",
    ["y = Add (s, c)", "y = Mul (c, s)", "y = Sub (c, s)", "y = Div (s, c)", "t = Transpose (s) y = Mul (t, c)"],
)
def test_openvino_keeps_arithmetic_apart_from_reductions_of_integers(runtime: str, arithmetic: str) -> None:
    """It takes a smaller constant for one number along the channels, and gives other numbers in silence."""
    reduction = "s = ReduceSum <axes = [-1], keepdims = 0> (x)"
    text = f"g (int64[3,2,5] x) => (int64 y) <int64 c = {{3}}> {{ {reduction} {arithmetic} }}"
    found = converted(text, runtime, opset=12)
    scalars = {one.name for one in found.graph.initializer if not one.dims}
    moved = {"s", "t"} & {name for node in found.graph.node for name in node.output}
    for node in found.graph.node:
        assert node.op_type == "Mod" or scalars.isdisjoint(node.input) or moved.isdisjoint(node.input)
    open_text = text.replace("[3,2,5]", "[N,2,5]")
    assert {"Max", "Mod"} & set(operators(converted(open_text, runtime, opset=12)))
    assert operators(converted(text, "openvino==2021.4", opset=12))[0] == "ReduceSum"


@pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2022.3"])
def test_averages_of_integers_are_sums_that_are_divided(runtime: str) -> None:
    text = "g (int64[3,2,5] x) => (int64[3,2] y) { y = ReduceMean <axes = [-1], keepdims = 0> (x) }"
    found = operators(converted(text, runtime, opset=12))
    assert found[0] == "ReduceSum"
    assert found[-1] == "Div"
    assert operators(converted(text, "openvino==2026.4", opset=12)) == ["ReduceMean"]


@pytest.mark.parametrize("runtime", ["openvino==2022.3", "openvino==2026.4"])
def test_exponentials_of_doubles_are_added_within_their_own_range(runtime: str) -> None:
    """The attributes of Clip are floats, and hold no double beyond them: an infinity became NaN."""
    text = "g (double[2,3] x) => (double[2,1] y) { y = ReduceLogSumExp <axes = [1]> (x) }"
    found = converted(text, runtime)
    assert "ReduceLogSumExp" not in operators(found)
    rows = numpy.array([[1e300, 0, 1], [numpy.inf, 2, 3]])
    numpy.testing.assert_array_equal(Evaluator(found).run({"x": rows})["y"], [[1e300], [numpy.inf]])


@pytest.mark.parametrize(("bound", "operator"), [("0.1", "Max"), ("0.5", "Clip")])
def test_a_bound_of_doubles_is_an_attribute_of_clip_where_it_is_a_float(bound: str, operator: str) -> None:
    text = f"g (double[3,2] x) => (double[3,2] y) <double c = {{{bound}}}> {{ y = Max (x, c) }}"
    assert operators(converted(text, "opencv==5.0"))[-1] == operator
