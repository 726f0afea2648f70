"""Fallbacks for what OpenCV and OpenVINO do not run, and refusals where there are none; proven to be equal."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy
import pytest
from onnx import ModelProto, numpy_helper

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import Evaluator
from opsetlift.measuring.verdicts import difference_of_outputs
from opsetlift.model.scopes import GRAPH_PATH
from opsetlift.proof.scopes import paired_scopes
from opsetlift.proof.structure import scope_differences
from opsetlift.rulebook.trace import ConversionTrace
from testing.conversion import model
from tests.test_fallbacks import converted, operators


def refused(text: str, runtime: str, *, because: str, opset: int = 13) -> None:
    """The conversion for a runtime is refused with this reason."""
    with pytest.raises(ConversionRefused, match=because):
        convert(model(f'<ir_version: 7, opset_import: ["": {opset}]> {text}'), target=runtime)


class TestGeluThatIsFusedWrongly:
    """OpenCV 4.14 and 5.0 crash while they fuse it, unless its half is multiplied last."""

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize("product", ["m = Mul (h, p) y = Mul (x, m)", "m = Mul (p, h) y = Mul (m, x)"])
    def test_is_written_with_a_quotient(self, runtime: str, product: str) -> None:
        text = (
            "g (float[2,3] x) => (float[2,3] y) <float q = {1.4142135}, float h = {0.5}, float o = {1}> "
            f"{{ d = Div (x, q) e = Erf (d) p = Add (e, o) {product} }}"
        )
        assert operators(converted(text, runtime)) == ["Div", "Erf", "Add", "Div", "Mul"]

    def test_stays_where_the_half_comes_last(self) -> None:
        text = (
            "g (float[2,3] x) => (float[2,3] y) <float q = {1.4142135}, float h = {0.5}, float o = {1}> "
            "{ d = Div (x, q) e = Erf (d) p = Add (e, o) m = Mul (x, p) y = Mul (m, h) }"
        )
        assert operators(converted(text, "opencv==5.0")) == ["Div", "Erf", "Add", "Mul", "Mul"]

    def test_is_kept_apart_from_a_factor_that_has_no_exact_reciprocal(self) -> None:
        text = (
            "g (float[2,3] x) => (float[2,3] y) <float q = {1.4142135}, float h = {0.3}, float o = {1}> "
            "{ d = Div (x, q) e = Erf (d) p = Add (e, o) m = Mul (h, p) y = Mul (x, m) }"
        )
        assert operators(converted(text, "opencv==4.14")) == ["Div", "Erf", "Add", "Max", "Mul", "Mul"]


class TestFractionsOfIntegers:
    """OpenCV before 5 computes integers as floats, and drops no fractions."""

    @pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
    def test_are_dropped_before_the_cast(self, dtype: str) -> None:
        number = {"int32": 6, "int64": 7, "uint8": 2}[dtype]
        text = f"g (float[1,2,2] x) => ({dtype}[1,2,2] y) {{ y = Cast <to = {number}> (x) }}"
        found = converted(text, "opencv==4.14")
        assert operators(found) == ["Relu", "Floor", "Neg", "Relu", "Floor", "Sub", "Floor"]

    def test_are_dropped_towards_zero(self) -> None:
        found = converted("g (float[1,4] x) => (int32[1,4] y) { y = Cast <to = 6> (x) }", "opencv==4.14")
        values = numpy.array([[-2.5, -0.5, 0.5, 2.5]], numpy.float32)
        assert Evaluator(found).run({"x": values})["y"].tolist() == [[-2, 0, 0, 2]]

    def test_of_whole_numbers_need_no_care(self) -> None:
        text = "g (float[1,4] x) => (int32[1,4] y) { a = Floor (x) y = Cast <to = 6> (a) }"
        assert operators(converted(text, "opencv==4.14")) == ["Floor"]


class TestLastInputsWithoutAName:
    """They mean the same as none, but many runtimes fail on them."""

    @pytest.mark.parametrize("runtime", ["opencv==5.0", "opencv==4.14", "openvino==2021.4", "openvino==2022.3"])
    def test_are_left_out(self, runtime: str) -> None:
        text = 'g (float[1,2,4,4] x) => (float[1,2,6,4] y) <int64[8] p = {0,0,1,0,0,0,1,0}> { y = Pad (x, p, "") }'
        found = converted(text, runtime)
        assert [len(node.input) for node in found.graph.node] == [2]

    def test_stay_where_nothing_is_known_against_them(self) -> None:
        text = 'g (float[1,2,4,4] x) => (float[1,2,6,4] y) <int64[8] p = {0,0,1,0,0,0,1,0}> { y = Pad (x, p, "") }'
        assert len(converted(text, "onnxruntime==1.10").graph.node[0].input) == 3


class TestSeveralDimensions:
    @pytest.mark.parametrize(("axes", "opset"), [("2, 3", 13), ("-1, -2", 13), ("0, 3", 13)])
    def test_are_added_one_by_one(self, axes: str, opset: int) -> None:
        text = f"g (float[2,3] x) => (float[A,B,C,D] y) <int64[2] axes = {{{axes}}}> {{ y = Unsqueeze (x, axes) }}"
        assert operators(converted(text, "opencv==4.14", opset=opset)) == ["Unsqueeze", "Unsqueeze"]

    def test_given_by_an_attribute_are_added_one_by_one(self) -> None:
        text = "g (float[2,3] x) => (float[2,3,1,1] y) { y = Unsqueeze <axes = [2, 3]> (x) }"
        assert operators(converted(text, "opencv==4.14", opset=11)) == ["Unsqueeze", "Unsqueeze"]


class TestResultsThatGetLost:
    """OpenVINO 2021.4 forgets the names of what it expands by function bodies."""

    @pytest.mark.parametrize("operator", ["LessOrEqual", "GreaterOrEqual"])
    def test_are_written_by_order_and_equality(self, operator: str) -> None:
        text = f"g (float[4] x, float[4] y) => (bool[4] z) {{ a = {operator} (x, y) z = Not (a) }}"
        assert operator not in operators(converted(text, "openvino==2021.4"))

    def test_of_celu_are_written_by_its_formula(self) -> None:
        text = "g (float[4] x) => (float[4] z) { a = Celu (x) z = Neg (a) }"
        assert "Celu" not in operators(converted(text, "openvino==2021.4"))

    def test_of_dynamic_quantization_are_written_by_its_formula(self) -> None:
        text = "g (float[4] x) => (uint8[4] z, float s, uint8 p) { z, s, p = DynamicQuantizeLinear (x) }"
        assert "DynamicQuantizeLinear" not in operators(converted(text, "openvino==2021.4"))


class TestOutputsThatStandAlone:
    def test_of_gru_get_the_state_beside_them(self) -> None:
        text = "g (float[5,1,3] x, float[1,6,3] w, float[1,6,2] r) => (float[5,1,1,2] y)"
        found = converted(f"{text} {{ y = GRU <hidden_size=2> (x, w, r) }}", "opencv==5.0")
        assert len(found.graph.node[-1].output) == 2


class TestBroadcasting:
    """OpenCV 4.5 repeats few of the computed values that others repeat."""

    @pytest.mark.parametrize(("first", "second"), [("3,1", "1,4"), ("1,3,4,1", "1,1,4,5")])
    def test_of_both_inputs_is_done_before(self, first: str, second: str) -> None:
        text = f"g (float[{first}] x, float[{second}] y) => (float z) {{ a = Abs (x) b = Abs (y) z = Mul (a, b) }}"
        found = operators(converted(text, "opencv==4.5"))
        assert found.count("Resize") == 2
        assert found[-1] == "Mul"

    def test_of_one_factor_stays(self) -> None:
        text = "g (float[1,3,4,4] x, float[1,3,1,1] s) => (float[1,3,4,4] y) { a = Abs (x) b = Abs (s) y = Mul (a, b) }"
        assert operators(converted(text, "opencv==4.5")) == ["Abs", "Abs", "Mul"]


class TestVerdicts:
    def test_a_float_with_fractions_is_not_the_integer_it_would_be_cast_to(self) -> None:
        found = {"y": numpy.array([2.7], numpy.float32)}
        assert difference_of_outputs({"y": numpy.array([2])}, found) == "the values differ"
        assert difference_of_outputs({"y": numpy.array([2])}, {"y": numpy.array([2.0], numpy.float32)}) == ""

    def test_a_dtype_of_which_numpy_keeps_the_bytes_only_is_another_one(self) -> None:
        found = {"y": numpy.array([1.5], ml_dtypes.bfloat16).view("V2")}
        assert difference_of_outputs({"y": numpy.array([1.5], numpy.float32)}, found) == "the dtype is |V2"


class TestAxesBelowOpset11:
    """onnx infers no shape of these where the axis is negative; folding and static runtimes need it."""

    @pytest.mark.parametrize(
        ("node", "shape"),
        [
            ("Concat <axis = -1> (x, x)", [2, 3, 8]),
            ("Flatten <axis = -1> (x)", [6, 4]),
        ],
    )
    def test_give_shapes_that_fold(self, node: str, shape: list[int]) -> None:
        text = f"g (float[2,3,4] x) => (int64[{len(shape)}] s) {{ y = {node} s = Shape (y) }}"
        found = converted(text, "openvino==2022.3", opset=9)
        assert "Shape" not in operators(found)
        assert Evaluator(found).run({"x": numpy.zeros((2, 3, 4), numpy.float32)})["s"].tolist() == shape


class TestTruthValues:
    """OpenCV 4.14 computes with them, but has no constants, inputs and logic of them."""

    def test_that_are_constant_are_compared(self) -> None:
        text = (
            "g (float[2,2] x) => (float[2,2] y) <bool[2,2] c = {1, 0, 0, 1}, float low = {-9}> "
            "{ y = Where (c, x, low) }"
        )
        found = converted(text, "opencv==4.14")
        assert operators(found) == ["Greater", "Where"]
        assert {tensor.data_type for tensor in found.graph.initializer} == {1}

    @pytest.mark.parametrize(("operator", "number"), [("And", "Mul"), ("Or", "Add"), ("Xor", "Sub")])
    def test_are_combined_as_numbers(self, operator: str, number: str) -> None:
        text = (
            "g (float[1,2,2] x, float[1,2,2] z) => (bool[1,2,2] y) <float h = {0}> "
            f"{{ a = Less (x, h) b = Greater (z, h) y = {operator} (a, b) }}"
        )
        found = operators(converted(text, "opencv==4.14"))
        assert number in found
        assert operator not in found

    def test_that_numbers_become_are_compared_with_0(self) -> None:
        found = converted("g (float[1,2,2] x) => (bool[1,2,2] y) { y = Cast <to = 9> (x) }", "opencv==4.14")
        assert operators(found) == ["Equal", "Not"]

    def test_are_refused_as_inputs(self) -> None:
        text = "g (bool[1,2,2] x) => (bool[1,2,2] y) { y = Not (x) }"
        refused(text, "opencv==4.14", because="input 'x' is bool, and OpenCV DNN 4.14 takes no inputs of that dtype")

    def test_are_refused_as_constants_where_nothing_replaces_them(self) -> None:
        text = "g (float[1,2] x) => (bool[2,2] y) <bool[1,2] c = {1, 0}> { a = Less (x, x) y = Concat <axis=0> (a, c) }"
        refused(text, "opencv==4.14", because="reads no constants of bool")


class TestQuotientsOfIntegers:
    def test_are_refused_where_they_keep_fractions(self) -> None:
        text = "g (int32[1,2] x, int32[1,2] z) => (int32[1,2] y) { y = Div (x, z) }"
        refused(text, "opencv==4.14", because="keeps the fractions of divided integers")


class TestReductionsOfEverything:
    """OpenCV 5.0 fails where all axes are named and none is kept."""

    @pytest.mark.parametrize("operator", ["ReduceMean", "ReduceMax", "ReduceL2"])
    def test_name_no_axes(self, operator: str) -> None:
        text = f"g (float[2,3] x) => (float y) {{ y = {operator} <axes = [-2, 1], keepdims = 0> (x) }}"
        found = converted(text, "opencv==5.0")
        assert operators(found) == [operator]
        assert "axes" not in {attribute.name for attribute in found.graph.node[0].attribute}

    def test_take_no_axes_as_an_input(self) -> None:
        text = "g (float[2,3] x) => (float y) <int64[2] a = {0, 1}> { y = ReduceSum <keepdims = 0> (x, a) }"
        assert len(converted(text, "opencv==5.0").graph.node[0].input) == 1

    def test_along_some_axes_stay(self) -> None:
        text = "g (float[2,3] x) => (float[2] y) { y = ReduceMean <axes = [1], keepdims = 0> (x) }"
        assert converted(text, "opencv==5.0").graph.node[0].attribute


class TestScalarsOfReductions:
    """OpenVINO 2021.4 fails on arithmetic with a scalar that a reduction made, not with one that Squeeze made."""

    _TEXT = "g (float[2,3] x) => (float[2,3] y) {{ m = {0} <{1}keepdims = 0> (x) y = Add (x, m) }}"

    @pytest.mark.parametrize("axes", ["", "axes = [0, 1], ", "axes = [-1, -2], "])
    @pytest.mark.parametrize("operator", ["ReduceMean", "ReduceMax"])
    def test_come_from_squeeze(self, operator: str, axes: str) -> None:
        found = converted(self._TEXT.format(operator, axes), "openvino==2021.4")
        assert operators(found) == [operator, "Squeeze", "Add"]

    def test_of_sums_whose_axes_are_an_input(self) -> None:
        text = "g (int64[2,3] x) => (int64[2,3] y) <int64[2] a = {0, 1}> "
        text += "{ m = ReduceSum <keepdims = 0> (x, a) y = Add (x, m) }"
        assert operators(converted(text, "openvino==2021.4")) == ["ReduceSum", "Squeeze", "Add"]

    @pytest.mark.parametrize(("runtime", "axes"), [("2021.4", "axes = [1], "), ("2022.3", "")])
    def test_along_some_axes_and_in_other_releases_stay(self, runtime: str, axes: str) -> None:
        text = "g (float[3,3] x) => (float[3,3] y) {{ m = ReduceMean <{0}keepdims = 0> (x) y = Add (x, m) }}"
        assert operators(converted(text.format(axes), f"openvino=={runtime}")) == ["ReduceMean", "Add"]


class TestConstantOperands:
    """OpenCV 4.5 fails on most that come first, or that it has to repeat."""

    @pytest.mark.parametrize(
        ("operator", "mirrored", "dtype"),
        [("Add", ["Add"], "float"), ("Sub", ["Neg", "Add"], "float"), ("Less", ["Greater"], "bool")],
    )
    def test_come_second(self, operator: str, mirrored: list[str], dtype: str) -> None:
        text = f"g (float[2,2] x) => ({dtype}[2,2] y) <float[2,2] c = {{1, 2, 3, 4}}> {{ y = {operator} (c, x) }}"
        found = converted(text, "opencv==4.5")
        assert operators(found) == mirrored
        assert found.graph.initializer[0].name == found.graph.node[-1].input[1]

    @pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
    def test_are_repeated(self, operator: str) -> None:
        text = f"g (float[1,3,2,2] x) => (float[1,3,2,2] y) <float[2,2] c = {{1, 2, 3, 4}}> {{ y = {operator} (x, c) }}"
        found = converted(text, "opencv==4.5")
        assert operators(found) == [operator]
        assert [list(tensor.dims) for tensor in found.graph.initializer] == [[1, 3, 2, 2]]

    def test_that_repeat_the_other_meet_it_in_one_row(self) -> None:
        text = "g (float[1,3,1,1] x) => (float[1,3,2,2] y) <float[2,2] c = {1, 2, 3, 4}> { a = Abs (x) y = Add (a, c) }"
        found = operators(converted(text, "opencv==4.5"))
        assert found == ["Abs", "Reshape", "Resize", "Reshape", "Reshape", "Add", "Reshape"]

    def test_divided_by_a_tensor_are_refused(self) -> None:
        text = "g (float[1,2,2] x) => (float[1,2,2] y) <float[1,2,2] c = {1, 2, 3, 4}> { y = Div (c, x) }"
        refused(text, "opencv==4.5", because="fails on a constant A of Div with several numbers")


class TestProductsThatAreTakenForActivations:
    """OpenCV 4.14 and 5.0 look at the operators before one factor, and not at the other factor."""

    def test_are_those_of_the_negatives(self) -> None:
        gate = "h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (z)"
        text = f"g (float[1,2,2,2] x, float[1,2,1,1] z) => (float[1,2,2,2] y) {{ {gate} y = Mul (x, h) }}"
        assert operators(converted(text, "opencv==5.0"))[-3:] == ["Neg", "Neg", "Mul"]

    def test_those_with_hard_sigmoid_are_taken_so_by_4_5_too(self) -> None:
        text = "g (float[1,2,2,2] x, float[1,2,1,1] z) => (float[1,2,2,2] y) { h = HardSigmoid (z) y = Mul (x, h) }"
        assert operators(converted(text, "opencv==4.5"))[-3:] == ["Neg", "Neg", "Mul"]

    def test_with_another_gate_stay(self) -> None:
        text = "g (float[1,2,2,2] x, float[1,2,1,1] z) => (float[1,2,2,2] y) { h = Sigmoid (z) y = Mul (x, h) }"
        assert operators(converted(text, "opencv==5.0")) == ["Sigmoid", "Mul"]


class TestUnevenPads:
    def test_of_a_vector_are_those_of_a_pad(self) -> None:
        text = (
            "g (float[1,1,6] x) => (float[1,1,6] y) <float[1,1,2] w = {1, 2}> "
            "{ y = Conv <kernel_shape = [2], pads = [1, 0]> (x, w) }"
        )
        assert operators(converted(text, "opencv==4.14")) == ["Pad", "Conv"]

    def test_of_averages_with_ceil_mode_are_written_out(self) -> None:
        text = (
            "g (float[1,2,6,6] x) => (float[1,2,3,3] y) "
            "{ y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1, count_include_pad = 1> (x) }"
        )
        found = converted(text, "opencv==5.0", opset=11)
        attributes = {one.name: one for node in found.graph.node for one in node.attribute}
        assert not attributes["ceil_mode"].i if "ceil_mode" in attributes else True


class TestConstantsThatComeFirst:
    """OpenVINO 2021.4 joins them wrongly along axis 1."""

    @pytest.mark.parametrize("axis", [1, -2])
    def test_are_joined_along_the_last_axis(self, axis: int) -> None:
        node = f"y = Concat <axis={axis}> (c, x)"
        text = f"g (float[1,2,3] x) => (float[1,3,3] y) <float[1,1,3] c = {{7, 8, 9}}> {{ {node} }}"
        assert operators(converted(text, "openvino==2021.4")) == ["Transpose", "Concat", "Transpose"]

    def test_stay_along_the_last_axis(self) -> None:
        text = "g (float[1,2,3] x) => (float[1,2,4] y) <float[1,2,1] c = {7, 8}> { y = Concat <axis=2> (c, x) }"
        assert operators(converted(text, "openvino==2021.4")) == ["Concat"]


class TestMeansOverInnerAxes:
    def test_have_their_axes_in_order(self) -> None:
        text = "g (float[1,2,3,4] x) => (float[1,2,1,1] y) { y = ReduceMean <axes = [-1, -2]> (x) }"
        (node,) = converted(text, "opencv==4.5").graph.node
        assert [list(one.ints) for one in node.attribute if one.name == "axes"] == [[2, 3]]

    def test_come_last_where_there_are_others_behind(self) -> None:
        text = "g (float[1,2,3,4] x) => (float[1,1,1,4] y) { y = ReduceMean <axes = [1, 2]> (x) }"
        assert operators(converted(text, "opencv==4.5")) == ["Transpose", "Reshape", "ReduceMean", "Reshape"]


class TestChannelsThatAreKeptInBlocks:
    """OpenCV 5.0 misreads two results of convolutions of which broadcasting repeats one along the channels."""

    WEIGHTS = (
        "<float[3,2,1,1] v = {1, 2, 3, 4, 5, 6}, float[1,2,1,1] w = {7, 8}, float[3,2,1,1] u = {6, 5, 4, 3, 2, 1}>"
    )

    @pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Mean"])
    def test_are_copied_before_they_meet_others(self, operator: str) -> None:
        nodes = f"a = Conv (x, v) b = Conv (x, w) s = Sigmoid (a) y = {operator} (s, b)"
        text = f"g (float[1,2,2,2] x) => (float[1,3,2,2] y) {self.WEIGHTS} {{ {nodes} }}"
        found = operators(converted(text, "opencv==5.0"))
        assert found == ["Conv", "Conv", "Sigmoid", "Identity", "Identity", operator]

    @pytest.mark.parametrize("operator", ["Less", "Greater", "Equal"])
    def test_are_copied_before_they_are_compared(self, operator: str) -> None:
        nodes = f"a = Conv (x, v) b = Conv (x, w) y = {operator} (a, b)"
        text = f"g (float[1,2,2,2] x) => (bool[1,3,2,2] y) {self.WEIGHTS} {{ {nodes} }}"
        assert operators(converted(text, "opencv==5.0")) == ["Conv", "Conv", "Identity", "Identity", operator]

    def test_are_copied_where_a_gate_is_taken_for_an_activation(self) -> None:
        gate = "h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (a) y = Mul (b, h)"
        text = f"g (float[1,2,2,2] x) => (float[1,3,2,2] y) {self.WEIGHTS} {{ a = Conv (x, v) b = Conv (x, w) {gate} }}"
        found = operators(converted(text, "opencv==5.0"))
        assert found == ["Conv", "Conv", "HardSigmoid", "Identity", "Identity", "Mul"]

    @pytest.mark.parametrize("runtime", ["opencv==5.0", "opencv==4.14"])
    def test_stay_where_there_are_as_many(self, runtime: str) -> None:
        nodes = "a = Conv (x, v) b = Conv (x, u) y = Mul (a, b)"
        text = f"g (float[1,2,2,2] x) => (float[1,3,2,2] y) {self.WEIGHTS} {{ {nodes} }}"
        assert operators(converted(text, runtime)) == ["Conv", "Conv", "Mul"]

    def test_stay_beside_a_constant(self) -> None:
        nodes = "a = Conv (x, w) y = Mul (a, c)"
        constants = "<float[1,2,1,1] w = {7, 8}, float[1,3,1,1] c = {1, 2, 3}>"
        text = f"g (float[1,2,2,2] x) => (float[1,3,2,2] y) {constants} {{ {nodes} }}"
        assert operators(converted(text, "opencv==5.0")) == ["Conv", "Mul"]


class TestInterpolationThatIsWrong:
    """OpenCV 5.0 reads beyond a single row, takes no vectors, and has none of opset 10 and before."""

    def test_of_a_single_row_is_written_out(self) -> None:
        text = (
            "g (float[1,1,1,2] x) => (float[1,1,2,4] y) <float[1,1,1,1] w = {3}, float[4] s = {1, 1, 2, 2}> "
            '{ a = Conv (x, w) y = Resize <mode = "linear"> (a, , s) }'
        )
        assert "Resize" not in operators(converted(text, "opencv==5.0"))

    def test_by_sizes_beside_empty_scales_is_written_out(self) -> None:
        text = (
            "g (float[1,1,1,2] x) => (float[1,1,2,4] y) <float[0] e = {}, int64[4] s = {1, 1, 2, 4}> "
            '{ y = Resize <mode = "linear"> (x, e, e, s) }'
        )
        assert "Resize" not in operators(converted(text, "opencv==5.0", opset=11))

    def test_of_two_rows_stays(self) -> None:
        text = (
            "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {3}, float[4] s = {1, 1, 2, 2}> "
            '{ a = Conv (x, w) y = Resize <mode = "linear"> (a, , s) }'
        )
        assert operators(converted(text, "opencv==5.0")) == ["Conv", "Resize"]

    def test_of_a_vector_is_written_out(self) -> None:
        text = (
            'g (float[1,2,3] x) => (float[1,2,6] y) <float[3] s = {1, 1, 2}> { y = Resize <mode = "linear"> (x, , s) }'
        )
        assert "Resize" not in operators(converted(text, "opencv==5.0"))


class TestComputedSlopes:
    def test_are_refused(self) -> None:
        text = "g (float[1,2,2,2] x) => (float[1,2,2,2] y) { s = Abs (x) y = PRelu (x, s) }"
        refused(text, "opencv==5.0", because="OpenCV DNN 5.0 takes no computed slope of PRelu")


class TestPadsOfConvolutions:
    """OpenCV 5 pads no Conv of single elements; 4.14 pads their ends otherwise."""

    @pytest.mark.parametrize("runtime", ["opencv==5.0", "opencv==4.14"])
    def test_are_written_as_a_pad_before_kernels_of_one_element(self, runtime: str) -> None:
        text = "g (float[1,2,3,3] x) => (float[1,1,4,4] y) <float[1,2,1,1] w = {2, 3}> "
        node = "{ r = Relu (x) y = Conv <kernel_shape = [1,1], pads = [0,0,1,1]> (r, w) }"
        assert operators(converted(text + node, runtime)) == ["Relu", "Pad", "Conv"]

    def test_stay_with_larger_kernels(self) -> None:
        text = "g (float[1,1,4] x) => (float[1,1,4] y) <float[1,1,3] w = {2, 3, 4}> "
        node = "{ r = Relu (x) y = Conv <kernel_shape = [3], pads = [1,1]> (r, w) }"
        assert operators(converted(text + node, "opencv==5.0")) == ["Relu", "Conv"]


class TestKernelsOfNineElementsInARow:
    """OpenCV 5 takes them for kernels of 3x3."""

    _WEIGHTS = "{1, 2, 3, 4, 5, 6, 7, 8, 9}"

    def test_convolve_volumes(self) -> None:
        text = f"g (float[1,1,12] x) => (float[1,1,12] y) <float[1,1,9] w = {self._WEIGHTS}> "
        found = converted(text + "{ r = Relu (x) y = Conv <kernel_shape = [9], pads = [4,4]> (r, w) }", "opencv==5.0")
        assert operators(found) == ["Relu", "Unsqueeze", "Conv", "Squeeze"]

    def test_convolve_images_with_pads_that_differ_after_a_pad(self) -> None:
        text = f"g (float[1,1,2,12] x) => (float[1,1,2,12] y) <float[1,1,1,9] w = {self._WEIGHTS}> "
        node = "{ r = Relu (x) y = Conv <kernel_shape = [1,9], pads = [0,8,0,0]> (r, w) }"
        assert "Conv" in operators(converted(text + node, "opencv==5.0"))

    def test_stay_in_other_runtimes(self) -> None:
        text = f"g (float[1,1,12] x) => (float[1,1,12] y) <float[1,1,9] w = {self._WEIGHTS}> "
        found = converted(text + "{ r = Relu (x) y = Conv <kernel_shape = [9], pads = [4,4]> (r, w) }", "opencv==4.14")
        assert operators(found) == ["Relu", "Conv"]

    def test_are_refused_where_the_rank_is_not_known(self) -> None:
        text = f"g (float x) => (float y) <float[1,1,9] w = {self._WEIGHTS}> {{ y = Conv <kernel_shape = [9]> (x, w) }}"
        proto = model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
        proto.graph.input[0].type.tensor_type.ClearField("shape")
        proto.graph.output[0].type.tensor_type.ClearField("shape")
        with pytest.raises(ConversionRefused, match="nine elements in a row"):
            convert(proto, target="opencv==5.0")


class TestNodesThatOnnxruntimeMerges:
    """Its optimiser merges a Pad into the pads of a pooling, and a Transpose into products without a kernel."""

    @pytest.mark.parametrize("between", ["", "i = Identity (p)"])
    def test_a_pad_stays_apart_from_the_maxima_after_it(self, between: str) -> None:
        text = "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <int64[8] s = {0,0,1,1,0,0,0,0}> "
        node = f"{{ p = Pad (x, s) {between} y = MaxPool <kernel_shape = [2,2]> ({'i' if between else 'p'}) }}"
        for runtime in ("onnxruntime==1.17", "onnxruntime==1.32"):
            assert operators(converted(text + node, runtime))[-2:] == ["Max", "MaxPool"]
        assert "Max" not in operators(converted(text + node, "onnxruntime==1.16"))

    def test_a_pad_stays_apart_from_the_averages_after_it(self) -> None:
        text = "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <int64[8] s = {0,0,1,1,0,0,0,0}> "
        node = "{ p = Pad (x, s) y = AveragePool <kernel_shape = [2,2]> (p) }"
        assert operators(converted(text + node, "onnxruntime==1.19")) == ["Pad", "Max", "AveragePool"]
        assert operators(converted(text + node, "onnxruntime==1.23")) == ["Pad", "AveragePool"]

    def test_averages_without_count_include_pad_are_refused_after_a_pad(self) -> None:
        text = "g (float[1,1,2,2] x) => (float[1,1,3,3] y) <int64[8] s = {0,0,1,1,0,0,0,0}> "
        node = "{ p = Pad (x, s) y = AveragePool <kernel_shape = [2,2], pads = [0,0,1,1]> (p) }"
        refused(text + node, "onnxruntime==1.19", because="merges a Pad into the pads of an AveragePool")

    def test_a_transpose_stays_apart_from_products_of_double(self) -> None:
        text = "g ({0}[2,3] x) => ({0}[2,2] y) {{ t = Transpose <perm = [1,0]> (x) y = MatMul (x, t) }}"
        assert operators(converted(text.format("double"), "onnxruntime==1.10")) == ["Transpose", "Sum", "Sum", "MatMul"]
        for dtype, runtime in (("float", "onnxruntime==1.10"), ("double", "onnxruntime==1.26")):
            assert operators(converted(text.format(dtype), runtime)) == ["Transpose", "MatMul"]


class TestCastsThatAreUndone:
    """Two Casts stay apart by a Reshape between them, so that no fraction is lost."""

    def test_floats_between_them_are_reshaped(self, tmp_path: Path) -> None:
        target = tmp_path / "casts.toml"
        target.write_text(
            'title = "Casts"\n[sources]\nmade = "made up"\n[[release]]\nversions = ["1"]\n[[form]]\noperator = "Cast"\n'
            'undoes_cast = true\ntext = "drops two Casts"\nsource = "made"\n'
        )
        text = "g (double[2] x) => (double[2] y) { c = Cast <to = 1> (x) y = Cast <to = 11> (c) }"
        found = converted(text, str(target))
        assert operators(found) == ["Reshape"]
        assert Evaluator(found).run({"x": numpy.array([0.5, -1.25])})["y"].tolist() == [0.5, -1.25]
        assert operators(converted(text.replace("[2]", "[N]"), str(target))) == ["Shape", "Reshape"]

    @pytest.mark.parametrize("dtype", ["double", "float16"])
    def test_fractions_stay(self, dtype: str) -> None:
        number = {"double": 11, "float16": 10}[dtype]
        text = f"g (float[3] x) => (float[3] y) {{ c = Cast <to = {number}> (x) r = Neg (c) y = Cast <to = 1> (r) }}"
        found = converted(text, "openvino==2022.3")
        result = Evaluator(found).run({"x": numpy.array([0.5, -1.25, 3], numpy.float32)})["y"]
        assert result.tolist() == [-0.5, 1.25, -3]


class TestMasksOfAttention:
    """OpenVINO before 2023 distributes a product over the difference before it, and huge factors overflow."""

    _TEXT = "g (float[4] x) => (float[4] y) <float o = {{1}}, float m = {{{0}}}> {{ d = Sub (o, x) y = Mul (d, m) }}"

    @pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2022.3"])
    def test_keep_difference_and_product_apart(self, runtime: str) -> None:
        assert operators(converted(self._TEXT.format("-3.4e38"), runtime)) == ["Sub", "Max", "Mul"]

    def test_small_factors_stay(self) -> None:
        assert operators(converted(self._TEXT.format("-10000"), "openvino==2022.3")) == ["Sub", "Mul"]


class TestExpandThatTwoNodesRead:
    """OpenVINO 2021.4 merges it into a product or sum that reads it, and other readers get what was not expanded."""

    _TEXT = """
        g ({0}[1,6] x, {0}[4,6] y) => ({0}[8,6] z) <int64[2] s = {{4, 1}}> {{
            e = Expand (x, s)
            p = Mul (e, y)
            z = Concat <axis = 0> (e, p)
        }}
    """

    @pytest.mark.parametrize("dtype", ["float", "int64", "int32"])
    def test_is_a_tile(self, dtype: str) -> None:
        assert operators(converted(self._TEXT.format(dtype), "openvino==2021.4")) == ["Tile", "Mul", "Concat"]

    def test_has_its_new_axes_from_a_reshape(self) -> None:
        text = "g (float[6] x) => (float[4,6] y) <int64[2] s = {4, 1}> { y = Expand (x, s) }"
        assert "Expand" not in operators(converted(text, "openvino==2021.4"))

    def test_stays_for_bools_and_other_releases(self) -> None:
        text = "g (bool[1,6] x) => (bool[4,6] y) <int64[2] s = {4, 1}> { y = Expand (x, s) }"
        assert operators(converted(text, "openvino==2021.4")) == ["Expand"]
        assert operators(converted(self._TEXT.format("float"), "openvino==2022.3")) == ["Expand", "Mul", "Concat"]


class TestConstantsJoinedWithInputsOfTheModel:
    """OpenCV 4 joins them wrongly, and joins them well with results of other nodes."""

    def test_are_joined_with_what_is_transposed(self) -> None:
        text = "g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[1,1,2,2] c = {1, 2, 3, 4}> "
        found = converted(text + "{ y = Concat <axis = 1> (x, c) }", "opencv==4.14")
        assert operators(found) == ["Transpose", "Concat", "Transpose"]

    def test_are_joined_with_copies_along_the_last_axis(self) -> None:
        text = "g (float[1,1,2,1] x) => (float[1,1,2,2] y) <float[1,1,2,1] c = {1, 2}> "
        found = converted(text + "{ y = Concat <axis = 3> (x, c) }", "opencv==4.14")
        assert operators(found) == ["Identity", "Concat"]

    def test_stay_with_results_of_other_nodes(self) -> None:
        text = "g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[1,1,2,2] c = {1, 2, 3, 4}> "
        found = converted(text + "{ r = Relu (x) y = Concat <axis = 1> (r, c) }", "opencv==4.14")
        assert operators(found) == ["Relu", "Concat"]


class TestNanInOpenvino:
    """2021.4 has no IsNaN, and 2022.3 fails on one with the result of arithmetic."""

    @pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2022.3"])
    def test_is_what_does_not_equal_itself(self, runtime: str) -> None:
        found = converted("g (float[3] x) => (bool[3] y) { s = Add (x, x) y = IsNaN (s) }", runtime)
        assert operators(found) == ["Add", "Equal", "Not"]


def test_clip_of_int64_is_written_with_comparisons_for_opencv_5() -> None:
    text = "g (int64[2] x) => (int64[2] y) <int64 m = {1}> { y = Clip (x, m) }"
    assert operators(converted(text, "opencv==5.0")) == ["Greater", "Where"]


class TestTruthValuesThatAreMoved:
    """OpenCV moves no booleans, 5.0 only some: the numbers 0 and 1 are moved in a dtype that it moves."""

    _GATHERED = "g (int64[3,4] x) => (float[2] y) <int64[2,2] i = {0,1,2,3}> { b = Cast <to = 9> (x) "

    def test_by_gathering_slices(self) -> None:
        text = self._GATHERED + "c = GatherND (b, i) y = Cast <to = 1> (c) }"
        assert operators(converted(text, "opencv==5.0"))[-1] == "GatherND"

    def test_by_gathering_slices_from_flat_numbers(self) -> None:
        text = self._GATHERED + "c = GatherND (b, i) y = Cast <to = 1> (c) }"
        found = operators(converted(text, "opencv==4.14"))
        assert "GatherND" not in found
        assert found[found.index("Gather") - 1] == "Reshape"

    @pytest.mark.parametrize(
        ("node", "shape"),
        [
            ("Gather (b, i)", "2,4"),
            ("Reshape (b, i)", "2,6"),
            ("Flatten <axis = 0> (b)", "1,12"),
            ("Unsqueeze (b, a)", "3,1,4"),
            ("Squeeze (u, a)", "3,4"),
        ],
    )
    def test_by_other_operators(self, node: str, shape: str) -> None:
        inputs = "bool[3,1,4] u" if "u," in node else "bool[3,4] b"
        constants = f"<int64[2] i = {{{'2,6' if 'Reshape' in node else '2,0'}}}, int64[1] a = {{1}}>"
        source = "float[3,1,4] x" if "u," in node else "float[3,4] x"
        name = inputs[-1]
        text = (
            f"g ({source}) => (float[{shape}] y) {constants[:-1]}, float half = {{0.5}}> "
            f"{{ {name} = Greater (x, half) c = {node} y = Cast <to = 1> (c) }}"
        )
        operator = node.split()[0].replace("Flatten", "Reshape")
        assert operator in operators(converted(text, "opencv==4.14"))

    def test_of_unknown_sizes_are_refused(self) -> None:
        text = "g (float[] x, int64[] i) => (bool[] y) { b = Cast <to = 9> (x) y = GatherND (b, i) }"
        refused(text, "opencv==4.14", because="OpenCV DNN 4.14 .*(rank|shape|dimension|size)")


class TestAttentionThatIsMerged:
    """OpenCV 5.0 merges these nodes into one layer that fails, unless something keeps Softmax and the product apart."""

    @pytest.mark.parametrize("scaled", ["e = Mul (a, f) s = MatMul (e, d)", "p = MatMul (a, d) s = Div (p, f)"])
    def test_is_kept_apart(self, scaled: str) -> None:
        text = (
            "g (float[1,3,4] x) => (float[1,3,4] y) <int64[4] h = {1,3,-1,2}, int64[3] r = {1,3,4}, float f = {0.5}> "
            "{ q = Reshape (x, h) a = Transpose <perm = [0,2,1,3]> (q) d = Transpose <perm = [0,2,3,1]> (q) "
            f"{scaled} w = Softmax (s) o = MatMul (w, a) t = Transpose <perm = [0,2,1,3]> (o) y = Reshape (t, r) }}"
        )
        found = operators(converted(text, "opencv==5.0"))
        assert found[found.index("Softmax") :] == ["Softmax", "Sum", "MatMul", "Transpose", "Reshape"]

    def test_stays_where_nothing_is_scaled(self) -> None:
        text = (
            "g (float[3,4] x, float[4,3] z) => (float[3,3] y) { s = MatMul (x, z) w = Softmax (s) y = MatMul (w, s) }"
        )
        assert operators(converted(text, "opencv==5.0")) == ["MatMul", "Softmax", "MatMul"]


class TestNormalizationWithoutBias:
    """OpenCV takes a computed term of the next Add for the bias."""

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize("added", ["Add (n, z)", "Add (z, n)"])
    def test_is_followed_by_a_difference(self, runtime: str, added: str) -> None:
        text = (
            "g (float[1,3,2] x) => (float[1,3,2] y) <float[2] w = {2, 3}, float two = {2}> { z = Abs (x) "
            "m = ReduceMean <axes = [-1]> (x) s = Sub (x, m) p = Pow (s, two) v = ReduceMean <axes = [-1]> (p) "
            f"r = Sqrt (v) d = Div (s, r) n = Mul (d, w) y = {added} }}"
        )
        found = operators(converted(text, runtime))
        assert found[-2:] == ["Neg", "Sub"]
        assert "Add" not in found


class TestConstantsOfUint8:
    """OpenCV before 5 takes 128 off them."""

    def test_that_are_compared_become_floats(self) -> None:
        text = "g (float[1,3] x) => (bool[1,3] y) <uint8[1,1] z = {1}> { a = Cast <to = 2> (x) y = Greater (a, z) }"
        assert {one.data_type for one in converted(text, "opencv==4.14").graph.initializer} == {1}

    def test_are_none_where_numbers_become_truth_values(self) -> None:
        text = "g (uint8[1,3] x) => (float[1,3] y) { b = Cast <to = 9> (x) y = Cast <to = 1> (b) }"
        found = converted(text, "opencv==4.14")
        assert operators(found) == ["Equal", "Not"]
        assert {one.data_type for one in found.graph.initializer} == {1}


class TestVectors:
    """OpenCV before 5 takes a vector that a node makes of a matrix for a column, and repeats other values along it."""

    @pytest.mark.parametrize("operator", ["Add", "Max", "Pow", "Less", "Equal"])
    def test_are_computed_as_rows(self, operator: str) -> None:
        result = "bool" if operator in ("Less", "Equal") else "float"
        text = (
            f"g (float[2,3] x) => ({result}[6] z) <float c = {{0.5}}, int64[1] m = {{-1}}> "
            f"{{ a = Reshape (x, m) z = {operator} (a, c) }}"
        )
        found = operators(converted(text, "opencv==4.14"))
        assert found[:4] == ["Reshape", "Reshape", operator, "Reshape"]

    def test_stay_where_numbers_are_repeated(self) -> None:
        text = (
            "g (float[2,3] x) => (float[6] z) <float c = {3}, int64[1] m = {6}> { a = Reshape (x, m) z = Add (a, c) }"
        )
        assert operators(converted(text, "opencv==5.0")) == ["Reshape", "Add"]

    def test_of_unknown_rank_are_refused(self) -> None:
        text = "g (float[] x) => (float[] z) { z = Max (x, x) }"
        refused(text, "opencv==4.14", because="OpenCV DNN 4.14")


class TestMovedTruthValues:
    def test_become_truth_values_again_without_a_comparison(self) -> None:
        text = (
            "g (float[2,3] x) => (float[3,2] y) <float c = {0.5}, int64[2] s = {3, 2}> "
            "{ b = Greater (x, c) m = Reshape (b, s) y = Cast <to = 1> (m) }"
        )
        assert operators(converted(text, "opencv==4.14")) == ["Greater", "Reshape"]


class TestVolumes:
    """OpenCV 5.0 copies no sizes of volumes while it reshapes them; 4.14 adds none to a convolution of volumes."""

    def test_are_reshaped_to_sizes_in_numbers(self) -> None:
        text = (
            "g (float[1,2,3,1,2] x) => (float[1,2,6] y) <int64[3] s = {0, 0, -1}> { a = Relu (x) y = Reshape (a, s) }"
        )
        found = converted(text, "opencv==5.0")
        shapes = [numpy_helper.to_array(one).tolist() for one in found.graph.initializer]
        assert [1, 2, -1] in shapes
        assert [0, 0, -1] not in shapes

    def test_of_open_sizes_are_refused(self) -> None:
        text = (
            "g (float[N,2,3,1,2] x) => (float[N,2,6] y) <int64[3] s = {0, 0, -1}> { a = Relu (x) y = Reshape (a, s) }"
        )
        refused(text, "opencv==5.0", because="copies no sizes of a volume")

    def test_are_taken_off_a_convolution_with_the_other_sign(self) -> None:
        text = (
            "g (float[1,1,2,2,2] x) => (float[1,1,2,2,2] y) <float[1,1,1,1,1] w = {2}> "
            "{ a = Conv (x, w) n = Abs (x) b = Conv (n, w) y = Add (a, b) }"
        )
        assert operators(converted(text, "opencv==4.14")) == ["Conv", "Abs", "Conv", "Neg", "Sub"]


class TestBatchNormalizationBehindAnActivation:
    """OpenCV 5.0 fuses both with the Conv before, and puts the normalization first."""

    TEXT = (
        "g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float[2,2,1,1] w = {{1, 2, 3, 4}}, float[2] s = {{1, 2}}, "
        "float[2] b = {{3, 4}}, float[2] m = {{0.5, 1}}, float[2] v = {{1, 2}}> "
        "{{ c = Conv (x, w) {0} y = BatchNormalization (a, s, b, m, v) }}"
    )

    @pytest.mark.parametrize("activation", ["a = Elu (c)", "g = Sigmoid (c) a = Mul (g, c)"])
    def test_is_kept_apart(self, activation: str) -> None:
        found = converted(self.TEXT.format(activation), "opencv==5.0")
        assert operators(found)[-2:] == ["Max", "BatchNormalization"]

    @pytest.mark.parametrize(("activation", "runtime"), [("Relu", "opencv==5.0"), ("Tanh", "opencv==4.14")])
    def test_stays_where_it_is_taken(self, activation: str, runtime: str) -> None:
        found = converted(self.TEXT.format(f"a = {activation} (c)"), runtime)
        assert operators(found) == ["Conv", activation, "BatchNormalization"]

    def test_is_kept_apart_with_a_computed_mean(self) -> None:
        text = self.TEXT.format("a = Elu (c)").replace("float[1,2,3,3] x)", "float[1,2,3,3] x, float[2] given)")
        found = converted(text.replace("(a, s, b, m, v)", "(a, s, b, given, v)"), "opencv==5.0")
        assert operators(found)[-2:] == ["Max", "BatchNormalization"]


class TestNormalizationsWithOtherFactors:
    """OpenCV 4.14 and 5.0 fuse what ends with a sum whatever its shape is, and take that of the mean's axes only."""

    TEXT = (
        "g (float[2,3,4] x) => (float[2,3,4] y) <float two = {{2}}, float e = {{0.00001}}, {1}> {{ "
        "m = ReduceMean <axes = [{0}]> (x) d = Sub (x, m) p = Pow (d, two) v = ReduceMean <axes = [{0}]> (p) "
        "w = Add (v, e) r = Sqrt (w) n = Div (d, r) f = Mul (n, k) y = Add (f, k) }}"
    )

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize("factor", ["float k = {2}", "float[1,1,4] k = {1, 2, 3, 4}", "float[3,1] k = {1, 2, 3}"])
    def test_end_with_a_difference(self, runtime: str, factor: str) -> None:
        assert operators(converted(self.TEXT.format(-1, factor), runtime))[-2:] == ["Mul", "Sub"]

    @pytest.mark.parametrize(("axis", "factor"), [(-1, "float[4] k = {1, 2, 3, 4}"), (1, "float[3,1] k = {1, 2, 3}")])
    def test_of_the_shape_that_fits_or_of_other_axes_stay(self, axis: int, factor: str) -> None:
        assert operators(converted(self.TEXT.format(axis, factor), "opencv==5.0"))[-2:] == ["Mul", "Add"]


