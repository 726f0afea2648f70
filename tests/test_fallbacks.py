"""Nodes that old runtimes have no kernel for, or read wrongly, and the fallbacks that replace them.

`tests/legacy` runs such models in the runtimes themselves; here the proof says that they compute the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy
import onnx
import pytest

from opsetlift import ConversionRefused, Why, convert, reach
from opsetlift.evaluator import Evaluator
from opsetlift.rulebook.book import RuleBook, RuleBookError
from opsetlift.rulebook.rule import Fallback
from opsetlift.targets import TargetFileError, find_target, has_kernel
from opsetlift.targets.kernel_file import KernelFile, KernelFileError
from opsetlift.targets.reading import read_runtime
from testing.conversion import model


def converted(text: str, runtime: str, *, opset: int = 13, ml_opset: int = 0) -> onnx.ModelProto:
    """The model for a runtime, proven equal."""
    ml = f', "ai.onnx.ml": {ml_opset}' if ml_opset else ""
    conversion = convert(model(f'<ir_version: 7, opset_import: ["": {opset}{ml}]> {text}'), target=runtime)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    return conversion.model


def operators(found: onnx.ModelProto) -> list[str]:
    """Those of the nodes, without casts and constants."""
    return [node.op_type for node in found.graph.node if node.op_type not in ("Cast", "Constant")]


class TestMissingKernels:
    """onnxruntime 0.5 compares, selects and reduces few dtypes; later ones lack fewer."""

    @pytest.mark.quick_share(6)
    @pytest.mark.parametrize(
        "text",
        [
            "g (int64[A] x, int64[A] y) => (bool[A] z) { z = Less (x, y) }",
            "g (int64[A] x) => (bool[A] z) <int64 limit = {-5}> { z = Greater (x, limit) }",
            "g (double[A] x, double[A] y) => (bool[A] z) { z = Less (x, y) }",
            "g (int64[A] x, int64[A] y) => (bool[A] z) { z = LessOrEqual (x, y) }",
            "g (uint8[A] x, uint8[A] y) => (bool[A] z) { z = Greater (x, y) }",
            "g (double[A] x, double[A] y) => (bool[A] z) { z = Equal (x, y) }",
            "g (double[A] x) => (bool[A] z) { z = IsNaN (x) }",
            "g (int64[A] x, int64[A] y) => (int64[A] z) { z = Max (x, y) }",
            "g (bool[A] c, int64[A] x, int64[A] y) => (int64[A] z) { z = Where (c, x, y) }",
            "g (bool[A] c, bool[A] x, bool[A] y) => (bool[A] z) { z = Where (c, x, y) }",
            "g (bool[2] c, double[2] x, double[2] y) => (double[2] z) { z = Where (c, x, y) }",
            "g (int64[A] x) => (int64[A] z) { z = Neg (x) }",
            "g (double[A] x) => (double[A] z) { z = Neg (x) }",
            "g (double[A] x) => (double[A] z) { z = Reciprocal (x) }",
            "g (int64[3,4] x) => (int64[3,1] z) <int64[1] axes = {1}> { z = ReduceSum (x, axes) }",
            "g (int64[A,B] x) => (int64 z) { z = ReduceSum <keepdims=0> (x) }",
            "g (int64[A,4] x) => (int64[A] z) { z = ReduceMax <axes=[1], keepdims=0> (x) }",
            "g (int64[A,4] x) => (int64[1,1] z) { z = ReduceMin (x) }",
            "g (int64[4] x) => (int64 z) { z = ReduceProd <keepdims=0> (x) }",
            "g (int64[4] x) => (int64[1] z) { z = ReduceProd (x) }",
            "g (int64[6] x) => (int64[3] y, int64[3] z) { y, z = Split (x) }",
            "g (bool[A] x) => (bool[1] y, bool[2] z) <int64[2] s = {1, 2}> { y, z = Split (x, s) }",
            "g (uint8[A,B] x) => (int64[2,N] z) { z = NonZero (x) }",
            "g (double[A,B] x) => (int64[2,N] z) { z = NonZero (x) }",
            "g (float[A] x, float s) => (int8[A] z) <int8 p = {-3}> { z = QuantizeLinear (x, s, p) }",
            "g (int32[A] x) => (float[A,3] z) <int32 d = {3}, float[2] v = {0, 1}> { z = OneHot (x, d, v) }",
            "g (int64[A] x) => (double[A,3] z) <int64[1] d = {3}, double[2] v = {0, 1}> { z = OneHot (x, d, v) }",
        ],
    )
    def test_are_written_in_dtypes_that_the_runtime_computes(self, text: str) -> None:
        converted(text, "onnxruntime==0.5")

    def test_the_order_of_the_greatest_integers_shows_in_their_halves(self) -> None:
        found = converted("g (int64[A] x, int64[A] y) => (bool[A] z) { z = Less (x, y) }", "onnxruntime==0.5")
        ends = numpy.iinfo(numpy.int64)
        values = numpy.array([ends.min, ends.min + 1, -(2**32), -1, 0, 1, 2**32 - 1, 2**32, ends.max], numpy.int64)
        first, second = numpy.repeat(values, len(values)), numpy.tile(values, len(values))
        less = Evaluator(found).run({"x": first, "y": second})["z"]
        numpy.testing.assert_array_equal(less, first < second)
        assert "Sign" in operators(found)

    def test_sums_wrap_around_as_integers_do(self) -> None:
        found = converted(
            "g (int64[8] x) => (int64 z) { z = ReduceSum <keepdims=0> (x) }", "onnxruntime==0.5", opset=11
        )
        values = numpy.full(8, 2**63 - 1, numpy.int64)
        numpy.testing.assert_array_equal(Evaluator(found).run({"x": values})["z"], -8)

    @pytest.mark.parametrize("runtime", ["onnxruntime==0.5", "onnxruntime==1.0"])
    @pytest.mark.parametrize("largest", [0, 1])
    def test_integers_are_sorted_as_floats_part_by_part(self, runtime: str, largest: int) -> None:
        text = "g (int64[5] x) => (int64[3] y, int64[3] z) <int64[1] k = {3}> "
        found = converted(f"{text}{{ y, z = TopK <largest={largest}> (x, k) }}", runtime, opset=11)
        values = numpy.array([2**62 + 1, 2**62, -(2**62), 2**62 + 1, -(2**62) - 1], numpy.int64)
        result = Evaluator(found).run({"x": values})
        expected = [0, 3, 1] if largest else [4, 2, 1]
        numpy.testing.assert_array_equal(result["z"], expected)
        numpy.testing.assert_array_equal(result["y"], values[expected])

    def test_keys_and_values_of_one_dtype_are_looked_up_by_number(self) -> None:
        found = converted(
            "g (int64[A] x) => (int64[A] y) "
            "{ y = ai.onnx.ml.LabelEncoder <keys_int64s=[3, 5], values_int64s=[50, 30], default_int64=-7> (x) }",
            "onnxruntime==1.0",
            opset=11,
            ml_opset=2,
        )
        result = Evaluator(found).run({"x": numpy.array([5, 4, 3])})
        assert result["y"].tolist() == [30, -7, 50]
        assert "Gather" in operators(found)

    @pytest.mark.parametrize("runtime", ["onnxruntime==1.2", "onnxruntime==1.31"])
    @pytest.mark.parametrize("indices", ["int64", "int32"])
    def test_negative_indices_of_one_hot_count_from_the_end(self, runtime: str, indices: str) -> None:
        text = f"g ({indices}[4] x) => (int32[4,3] y) <{indices} d = {{3}}, int32[2] v = {{7, 9}}> "
        found = converted(f"{text} {{ y = OneHot (x, d, v) }}", runtime, opset=11)
        assert "OneHot" not in operators(found)
        result = Evaluator(found).run({"x": numpy.array([-1, -3, -4, 1], indices)})["y"]
        assert result.tolist() == [[7, 7, 9], [9, 7, 7], [7, 7, 7], [7, 9, 7]]

    def test_what_is_constant_needs_no_kernel(self) -> None:
        found = converted(
            "g (int64[2] x) => (int64[2] y) <int64[2] c = {1, -2}> { n = Neg (c) y = Add (x, n) }", "onnxruntime==0.5"
        )
        assert "Neg" not in operators(found)

    def test_a_runtime_that_has_the_kernel_keeps_the_node(self) -> None:
        text = "g (int64[A] x, int64[A] y) => (bool[A] z) { z = Less (x, y) }"
        assert operators(converted(text, "onnxruntime==1.0")) == ["Less"]

    def test_what_nothing_stands_in_for_is_refused_with_the_dtype(self) -> None:
        text = '<ir_version: 4, opset_import: ["": 10]> g (double[1,1,A,B] x) => (double[1,1,C,D] y)'
        with pytest.raises(
            ConversionRefused, match=r"ONNX Runtime 0\.5 has no kernel of MaxPool-10 for double"
        ) as caught:
            convert(model(f"{text} {{ y = MaxPool <kernel_shape=[2,2]> (x) }}"), target="onnxruntime==0.5")
        assert [refusal.why for refusal in caught.value.refusals] == [Why.TARGET]

    def test_nodes_in_subgraphs_are_looked_at(self) -> None:
        found = converted(
            "g (bool c, int64[A] x) => (int64[A] y) { y = If (c) "
            "<then_branch = t () => (int64[A] a) { a = Neg (x) }, "
            "else_branch = e () => (int64[A] b) { b = Abs (x) }> }",
            "onnxruntime==0.5",
        )
        branch = next(one.g for one in found.graph.node[0].attribute if one.name == "then_branch")
        assert [node.op_type for node in branch.node] == ["Mul"]

    def test_reach_knows_them(self) -> None:
        text = '<ir_version: 4, opset_import: ["": 10]> g (int64[A] x) => (int64[A] y) { y = Neg (x) }'
        with_kernel, without = reach(model(text), targets=["onnxruntime==1.4", "onnxruntime==0.5"]).targets
        assert (with_kernel.is_reachable, with_kernel.rewrites) == (True, 0)
        assert (without.is_reachable, without.rewrites) == (True, 1)


class TestFormsThatAreReadWrongly:
    def test_lists_of_a_constant_become_tensors(self) -> None:
        text = "g (float[A] x) => (float[B,C] y) { s = Constant <value_ints=[2, -1]> () y = Reshape (x, s) }"
        found = converted(text, "onnxruntime==1.8", opset=14)
        assert [one.name for one in found.graph.node[0].attribute] == ["value"]
        kept = converted(text, "onnxruntime==1.12", opset=14)
        assert [one.name for one in kept.graph.node[0].attribute] == ["value_ints"]

    def test_averages_that_count_pads_get_zeros_in_their_place(self) -> None:
        text = "g (float[1,1,6,6] x) => (float[1,1,A,B] y) { y = AveragePool <kernel_shape=[3,3], strides=[2,2], "
        found = converted(f"{text} pads=[1,1,1,1], ceil_mode=1, count_include_pad=1> (x) }}", "onnxruntime==1.12")
        assert operators(found) == ["Pad", "AveragePool"]

    @pytest.mark.parametrize("padding", ["pads=[0,0,0,1]", 'auto_pad="VALID"'])
    @pytest.mark.parametrize(
        ("operator", "opset", "runtime"), [("MaxPool", 12, "1.4"), ("AveragePool", 19, "1.20"), ("LpPool", 18, "1.16")]
    )
    @pytest.mark.parametrize("shape", ["1,1,6,6", "1,1,H,W"])
    def test_windows_that_start_in_the_end_pads_are_left_out(
        self, shape: str, operator: str, opset: int, runtime: str, padding: str
    ) -> None:
        text = f"g (float[{shape}] x) => (float[1,1,A,B] y) {{ y = {operator} <kernel_shape=[1,2], strides=[5,3], "
        found = converted(f"{text} {padding}, ceil_mode=1> (x) }}", f"onnxruntime=={runtime}", opset=opset)
        assert "ceil_mode" not in {one.name for one in found.graph.node[0].attribute}
        kept = converted(f"{text} {padding}, ceil_mode=1> (x) }}", "onnxruntime==1.21", opset=opset)
        assert "ceil_mode" in {one.name for one in kept.graph.node[0].attribute}

    def test_windows_that_round_up_within_the_input_stay_as_they_are(self) -> None:
        text = "g (float[1,1,H,W] x) => (float[1,1,A,B] y) { y = MaxPool <kernel_shape=[3,3], strides=[2,2], "
        found = converted(f"{text} pads=[1,1,1,1], ceil_mode=1> (x) }}", "onnxruntime==1.4", opset=12)
        assert "ceil_mode" in {one.name for one in found.graph.node[0].attribute}

    def test_outputs_that_are_left_out_are_named(self) -> None:
        text = "g (int64[A] x) => (int64[B] y, int64[C] n) { y, , , n = Unique (x) }"
        found = converted(text, "onnxruntime==1.12")
        assert all(found.graph.node[0].output)

    @pytest.mark.parametrize("opset", [9, 14])
    def test_a_batch_that_trains_is_normalised_with_its_own_statistics(self, opset: int) -> None:
        text = "g (float[3,2,B] x) => (float[3,2,B] y) <float[2] s = {1, 2}, float[2] m = {0, 0}> "
        form = (
            "y, a, b = BatchNormalization <training_mode=1> " if opset == 14 else "y, a, b, c, d = BatchNormalization "
        )
        found = converted(f"{text} {{ {form}(x, s, m, m, s) }}", "onnxruntime==1.4", opset=opset)
        assert operators(found)[-1] == "BatchNormalization"
        assert len(found.graph.node[-1].output) == 1

    def test_running_statistics_that_are_read_are_refused(self) -> None:
        text = "g (float[3,2] x) => (float[3,2] y, float[2] a) <float[2] s = {1, 2}, float[2] m = {0, 0}> "
        with pytest.raises(ConversionRefused, match="that trains; its running statistics are read"):
            converted(f"{text} {{ y, a = BatchNormalization (x, s, m, m, s) }}", "onnxruntime==1.4", opset=9)

    def test_the_axis_of_a_cumulative_sum_is_int32_for_the_first_runtime_with_one(self) -> None:
        text = "g (float[A,B] x) => (float[A,B] y) <int64 axis = {1}> { y = CumSum (x, axis) }"
        found = converted(text, "onnxruntime==1.0")
        axis = next(one for one in found.graph.initializer if one.name == found.graph.node[-1].input[1])
        assert axis.data_type == onnx.TensorProto.INT32

    @pytest.mark.parametrize("dims", ["int64[2] s = {3, -1}", "int64[2] s = {2, 3}"])
    def test_a_reshape_without_zeros_needs_no_allowzero(self, dims: str) -> None:
        text = f"g (float[6] x) => (float[A,B] y) <{dims}> {{ y = Reshape <allowzero=1> (x, s) }}"
        found = converted(text, "onnxruntime==1.8", opset=14)
        assert not found.graph.node[0].attribute

    def test_a_squeeze_names_its_axes(self) -> None:
        text = "g (float[1,3,1] x) => (float[3] y) { y = Squeeze (x) }"
        found = converted(text, "onnxruntime==0.5", opset=10)
        assert list(found.graph.node[0].attribute[0].ints) == [0, 2]

    def test_pads_below_zero_are_sliced_off(self) -> None:
        text = "g (float[3,4] x) => (float[A,B] y) { y = Pad <pads=[-1,1,0,2], value=0.5> (x) }"
        assert operators(converted(text, "onnxruntime==0.5", opset=10)) == ["Slice", "Pad"]
        text = "g (float[3,4] x) => (float[A,B] y) <int64[4] pads = {-1, 1, 0, 2}> { y = Pad (x, pads) }"
        assert operators(converted(text, "onnxruntime==1.0")) == ["Slice", "Pad"]

    def test_pads_as_long_as_the_kernel_are_refused(self) -> None:
        text = "g (float[1,1,8,8] x) => (float[1,1,A,B] y) { y = AveragePool <kernel_shape=[3,3], pads=[1,1,1,3]> (x) }"
        with pytest.raises(ConversionRefused, match="takes no pads of an AveragePool that are as long as its kernel"):
            converted(text, "onnxruntime==1.12", opset=9)

    def test_a_transposed_convolution_of_a_row_is_one_of_an_image(self) -> None:
        text = "g (float[1,2,5] x, float[2,3,2] w) => (float[1,3,A] y) { y = ConvTranspose <strides=[2], pads=[1,0], "
        found = converted(f"{text} dilations=[2], output_padding=[1]> (x, w) }}", "onnxruntime==1.0", opset=11)
        assert operators(found) == ["Unsqueeze", "Unsqueeze", "ConvTranspose", "Squeeze"]

    @pytest.mark.parametrize(
        "node",
        [
            "Unsqueeze <axes=[-1]> (x)",
            "Squeeze <axes=[-1]> (x)",
            "Concat <axis=-1> (x, x)",
            "Gather <axis=1> (x, last)",
        ],
    )
    def test_what_is_counted_from_the_back_too_early_is_counted_from_the_front(self, node: str) -> None:
        # No text below 11 allows it; exporters wrote it, and later runtimes take it.
        head = '<ir_version: 4, opset_import: ["": 9]> g (float[2,1] x) => (float y) <int64 last = {-1}>'
        source = model(f"{head} {{ y = {node} }}")
        source.graph.output[0].type.tensor_type.ClearField("shape")
        found = convert(source, target="onnxruntime==0.5", prove=False).model
        values = {"x": numpy.array([[1], [2]], numpy.float32)}
        expected = Evaluator(source, strict=False).run(values)["y"]
        numpy.testing.assert_array_equal(Evaluator(found, strict=False).run(values)["y"], expected)
        assert not any(min([one.i, *one.ints]) < 0 for node in found.graph.node for one in node.attribute)

    @pytest.mark.parametrize("runtime", ["onnxruntime==0.5", "onnxruntime==1.0"])
    def test_what_is_constant_in_a_branch_hangs_on_the_condition(self, runtime: str) -> None:
        text = (
            "g (bool c, float[3] x) => (float[3] y) { k = Constant <value = float[3] {1, 2, 3}> () y = If (c) "
            "<then_branch = t () => (float[3] a) { a = Identity (k) }, "
            "else_branch = e () => (float[3] b) { b = Neg (x) }> }"
        )
        found = converted(text, runtime, opset=11)
        branch = next(one.g for one in found.graph.node[-1].attribute if one.name == "then_branch")
        assert branch.node[-1].op_type == "Gather"
        assert "Gather" not in str(converted(text, "onnxruntime==1.4", opset=11))

    def test_experiments_that_the_runtime_never_had_are_written_out(self) -> None:
        text = "g (int64[2] s) => (float[A,B] y) { y = ConstantFill <input_as_shape=1, value=0.5> (s) }"
        found = converted(text, "onnxruntime==1.12", opset=9)
        assert "ConstantFill" not in operators(found)


MEASURED = """
title = "Measured"
[sources]
measured = "measured"
[[release]]
versions = ["1"]
opset = { min = 7, max = 13, source = "measured" }
[kernels]
versions = ["1"]
source = "measured"
[kernels.operators]
Neg-13 = ["T: float int32"]
[[form]]
operator = "Clip"
lacks_inputs = ["min"]
after = ["Relu"]
text = "does not run Clip with no input min and the result of a Relu"
source = "measured"
"""


class TestDoublesThatAreMultipliedAndRectified:
    """onnxruntime 1.1 has Gemm and Relu for float only."""

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("g (double[A] x) => (double[A] y) { y = Relu (x) }", ["Max"]),
            ("g (double[A,3] x, double[3,4] w) => (double[A,4] y) { y = Gemm (x, w) }", ["MatMul", "Identity"]),
            (
                "g (double[3,A] x, double[4,3] w, double[4] b) => (double[A,4] y) "
                "{ y = Gemm <transA = 1, transB = 1, alpha = 0.5, beta = 2.0> (x, w, b) }",
                ["Transpose", "Transpose", "MatMul", "Mul", "Mul", "Add"],
            ),
        ],
    )
    def test_are_written_with_what_it_has(self, text: str, expected: list[str]) -> None:
        found = operators(converted(text, "onnxruntime==1.1"))
        assert sorted(found) == sorted(expected)


class TestClipAfterRelu:
    """onnxruntime 1.1 to 1.8 dies while it merges the two."""

    TEXT = "g ({0}[3] x) => ({0}[3] y) <{0} high = {{6}}> {{ z = {1} (x) y = Clip (z, , high) }}"

    @pytest.mark.parametrize(("dtype", "before"), [("float", "Relu"), ("double", "Relu"), ("float", "Neg")])
    def test_is_written_by_extremes(self, dtype: str, before: str) -> None:
        target = read_runtime("measured", MEASURED.replace("Neg-13", "Abs-13")).targets[0]
        source = model(f'<ir_version: 7, opset_import: ["": 13]> {self.TEXT.format(dtype, before)}')
        conversion = convert(source, target=target)
        assert conversion.certificate is not None
        assert conversion.certificate.is_proven
        assert operators(conversion.model)[1:] == (["Max", "Min"] if before == "Relu" else ["Clip"])

    def test_kernels_may_stand_in_the_file_itself(self) -> None:
        target = read_runtime("measured", MEASURED).targets[0]
        assert target.is_measured
        assert not has_kernel("", "Neg", 13, {"T": "int64"}, target)


class TestShapesThatAreDeclaredFalsely:
    """onnxruntime up to 1.8 does not load models whose shapes it infers otherwise."""

    OUTPUT = '<ir_version: 7, opset_import: ["": 12]> g (float[N,3] x) => (float[N,2] y) { y = Relu (x) }'

    def test_of_an_output_are_corrected(self) -> None:
        conversion = convert(model(self.OUTPUT), target="onnxruntime==1.4")
        assert conversion.certificate is not None
        assert conversion.certificate.is_proven
        dims = conversion.model.graph.output[0].type.tensor_type.shape.dim
        assert [dim.dim_param or dim.dim_value for dim in dims] == ["N", 3]
        assert any("was declared as [N, 2], which the runtime may not load" in one for one in conversion.report.notes)

    def test_of_an_output_remain_where_the_runtime_does_not_mind(self) -> None:
        kept = convert(model(self.OUTPUT), target="onnxruntime==1.12")
        assert kept.model.graph.output[0].type.tensor_type.shape.dim[1].dim_value == 2
        assert kept.report.notes

    def test_of_values_in_subgraphs_are_corrected(self) -> None:
        found = converted(
            "g (bool c, float[2,3] x) => (float[A] y) { y = If (c) "
            "<then_branch = t () => (float[7] a) { s = Constant <value_ints=[-1]> () a = Reshape (x, s) }, "
            "else_branch = e () => (float[8] b) { t = Constant <value_ints=[1]> () z = Expand (t, t) "
            "b = Cast <to=1> (z) }> }",
            "onnxruntime==1.4",
            opset=12,
        )
        branches = [one.g for one in found.graph.node[0].attribute]
        shapes = [branch.output[0].type.tensor_type.shape for branch in branches]
        assert [[dim.dim_value for dim in shape.dim] for shape in shapes] == [[6], [1]]


KERNELS = """
[Less-9]
"1.0" = ["T: float"]
"1.2" = ["T: int32 int64"]
["ai.onnx.ml.LabelEncoder-2"]
"1.0" = ["T1: string; T2: int64", "T1: int64; T2: string"]
"1.1" = ["any"]
"""


class TestFiles:
    def test_kernels_are_those_that_were_measured_last_before_a_version(self) -> None:
        kernels = KernelFile(KERNELS)
        key = ("", "Less", 9)
        assert kernels.at("1.1")[key] == ({"T": frozenset(["float"])},)
        assert kernels.at("1.10")[key] == ({"T": frozenset(["int32", "int64"])},)
        assert kernels.at("0.9")[key] == ()

    @pytest.mark.parametrize(
        ("before", "after", "words"),
        [
            ("Less-9", "Less-8", "no operator 'Less-8'"),
            ("Less-9", "Lesser-9", "no operator 'Lesser-9'"),
            ("T: float", "U: float", "'U: float' names no type variable"),
            ("T: float", "T", "'T' names no type variable"),
            ('"1.0" = ["T: float"]', "1.0", "TOML"),
        ],
    )
    def test_that_are_wrong_are_rejected(self, before: str, after: str, words: str) -> None:
        with pytest.raises(KernelFileError, match=words):
            KernelFile(KERNELS.replace(before, after))

    def test_of_a_target_lie_beside_it(self, tmp_path: Path) -> None:
        text = 'title = "Mine"\n[sources]\ndocs = "example.com"\n[[release]]\nversions = ["1.1"]\n'
        kernels = '[kernels]\nfile = "kernels.toml"\nsource = "docs"\n'
        form = '[[form]]\noperator = "Sin"\ntext = "has no sine"\nsource = "docs"\n'
        (tmp_path / "mine.toml").write_text(text + kernels + form)
        with pytest.raises(TargetFileError, match=r"kernels.toml"):
            find_target(str(tmp_path / "mine.toml"))
        (tmp_path / "kernels.toml").write_text(KERNELS)
        target = find_target(str(tmp_path / "mine.toml"))
        assert has_kernel("", "Less", 12, {"T": "float"}, target)
        assert not has_kernel("", "Less", 12, {"T": "int64"}, target)
        assert has_kernel("", "Greater", 12, {"T": "int64"}, target), "of which nothing is known"
        assert target.operators_to_check == {("", "Less"), ("ai.onnx.ml", "LabelEncoder"), ("", "Sin")}
        with pytest.raises(ConversionRefused, match=r"Mine 1\.1 has no sine"):
            convert(
                model('<ir_version: 7, opset_import: ["": 13]> g (float[A] x) => (float[A] y) { y = Sin (x) }'),
                target=target,
            )

    def test_what_exists_has_one_fallback(self) -> None:
        class Module:
            __name__ = "mine"
            FALLBACKS = (Fallback("Sin", lambda site: None), Fallback("Sin", lambda site: None))

        with pytest.raises(RuleBookError, match="Sin has two fallbacks"):
            RuleBook([Module])  # type: ignore[list-item]