class TestSumsBehindProducts:
    """OpenCV 5.0 fuses both, and fails if what it repeats has more than two axes."""

    TEXT = (
        "g (float[2,3,4] x) => (float[2,3,4] y) <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2}, "
        "float[1,1,4] b = {1, 2, 3, 4}> { p = MatMul (x, w) y = Add (p, b) }"
    )

    def test_have_the_shape_of_the_product(self) -> None:
        found = converted(self.TEXT, "opencv==5.0")
        shapes = {one.name: list(one.dims) for one in found.graph.initializer}
        assert shapes[found.graph.node[-1].input[1]] == [2, 3, 4]

    def test_stay_with_vectors(self) -> None:
        found = converted(self.TEXT.replace("[1,1,4]", "[4]"), "opencv==5.0")
        assert [list(one.dims) for one in found.graph.initializer] == [[4, 4], [4]]


@pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
def test_products_that_read_a_gelu_are_those_of_the_negatives(runtime: str) -> None:
    text = (
        "g (float[2,3] x, float[2,3] z) => (float[2,3] y) <float q = {1.4142135}, float h = {0.5}, float o = {1}> "
        "{ d = Div (x, q) e = Erf (d) p = Add (e, o) m = Mul (x, h) a = Mul (m, p) y = Mul (z, a) }"
    )
    assert operators(converted(text, runtime))[-3:] == ["Neg", "Neg", "Mul"]


def test_pads_that_count_are_kept_apart_from_the_pool_behind_them() -> None:
    text = (
        "g (float[1,2,8,8] x) => (float[1,2,8,8] y) "
        "{ y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], count_include_pad = 1> (x) }"
    )
    assert operators(converted(text, "opencv==4.14")) == ["Pad", "Max", "AveragePool"]


class TestSequences:
    """OpenCV takes images where it takes no tensors of rank 3."""

    @pytest.mark.parametrize("slopes", ["float[2,1] s = {2, 3}", "float[1] s = {2}", "float s = {2}"])
    def test_prelu(self, slopes: str) -> None:
        text = f"g (float[1,2,4] x) => (float[1,2,4] y) <{slopes}> {{ y = PRelu (x, s) }}"
        assert operators(converted(text, "opencv==5.0")) == ["Unsqueeze", "PRelu", "Squeeze"]

    def test_prelu_with_computed_slopes_is_refused(self) -> None:
        text = "g (float[1,2,4] x, float[2,1] s) => (float[1,2,4] y) { y = PRelu (x, s) }"
        refused(text, "opencv==5.0", because="takes no computed slope of PRelu")

    def test_transposed_convolutions(self) -> None:
        text = "g (float[1,1,600] x) => (float[1,1,602] y) <float[1,1,3] w = {1, 2, 3}> { y = ConvTranspose (x, w) }"
        assert operators(converted(text, "opencv==4.5")) == ["Unsqueeze", "ConvTranspose", "Squeeze"]

    @pytest.mark.parametrize(
        ("sizes", "before", "after"), [("4", ["Unsqueeze"], "Squeeze"), ("2,2,2", ["Sum", "Reshape"], "Reshape")]
    )
    def test_normalizations(self, sizes: str, before: list[str], after: str) -> None:
        text = (
            f"g (float[1,2,{sizes}] x) => (float[1,2,{sizes}] y) <float[2] s = {{1, 2}}, float[2] b = {{3, 4}}> "
            "{ p = Relu (x) y = InstanceNormalization (p, s, b) }"
        )
        found = operators(converted(text, "opencv==5.0"))
        assert found == ["Relu", *before, "InstanceNormalization", after]


@pytest.mark.parametrize("runtime", ["openvino==2021.4", "openvino==2022.3"])
def test_loops_with_a_computed_number_of_runs_are_refused(runtime: str) -> None:
    text = (
        "g (int64[1] n, float[2] x) => (float[2] y) <bool go = {1}> { y = Loop <body = b (int64 i, bool c, float[2] v) "
        "=> (bool d, float[2] w) { d = Identity (c) w = Add (v, v) }> (n, go, x) }"
    )
    refused(text, runtime, because="at least once where the number of runs is computed")


class TestJoinedIntegers:
    """OpenVINO 2021.4 reads unwritten memory where constant integers are joined with computed ones."""

    TEXT = "g ({0}[1,1] x) => ({0}[1,2] y) <{0}[1,1] z = {{0}}> {{ a = Add (x, x) y = Concat <axis = 1> (z, a) }}"

    def test_are_refused(self) -> None:
        refused(
            self.TEXT.format("int32"), "openvino==2021.4", because="constant integers are joined with computed ones"
        )

    def test_floats_and_other_releases_stay(self) -> None:
        assert operators(converted(self.TEXT.format("float"), "openvino==2021.4")) == ["Add", "Concat"]
        assert operators(converted(self.TEXT.format("int32"), "openvino==2022.3")) == ["Add", "Concat"]


def test_convolutions_divided_by_several_numbers_are_kept_apart_from_them() -> None:
    text = (
        "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {2}, float[1,1,2,2] k = {1, 2, 3, 4}> "
        "{ c = Conv <kernel_shape = [1, 1]> (x, w) y = Div (c, k) }"
    )
    assert operators(converted(text, "opencv==4.5")) == ["Conv", "Reshape", "Div", "Reshape"]


def test_loops_that_give_sequences_are_refused_too() -> None:
    text = (
        "g (int64[1] n, float[2] x, seq(float[2]) s) => (float[2] y) <bool go = {1}, int64 k = {0}> "
        "{ t = Loop <body = b (int64 i, bool c, seq(float[2]) v) => (bool d, seq(float[2]) w) "
        "{ d = Identity (c) w = SequenceInsert (v, x) }> (n, go, s) y = SequenceAt (t, k) }"
    )
    refused(text, "openvino==2022.3", because="at least once where the number of runs is computed")


class TestRecurrencesOfMNN:
    """MNN ends with a crash, or gives another output, where a recurrence leaves an output out."""

    def _recurrence(self, operator: str, outputs: str, attributes: str = "") -> str:
        rows = {"LSTM": 8, "GRU": 6, "RNN": 2}[operator]
        numbers = ", ".join(["0.5"] * rows * 2)
        weights = ", ".join(f"float[1,{rows},2] {name} = {{{numbers}}}" for name in "wr")
        shapes = {"y": "float[3,1,1,2] y", "h": "float[1,1,2] h"}
        declared = ", ".join(shapes[name] for name in outputs.replace('""', "").replace(",", " ").split())
        given = f"hidden_size = 2{attributes}"
        return f"g (float[3,1,2] x) => ({declared}) <{weights}> {{ {outputs} = {operator} <{given}> (x, w, r) }}"

    @pytest.mark.parametrize(
        ("operator", "outputs", "count"),
        [("LSTM", "y", 3), ("LSTM", "y, h", 3), ("GRU", '"", h', 2), ("RNN", '"", h', 2)],
    )
    def test_give_all_outputs(self, operator: str, outputs: str, count: int) -> None:
        attributes = ", linear_before_reset = 1" if operator == "GRU" else ""
        found = converted(self._recurrence(operator, outputs, attributes), "mnn==3.6")
        assert [len(node.output) for node in found.graph.node] == [count]
        assert all(found.graph.node[0].output)

    def test_stay_where_all_outputs_are_there(self) -> None:
        found = converted(self._recurrence("RNN", "y, h", ', activations = ["Tanh"]'), "mnn==3.6")
        assert [list(node.output) for node in found.graph.node] == [["y", "h"]]

    @pytest.mark.parametrize(
        ("operator", "attributes", "because"),
        [
            ("RNN", ', activations = ["Affine"]', "computes RNN with the activation Tanh only"),
            ("LSTM", ", clip = 1.0", "does not read the attribute clip"),
        ],
    )
    def test_are_refused_where_nothing_else_would_do(self, operator: str, attributes: str, because: str) -> None:
        refused(self._recurrence(operator, "y, h", attributes), "mnn==3.6", because=because)

    @pytest.mark.parametrize(("operator", "attributes"), [("RNN", ', activations = ["Relu"]'), ("GRU", "")])
    def test_are_written_as_steps(self, operator: str, attributes: str) -> None:
        assert operator not in operators(converted(self._recurrence(operator, "y, h", attributes), "mnn==3.6"))


class TestInitializersThatAreInputs:
    """tract and MNN take them for constants, as every model of IR version 3 has them."""

    TEXT = (
        '<ir_version: 3, opset_import: ["": 9]> g (float[1,2,1,1] x, float[2] s) => (float[1,2,1,1] y) '
        "<float[2] s = {1, 2}> { y = BatchNormalization (x, s, s, s, s) }"
    )

    @pytest.mark.parametrize("runtime", ["tract==0.23", "mnn==3.6"])
    def test_are_no_computed_values(self, runtime: str) -> None:
        found = convert(model(self.TEXT), target=runtime)
        assert [one.op_type for one in found.model.graph.node] == ["BatchNormalization"]

    @pytest.mark.parametrize("runtime", ["tract==0.23", "mnn==3.6"])
    def test_are_told_from_what_callers_have_to_give(self, runtime: str) -> None:
        text = "g (float[1,2,1,1] x, float[2] s) => (float[1,2,1,1] y) { y = BatchNormalization (x, s, s, s, s) }"
        assert "BatchNormalization" not in operators(converted(text, runtime, opset=9))


class TestPoolsOfVolumes:
    """MNN pools the first of several only."""

    @pytest.mark.parametrize(("batch", "because"), [("2", "the first of several"), ("n", "their number is not known")])
    @pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
    def test_of_a_batch_are_refused(self, operator: str, batch: str, because: str) -> None:
        node = f"{operator} <kernel_shape = [2, 2, 2], pads = [0, 0, 0, 0, 0, 0]> (x)"
        text = f"g (float[{batch},1,2,2,2] x) => (float[{batch},1,1,1,1] y) {{ y = {node} }}"
        refused(text, "mnn==3.6", because=because)

    @pytest.mark.parametrize("sizes", ["2,1,2,2,2", "n,1,2,2,2", "n,c,2,2,2"])
    @pytest.mark.parametrize("operator", ["GlobalMaxPool", "GlobalAveragePool"])
    def test_over_all_of_a_batch_become_those_of_images(self, operator: str, sizes: str) -> None:
        text = f"g (float[{sizes}] x) => (float[a,b,1,1,1] y) {{ y = {operator} (x) }}"
        assert operators(converted(text, "mnn==3.6")) == ["Reshape", operator, "Unsqueeze"]

    @pytest.mark.parametrize("operator", ["GlobalMaxPool", "GlobalAveragePool"])
    def test_over_all_of_open_sizes_become_those_of_images(self, operator: str) -> None:
        text = f"g (float[n,c,d,h,w] x) => (float[a,b,1,1,1] y) {{ y = {operator} (x) }}"
        assert operators(converted(text, "mnn==3.6"))[-2:] == [operator, "Unsqueeze"]

    def test_that_stand_alone_are_pooled(self) -> None:
        text = "g (float[1,1,2,2,2] x) => (float[1,1,1,1,1] y) { y = GlobalMaxPool (x) }"
        assert operators(converted(text, "mnn==3.6")) == ["GlobalMaxPool"]


class TestOpenSizes:
    """tract does not run many operators with them; the refusal names what works."""

    TEXT = "g (float[n,1,4,4] x, float[1,1,3,3] w) => (float[n,1,2,2] y) { y = Conv <kernel_shape = [3, 3]> (x, w) }"

    def test_of_a_convolution_are_refused(self) -> None:
        refused(self.TEXT, "tract==0.23", because="does not run Conv with open sizes of X")

    def test_may_be_fixed(self) -> None:
        text = f'<ir_version: 7, opset_import: ["": 13]> {self.TEXT}'
        found = convert(model(text), target="tract==0.23", fix_shapes={"n": 2})
        assert [one.op_type for one in found.model.graph.node] == ["Conv"]


class TestWhatNetworksShowedOfMNN:
    """Facts from exported networks, each with a neighbour that runs."""

    @pytest.mark.parametrize("operator", ["LSTM", "GRU"])
    @pytest.mark.parametrize(
        ("steps", "state", "runs"), [("s", ', "", h', False), ("3", ', "", h', True), ("s", "", True)]
    )
    def test_states_before_an_open_number_of_steps(self, operator: str, steps: str, state: str, runs: bool) -> None:
        gates, outputs, more = {"LSTM": (4, "y, l, c", ""), "GRU": (3, "y, l", ", linear_before_reset = 1")}[operator]
        numbers = ", ".join(["0.5"] * gates * 4)
        weights = ", ".join(f"float[1,{2 * gates},2] {name} = {{{numbers}}}" for name in "wr")
        bias = f"float[1,{4 * gates}] b = {{{numbers}}}"
        text = (
            f"g (float[{steps},1,2] x, float[1,1,2] h) => (float[{steps},1,1,2] y) <{weights}, {bias}> "
            f"{{ {outputs} = {operator} <hidden_size = 2{more}> (x, w, r, b{state}) }}"
        )
        if runs:
            assert operators(converted(text, "mnn==3.6")) == [operator]
        else:
            refused(text, "mnn==3.6", because="where the number of steps is not known")

    def test_remainders_of_floats_are_refused(self) -> None:
        text = "g ({0}[2] x, {0}[2] z) => ({0}[2] y) {{ y = Mod <fmod = 1> (x, z) }}"
        # Nor are they written with double, which it computes as float.
        refused(text.format("float"), "mnn==3.6", because="the sign of the divisor")
        assert operators(converted(text.format("int32"), "mnn==3.6")) == ["Mod"]

    @pytest.mark.parametrize(
        ("declared", "sizes", "runs"),
        [
            ("n,4", "s = Shape (x) p = ReduceProd <keepdims = 0> (s)", False),
            ("n,4", "p = Size (x)", False),
            ("4,n", "p = Size (x)", True),
            ("2,4", "p = Size (x)", True),
            ("n,4", "s = Size (x) p = Add (s, i)", True),
            ("n,4", "s = Shape (x) k = Constant <value_int = -1> () p = Gather (s, k)", True),
            ("n,4", "s = Shape (x) k = Constant <value_int = -2> () p = Gather (s, k)", False),
        ],
    )
    def test_floats_are_not_divided_by_open_first_sizes(self, declared: str, sizes: str, runs: bool) -> None:
        text = (
            f"g (float[{declared}] x, float[3] w, int64 i) => (float[3] y) "
            f"{{ {sizes} f = Cast <to = 1> (p) y = Div (w, f) }}"
        )
        if runs:
            assert "Div" in operators(converted(text, "mnn==3.6"))
        else:
            refused(text, "mnn==3.6", because="takes an open first size for 1")

    def test_scattering_without_a_reduction_does_not_say_so(self) -> None:
        text = (
            "g (float[3] x, int64[2] i, float[2] u) => (float[3] y) "
            '{{ y = ScatterElements <reduction = "{}", axis = 0> (x, i, u) }}'
        )
        found = convert(model(f'<ir_version: 8, opset_import: ["": 16]> {text.format("none")}'), target="mnn==3.6")
        assert [[one.name for one in node.attribute] for node in found.model.graph.node] == [["axis"]]
        sums = convert(model(f'<ir_version: 8, opset_import: ["": 16]> {text.format("add")}'), target="mnn==3.6")
        assert not [one for node in sums.model.graph.node for one in node.attribute if one.name == "reduction"]

    def test_sequences_are_resized_by_gathering(self) -> None:
        text = (
            "g (float[1,2,4] x) => (float[1,2,8] y) <float[3] s = {1, 1, 2}> "
            '{ y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (x, "", s) }'
        )
        assert "Resize" not in operators(converted(text, "mnn==3.6"))

    def test_floats_are_compared_by_greater(self) -> None:
        text = "g (float[2,3] x, float[2,3] z) => (bool[2,3] y) { y = Less (x, z) }"
        found = converted(text, "mnn==3.6")
        assert "Greater" in operators(found)
        assert "Less" not in operators(found)

    @pytest.mark.parametrize("declared", ["2,4", "n,4"])
    @pytest.mark.parametrize("constant", ["float c = {2}", "float[4] c = {1, 2, 3, 4}"])
    def test_what_is_broadcast_is_chosen_first(self, declared: str, constant: str) -> None:
        head = f"g (float[{declared}] x, bool[{declared}] b) => (float[{declared}] y) <{constant}> "
        assert operators(converted(head + "{ y = Where (b, x, c) }", "mnn==3.6")) == ["Not", "Where"]
        assert operators(converted(head + "{ y = Where (b, c, x) }", "mnn==3.6")) == ["Where"]

    @pytest.mark.parametrize(("node", "opset"), [("Round (x)", 13), ("Gelu (x)", 20)])
    def test_what_was_measured_to_be_wrong_is_written_otherwise(self, node: str, opset: int) -> None:
        text = f'<ir_version: 7, opset_import: ["": {opset}]> g (float[2,3] x) => (float[2,3] y) {{ y = {node} }}'
        assert node.split()[0] not in operators(convert(model(text), target="mnn==3.6").model)


class TestEmptyInputsOfConcat:
    """Some runtimes do not join them, wherever they stand; they are left out."""

    @pytest.mark.parametrize("runtime", ["mnn==3.6", "opencv==5.0"])
    @pytest.mark.parametrize("inputs", ["e, x", "x, e", "e, x, e"])
    def test_are_left_out_where_one_is_left(self, runtime: str, inputs: str) -> None:
        text = f"g (float[2,3] x, float[2,0] e) => (float[2,3] y) {{ y = Concat <axis = 1> ({inputs}) }}"
        assert operators(converted(text, runtime)) == ["Identity"]

    @pytest.mark.parametrize("inputs", ["e, x, z", "x, e, z", "x, z, e"])
    def test_are_left_out_where_several_are_left(self, inputs: str) -> None:
        text = f"g (float[2,3] x, float[2,0] e, float[2,1] z) => (float[2,4] y) {{ y = Concat <axis = -1> ({inputs}) }}"
        found = converted(text, "mnn==3.6")
        assert [list(node.input) for node in found.graph.node] == [["x", "z"]]

    def test_are_refused_where_nothing_is_left(self) -> None:
        text = "g (float[2,0] x, float[2,0] e) => (float[2,0] y) { y = Concat <axis = 1> (x, e) }"
        refused(text, "mnn==3.6", because="with a size of 0")


class TestOutputsOfRecurrencesThatNothingReads:
    """OpenCV 4.14 runs GRU with its first output only."""

    HALVES = ", ".join(["0.5"] * 12)
    WEIGHTS = f"<float[1,6,2] w = {{{HALVES}}}, float[1,6,2] r = {{{HALVES}}}, float[1,12] b = {{{HALVES}}}>"
    NODE = "GRU <hidden_size = 2, linear_before_reset = 1> (x, w, r, b)"

    def test_are_left_out(self) -> None:
        text = f"g (float[3,1,2] x) => (float[3,1,1,2] y) {self.WEIGHTS} {{ y, h = {self.NODE} }}"
        found = converted(text, "opencv==4.14")
        assert [list(node.output) for node in found.graph.node] == [["y"]]

    def test_are_cut_from_the_sequence_where_they_are_read(self) -> None:
        text = f"g (float[3,1,2] x) => (float[3,1,1,2] y, float[1,1,2] h) {self.WEIGHTS} {{ y, h = {self.NODE} }}"
        assert operators(converted(text, "opencv==4.14")) == ["GRU", "Slice", "Reshape"]


class TestPadsOfWindowsThatRuntimesPlace:
    """OpenCV puts the odd pad of auto_pad at the other end, and reads no kernel from the shape of computed weights."""

    @pytest.mark.parametrize("pads", ["SAME_UPPER", "SAME_LOWER"])
    @pytest.mark.parametrize(
        ("runtime", "node", "kept"),
        [
            ("opencv==5.0", "Conv <auto_pad = '{}', strides = [2, 2]> (x, w)", ["Conv"]),
            ("opencv==4.5", "Conv <auto_pad = '{}', strides = [2, 2]> (x, w)", ["Conv"]),
            ("opencv==5.0", "ConvTranspose <auto_pad = '{}', strides = [2, 2]> (x, w)", ["ConvTranspose"]),
            ("opencv==5.0", "MaxPool <auto_pad = '{}', kernel_shape = [3, 3], strides = [2, 2]> (x)", ["MaxPool"]),
            (
                "opencv==5.0",
                "AveragePool <auto_pad = '{}', kernel_shape = [2, 2], strides = [2, 2]> (x)",
                ["AveragePool"],
            ),
        ],
    )
    def test_are_written(self, runtime: str, node: str, kept: list[str], pads: str) -> None:
        weights = "float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}"
        text = f"g (float[1,1,7,8] x) => (float y) <{weights}> {{ y = {node.format(pads)} }}".replace("'", '"')
        found = converted(text, runtime)
        assert operators(found) == kept
        names = {one.name for one in found.graph.node[0].attribute}
        assert "auto_pad" not in names or (runtime, pads) == ("opencv==4.5", "SAME_UPPER")
        assert "kernel_shape" in names or runtime == "opencv==5.0"

    def test_odd_ones_of_a_transposed_convolution_become_zeros_between_where_the_ends_must_be_alike(self) -> None:
        text = (
            "g (float[1,1,7,8] x) => (float y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}> "
            '{ y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w) }'
        )
        assert "Conv" in operators(converted(text, "opencv==4.14"))

    @pytest.mark.parametrize(
        ("shape", "pads", "extra"),
        [([8, 10], [1, 1, 0, 0], []), ([7, 9], [1, 1, 1, 1], []), ([9, 12], [0] * 4, [0, 1])],
    )
    def test_follow_from_the_shape_of_the_output(self, shape: list[int], pads: list[int], extra: list[int]) -> None:
        text = (
            "g (float[1,1,4,5] x) => (float y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}> "
            f"{{ y = ConvTranspose <output_shape = {shape}, strides = [2, 2]> (x, w) }}"
        )
        found = converted(text, "opencv==5.0").graph.node
        assert [one.op_type for one in found] == ["ConvTranspose"]
        written = {one.name: list(one.ints) for one in found[0].attribute}
        assert "output_shape" not in written
        assert written.get("pads", [0] * 4) == pads
        assert written.get("output_padding", []) == extra

    def test_dilated_transposed_convolutions_become_others(self) -> None:
        text = (
            "g (float[1,1,4,5] x) => (float y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}> "
            "{ y = ConvTranspose <dilations = [2, 2], kernel_shape = [3, 3]> (x, w) }"
        )
        assert "ConvTranspose" not in operators(converted(text, "opencv==4.14"))
        assert "ConvTranspose" in operators(converted(text, "opencv==5.0"))

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14"])
    def test_kernels_of_computed_weights_are_named(self, runtime: str) -> None:
        text = "g (float[1,2,6,6] x, float[3,2,3,3] w) => (float y) { y = Conv (x, w) }"
        found = converted(text, runtime)
        assert [list(one.ints) for one in found.graph.node[0].attribute if one.name == "kernel_shape"] == [[3, 3]]

    def test_stay_where_they_are_placed_well(self) -> None:
        text = (
            "g (float[1,1,7,8] x) => (float y) <float[1,1,3,3] w = {1,2,3,4,5,6,7,8,9}> "
            '{ y = Conv <auto_pad = "SAME_UPPER", kernel_shape = [3, 3], strides = [2, 2]> (x, w) }'
        )
        assert "auto_pad" in {one.name for one in converted(text, "opencv==4.14").graph.node[0].attribute}


class TestDefaultsThatRuntimesReadOtherwise:
    """OpenCV 5.0 splits the last axis where axis is left out, and no release resizes where mode is left out."""

    @pytest.mark.parametrize("lengths", ["", ", s"])
    def test_axis_of_split_is_written(self, lengths: str) -> None:
        text = (
            f"g (float[4,6] x) => (float[2,6] a, float[2,6] b) <int64[2] s = {{2,2}}> {{ a, b = Split (x{lengths}) }}"
        )
        found = converted(text, "opencv==5.0")
        assert operators(found) == ["Split"]
        assert [one.i for one in found.graph.node[0].attribute if one.name == "axis"] == [0]

    @pytest.mark.parametrize(("operator", "opset"), [("Upsample (x, s)", 9), ('Resize (x, "", s)', 13)])
    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14", "opencv==5.0"])
    def test_mode_of_a_resize_is_written(self, runtime: str, operator: str, opset: int) -> None:
        text = f"g (float[1,2,4,6] x) => (float y) <float[4] s = {{1,1,2,2}}> {{ y = {operator} }}"
        found = converted(text, runtime, opset=opset)
        assert operators(found) == [operator.split()[0]]
        assert "mode" in {one.name for one in found.graph.node[0].attribute}


class TestResizesThatAreComputedOtherwise:
    """OpenCV takes ratios of sizes for scales, rounds by ways of its own, and resizes images only."""

    NEAREST = 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'

    def resized(self, attributes: str, numbers: str, runtime: str, opset: int = 13) -> list[str]:
        """The operators of what a Resize with scales, or with sizes, is converted to."""
        count, kind, empty = numbers.count(",") + 1, "float" if "." in numbers else "int64", '""'
        inputs = f"x, {empty}, s" if kind == "float" else f"x, {empty}, {empty}, s"
        text = (
            f"g (float[1,2,4,6] x) => (float y) <{kind}[{count}] s = {{{numbers}}}> "
            f"{{ y = Resize <{attributes}> ({inputs}) }}"
        )
        return operators(converted(text, runtime, opset=opset))

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize(
        ("attributes", "numbers"),
        [
            (NEAREST, "1.0,1.0,1.3,1.7"),
            ('mode = "linear", coordinate_transformation_mode = "asymmetric"', "1.0,1.0,0.6,0.6"),
            (NEAREST, "1.0,2.0,1.0,1.0"),
            (NEAREST, "1,4,4,6"),
        ],
    )
    def test_are_written_with_gather(self, attributes: str, numbers: str, runtime: str) -> None:
        assert "Resize" not in self.resized(attributes, numbers, runtime)

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize("scales", ["1.0,1.0,2.0,2.0", "1.0,1.0,1.5,0.5"])
    def test_stay_where_sizes_and_scales_agree(self, scales: str, runtime: str) -> None:
        assert self.resized(self.NEAREST, scales, runtime) == ["Resize"]

    def test_scales_that_give_whole_sizes_when_rounded_as_floats_stay(self) -> None:
        text = (
            'g (float[1,2,5,5] x) => (float y) <float[4] s = {1,1,0.6,0.6}> { y = Resize <mode = "linear"> (x, "", s) }'
        )
        assert operators(converted(text, "opencv==5.0")) == ["Resize"]

    @pytest.mark.parametrize("rounding", ["floor", "ceil", "round_prefer_floor"])
    def test_are_rounded_with_gather(self, rounding: str) -> None:
        attributes = f'mode = "nearest", coordinate_transformation_mode = "half_pixel", nearest_mode = "{rounding}"'
        assert self.resized(attributes, "1.0,1.0,1.5,1.5", "opencv==4.14") == ["Gather", "Gather"]
        assert self.resized(attributes, "1.0,1.0,1.5,1.5", "opencv==5.0") == ["Resize"]

    def test_places_that_are_never_halfway_stay(self) -> None:
        attributes = 'mode = "nearest", coordinate_transformation_mode = "half_pixel"'
        assert self.resized(attributes, "1.0,1.0,2.0,3.0", "opencv==4.14") == ["Resize"]

    @pytest.mark.parametrize(
        "attributes", [f"axes = [2, 3], {NEAREST}", 'antialias = 1, axes = [2, 3], mode = "linear"']
    )
    def test_what_18_adds_is_written_out(self, attributes: str) -> None:
        assert "Resize" not in self.resized(attributes, "2,3", "opencv==5.0", opset=19)


class TestGemmOfTheOldest:
    """OpenCV 4.3 and 4.5 leave out alpha, beta and transA, and add vectors of all columns only."""

    @pytest.mark.parametrize("runtime", ["opencv==4.3", "opencv==4.5"])
    @pytest.mark.parametrize(
        ("attributes", "shape", "expected"),
        [
            ("alpha = 0.25, transB = 1", "[2]", ["MatMul", "Mul", "Add"]),
            ("beta = 0.5, transB = 1", "[2]", ["MatMul", "Add"]),
            ("transA = 1, transB = 1", "[1,2]", ["Transpose", "MatMul", "Add"]),
            ("transB = 1", "[2,1]", ["MatMul", "Add"]),
        ],
    )
    def test_is_written_in_parts(self, runtime: str, attributes: str, shape: str, expected: list[str]) -> None:
        text = (
            f"g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {{1,2,3,4}}, float{shape} c = {{2,3}}> "
            f"{{ y = Gemm <{attributes}> (x, w, c) }}"
        )
        found = operators(converted(text, runtime))
        # 4.3 transposes the constant weights by a node.
        assert found[found.count("Transpose") - expected.count("Transpose") :] == expected

    @pytest.mark.parametrize("runtime", ["opencv==4.3", "opencv==4.5"])
    def test_stays_as_exporters_write_it(self, runtime: str) -> None:
        text = (
            "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1,2,3,4}, float[2] c = {2,3}> "
            "{ y = Gemm <alpha = 1.0, beta = 1.0, transB = 1> (x, w, c) }"
        )
        assert operators(converted(text, runtime)) == ["Gemm"]

    @pytest.mark.parametrize("shape", ["[1,2]", ""])
    def test_computed_terms_that_are_repeated_are_added_in_4_14(self, shape: str) -> None:
        text = f"g (float[2,2] x, float[2,2] w, float{shape} c) => (float[2,2] y) {{ y = Gemm (x, w, c) }}"
        assert operators(converted(text, "opencv==4.14")) == ["MatMul", "Add"]


class TestStacksOfMatrices:
    """OpenCV 4.14 and 5.0 repeat constant ones in another order; 4.5 takes few of them."""

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize("shape", ["[2,3,2]", "[2,1,3,2]"])
    def test_constant_ones_are_repeated_beforehand(self, runtime: str, shape: str) -> None:
        numbers = ",".join(map(str, range(12)))
        text = f"g (float[2,2,2,3] x) => (float y) <float{shape} w = {{{numbers}}}> {{ y = MatMul (x, w) }}"
        found = converted(text, runtime)
        assert operators(found) == ["MatMul"]
        assert [list(one.dims) for one in found.graph.initializer] == [[2, 2, 3, 2]]

    @pytest.mark.parametrize("shape", ["[1,3,2]", "[3,2]"])
    def test_single_ones_stay(self, shape: str) -> None:
        text = f"g (float[2,2,2,3] x) => (float y) <float{shape} w = {{1,2,3,4,5,6}}> {{ y = MatMul (x, w) }}"
        assert [list(one.dims) for one in converted(text, "opencv==4.14").graph.initializer] == [
            list(map(int, shape[1:-1].split(",")))
        ]

    @pytest.mark.parametrize(
        ("text", "because"),
        [
            ("g (float[3,2] x) => (float y) <float[2,3] w = {1,2,3,4,5,6}> { y = MatMul (w, x) }", "second matrices"),
            ("g (float[1,2,3] x) => (float y) <float[1,3,1] w = {1,2,3}> { y = MatMul (x, w) }", "no constant stacks"),
            ("g (float[1,2,3] x, float[2,3,2] w) => (float y) { y = MatMul (x, w) }", "no computed stacks"),
        ],
    )
    def test_are_refused_in_4_5(self, text: str, because: str) -> None:
        refused(text, "opencv==4.5", because=because)

    @pytest.mark.parametrize(
        "text",
        [
            "g (float[2,2,600] x, float[2,600,600] w) => (float y) { y = MatMul (x, w) }",
            f"g (float[1,2,513] x) => (float y) <float[513,1] w = {{{', '.join('1' * 513)}}}> {{ y = MatMul (x, w) }}",
        ],
    )
    def test_others_stay_in_4_5(self, text: str) -> None:
        assert operators(converted(text, "opencv==4.5")) == ["MatMul"]


class TestInputsAndOutputsThatRuntimesWantOtherwise:
    """OpenCV loads no outputs without a shape; before 5 it fails where an input is given that no node reads."""

    def model_without_shape(self, node: str) -> ModelProto:
        """A model whose output has a dtype alone."""
        made = model(
            f'<ir_version: 7, opset_import: ["": 13]> g (float[2,3] x, int64[N] s) => (float[A] y) {{ {node} }}'
        )
        made.graph.output[0].type.tensor_type.ClearField("shape")
        return made

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14", "opencv==5.0"])
    def test_shapes_of_outputs_are_declared(self, runtime: str) -> None:
        given = self.model_without_shape("y = Relu (x)")
        del given.graph.input[1]
        found = convert(given, target=runtime)
        assert found.certificate is not None
        assert found.certificate.is_proven
        declared = found.model.graph.output[0].type.tensor_type
        assert [dim.dim_value for dim in declared.shape.dim] == [2, 3]
        assert "output 'y' had no shape; it was declared as it is computed" in found.report.notes

    def test_unknown_ones_are_refused(self) -> None:
        with pytest.raises(ConversionRefused, match="the shape of the output 'y' is not known"):
            convert(self.model_without_shape("y = Reshape (x, s)"), target="opencv==5.0")

    def test_stay_undeclared_for_others(self) -> None:
        given = self.model_without_shape("y = Relu (x)")
        assert not convert(given, target="onnxruntime==1.10").model.graph.output[0].type.tensor_type.HasField("shape")

    @pytest.mark.parametrize("runtime", ["opencv==4.3", "opencv==4.5", "opencv==4.14"])
    def test_inputs_that_nothing_reads_are_read(self, runtime: str) -> None:
        text = "g (float[2,3] x, float[2,3] u, int64[3] v) => (float[2,3] y) { y = Relu (x) }"
        found = converted(text, runtime)
        assert operators(found) == ["Identity", "Identity", "Relu"]
        assert operators(converted(text, "opencv==5.0")) == ["Relu"]

    def test_inputs_of_what_became_something_else_are_read(self) -> None:
        text = "g (float[2,3] x, float[1] u) => (float[2,3] y) { k = Relu (x) y = CastLike (k, u) }"
        assert operators(converted(text, "opencv==4.14", opset=15)) == ["Identity", "Relu"]


class TestLeadingCopies:
    """The proof passes over copies of inputs at the front that nothing reads, and over no others."""

    @pytest.mark.parametrize(
        ("leading", "rest", "is_same"),
        [
            ("c = Identity (u)", "y = Relu (x)", True),
            ("c = Identity (u)", "y = Relu (c)", False),
            ("c = Neg (u)", "y = Relu (x)", False),
        ],
    )
    def test_give_nothing(self, leading: str, rest: str, is_same: bool) -> None:
        head = '<ir_version: 7, opset_import: ["": 13]> g (float[2] x, float[2] u) => (float[2] y)'
        original, result = model(f"{head} {{ y = Relu (x) }}"), model(f"{head} {{ {leading} {rest} }}")
        trace = ConversionTrace()
        trace.scope(GRAPH_PATH).leading_copies = 1
        pair = next(iter(paired_scopes(original, result, trace)))
        assert (not pair.problem and not list(scope_differences(pair, ()))) == is_same


class TestOperatorsThatOpenCVLacks:
    """Those of onnxruntime that it does not have, and some of ONNX that no test of ONNX has."""

    @pytest.mark.parametrize("runtime", ["opencv==4.3", "opencv==4.5", "opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize(
        "node",
        ["GlobalLpPool (x)", "MaxRoiPool <pooled_shape = [2, 2]> (x, r)", "com.microsoft.MultiHeadAttention (x)"],
    )
    def test_are_refused(self, runtime: str, node: str) -> None:
        head = '<ir_version: 7, opset_import: ["": 13, "com.microsoft": 1]>'
        given = model(f"{head} g (float[1,2,4,4] x, float[1,5] r) => (float[A,B,C,D] y) {{ y = {node} }}")
        with pytest.raises(ConversionRefused, match=f"has no .*{node.split()[0].split('.')[-1]}"):
            convert(given, target=runtime)

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14", "opencv==5.0"])
    def test_outputs_without_elements_are_refused(self, runtime: str) -> None:
        constants = "<int64[1] s = {4}, int64[1] e = {4}, int64[1] a = {0}>"
        text = f"g (float[4,3] x) => (float[0,3] y) {constants} {{ y = Slice (x, s, e, a) }}"
        refused(text, runtime, because="without elements")

    @pytest.mark.parametrize("runtime", ["opencv==4.3", "opencv==4.5", "opencv==4.14"])
    @pytest.mark.parametrize("node", ["Squeeze (x)", "Squeeze <axes = [0, 1]> (x)", "Reshape (x, s)"])
    def test_tensors_that_become_scalars_are_reduced_to_them(self, runtime: str, node: str) -> None:
        text = f"g (float[1,1] x) => (float y) <int64[0] s = {{}}> {{ y = {node} }}"
        if runtime == "opencv==4.5":
            assert operators(converted(text, runtime, opset=11)) == ["ReduceMax"]
        elif runtime == "opencv==4.14":
            assert operators(converted(text, runtime, opset=11)) == ["Concat", "ReduceMax"]
        else:
            refused(text, runtime, because="scalar", opset=11)
        text = f"g (float[1,1] x) => (float[1] y) <int64[1] s = {{1}}> {{ y = {node.replace('0, 1', '0')} }}"
        assert node == "Squeeze (x)" or converted(text, runtime, opset=11)

    def test_quantized_operands_of_fewer_axes_come_second(self) -> None:
        head = '<ir_version: 7, opset_import: ["": 13, "com.microsoft": 1]> g (uint8[3,2] x, uint8[1,3,2] y)'
        scales = "<float s = {0.5}, uint8 z = {100}>"
        for given, stays in (("x, s, z, y, s, z, s, z", False), ("y, s, z, x, s, z, s, z", True)):
            asked = model(f"{head} => (uint8[1,3,2] o) {scales} {{ o = com.microsoft.QLinearAdd ({given}) }}")
            assert ("QLinearAdd" in operators(convert(asked, target="opencv==5.0").model)) is stays

    @pytest.mark.parametrize("runtime", ["opencv==4.3", "opencv==4.5", "opencv==4.14"])
    def test_suppression_is_refused_before_5(self, runtime: str) -> None:
        text = "g (float[1,6,4] b, float[1,1,6] s) => (int64[A,3] y) { y = NonMaxSuppression (b, s) }"
        refused(text, runtime, because="has no NonMaxSuppression")


class TestAxesThatOpenCVReadsOtherwise:
    """OpenCV normalizes along one axis below opset 13, too; 4.3 and 4.5 take another default from 13 on."""

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize("attributes", ["", "<axis = 1>", "<axis = 0>"])
    def test_rows_are_normalized_where_axes_follow(self, runtime: str, attributes: str) -> None:
        text = f"g (float[2,3,600] x) => (float[2,3,600] y) {{ y = Softmax {attributes} (x) }}"
        found = converted(text, runtime, opset=11)
        assert operators(found) == ["Flatten", "Softmax", "Reshape"]
        assert {one.version for one in found.opset_import} == {11}

    @pytest.mark.parametrize("runtime", ["opencv==4.3", "opencv==4.5", "opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize("shape", ["2,3,1,1", "2,3"])
    def test_stay_where_none_follow(self, runtime: str, shape: str) -> None:
        text = f"g (float[{shape}] x) => (float[{shape}] y) {{ y = Softmax <axis = 1> (x) }}"
        assert operators(converted(text, runtime, opset=11)) == ["Softmax"]

    def test_axis_that_is_left_out_is_written(self) -> None:
        text = "g (float[2,3,600] x) => (float[2,3,600] y) { y = Softmax (x) }"
        found = converted(text, "opencv==4.5")
        assert [one.i for one in found.graph.node[0].attribute] == [2]
        assert not converted(text, "opencv==4.14").graph.node[0].attribute

    def test_hardmax_gets_the_default_of_its_opset(self) -> None:
        text = "g (float[2,3,1] x) => (float[2,3,1] y) { y = Hardmax (x) }"
        found = converted(text, "opencv==5.0", opset=11)
        assert [one.i for one in found.graph.node[0].attribute] == [1]


class TestDropoutThatDropsNothing:
    """OpenCV 5.0 dies on training_mode, and gives no mask."""

    def test_training_mode_is_left_out(self) -> None:
        text = "g (float[2,3] x) => (float[2,3] y) <float r = {0.5}, bool t = {0}> { y = Dropout (x, r, t) }"
        found = converted(text, "opencv==5.0")
        assert operators(found) == ["Dropout"]
        assert list(found.graph.node[0].input) == ["x", "r"]

    def test_a_mask_is_ones(self) -> None:
        text = "g (float[2,3] x) => (float[2,3] y, bool[2,3] m) { k = Relu (x) y, m = Dropout (k) }"
        found = converted(text, "opencv==5.0")
        assert list(found.graph.node[1].output) == ["y"]

    def test_training_is_refused(self) -> None:
        text = "g (float[2,3] x, bool t) => (float[2,3] y) <float r = {0.5}> { y = Dropout (x, r, t) }"
        refused(text, "opencv==5.0", because="training_mode")


class TestListsOfAxesInOtherOrders:
    """OpenCV before 4.14 slices neighbouring axes only."""

    @pytest.mark.parametrize("runtime", ["opencv==4.3", "opencv==4.5"])
    @pytest.mark.parametrize(("axes", "opset"), [("[1, 0]", 9), ("[0, 3]", 9), ("[3, 1]", 13)])
    def test_slices_are_made_one_by_one(self, runtime: str, axes: str, opset: int) -> None:
        if opset < 10:
            slice_, constants = f"Slice <axes = {axes}, starts = [0, 1], ends = [1, 3]> (x)", ""
        else:
            first, second = axes[1:-1].split(",")
            constants = f"<int64[2] s = {{0,1}}, int64[2] e = {{1,3}}, int64[2] a = {{{first},{second}}}>"
            slice_ = "Slice (x, s, e, a)"
        text = f"g (float[2,3,4,5] x) => (float[A,B,C,D] y) {constants} {{ y = {slice_} }}"
        assert operators(converted(text, runtime, opset=opset)) == ["Slice", "Slice"]
        assert operators(converted(text, "opencv==4.14", opset=opset)) == ["Slice"]

    @pytest.mark.parametrize("axes", ["[1, 2]", "[0, 1]"])
    def test_neighbouring_ones_are_sliced_together(self, axes: str) -> None:
        text = (
            "g (float[2,3,4,5] x) => (float[A,B,C,D] y) "
            f"{{ y = Slice <axes = {axes}, starts = [0, 1], ends = [1, 3]> (x) }}"
        )
        assert operators(converted(text, "opencv==4.5", opset=9)) == ["Slice"]


class TestScalesThatAreRepeated:
    """OpenCV takes scale and bias of LayerNormalization in the shape of what is normalized only."""

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize(("shape", "axis"), [("[1,4]", -1), ("[4]", 1), ("[1]", 2), ("[1,3,4]", 1)])
    def test_constant_ones_are_repeated_beforehand(self, runtime: str, shape: str, axis: int) -> None:
        sizes = [int(size) for size in shape[1:-1].split(",")]
        numbers = ",".join(map(str, range(1, 1 + int(numpy.prod(sizes)))))
        text = (
            f"g (float[2,3,4] x) => (float[2,3,4] y) <float{shape} s = {{{numbers}}}, float{shape} b = {{{numbers}}}> "
            f"{{ y = LayerNormalization <axis = {axis}> (x, s, b) }}"
        )
        found = converted(text, runtime, opset=17)
        assert [one for one in operators(found) if one != "Neg"] == ["LayerNormalization"]

    def test_others_are_applied_behind(self) -> None:
        text = (
            "g (float[2,3,4] x, float[2,1,4] s, float[2,1,4] b) => (float[2,3,4] y) "
            "{ y = LayerNormalization (x, s, b) }"
        )
        found = operators(converted(text, "opencv==5.0", opset=17))
        assert [one for one in found if one != "Identity"] == ["LayerNormalization", "Mul", "Add"]

    def test_those_of_the_shape_stay(self) -> None:
        text = "g (float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y) { y = LayerNormalization (x, s, b) }"
        assert operators(converted(text, "opencv==5.0", opset=17)) == ["LayerNormalization"]


class TestFormsThatOpenCVComputesOtherwise:
    """Forms that models of other projects have: each with a neighbour that the release computes."""

    @pytest.mark.parametrize(
        ("text", "runtime", "because", "kept"),
        [
            (
                "g (float[3,4] x, int64[2,4] i) => (float[2,4] y) { y = GatherElements <axis = 1> (x, i) }",
                "opencv==5.0",
                "",
                "g (float[3,4] x, int64[2,4] i) => (float[2,4] y) { y = GatherElements <axis = 0> (x, i) }",
            ),
            (
                "g (float[2,3,4,5] x) => (float[2,3,4,5] y) <float[5] s = {1,2,3,4,5}> { y = PRelu (x, s) }",
                "opencv==5.0",
                "",
                "g (float[2,3,4,5] x) => (float[2,3,4,5] y) <float[3,1,1] s = {1,2,3}> { y = PRelu (x, s) }",
            ),
            (
                "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = PRelu (x, s) }",
                "opencv==4.14",
                "no computed slope",
                "g (float[2,3] x) => (float[2,3] y) <float[3] s = {1,2,3}> { y = PRelu (x, s) }",
            ),
            (
                "g (float[2] x) => (float[2] y) { y = Shrink <lambd = -1.0, bias = 1.0> (x) }",
                "opencv==5.0",
                "",
                "g (float[2] x) => (float[2] y) { y = Shrink <lambd = 1.0, bias = 1.0> (x) }",
            ),
            (
                "g (float[2] x, int64[2,3] i) => (float[2,3] y) { y = Gather (x, i) }",
                "opencv==4.14",
                "keeps the axis of a vector",
                "g (float[2,2] x, int64[2,3] i) => (float[2,3,2] y) { y = Gather (x, i) }",
            ),
            (
                "g (float[3] x) => (float[3] y) <float[1] o = {1}> { y = BatchNormalization (x, o, o, o, o) }",
                "opencv==5.0",
                "",
                "g (float[3,1] x) => (float[3,1] y) <float[1] o = {1}> { y = BatchNormalization (x, o, o, o, o) }",
            ),
        ],
    )
    def test_are_refused_or_written_otherwise(self, text: str, runtime: str, because: str, kept: str) -> None:
        if because:
            refused(text, runtime, because=because)
        else:
            assert len(operators(converted(text, runtime))) > 1
        assert len(operators(converted(kept, runtime))) == 1

    @pytest.mark.parametrize("operator", ["Sum", "Mean"])
    def test_vectors_are_repeated_beforehand(self, operator: str) -> None:
        text = f"g (float[2,3] x, float[3] z) => (float[2,3] y) {{ y = {operator} (x, z) }}"
        assert operators(converted(text, "opencv==4.14")) == ["Unsqueeze", "Tile", operator]
        among_themselves = operators(converted(text.replace("float[2,3]", "float[3]"), "opencv==4.14"))
        assert among_themselves == ["Reshape", "Reshape", operator, "Reshape"]

    def test_axes_of_scatters_are_counted(self) -> None:
        text = (
            "g (float[2,3] x, int64[2,3] i, float[2,3] u) => (float[2,3] y) "
            "{ y = ScatterElements <axis = -2> (x, i, u) }"
        )
        found = converted(text, "opencv==5.0")
        assert [one.i for one in found.graph.node[0].attribute] == [0]

    @pytest.mark.parametrize("operator", ["SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"])
    def test_weighted_losses_are_written_out(self, operator: str) -> None:
        text = f"g (float[2,3] x, int64[2] l) => (float y) <float[3] w = {{1,2,3}}> {{ y = {operator} (x, l, w) }}"
        assert operator not in operators(converted(text, "opencv==5.0"))

    def test_attention_of_one_head_is_kept_apart(self) -> None:
        text = (
            "g (float[2,2,12] a) => (float[2,2,4] y) <int64[1] z = {0}, int64[1] b = {4}, int64[1] c = {8}, "
            "int64[1] d = {12}, int64[1] k = {2}, float h = {2}> { q = Slice (a, z, b, k) p = Slice (a, b, c, k) "
            "v = Slice (a, c, d, k) qt = Transpose <perm = [1,0,2]> (q) vt = Transpose <perm = [1,0,2]> (v) "
            "n = Div (qt, h) pt = Transpose <perm = [1,2,0]> (p) s = MatMul (n, pt) f = Softmax (s) m = MatMul (f, vt) "
            "y = Transpose <perm = [1,0,2]> (m) }"
        )
        found = operators(converted(text, "opencv==5.0"))
        assert found[found.index("Softmax") + 1 : found.index("Softmax") + 3] == ["Sum", "MatMul"]


class TestNumbersThatWereWrongInSilence:
    """Forms that OpenCV loads and computes otherwise, or on which it dies, found in the tests of other projects."""

    @pytest.mark.parametrize(
        ("operator", "first", "second"),
        [
            ("ReduceMean", "ReduceMean", "ReduceMean"),
            ("ReduceMax", "ReduceMax", "ReduceMax"),
            ("ReduceL2", "ReduceL2", "ReduceL2"),
            ("ReduceLogSum", "ReduceSum", "ReduceLogSum"),
            ("ReduceSumSquare", "ReduceSumSquare", "ReduceSum"),
        ],
    )
    @pytest.mark.parametrize("keepdims", ["", ", keepdims = 0"])
    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    def test_three_axes_of_four(self, runtime: str, keepdims: str, operator: str, first: str, second: str) -> None:
        result = "float[4]" if keepdims else "float[1,4,1,1]"
        text = f"g (float[3,4,5,6] x) => ({result} y) {{ y = {operator} <axes = [0, 2, 3]{keepdims}> (x) }}"
        assert operators(converted(text, runtime)) == [first, second]
        assert operators(converted(text.replace("[3,4,5,6]", "[1,4,5,6]"), runtime)) == [operator]
        assert operators(converted(text.replace("[0, 2, 3]", "[2, 3]").replace("[1,4", "[3,4"), runtime)) == [operator]

    def test_choices_from_vectors_in_4_14(self) -> None:
        text = "g (float[5] x, float[5] k) => (float[5] y) <float z = {0}> { c = Greater (k, z) y = Where (c, x, z) }"
        found = operators(converted(text, "opencv==4.14"))
        assert found[-2:] == ["Where", "Reshape"]
        assert operators(converted(text, "opencv==5.0")) == ["Greater", "Where"]

    @pytest.mark.parametrize("operator", ["Mul", "Div"])
    def test_computed_numbers_that_have_axes_in_4_5(self, operator: str) -> None:
        text = f"g (float[2,3,4,5] x, float[1,1,1,1] z) => (float[2,3,4,5] y) {{ y = {operator} (x, z) }}"
        assert operators(converted(text, "opencv==4.5")) == ["Reshape", "Resize", "Reshape", operator]

    def test_three_axes_that_are_an_input(self) -> None:
        text = "g (float[3,4,5,6] x) => (float[A,B,C,D] y) <int64[3] a = {0,2,3}> { y = ReduceSum (x, a) }"
        assert operators(converted(text, "opencv==5.0")) == ["ReduceSum", "ReduceSum"]
        assert operators(converted(text.replace("{0,2,3}", "{1,2,3}"), "opencv==5.0")) == ["ReduceSum"]

    def test_a_negation_behind_a_product_of_computed_matrices_in_4_5(self) -> None:
        text = "g (float[2,3] x, float[3,4] w) => (float[2,4] y) { m = MatMul (x, w) y = Neg (m) }"
        assert operators(converted(text, "opencv==4.5")) == ["MatMul", "Reshape", "Mul", "Reshape"]
        text = text.replace("Neg", "Relu")
        assert operators(converted(text, "opencv==4.5")) == ["MatMul", "Reshape", "Relu", "Reshape"]

    @pytest.mark.parametrize("operator", ["Abs", "Exp"])
    def test_what_follows_a_product_of_computed_matrices_in_4_5(self, operator: str) -> None:
        text = f"g (float[2,3] x, float[3,4] w) => (float[2,4] y) {{ m = MatMul (x, w) y = {operator} (m) }}"
        refused(text, "opencv==4.5", because="merges what follows a MatMul")
        constant = text.replace(", float[3,4] w)", ")").replace("{ m", "<float[3,4] w = {1,2,3,4,5,6,7,8,9,1,2,3}> { m")
        assert operators(converted(constant, "opencv==4.5")) == ["MatMul", operator]

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize("product", ["Mul (e, a)", "Mul (a, e)"])
    def test_celu_as_exporters_write_it(self, runtime: str, product: str) -> None:
        text = f"g (float[2,3] x) => (float[2,3] y) <float a = {{2}}> {{ d = Div (x, a) e = Elu (d) y = {product} }}"
        assert operators(converted(text, runtime)) == ["Div", "Elu", "Div"]

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    def test_means_of_more_than_three(self, runtime: str) -> None:
        text = "g (float[2,3] a, float[2,3] b, float[2,3] c, float[2,3] d) => (float[2,3] y) { y = Mean (a, b, c, d) }"
        assert operators(converted(text, runtime)) == ["Sum", "Div"]
        three = text.replace(", float[2,3] d)", ")").replace(", d)", ")")
        assert operators(converted(three, runtime)) == ["Mean"]

    def test_sizes_that_a_second_reshape_copies(self) -> None:
        text = (
            "g (float[3,2,8] x) => (float[A,B,C] y) <int64[4] s = {3,4,2,2}, int64[3] t = {0,0,-1}> "
            "{ a = Reshape (x, s) y = Reshape (a, t) }"
        )
        found = converted(text, "opencv==5.0")
        shapes = [numpy_helper.to_array(one).tolist() for one in found.graph.initializer]
        assert [3, 4, -1] in shapes
        assert [0, 0, -1] not in shapes

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14", "opencv==5.0"])
    def test_windows_that_start_late(self, runtime: str) -> None:
        text = (
            "g (float[1,3,4,4] x) => (float[1,3,A,B] y) "
            "{ y = MaxPool <ceil_mode = 1, kernel_shape = [1, 1], strides = [2, 2]> (x) }"
        )
        found = converted(text, runtime, opset=12)
        assert "ceil_mode" not in {one.name for node in found.graph.node for one in node.attribute}

    @pytest.mark.parametrize(
        ("text", "runtime"),
        [
            ("g (float[2,3,4] x) => (float[A,B,C] y) { y = ReduceMax <axes = [0]> (x) }", "opencv==4.5"),
            ("g (uint8[3] x, uint8[3] z) => (uint8[3] y) { y = Sub (x, z) }", "opencv==4.14"),
            ("g (uint8[2,3] x, uint8[2,3] z) => (uint8[2,3] y) { y = Add (x, z) }", "opencv==4.14"),
            (
                "g (float[1,1,3,3] x, float[1,1,2,2] w) => (float[A,B,C,D] y) { y = ConvTranspose (x, w) }",
                "opencv==4.5",
            ),
        ],
    )
    def test_others_are_refused(self, text: str, runtime: str) -> None:
        with pytest.raises(ConversionRefused, match="OpenCV DNN"):
            convert(model(f'<ir_version: 7, opset_import: ["": 14]> {text}'), target=runtime)


class TestLSTMThatOpenCVComputes:
    """OpenCV 4.14 and 5.0 have one set of activations, no clipping, and both states or none."""

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize(
        ("attribute", "state", "because"),
        [
            (', activations = ["Sigmoid", "Tanh", "Tanh"]', "", ""),
            (", clip = 0.5", "", "does not clip"),
            ("", ', "", "", h, h', ""),
        ],
    )
    def test_is_told_apart_from_others(self, runtime: str, attribute: str, state: str, because: str) -> None:
        numbers = ",".join(["0.5"] * 8)
        text = (
            f"g (float[2,1,2] x, float[1,1,1] h) => (float[2,1,1,1] y) <float[1,4,2] w = {{{numbers}}}, "
            f"float[1,4,1] r = {{1,2,3,4}}> {{ k = Relu (h) y = LSTM <hidden_size = 1{attribute}> (x, w, r{state}) }}"
        )
        if because:
            refused(text, runtime, because=because)
        else:
            assert "LSTM" in operators(converted(text, runtime))

    @pytest.mark.parametrize("runtime", ["opencv==4.14", "opencv==5.0"])
    @pytest.mark.parametrize(
        ("attribute", "state"), [(', activations = ["Relu", "Tanh", "Tanh"]', ""), ("", ', "", "", h')]
    )
    def test_others_are_written_as_steps(self, runtime: str, attribute: str, state: str) -> None:
        numbers = ",".join(["0.5"] * 8)
        text = (
            f"g (float[2,1,2] x, float[1,1,1] h) => (float[2,1,1,1] y) <float[1,4,2] w = {{{numbers}}}, "
            f"float[1,4,1] r = {{1,2,3,4}}> {{ k = Relu (h) y = LSTM <hidden_size = 1{attribute}> (x, w, r{state}) }}"
        )
        assert "LSTM" not in operators(converted(text, runtime))


class TestDefaultsOfInputs:
    """OpenCV takes initializers for constants, also where they are inputs of the model, as IR version 3 wants."""

    @pytest.mark.parametrize("runtime", ["opencv==4.3", "opencv==4.5", "opencv==4.14", "opencv==5.0"])
    def test_are_constants(self, runtime: str) -> None:
        given = model(
            '<ir_version: 3, opset_import: ["": 8]> '
            "g (float[2,3] x, float[2,3] w, float[2] b) => (float[2,2] y) "
            "<float[2,3] v = {1,2,3,4,5,6}, float[2] c = {1,2}> { y = Gemm <transB = 1> (x, w, b) }"
        )
        for tensor, info in zip(given.graph.initializer, given.graph.input[1:], strict=True):
            tensor.name = info.name
        assert operators(convert(given, target=runtime).model) == ["Gemm"]


class TestONNXJs:
    """It was measured in 0.1.8: few operators, and the first image of a batch only."""

    _TEXT = """
        g (float[BATCH,1,4,4] x) => (float[BATCH,1,2,2] y) <float[1,1,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
            y = Conv (x, w)
        }
    """

    def test_a_batch_is_not_convolved(self) -> None:
        assert operators(converted(self._TEXT.replace("BATCH", "1"), "onnxjs==0.1.8", opset=10)) == ["Conv"]
        for batch, because in (("2", "first image"), ("N", "fix-shapes")):
            refused(self._TEXT.replace("BATCH", batch), "onnxjs==0.1.8", opset=10, because=because)

    def test_what_it_lacks_is_refused(self) -> None:
        text = "g (float[2,3] x) => (float[2,3] y) { y = Erf (x) }"
        refused(text, "onnxjs==0.1.8", opset=9, because="Erf")

    def test_no_function_is_computed_of_them(self) -> None:
        given = model(
            '<ir_version: 3, opset_import: ["": 8]> g (float[1,4] x, float[4] w) => (float[1,4] y) '
            "<float[4] v = {1,2,3,4}> { n = Neg (w) y = Mul (x, n) }"
        )
        given.graph.initializer[0].name = "w"
        with pytest.raises(ConversionRefused, match="no function of a constant"):
            convert(given, target="opencv==4.3")

    @pytest.mark.parametrize(("sizes", "because"), [("", ""), (", int64[4] s", "no computed sizes")])
    def test_sizes_of_a_resize_are_taken_by_4_5_where_they_are_constants(self, sizes: str, because: str) -> None:
        constants = "float[0] e = {}" + ("" if sizes else ", int64[4] s = {1,2,8,12}")
        text = (
            f"g (float[1,2,4,6] x{sizes}) => (float[1,2,A,B] y) <{constants}> "
            '{ y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> '
            "(x, e, e, s) }"
        )
        if because:
            refused(text, "opencv==4.5", because=because, opset=11)
        else:
            assert operators(converted(text, "opencv==4.5", opset=11)) == ["Resize"]


def test_inputs_of_three_axes_are_refused_where_they_become_matrices_of_channels() -> None:
    text = "g (float[2,3,{0}] x) => (float[2,3,{0}] y) {{ y = Relu (x) }}"
    refused(
        text.format(512), "opencv==4.5", because="input 'x' has three axes, and OpenCV DNN 4.5 takes it for a matrix"
    )
    assert operators(converted(text.format(513), "opencv==4.5")) == ["Relu"]
    assert operators(converted(text.format(512), "opencv==4.14")) == ["Relu"]


@pytest.mark.parametrize("operator", ["IsInf", "IsNaN"])
def test_what_logic_reads_is_compared(operator: str) -> None:
    """OpenVINO 2022.3 does not load a logical operator behind these."""
    text = f"g (float[2,1] x, bool[2,1] b) => (bool[2,1] y) {{ i = {operator} (x) y = Or (i, b) }}"
    assert operator not in operators(converted(text, "openvino==2022.3"))
    assert operators(converted(text, "openvino==2026.4")) == [operator, "Or"]


def test_parts_that_are_read_twice_are_sliced() -> None:
    """OpenVINO 2022.3 computes other values for a product of two parts and arithmetic with one of them."""
    text = """g (float[2,6] x) => (float[2,3] y) {{
        b, c = Split <axis = 1> (x) e = Exp (c) d = Mul (b, e) y = Sub (d, {0}) }}"""
    sliced = ["Slice", "Slice", "Exp", "Mul", "Sub"]
    assert operators(converted(text.format("c"), "openvino==2022.3", opset=11)) == sliced
    assert operators(converted(text.format("d"), "openvino==2022.3", opset=11)) == ["Split", *sliced[2:]]


class TestActivationsOfRecurrentNetworks:
    """OpenCV reads no lists of texts; tf2onnx writes the defaults."""

    _TEXT = """g (float[3,2,5] x, float[1,12,5] w, float[1,12,4] r) => (float[3,1,2,4] y) {{
        y = GRU <hidden_size = 4, activations = [{0}]> (x, w, r) }}"""

    def test_defaults_are_left_out(self) -> None:
        found = converted(self._TEXT.format('"Sigmoid", "Tanh"'), "opencv==5.0")
        assert [one.name for one in found.graph.node[0].attribute] == ["hidden_size"]

    def test_others_are_refused(self) -> None:
        refused(self._TEXT.format('"Tanh", "Sigmoid"'), "opencv==5.0", because="reads no list of activations")


def test_groups_of_sequences_behind_convolutions_are_normalized_otherwise() -> None:
    """OpenCV 5.0 keeps them in blocks of channels."""
    text = """g (float[2,2,{0}] x, float[2] s, float[2] b) => (float[2,2,{0}] y) <float[2,1,{1}] w = {{1, 2}}> {{
        c = Conv <group = 2> (x, w) y = GroupNormalization <num_groups = 2> (c, s, b) }}"""
    assert "GroupNormalization" not in operators(converted(text.format("9", "1"), "opencv==5.0", opset=21))
    assert "GroupNormalization" in operators(converted(text.format("9,9", "1,1"), "opencv==5.0", opset=21))


def test_negative_thresholds_of_scores_are_refused() -> None:
    text = """g (float[1,8,4] b, float[1,1,8] s) => (int64[A,3] y)
        <int64 n = {{4}}, float i = {{0.4}}, float t = {{{0}}}> {{
        y = NonMaxSuppression (b, s, n, i, t) }}"""
    refused(text.format("-1"), "opencv==5.0", because="takes no negative score_threshold")
    assert operators(converted(text.format("0"), "opencv==5.0")) == ["NonMaxSuppression"]


def test_boxes_of_negative_scores_are_selected_or_refused() -> None:
    """OpenCV 5.0 takes 0 for a threshold that is absent."""
    text = """g (float[1,8,4] b, float[1,1,8] x) => (int64[A,3] y) <int64 n = {{4}}, float i = {{0.4}}> {{
        s = {0} (x) y = NonMaxSuppression (b, s, n, i) }}"""
    refused(text.format("Neg"), "opencv==5.0", because="negative scores")
    assert operators(converted(text.format("Sigmoid"), "opencv==5.0")) == ["Sigmoid", "NonMaxSuppression"]


def test_axes_that_are_all_are_left_out_with_what_none_would_mean() -> None:
    text = """g (float[3,4] x) => (float y) <int64[2] axes = {0, 1}> {
        y = ReduceSum <keepdims = 0, noop_with_empty_axes = 1> (x, axes) }"""
    node = converted(text, "opencv==5.0", opset=13).graph.node[0]
    assert (list(node.input), [one.name for one in node.attribute]) == (["x"], ["keepdims"])


@pytest.mark.parametrize("order", ["c, d", "d, c"])
def test_results_of_convolutions_of_other_shapes_are_subtracted(order: str) -> None:
    """OpenCV 5.0 merges the sum into one of the convolutions, which adds nothing of another shape."""
    ones = ", ".join("1" * 12)
    text = f"""g (float[2,6,{{0}},2] z, float[2,6,2,2] x) => (float[2,2,2,2] y) <float[2,6,1,1] k = {{{{{ones}}}}}> {{{{
        c = Conv (x, k) d = Conv (z, k) y = Add ({order}) }}}}"""
    assert operators(converted(text.format(1), "opencv==5.0")) == ["Conv", "Conv", "Neg", "Sub"]
    assert operators(converted(text.format(2), "opencv==5.0")) == ["Conv", "Conv", "Add"]


class TestPadsAtTheEnds:
    """onnxruntime 1.21 to 1.24 reads every second pad for those at the ends where AveragePool-19 counts them."""

    _TEXT = """g (float[1,2,7,9] x) => (float[1,2,A,B] y) {{
        y = AveragePool <kernel_shape = [2, 2], count_include_pad = {1}, {0}> (x) }}"""

    @pytest.mark.parametrize("pads", ["pads = [0, 0, 1, 1]", "pads = [1, 0, 1, 0]", 'auto_pad = "SAME_UPPER"'])
    def test_are_written_as_zeros(self, pads: str) -> None:
        text = self._TEXT.format(pads, 1)
        assert operators(converted(text, "onnxruntime==1.23", opset=21)) == ["Pad", "AveragePool"]
        assert operators(converted(text, "onnxruntime==1.25", opset=21)) == ["AveragePool"]

    @pytest.mark.parametrize("pads", ["pads = [1, 1, 1, 1]", "pads = [1, 0, 0, 0]"])
    def test_others_stay(self, pads: str) -> None:
        assert operators(converted(self._TEXT.format(pads, 1), "onnxruntime==1.23", opset=21)) == ["AveragePool"]

    def test_what_does_not_count_them_stays(self) -> None:
        text = self._TEXT.format("pads = [0, 0, 1, 1]", 0)
        assert operators(converted(text, "onnxruntime==1.23", opset=21)) == ["AveragePool"]


class TestRowsOfCasts:
    """onnxruntime before 1.0 does not load them where one casts back; Keras with PyTorch exports Casts to float."""

    @pytest.mark.parametrize(
        ("runtime", "count", "written"),
        [
            ("onnxruntime==0.3", 2, ["Cast", "Cast"]),
            ("onnxruntime==0.3", 3, ["Cast", "Cast", "Reshape", "Cast"]),
            ("onnxruntime==0.5", 3, ["Cast", "Cast", "Cast"]),
            ("onnxruntime==0.5", 4, ["Cast", "Cast", "Cast", "Reshape", "Cast"]),
            ("onnxruntime==1.0", 4, ["Cast", "Cast", "Cast", "Cast"]),
        ],
    )
    def test_a_reshape_keeps_them_apart(self, runtime: str, count: int, written: list[str]) -> None:
        casts = " ".join(f"c{number + 1} = Cast <to = 1> (c{number})" for number in range(count))
        text = f"g (float[2,3] x) => (float[2,3] y) {{ c0 = Neg (x) {casts} y = Abs (c{count}) }}"
        found = converted(text, runtime, opset=8).graph.node
        assert [one.op_type for one in found] == ["Neg", *written, "Abs"]


@pytest.mark.parametrize("order", ["product, e", "e, product"])
def test_a_value_of_unknown_rank_is_not_added_to_a_product(order: str) -> None:
    """onnxruntime 1.0 to 1.5 dies while loading, where it merges a MatMul and an Add."""
    text = f"""g (int64[N] s, float[2,4] b, float[2,3] c, float[4,3] w) => (float y) {{
        e = Reshape (c, s) product = MatMul (b, w) y = Add ({order}) }}"""
    assert operators(converted(text, "onnxruntime==1.4", opset=11)) == ["Reshape", "MatMul", "Neg", "Sub"]
    assert operators(converted(text, "onnxruntime==1.6", opset=11)) == ["Reshape", "MatMul", "Add"]


class TestTransposesThatGraphsInsideRead:
    """onnxruntime 1.10 moves them past what reads them, too, and does not load what is left."""

    _TEXT = """g (float[2,7,4] x, bool c, int64 i) => (float[4,2] y, float[2,7,4] z) {{
        t = Transpose <perm = [1, 2, 0]> (x) {0}
        y = If (c) <then_branch = a () => (float[4,2] r) {{ r = Gather <axis = 0> ({1}, i) }},
            else_branch = b () => (float[4,2] q) {{ p = Gather <axis = 0> ({1}, i) q = Neg (p) }}> }}"""
    _KEPT = ("Shape", "Reshape", "Transpose", "Shape", "Reshape")

    def test_stand_between_reshapes(self) -> None:
        text = self._TEXT.format("z = Transpose <perm = [2, 0, 1]> (t)", "t")
        found = operators(converted(text, "onnxruntime==1.10", opset=13))
        assert found == [*self._KEPT, *self._KEPT, "If"]
        assert operators(converted(text, "onnxruntime==1.11", opset=13)) == ["Transpose", "Transpose", "If"]

    def test_one_behind_what_they_read_does_so_too(self) -> None:
        text = self._TEXT.format("v = Relu (t) z = Transpose <perm = [2, 0, 1]> (v)", "v")
        assert operators(converted(text, "onnxruntime==1.10", opset=13)) == ["Transpose", "Relu", *self._KEPT, "If"]


class TestNodesOfDtypesWithoutKernels:
    """What a runtime does not compute, or not in a dtype, is computed in another one, or by other operators."""

    @pytest.mark.parametrize(
        ("text", "runtime", "expected"),
        [
            ("uint8[A] x, uint8[A] z) => (uint8[A] y) { y = Max (x, z) }", "mnn==3.6", "Max"),
            (
                "uint8[A] x) => (uint8[A] y) <uint8 l = {2}, uint8 h = {9}> { y = Clip (x, l, h) }",
                "mnn==3.6",
                "Max Min",
            ),
            (
                "int64[A] x, int64[A] z) => (bool[A] y) { y = Less (x, z) }",
                "onnxjs==0.1.0",
                "Unsqueeze Unsqueeze Concat ReduceMin Sub Equal Not",
            ),
            ("int8[1,3] x) => (int8[4,3] y) <int64[2] s = {4, 3}> { y = Expand (x, s) }", "onnxjs==0.1.8", "Tile"),
            (
                "uint32[2] x) => (float[2,3] y) <uint32 d = {3}, float[2] v = {0, 1}> { y = OneHot (x, d, v) }",
                "openvino==2021.4",
                "OneHot",
            ),
        ],
    )
    def test_are_computed_otherwise(self, text: str, runtime: str, expected: str) -> None:
        assert operators(converted(f"g ({text}", runtime)) == expected.split()

    def test_the_depth_of_one_hot_becomes_a_vector(self) -> None:
        text = "g (uint32[2] x) => (float[2,3] y) <uint32 d = {3}, float[2] v = {0, 1}> { y = OneHot (x, d, v) }"
        found = converted(text, "openvino==2021.4")
        assert {one.name: list(one.dims) for one in found.graph.initializer} == {"v": [2], "y_depth": [1]}

    def test_what_runtimes_count_from_the_front_is_counted_so(self) -> None:
        text = "g (int32[1,3] x) => (int32[3] y) <int64[1] a = {-2}> { y = Squeeze (x, a) }"
        assert converted(text, "opencv==4.3").graph.node[0].attribute[0].ints == [0]
        text = (
            "g (float[5,3] x) => (float[2,3] y) <int64[1] a = {-3}, int64[1] b = {-1}, int64[1] c = {-2}> "
            "{ y = Slice (x, a, b, c) }"
        )
        constants = converted(text, "opencv==4.3").graph.initializer
        assert [numpy_helper.to_array(one).tolist() for one in constants] == [[-2], [2], [4]]

    def test_a_squeeze_of_nothing_is_a_copy(self) -> None:
        found = converted("g (float[3] x) => (float[3] y) { y = Squeeze (x) }", "onnxjs==0.1.8", opset=11)
        assert operators(found) == ["Identity"]

    def test_a_condition_of_one_element_becomes_a_scalar(self) -> None:
        """onnxruntime 0.2 takes constants that a branch gives for zeros; indices for them come from the condition."""
        text = (
            "g (bool[1] c, float[2] x) => (float[2] y) { y = If (c) <"
            "then_branch = t () => (float[2] o) <float[2] k = {1, 2}> { o = Identity (k) },"
            "else_branch = e () => (float[2] o) { o = Neg (x) }> }"
        )
        found = operators(converted(text, "onnxruntime==0.2", opset=11))
        assert (found[0], found[-1]) == ("Reshape", "If")

    def test_a_constant_condition_takes_its_branch(self) -> None:
        text = (
            "g (float[2] x) => (float[2] y) <bool c = {1}> { y = If (c) <"
            "then_branch = t () => (float[2] o) <float[2] k = {1, 2}> { o = Identity (k) },"
            "else_branch = e () => (float[2] o) { o = Neg (x) }> }"
        )
        assert operators(converted(text, "onnxruntime==0.5", opset=11)) == ["Identity"]

    @pytest.mark.parametrize(
        ("x", "expected"),
        [("int32[2,3]", "MatMul Add"), ("float[3]", "Unsqueeze MatMul Add")],
        ids=["integers", "a vector"],
    )
    def test_a_linear_regressor_takes_any_numbers_and_a_single_row(self, x: str, expected: str) -> None:
        node = "ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0, 3.0], intercepts = [0.5]> (x)"
        found = converted(f"g ({x} x) => (float[A,1] y) {{ y = {node} }}", "openvino==2022.3", ml_opset=1)
        assert operators(found) == expected.split()

    def test_an_element_before_the_first_goes_into_a_longer_sequence(self) -> None:
        """onnxruntime before 1.5 takes no position behind the last element."""
        text = "g (seq(float[2]) s, float[2] e) => (seq(float[2]) y) <int64 p = {0}> { y = SequenceInsert (s, e, p) }"
        found = operators(converted(text, "onnxruntime==1.4"))
        assert found == ["SequenceInsert", "SequenceInsert", "SequenceErase"]

    def test_what_steps_back_along_one_axis_only_is_sliced_along_the_other(self) -> None:
        text = (
            "g (float[4,5] x) => (float[2,2] y) "
            "<int64[2] a = {3, 1}, int64[2] b = {0, 3}, int64[2] c = {0, 1}, int64[2] d = {-2, 1}> "
            "{ y = Slice (x, a, b, c, d) }"
        )
        assert operators(converted(text, "onnxjs==0.1.8")) == ["Slice", "Gather"]

    @pytest.mark.parametrize("runtime", ["openvino==2021.4", "tract==0.23"])
    def test_the_only_axis_of_one_element_is_the_one_to_remove(self, runtime: str) -> None:
        found = converted("g (float[1,3] x, int64[1] a) => (float[3] y) { y = Squeeze (x, a) }", runtime)
        assert [list(node.input) for node in found.graph.node] != [["x", "a"]]
