"""Fallbacks for what `opsetlift measure` found missing in releases of onnxruntime, proven to compute the same."""

from __future__ import annotations

from pathlib import Path

import numpy
import onnx
import pytest
from onnx import ModelProto

from opsetlift import ConversionRefused, convert, reach
from opsetlift.evaluator import Evaluator
from testing.conversion import model
from tests.test_fallbacks import converted, operators


class TestNumbersOfLoops:
    """onnxruntime 0.3 and 0.4 give the body of a Loop the number of its run as a vector of one element."""

    _TEXT = """
        g (int64[3] x, int64 n) => (int64[3] z, int64[A,1] y) <bool c = {1}> {
            z, y = Loop (n, c, x) <body = b (int64 i, bool go, int64[3] s) => (bool on, int64[3] t, int64[1] v) {
                on = Identity (go)
                t = Identity (s)
                v = Unsqueeze <axes = [0]> (i)
            }>
        }
    """

    def test_are_reshaped_to_scalars(self) -> None:
        (loop,) = converted(self._TEXT, "onnxruntime==0.4", opset=10).graph.node
        body = next(one.g for one in loop.attribute if one.name == "body")
        assert "Reshape" in [node.op_type for node in body.node if body.input[0].name in node.input]

    def test_stay_in_later_releases_and_where_nothing_reads_them(self) -> None:
        (loop,) = converted(self._TEXT, "onnxruntime==0.5", opset=10).graph.node
        assert [node.op_type for node in loop.attribute[0].g.node] == ["Identity", "Identity", "Unsqueeze"]
        unread = self._TEXT.replace("v = Unsqueeze <axes = [0]> (i)", "v = Slice <starts = [0], ends = [1]> (s)")
        (loop,) = converted(unread, "onnxruntime==0.4", opset=9).graph.node
        assert "Reshape" not in [node.op_type for node in loop.attribute[0].g.node]


class TestValuesThatBodiesPassOn:
    """onnxruntime 0.2 and 0.3 do not load a body of which an output is an input."""

    _TEXT = """
        g (float[3] x, int64 n, bool c) => (float[3] y, float[3] z) {
            y, z = Loop (n, c, x, x) <
                body = b (int64 i, bool go, float[3] s, float[3] u) => (bool on, float[3] t, float[3] u) {
                    on = Identity (go)
                    t = Add (s, u)
                }>
        }
    """

    def _body(self, release: str) -> onnx.GraphProto:
        (loop,) = converted(self._TEXT, f"onnxruntime=={release}", opset=9).graph.node
        return next(one.g for one in loop.attribute if one.name == "body")

    @pytest.mark.parametrize("release", ["0.2", "0.3"])
    def test_are_copied(self, release: str) -> None:
        body = self._body(release)
        assert not {one.name for one in body.input} & {one.name for one in body.output}

    def test_stay_in_later_releases(self) -> None:
        assert [node.op_type for node in self._body("0.4").node] == ["Identity", "Add"]


class TestElementsThatMove:
    """onnxruntime 0.3 transposes and repeats floats only."""

    @pytest.mark.quick_share(2)
    @pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool", "double"])
    @pytest.mark.parametrize("shape", ["2,3", "A,B"])
    @pytest.mark.parametrize("node", ["Transpose (x)", "Tile (x, r)"])
    def test_do_so_in_every_dtype(self, dtype: str, shape: str, node: str) -> None:
        text = f"g ({dtype}[{shape}] x) => ({dtype}[C,D] y) <int64[2] r = {{2, 1}}> {{ y = {node} }}"
        converted(text, "onnxruntime==0.3", opset=9)

    def test_keep_all_64_bits(self) -> None:
        ends = numpy.iinfo(numpy.int64)
        values = numpy.array([[ends.min, ends.min + 1, -(2**53) - 1], [2**44 + 1, ends.max, -1]])
        found = converted("g (int64[2,3] x) => (int64[3,2] y) { y = Transpose (x) }", "onnxruntime==0.3", opset=9)
        numpy.testing.assert_array_equal(Evaluator(found).run({"x": values})["y"], values.T)

    def test_stay_as_they_are_where_there_is_a_kernel(self) -> None:
        text = "g (int64[2,3] x) => (int64[3,2] y) { y = Transpose (x) }"
        assert operators(converted(text, "onnxruntime==1.10")) == ["Transpose"]

    def test_are_summed_in_parts_that_int32_holds(self) -> None:
        found = converted("g (int64[9] x) => (int64 z) { z = ReduceSum <keepdims=0> (x) }", "onnxruntime==0.3", opset=9)
        values = numpy.array([2**63 - 1, 2**63 - 1, -5, 2**40, 7, -(2**63), 0, 1, 2**31])
        with numpy.errstate(over="ignore"):
            assert Evaluator(found).run({"x": values})["z"] == values.sum()


class TestAxesThatCountFromTheBack:
    """Below opset 11 the specification allows none; exporters wrote them all the same, and newer releases take them."""

    @pytest.mark.parametrize(
        ("node", "attribute"),
        [
            ("Slice <axes = [-1], starts = [0], ends = [2]> (x)", "axes"),
            ("Hardmax <axis = -1> (x)", "axis"),
            ("Compress <axis = -1> (x, c)", "axis"),
        ],
    )
    def test_count_from_the_front_for_releases_before(self, node: str, attribute: str) -> None:
        text = f"g (float[2,3,4] x, bool[2] c) => (float[A,B,C] y) {{ y = {node} }}"
        for release, wanted in (("0.5", 2), ("1.0", -1)):
            found = converted(text, f"onnxruntime=={release}", opset=9).graph.node[0].attribute
            assert [one.i or one.ints[0] for one in found if one.name == attribute] == [wanted]


class TestQuantizedProducts:
    """onnxruntime 1.1 has few kernels of them, some of which end the process."""

    @pytest.mark.quick_share(4)
    @pytest.mark.parametrize(
        "text",
        [
            "g (int8[2,3] x, int8[3,4] w) => (int32[2,4] y) { y = MatMulInteger (x, w) }",
            "g (uint8[2,3] x, int8[3,4] w, uint8 p, int8 q) => (int32[2,4] y) { y = MatMulInteger (x, w, p, q) }",
            "g (int8[1,1,4,4] x, int8[1,1,2,2] w) => (int32[1,1,3,3] y) { y = ConvInteger (x, w) }",
            (
                "g (int8[2,3] x, int8[3,4] w, float a, int8 p, float b, int8 q, float c, int8 r) => (int8[2,4] y) "
                "{ y = QLinearMatMul (x, a, p, w, b, q, c, r) }"
            ),
        ],
    )
    def test_are_computed_in_floats(self, text: str) -> None:
        source = model(f'<ir_version: 5, opset_import: ["": 11]> {text}')
        found = converted(text, "onnxruntime==1.1", opset=11)
        assert source.graph.node[0].op_type not in operators(found)


class TestFormsThatNeedMore:
    """Older releases want attributes and inputs that the specification lets models leave out."""

    @pytest.mark.parametrize(("operator", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
    def test_a_recurrent_network_gets_its_size(self, operator: str, gates: int) -> None:
        text = f"g (float[5,1,3] x, float[1,{2 * gates},3] w, float[1,{2 * gates},2] r) => (float[5,1,1,2] y)"
        found = converted(f"{text} {{ y = {operator} (x, w, r) }}", "onnxruntime==1.10", opset=11)
        assert [one.i for one in found.graph.node[-1].attribute if one.name == "hidden_size"] == [2]

    def test_a_gated_network_gets_a_bias(self) -> None:
        text = "g (float[5,1,3] x, float[1,6,3] w, float[1,6,2] r) => (float[5,1,1,2] y)"
        node = "{ y = GRU <hidden_size=2, linear_before_reset=1> (x, w, r) }"
        found = converted(f"{text} {node}", "onnxruntime==1.1", opset=11)
        assert found.graph.node[-1].input[3]

    def test_a_batch_comes_second(self) -> None:
        text = "g (float[1,5,3] x, float[1,2,3] w, float[1,2,2] r) => (float[1,5,1,2] y)"
        found = converted(f"{text} {{ y = RNN <hidden_size=2, layout=1> (x, w, r) }}", "onnxruntime==1.10", opset=14)
        assert operators(found) == ["Transpose", "RNN", "Transpose"]

    def test_a_loop_gets_a_condition(self) -> None:
        text = (
            "g (float[2] x) => (float[2] y) <int64 count = {3}> { y = Loop (count, , x) "
            "<body = b (int64 i, bool go, float[2] a) => (bool on, float[2] z) { on = Identity (go) z = Add (a, a) }> }"
        )
        found = converted(text, "onnxruntime==1.10", opset=13)
        loop = next(node for node in found.graph.node if node.op_type == "Loop")
        assert loop.input[1]

    def test_scales_of_an_image_come_from_a_node(self) -> None:
        text = "g (float[1,1,2,3] x) => (float[1,1,4,6] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }"
        assert operators(converted(text, "onnxruntime==0.3", opset=9)) == ["Identity", "Upsample"]


class TestReleasesWithoutAMeasurement:
    def test_are_taken_to_be_like_the_one_before_which_reports_and_refusals_say(self, tmp_path: Path) -> None:
        board = tmp_path / "board.toml"
        board.write_text(
            'title = "Board"\n[sources]\nmine = "measured"\n'
            '[[release]]\nversions = ["1.29", "1.30"]\nopset = { min = 7, max = 20, source = "mine" }\n'
            '[kernels]\nversions = ["1.29"]\nsource = "mine"\n'
            '[kernels.operators]\nAcos-7 = ["T: float"]\nNeg-13 = ["T: float"]\n'
        )
        text = "g (float[A] x) => (float[A] y) { y = Neg (x) }"
        source = model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
        report = convert(source, target=f"{board}==1.30").report
        assert any("1.30 was not measured; it is assumed to match 1.29" in note for note in report.notes)
        lacking = model('<ir_version: 7, opset_import: ["": 13]> g (double[A] x) => (double[A] y) { y = Acos (x) }')
        with pytest.raises(ConversionRefused, match=r"1\.30 \(not measured; assumed to match 1\.29\) has no kernel"):
            convert(lacking, target=f"{board}==1.30")

    @pytest.mark.parametrize("release", ["1.26", "1.28", "1.30"])
    def test_are_none_of_onnxruntime_since_one(self, release: str) -> None:
        text = "g (float[A] x) => (float[A] y) { y = Neg (x) }"
        notes = convert(
            model(f'<ir_version: 7, opset_import: ["": 13]> {text}'), target=f"onnxruntime=={release}"
        ).report.notes
        assert not any("measured" in note for note in notes)

    def test_of_runtimes_that_are_known_from_documents_are_said_to_be_so(self) -> None:
        text = "g (float[A] x) => (float[A] y) { y = Neg (x) }"
        source: onnx.ModelProto = model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
        notes = convert(source, target="tensorrt==8.6").report.notes
        assert any("TensorRT 8.6 was not measured; its data comes from the documentation" in note for note in notes)


class TestWhatOptimisersMerge:
    @pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
    def test_a_cast_to_integers_and_back_stays(self, dtype: str) -> None:
        number = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype))
        text = f"g (float[4] x) => (float[4] y) {{ a = Abs (x) b = Cast <to = {number}> (a) y = Cast <to = 1> (b) }}"
        assert operators(converted(text, "onnxruntime==1.5")) == ["Abs", "Reshape"]
        assert operators(converted(text, "onnxruntime==1.6")) == ["Abs"]

    @pytest.mark.parametrize(
        ("first", "between", "last", "runtime"),
        [
            ("int64", "uint8", "float", "onnxruntime==1.6"),
            ("int64", "int32", "float", "onnxruntime==1.16"),
            ("float", "float16", "float", "onnxruntime==1.4"),
            ("double", "float", "double", "onnxruntime==1.12"),
        ],
    )
    def test_a_cast_that_loses_numbers_stays(self, first: str, between: str, last: str, runtime: str) -> None:
        """onnxruntime 1.6 to 1.16 makes one Cast of it and the next one, which keeps what it lost."""
        to = [onnx.TensorProto.DataType.Value(one.upper()) for one in (between, last)]
        text = f"g ({first}[3] x) => ({last}[3] y) {{ a = Cast <to = {to[0]}> (x) y = Cast <to = {to[1]}> (a) }}"
        assert operators(converted(text, runtime)) == ["Reshape"]
        assert operators(converted(text, "onnxruntime==1.18")) == []

    @pytest.mark.parametrize("dtypes", [(6, 7, 1), (1, 6, 11), (7, 6, 3), (11, 1, 10), (9, 6, 1)])
    def test_a_cast_that_loses_nothing_more_does_not(self, dtypes: tuple[int, int, int]) -> None:
        _, between, last = dtypes
        names = [onnx.TensorProto.DataType.Name(one).lower() for one in dtypes]
        text = (
            f"g ({names[0]}[3] x) => ({names[2]}[3] y) {{ a = Cast <to = {between}> (x) y = Cast <to = {last}> (a) }}"
        )
        assert operators(converted(text, "onnxruntime==1.10")) == []

    def test_truth_values_of_whole_numbers_are_compared(self) -> None:
        """onnxruntime up to 1.25 takes 0.5 for true where it becomes an integer first."""
        text = "g (float[3] x) => (bool[3] y) { a = Cast <to = 6> (x) y = Cast <to = 9> (a) }"
        for runtime in ("onnxruntime==1.6", "onnxruntime==1.25"):
            found = converted(text, runtime)
            assert operators(found) == ["Equal", "Not"]
            assert Evaluator(found).run({"x": numpy.array([0.5, 2, 0], numpy.float32)})["y"].tolist() == [
                False,
                True,
                False,
            ]
        assert operators(converted(text, "onnxruntime==1.26")) == []

    def test_a_cast_back_of_what_a_rule_casts_stays(self) -> None:
        text = "g (int8[2,3] x, int8[3,4] w) => (float[2,4] y) { p = MatMulInteger (x, w) y = Cast <to = 1> (p) }"
        assert "Reshape" in operators(converted(text, "onnxruntime==1.1", opset=11))

    def test_a_cast_to_another_dtype_stays_as_it_is(self) -> None:
        text = "g (bool[4] x) => (float[4] y) { a = Cast <to = 7> (x) y = Cast <to = 1> (a) }"
        assert operators(converted(text, "onnxruntime==1.5")) == []

    def test_a_constant_term_comes_second(self) -> None:
        text = "g (float[2,3] x) => (float[2,3] y) <float[3] bias = {1, 2, 3}> { y = Add (bias, x) }"
        assert converted(text, "onnxruntime==1.3").graph.node[0].input[0] == "x"
        assert converted(text, "onnxruntime==1.4").graph.node[0].input[1] == "x"

    def test_a_constant_term_behind_an_identity_comes_second(self) -> None:
        """TorchScript writes equal biases once, with an Identity for each use but the first."""
        text = (
            "g (float[2,3] x) => (float[2,3] y) <float[3] one = {1, 2, 3}> { bias = Identity (one) y = Add (bias, x) }"
        )
        assert converted(text, "onnxruntime==1.3").graph.node[-1].input[0] == "x"
        assert converted(text, "onnxruntime==1.4").graph.node[-1].input[1] == "x"

    def test_a_computed_vector_comes_second_too(self) -> None:
        text = "g (float[2,3] x, float[3] v) => (float[2,3] y) { bias = Neg (v) y = Add (bias, x) }"
        for release, first in (("1.1", "x"), ("1.2", "x"), ("1.4", "bias")):
            assert converted(text, f"onnxruntime=={release}").graph.node[-1].input[0] == first

    @pytest.mark.parametrize("operator", ["Relu", "Sigmoid", "Tanh"])
    def test_an_activation_of_doubles_stays_apart_from_a_gemm(self, operator: str) -> None:
        text = f"g (double[2,3] x, double[3,2] w) => (double[2,2] y) {{ a = Gemm (x, w) y = {operator} (a) }}"
        changed = ["Gemm", "Max"] if operator == "Relu" else ["Gemm", "Sum", operator]
        assert operators(converted(text, "onnxruntime==1.17")) == changed
        assert operators(converted(text, "onnxruntime==1.18")) == ["Gemm", operator]
        assert operators(converted(text.replace("double", "float"), "onnxruntime==1.17")) == ["Gemm", operator]

    @pytest.mark.parametrize("operator", ["Tanh", "Elu"])
    def test_a_gemm_before_an_activation_has_a_term(self, operator: str) -> None:
        """onnxruntime 1.3 to 1.12 merge the two into a node that lacks its third input, and does not load."""
        text = f"g (float[2,3] x, float[3,2] w) => (float[2,2] y) {{ a = Gemm (x, w) y = {operator} (a) }}"
        for runtime in ("onnxruntime==1.3", "onnxruntime==1.12"):
            found = converted(text, runtime)
            assert operators(found) == ["Gemm", operator]
            term = onnx.numpy_helper.to_array(found.graph.initializer[0])
            assert found.graph.node[0].input[2] == found.graph.initializer[0].name
            assert term == 0
            assert numpy.signbit(term)
        assert len(converted(text, "onnxruntime==1.13").graph.node[0].input) == 2

    @pytest.mark.parametrize(
        ("first", "second", "result"),
        [("5,4", "1,4,6", "1,5,6"), ("5,4", "N,4,6", "N,5,6"), ("2,5,4", "1,1,4,6", "1,2,5,6")],
    )
    def test_stacks_of_matrices_have_one_rank(self, first: str, second: str, result: str) -> None:
        """onnxruntime 0.2 to 1.3 leave out dimensions of size 1 that only the second one has."""
        text = f"g (float[{first}] x, float[{second}] w) => (float[{result}] y) {{ y = MatMul (x, w) }}"
        assert operators(converted(text, "onnxruntime==1.3")) == ["Unsqueeze", "MatMul"]
        assert operators(converted(text, "onnxruntime==1.4")) == ["MatMul"]

    def test_stacks_of_more_than_one_matrix_stay_as_they_are(self) -> None:
        text = "g (float[5,4] x, float[3,4,6] w) => (float[3,5,6] y) { y = MatMul (x, w) }"
        assert operators(converted(text, "onnxruntime==1.3")) == ["MatMul"]

    def test_a_vector_that_is_multiplied_becomes_a_row(self) -> None:
        text = "g (float[5] x, float[5,6] w, float[6] b) => (float[6] y) { p = MatMul (x, w) y = Add (p, b) }"
        found = operators(converted(text, "onnxruntime==1.0", opset=11))
        assert found == ["Unsqueeze", "MatMul", "Squeeze", "Add"]
        assert operators(converted(text, "onnxruntime==1.1", opset=11)) == ["MatMul", "Add"]

    def test_a_gemm_gets_its_term_under_exact(self) -> None:
        text = "g (float[2,3] x, float[3,2] w) => (float[2,2] y) { a = Gemm (x, w) y = Tanh (a) }"
        source = model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
        assert len(convert(source, target="onnxruntime==1.4", exact=True).model.graph.node[0].input) == 3


class TestNormalizationsInArithmetic:
    """onnxruntime merges them into LayerNormalization, with checks that each release has more of."""

    _TEXT = """
        g (float[2,5,4] x) => (float[2,5,4] y)
            <float two = {2}, float epsilon = {0.01}, float[4] scale = {1, 2, 3, 4}, float[4] bias = {0, 1, 2, 3}> {
            mean = ReduceMean <axes = [-1]> (x)
            centered = Sub (x, mean)
            squares = Pow (centered, two)
            variance = ReduceMean <axes = [-1]> (squares)
            shifted = Add (variance, epsilon)
            deviation = Sqrt (shifted)
            normalized = Div (centered, deviation)
            scaled = Mul (normalized, scale)
            y = Add (scaled, bias)
        }
    """

    def _assert_changed(self, text: str, names: list[str], *, by: str, kept_by: str) -> None:
        """The named operators are new in a conversion for one release, and the other release takes the model."""
        before = operators(model(f'<ir_version: 6, opset_import: ["": 11]> {text}'))
        added = operators(converted(text, f"onnxruntime=={by}", opset=11))
        for name in before:
            if name in added:
                added.remove(name)
        assert added == names
        assert operators(converted(text, f"onnxruntime=={kept_by}", opset=11)) == before

    def test_have_a_product_for_a_square_where_merging_loses_what_others_read(self) -> None:
        self._assert_changed(self._TEXT, ["Mul"], by="1.2", kept_by="1.4")

    def test_negate_the_base_of_another_power_twice(self) -> None:
        found = converted(self._TEXT.replace("two = {2}", "two = {4}"), "onnxruntime==1.2", opset=11)
        assert operators(found)[2:5] == ["Neg", "Neg", "Pow"]

    @pytest.mark.quick_share(2)
    @pytest.mark.parametrize("release", ["1.4", "1.12", "1.32"])
    @pytest.mark.parametrize("exponent", ["float two = {4}", "float[4] two = {2, 2, 2, 3}"])
    def test_negate_other_powers_twice_where_merging_takes_any_exponent_for_2(
        self, release: str, exponent: str
    ) -> None:
        found = converted(self._TEXT.replace("float two = {2}", exponent), f"onnxruntime=={release}", opset=11)
        assert operators(found)[2:6] == ["Pow", "Neg", "Neg", "ReduceMean"]
        without_mean = self._TEXT.replace("centered = Sub (x, mean)", "centered = Identity (x)")
        found = converted(without_mean.replace("float two = {2}", exponent), f"onnxruntime=={release}", opset=11)
        assert operators(found).count("Neg") == 2

    @pytest.mark.quick_share(2)
    @pytest.mark.parametrize("release", ["1.4", "1.32"])
    def test_add_a_negative_to_the_mean_where_merging_subtracts_it(self, release: str) -> None:
        text = self._TEXT.replace("Sub (x, mean)", "Sub (mean, x)")
        assert operators(converted(text, f"onnxruntime=={release}", opset=11))[:3] == ["ReduceMean", "Neg", "Add"]
        assert operators(converted(self._TEXT, f"onnxruntime=={release}", opset=11))[1] == "Sub"

    @pytest.mark.quick_share(2)
    @pytest.mark.parametrize(
        "numbers", ["float[4] epsilon = {0.01, 1, 2, 3}", "float[2,1,1] epsilon = {0.5, 2}", "float[1,5,1] epsilon"]
    )
    def test_subtract_the_negatives_of_several_epsilons(self, numbers: str) -> None:
        numbers += "" if "=" in numbers else " = {1, 2, 3, 4, 5}"
        text = self._TEXT.replace("float epsilon = {0.01}", numbers)
        self._assert_changed(text, ["Sub"], by="1.31", kept_by="1.32")
        assert operators(converted(text, "onnxruntime==1.4", opset=11)).count("Sub") == 2

    def test_of_doubles_have_a_product_where_merging_drops_epsilon(self) -> None:
        self._assert_changed(self._TEXT.replace("float", "double"), ["Mul"], by="1.29", kept_by="1.32")

    def test_have_epsilon_second(self) -> None:
        text = self._TEXT.replace("Add (variance, epsilon)", "Add (epsilon, variance)")
        sums = [node for node in converted(text, "onnxruntime==1.31", opset=11).graph.node if node.op_type == "Add"]
        assert [node.input[0] for node in sums] == ["variance", "scaled"]
        assert converted(text, "onnxruntime==1.32", opset=11).graph.node[4].input[1] == "variance"

    def test_subtract_the_negative_of_a_computed_epsilon(self) -> None:
        text = self._TEXT.replace("x)", "x, float e)", 1).replace("float epsilon = {0.01}", "float none = {0}")
        text = text.replace("mean =", "epsilon = Abs (e) mean =")
        self._assert_changed(text, ["Neg", "Sub"], by="1.31", kept_by="1.32")

    def test_negate_squares_twice_before_means_over_another_axis(self) -> None:
        text = self._TEXT.replace("[-1]", "[1]")
        self._assert_changed(text, ["Neg", "Neg"], by="1.15", kept_by="1.16")
        assert operators(converted(self._TEXT, "onnxruntime==1.15", opset=11)).count("Neg") == 0

    def test_have_a_scale_of_one_number_in_the_shape_of_the_values(self) -> None:
        text = self._TEXT.replace("float[4] scale = {1, 2, 3, 4}", "float[1] scale = {3}")
        assert self._dimensions_of_scale(converted(text, "onnxruntime==1.23", opset=11)) == [2, 5, 4]
        assert self._dimensions_of_scale(converted(text, "onnxruntime==1.24", opset=11)) == [1]
        open_sizes = text.replace("[2,5,4]", "[N,5,4]")
        assert self._dimensions_of_scale(converted(open_sizes, "onnxruntime==1.23", opset=11)) == []

    def _dimensions_of_scale(self, found: onnx.ModelProto) -> list[int]:
        product = next(node for node in found.graph.node if node.output[0] == "scaled")
        return next(list(one.dims) for one in found.graph.initializer if one.name == product.input[1])


class TestGelusInArithmetic:
    """onnxruntime merges them into one node, and removes those that compute their parts."""

    _TANH = """
        g (float[2,4] x) => (float[2,4] y, float[2,4] other)
            <float half = {0.5}, float three = {3}, float c = {0.044715}, float root = {0.79788456}, float one = {1}> {
            cube = Pow (x, three)
            weighted = Mul (cube, c)
            sum = Add (x, weighted)
            scaled = Mul (sum, root)
            tanh = Tanh (scaled)
            shifted = Add (tanh, one)
            halved = Mul (x, half)
            product = Mul (halved, shifted)
            y = Abs (product)
            other = Neg (halved)
        }
    """
    _ERF = """
        g (float[2,4] x) => (float[2,4] y, float[2,4] e)
            <float half = {0.5}, float root = {1.4142135}, float one = {1}> {
            quotient = Div (x, root)
            e = Erf (quotient)
            shifted = Add (e, one)
            halved = Mul (x, half)
            y = Mul (halved, shifted)
        }
    """

    @pytest.mark.quick_share(2)
    @pytest.mark.parametrize("release", ["1.3", "1.12", "1.32"])
    def test_with_tanh_multiply_negatives_where_others_read_the_half(self, release: str) -> None:
        added = ["Neg", "Neg", "Mul", "Abs", "Neg"]
        assert operators(converted(self._TANH, f"onnxruntime=={release}", opset=11))[-5:] == added
        unread = self._TANH.replace("Neg (halved)", "Neg (x)")
        assert operators(converted(unread, f"onnxruntime=={release}", opset=11)).count("Neg") == 1

    def test_with_tanh_stay_where_nothing_is_merged(self) -> None:
        assert operators(converted(self._TANH, "onnxruntime==1.2", opset=11)).count("Neg") == 1

    @pytest.mark.quick_share(2)
    @pytest.mark.parametrize("part", ["quotient", "e", "shifted", "halved"])
    def test_with_erf_multiply_negatives_where_a_part_is_an_output(self, part: str) -> None:
        text = self._ERF.replace("float[2,4] e)", f"float[2,4] {part})")
        assert operators(converted(text, "onnxruntime==1.3", opset=11))[-3:] == ["Neg", "Neg", "Mul"]
        assert "Neg" not in operators(converted(text, "onnxruntime==1.4", opset=11))
        otherwise = text.replace("Mul (x, half)", "Mul (x, shifted)").replace("(halved, shifted)", "(halved, half)")
        changed = operators(converted(otherwise, "onnxruntime==1.3", opset=11))
        assert changed[-1] == "Div" if part == "halved" else changed[3:5] == ["Neg", "Neg"]

    def test_with_erf_stay_where_no_part_is_an_output(self) -> None:
        text = self._ERF.replace(", float[2,4] e)", ")")
        assert "Neg" not in operators(converted(text, "onnxruntime==1.3", opset=11))

    def test_of_two_values_multiply_negatives(self) -> None:
        text = self._ERF.replace(", float[2,4] e)", ")").replace("Mul (x, half)", "Mul (half, two)")
        text = text.replace("quotient =", "two = Abs (x) quotient =").replace("(halved, shifted)", "(shifted, halved)")
        assert operators(converted(text, "onnxruntime==1.1", opset=11))[-3:] == ["Neg", "Neg", "Mul"]
        assert "Neg" not in operators(converted(text, "onnxruntime==1.2", opset=11))


class TestLayerNormalizations:
    def _converted(self, node: str, release: str) -> onnx.ModelProto:
        text = f"g (float[2,5,4] a, float[2,5,4] b, float[4] s, float[5,4] t) => (float[2,5,4] y) {{ {node} }}"
        return converted(text, f"onnxruntime=={release}", opset=17)

    def test_get_a_bias_where_a_release_ends_without_one(self) -> None:
        node = "y = LayerNormalization <axis = -1> (a, s)"
        for release, inputs in (("1.12", 2), ("1.13", 3), ("1.18", 3), ("1.19", 2)):
            assert len(self._converted(node, release).graph.node[0].input) == inputs

    def test_of_two_axes_stay_apart_from_a_sum_before_them(self) -> None:
        node = "x = Add (a, b) y = LayerNormalization <axis = 1> (x, t)"
        assert operators(self._converted(node, "1.23")) == ["Add", "Neg", "Neg", "LayerNormalization"]
        assert "LayerNormalization" not in operators(self._converted(node, "1.13"))
        assert operators(self._converted(node, "1.24")) == ["Add", "LayerNormalization"]

    def test_of_one_axis_may_follow_a_sum(self) -> None:
        node = "x = Add (a, b) y = LayerNormalization <axis = -1> (x, s)"
        assert operators(self._converted(node, "1.23")) == ["Add", "LayerNormalization"]


class TestIndicesOfExtremes:
    @pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
    @pytest.mark.parametrize("attributes", ["axis = 1", "axis = -1, keepdims = 0", "axis = 1, select_last_index = 1"])
    @pytest.mark.parametrize(("runtime", "opset"), [("onnxruntime==1.2", 11), ("onnxruntime==1.19", 18)])
    def test_of_int64_are_those_of_what_equals_the_extreme(
        self, operator: str, attributes: str, runtime: str, opset: int
    ) -> None:
        text = f"g (int64[2,5] x) => (int64[A] y) {{ y = {operator} <{attributes}> (x) }}".replace(
            "[A]", "[2]" if "keepdims" in attributes else "[2,1]"
        )
        found = converted(text, runtime, opset=max(opset, 12))
        values = numpy.array([[2**53, 2**53 + 1, -(2**63), 2**53 + 1, -(2**63)], [0, -1, -1, 2**63 - 1, 2**63 - 2]])
        wanted = Evaluator(model(f'<ir_version: 7, opset_import: ["": {max(opset, 12)}]> {text}')).run({"x": values})
        numpy.testing.assert_array_equal(Evaluator(found).run({"x": values})["y"], wanted["y"])
        assert operators(converted(text, "onnxruntime==1.20", opset=max(opset, 12))) == [operator]


class TestValuesThatAreWrong:
    @pytest.mark.parametrize("runtime", ["onnxruntime==0.4", "openvino==2021.4", "opencv==4.14"])
    def test_dilated_maxima_are_those_of_slices(self, runtime: str) -> None:
        text = (
            "g (float[1,2,7,8] x) => (float[1,2,5,6] y) { y = MaxPool <kernel_shape = [2, 2], dilations = [2, 2]> (x) }"
        )
        assert "MaxPool" not in operators(converted(text, runtime, opset=11))
        plain = text.replace("5,6", "6,7").replace("dilations = [2, 2]", "dilations = [1, 1]")
        assert operators(converted(plain, runtime, opset=11)) == ["MaxPool"]

    def test_two_directions_with_initial_states_are_refused(self) -> None:
        text = (
            "g (float[4,1,3] x, float[2,2,3] w, float[2,2,2] r, float[2,1,2] h) => (float[4,2,1,2] y) "
            '{ y = RNN <hidden_size = 2, direction = "bidirectional"> (x, w, r, , , h) }'
        )
        with pytest.raises(ConversionRefused, match="mixes up the two directions of an RNN with initial states"):
            converted(text, "onnxruntime==0.5", opset=7)
        assert operators(converted(text, "onnxruntime==1.0", opset=7)) == ["RNN"]


class TestOperatorsOfOtherDomains:
    """The quantiser of onnxruntime writes operators that its old releases and other runtimes do not have."""

    @pytest.mark.parametrize(
        ("runtime", "name"), [("onnxruntime==1.8", "ONNX Runtime 1.8"), ("openvino==2022.3", "Open")]
    )
    def test_are_refused_by_name(self, runtime: str, name: str) -> None:
        """A QGemm with a computed scale stands for nothing that ONNX has."""
        quantised = (
            "g (uint8[2,3] x, float s, uint8 z, uint8[3,4] w) => (uint8[2,4] y) "
            "{ y = com.microsoft.QGemm (x, s, z, w, s, z, , s, z) }"
        )
        source = model(f'<ir_version: 7, opset_import: ["": 13, "com.microsoft": 1]> {quantised}')
        with pytest.raises(ConversionRefused, match=f"{name}.* has no QGemm of com.microsoft"):
            convert(source, target=runtime)
        assert convert(source, target="onnxruntime==1.9").model.graph.node[0].op_type == "QGemm"


class TestAnotherOpset:
    @pytest.mark.parametrize("length", [1, 2])
    def test_starts_without_what_the_refused_conversion_knew_of_its_values(self, length: int) -> None:
        """At opset 9 Scatter is refused; at 8 the names of the new nodes are those of other dtypes and ranks there."""
        shape = "2,8" if length == 1 else "2"
        text = (
            f"g (float[3,8] x, int64[2,{length}] i, float[{shape}] u) => (float[3,8] y) {{ y = ScatterND (x, i, u) }}"
        )
        found = converted(text, "onnxruntime==0.3", opset=11)
        assert found.opset_import[0].version == 8
        assert "Scatter" not in operators(found)


class TestNumbersThatInferenceCannotRead:
    @pytest.mark.parametrize("shape", ["2,5", "N,M"])
    def test_a_k_that_is_the_size_of_an_axis_comes_from_no_gather(self, shape: str) -> None:
        text = f"g (float[{shape}] x) => (float[{shape}] y, int64[{shape}] z) <int64[1] last = {{1}}> "
        nodes = "{ sizes = Shape (x) k = Gather (sizes, last) y, z = TopK (x, k) }"
        found = converted(text + nodes, "onnxruntime==1.24")
        producers = {name: node.op_type for node in found.graph.node for name in node.output}
        assert producers.get(found.graph.node[-1].input[1], "") == ("Reshape" if shape == "N,M" else "")
        assert converted(text + nodes, "onnxruntime==1.28").graph.node[-1].input[1] == "k"

    @pytest.mark.parametrize("rank", [1, 2, 3])
    def test_a_constant_k_is_an_attribute_of_an_older_opset(self, rank: int) -> None:
        shape = ",".join("3" * rank)
        text = f"g (float[{shape}] x) => (float[{shape}] y, int64[{shape}] z) <int64[1] k = {{3}}> "
        found = converted(f"{text} {{ y, z = TopK (x, k) }}", "onnxruntime==0.4", opset=10)
        assert [(one.domain, one.version) for one in found.opset_import] == [("", 9)]
        assert operators(found) == ["TopK"]


class TestFormsThatOpenCVDoesNotHave:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            (
                "g (float[1,4,3] x) => (float[1,4,3] y) <int64[1] a = {1}, int64[1] s = {-1}, int64[1] e = {-9}> "
                "{ y = Slice (x, s, e, a, s) }",
                ["Gather"],
            ),
            ("g (float[1,2,3,4,5] x) => (float[a,b,c,d,e] y) { y = GlobalMaxPool (x) }", ["Reshape", "GlobalMaxPool"]),
            (
                "g (float[1,2,3,4,5] x) => (float[a,b,c,d,e] y) { y = GlobalAveragePool (x) }",
                ["Reshape", "GlobalAveragePool"],
            ),
            ("g (float[3] x, float[3,2] w) => (float[a] y) { y = MatMul (x, w) }", ["Unsqueeze", "MatMul", "Squeeze"]),
            (
                "g (float[1,2,5] x) => (float[1,2,a] y) <int64[6] p = {0, 0, 2, 0, 0, 1}> "
                '{ y = Pad <mode = "reflect"> (x, p) }',
                ["Gather"],
            ),
        ],
    )
    def test_are_written_otherwise(self, text: str, found: list[str]) -> None:
        names = operators(converted(text, "opencv==4.14", opset=11))
        assert names[: len(found)] == found

    def test_an_lstm_with_states_gets_a_bias(self) -> None:
        text = (
            "g (float[5,1,3] x, float[1,8,3] w, float[1,8,2] r) => (float[5,1,1,2] y) "
            "<float[1,1,2] h = {1, 2}> { y = LSTM <hidden_size = 2> (x, w, r, , , h, h) }"
        )
        lstm = next(one for one in converted(text, "opencv==5.0", opset=11).graph.node if one.op_type == "LSTM")
        assert lstm.input[3]


class TestModelsAsAWhole:
    @pytest.mark.parametrize(
        ("what", "refusing", "taking"),
        [
            ("an input", "onnxruntime==0.3", "onnxruntime==0.4"),
            ("an input", "tract==0.23", "mnn==3.6"),
            ("an initializer", "opencv==4.14", "opencv==5.0"),
        ],
    )
    def test_outputs_that_no_node_computes_are_refused_where_the_runtime_does_not_give_them(
        self, what: str, refusing: str, taking: str
    ) -> None:
        name = "x" if what == "an input" else "w"
        source = model(
            f"""<ir_version: 4, opset_import: ["": 9]> g (float[2,3] x) => (float[2,3] y, float[2,3] {name})
            <float[2,3] w = {{1, 2, 3, 4, 5, 6}}> {{ y = Relu (x) }}"""
        )
        if name == "x":
            del source.graph.initializer[:]
        with pytest.raises(ConversionRefused, match=f"the output '{name}' is {what}, and"):
            convert(source, target=refusing)
        result = convert(source, target=taking).model
        assert [info.name for info in result.graph.output] == ["y", name]

    def test_an_input_with_a_default_is_an_initializer_to_them(self) -> None:
        source = model(
            """<ir_version: 3, opset_import: ["": 7]> g (float[2] x, float[2] w) => (float[2] y, float[2] w)
            <float[2] w = {1, 2}> { y = Relu (x) }"""
        )
        assert convert(source, target="onnxruntime==0.3").model.graph == source.graph

    def test_initializers_that_only_subgraphs_read_get_a_reader_beside_them(self) -> None:
        text = """<ir_version: 4, opset_import: ["": 9]>
            g (float[3] x, float[2,3] w) => (float[3] y, float[2,3] z) <float[3] c = {1, 2, 3}> {
                y, z = Scan <num_scan_inputs = 1, body = each (float[3] held, float[3] row) =>
                    (float[3] same, float[3] sums) {
                    same = Identity (held) d = Add (held, row) sums = Add (d, c)
                }> (x, w)
            }"""
        result = convert(model(text), target="onnxruntime==0.3")
        assert result.certificate.is_proven
        first = result.model.graph.node[0]
        assert (first.op_type, list(first.input)) == ("Shape", ["c"])
        assert any("a Shape reads 'c'" in note for note in result.report.notes)
        assert convert(model(text), target="onnxruntime==0.4").model.graph == model(text).graph

    @pytest.mark.parametrize(
        ("declared", "result"),
        [([], "Loop"), ([1], "Scan"), ([3], "Scan")],
    )
    def test_values_of_subgraphs_get_a_shape_and_false_ones_are_corrected(
        self, declared: list[int], result: str
    ) -> None:
        """Where one is declared without a shape, the node is one below the opset that refuses it."""
        source = model(
            """<ir_version: 4, opset_import: ["": 9]>
            g (float[3] x, float[2,3] w) => (float[3] y, float[2,N] z) {
                y, z = Scan <num_scan_inputs = 1, body = each (float[3] held, float[3] row) =>
                    (float[3] same, float[3] sums) {
                    same = Identity (held) sums = Add (held, row)
                }> (x, w)
            }"""
        )
        tensor = source.graph.node[0].attribute[1].g.output[1].type.tensor_type
        tensor.ClearField("shape")
        for size in declared:
            tensor.shape.dim.add().dim_value = size
        converted = convert(source, target="onnxruntime==0.3").model
        node = converted.graph.node[-1]
        body = next(one.g for one in node.attribute if one.name == "body")
        assert node.op_type == result
        assert [dim.dim_value for dim in body.output[-1].type.tensor_type.shape.dim] == [3]

    def test_bounds_in_vectors_become_extremes(self) -> None:
        text = "g (float[3] x) => (float[3] y) <float[1] low = {0}> { y = Clip (x, low) }"
        source = model(f'<ir_version: 7, opset_import: ["": 12]> {text}')
        found = convert(source, target="onnxruntime==1.7", prove=False).model
        assert "Clip" not in operators(found)
        assert operators(convert(source, target="onnxruntime==1.8", prove=False).model) == ["Clip"]

    def test_open_sizes_in_subgraphs_get_names_where_a_runtime_takes_all_without_for_one(self) -> None:
        source = model(
            """<ir_version: 4, opset_import: ["": 9]>
            g (float[?,3] x, float[2,3] w) => (float[?,3] z, float[2,size_1] y) {
                z, y = Scan <num_scan_inputs = 1, body = each (float[?,?] held, float[row] one) =>
                    (float[?,?] same, float[?] lengths) {
                    same = Identity (held)
                    d = Sub (held, one)
                    lengths = ReduceSumSquare <axes = [1], keepdims = 0> (d)
                }> (x, w)
            }"""
        )
        conversion = convert(source, target="onnxruntime==0.4")
        assert conversion.certificate is not None
        assert conversion.certificate.is_proven
        body = conversion.model.graph.node[0].attribute[1].g
        names = [dim.dim_param for info in (*body.input, *body.output) for dim in info.type.tensor_type.shape.dim]
        assert names == ["size_2", "size_3", "row", "size_4", "size_5", "size_6"]
        assert convert(source, target="onnxruntime==0.5").model.graph == source.graph

    @pytest.mark.parametrize(("release", "remain"), [("1.9", 0), ("1.14", 0), ("1.15", 2)])
    def test_functions_remain_where_a_runtime_takes_every_form_of_them(self, release: str, remain: int) -> None:
        source = model(
            """<ir_version: 8, opset_import: ["": 15, "local": 1]> g (float[2] x) => (float[2] y) {
                y = local.outer (x, x)
            }
            <domain: "local", opset_import: ["": 15, "local": 1]> outer (a, unused) => (b) { b = local.twice (a) }
            <domain: "local", opset_import: ["": 15]> twice (a) => (b) { b = Add (a, a) }"""
        )
        conversion = convert(source, target=f"onnxruntime=={release}")
        assert conversion.certificate is not None
        assert conversion.certificate.is_proven
        assert len(conversion.model.functions) == remain


def test_onnxruntime_0_4_gets_computed_constants_folded() -> None:
    """Its shape inference reads K of TopK only as an initializer or a Constant."""
    text = "g (float[1,4] x) => (float[1,2] v, int64[1,2] i) <int64[1] a = {1}> { k = Add (a, a) v, i = TopK (x, k) }"
    found = convert(model(f'<ir_version: 4, opset_import: ["": 10]> {text}'), target="onnxruntime==0.4").model
    assert "Add" not in [node.op_type for node in found.graph.node]


@pytest.mark.parametrize(
    ("release", "dtype", "is_folded"), [("1.2", "float16", True), ("1.2", "float", False), ("1.3", "float16", False)]
)
def test_computed_constants_are_folded_where_a_release_folds_none_of_a_dtype(
    release: str, dtype: str, is_folded: bool
) -> None:
    text = f"g ({dtype}[2] x) => ({dtype}[2] y) <{dtype}[2] c = {{1, 2}}> {{ e = Exp (c) y = Add (x, e) }}"
    found = converted(text, f"onnxruntime=={release}", opset=11)
    assert ("Exp" not in operators(found)) == is_folded


class TestBodiesWithoutTypes:
    """onnxruntime before 0.5 wants a type of each input and output of a subgraph, which others infer."""

    @staticmethod
    def _model(state: str) -> ModelProto:
        nodes = "k = Identity (c) n = Add (s, d) l = Identity (s)"
        body = f"b (int64 i, bool c, {state} s) => (bool k, float n, float l) {{ {nodes} }}"
        text = (
            "g (int64 m, float x, float d) => (float z, float[A] y) <bool t = {1}> "
            f"{{ z, y = Loop (m, t, x) <body = {body}> }}"
        )
        source = model(f'<ir_version: 4, opset_import: ["": 10]> {text}')
        for info in source.graph.node[0].attribute[0].g.output:
            info.ClearField("type")
        return source

    @pytest.mark.parametrize("release", ["0.3", "0.4"])
    def test_get_those_that_are_known(self, release: str) -> None:
        found = convert(self._model("float"), target=f"onnxruntime=={release}").model
        body = found.graph.node[0].attribute[0].g
        assert [one.type.tensor_type.elem_type for one in body.output] == [9, 1, 1]

    def test_stay_as_they_are_for_later_releases(self) -> None:
        found = convert(self._model("float"), target="onnxruntime==0.5").model
        assert not any(one.HasField("type") for one in found.graph.node[0].attribute[0].g.output)

    def test_of_unknown_shapes_are_refused(self) -> None:
        source = self._model("float")
        source.graph.node[0].attribute[0].g.input[2].ClearField("type")
        with pytest.raises(ConversionRefused, match="needs true shapes in subgraphs"):
            convert(source, target="onnxruntime==0.4")


class TestOperatorsOfMicrosoft:
    """Releases have operators of com.microsoft from some release on, and in some dtypes from a later one on."""

    _TEXT = """<ir_version: 7, opset_import: ["": 11, "com.microsoft": 1]> g (DTYPE[3] x) => (float[3] y)
        <float s = {0.5}, DTYPE z = {3}> { y = com.microsoft.DequantizeLinear (x, s, z) }"""

    @pytest.mark.parametrize(
        ("dtype", "runtime", "because"),
        [
            ("uint16", "onnxruntime==1.16", "1.16 has no DequantizeLinear of com.microsoft for uint16"),
            ("uint16", "onnxruntime==1.17", ""),
            ("uint8", "onnxruntime==1.16", ""),
            ("uint8", "onnxruntime==0.4", "0.4 has no DequantizeLinear of com.microsoft"),
            ("uint8", "onnxruntime==0.3", ""),
            ("uint8", "openvino==2022.3", "2022.3 has no DequantizeLinear of com.microsoft"),
            ("uint8", "opencv==4.14", "4.14 has no DequantizeLinear of com.microsoft"),
            ("uint16", "opencv==5.0", "5.0 has no DequantizeLinear of com.microsoft for uint16"),
        ],
    )
    def test_are_refused_before_and_by_reach(self, dtype: str, runtime: str, because: str) -> None:
        model = onnx.parser.parse_model(self._TEXT.replace("DTYPE", dtype))
        (found,) = reach(model, targets=[runtime]).targets
        if because:
            with pytest.raises(ConversionRefused, match=because):
                convert(model, target=runtime)
        else:
            convert(model, target=runtime)
        assert found.is_reachable is not bool(because)


class TestOutputsBesideOthers:
    """OpenVINO 2021.4 gives the outputs of a node with several other names, unless an Identity gives them."""

    _TEXT = "g (float[2,5] x) => (float[2,2] v, int64[2,2] i) <int64[1] k = {2}> { v, i = TopK (x, k) }"

    def test_get_a_node_of_their_own(self) -> None:
        found = converted(self._TEXT, "openvino==2021.4")
        assert [node.op_type for node in found.graph.node] == ["TopK", "Identity", "Identity"]
        assert [info.name for info in found.graph.output] == ["v", "i"]

    def test_stay_in_later_releases_and_where_there_is_one(self) -> None:
        assert operators(converted(self._TEXT, "openvino==2022.3")) == ["TopK"]
        alone = "g (float[2,5] x) => (float[2,5] y) { y = Relu (x) }"
        assert operators(converted(alone, "openvino==2021.4")) == ["Relu"]


class TestDequantizedValuesThatSeveralNodesRead:
    """onnxruntime copies and merges dequantizations wrongly in some releases."""

    _SHARED = """
        g (float[1,2,4,4] x, INPUT) => (float[1,2,4,4] y) <CONSTANT float[2] s = {0.5, 0.25}, int8[2] z = {0, 1}> {
            d = DequantizeLinear <axis = AXIS> (w, s, z)
            a = Mul (x, d)
            b = Sub (x, d)
            y = Add (a, b)
        }
    """

    @pytest.mark.parametrize(
        ("release", "axis", "is_folded"), [("1.15", 0, True), ("1.17", 0, False), ("1.15", 1, False)]
    )
    def test_weights_by_their_first_axis_are_folded(self, release: str, axis: int, *, is_folded: bool) -> None:
        constant = "int8[2,1,1] w = {2, 3}," if axis == 0 else "int8[1,2,1,1] w = {2, 3},"
        text = self._SHARED.replace(", INPUT", "").replace("CONSTANT", constant).replace("AXIS", str(axis))
        assert ("DequantizeLinear" in operators(converted(text, f"onnxruntime=={release}"))) is not is_folded

    def test_computed_ones_are_written_in_arithmetic(self) -> None:
        text = self._SHARED.replace("INPUT", "int8[2,1,1] w").replace("CONSTANT", "").replace("AXIS", "0")
        assert "DequantizeLinear" not in operators(converted(text, "onnxruntime==1.16"))
        alone = text.replace("b = Sub (x, d)", "b = Neg (x)")
        assert "DequantizeLinear" in operators(converted(alone, "onnxruntime==1.16"))

    @pytest.mark.parametrize(
        ("release", "is_separated"), [("1.8", False), ("1.9", True), ("1.13", True), ("1.14", False)]
    )
    def test_outputs_of_the_model_are_read_through_a_maximum(self, release: str, *, is_separated: bool) -> None:
        text = """
            g (uint8[2,3] x) => (float[2,3] y, float[3] z) <float s = {0.5}, uint8 p = {3}, int64 i = {1}> {
                y = DequantizeLinear (x, s, p)
                z = Gather (y, i)
            }
        """
        found = converted(text, f"onnxruntime=={release}").graph
        (gather,) = (node for node in found.node if node.op_type == "Gather")
        assert (gather.input[0] != "y") is is_separated
        assert ("Max" in [node.op_type for node in found.node]) is is_separated

    @pytest.mark.parametrize(
        ("operator", "release", "stays"), [("Add", "1.9", False), ("Mul", "1.14", False), ("Add", "1.15", True)]
    )
    def test_are_not_both_operands_of_one_node(self, operator: str, release: str, *, stays: bool) -> None:
        text = f"""
            g (uint8[2,3] x) => (float[2,3] y) <float s = {{0.5}}, uint8 p = {{3}}> {{
                d = DequantizeLinear (x, s, p)
                y = {operator} (d, d)
            }}
        """
        found = converted(text, f"onnxruntime=={release}").graph
        (node,) = (one for one in found.node if "y" in one.output)
        makers = {name: one.op_type for one in found.node for name in one.output}
        assert ([makers[name] for name in node.input] == ["DequantizeLinear"] * 2) is stays


class TestFunctionsAtLaterOpsets:
    """onnxruntime expands operators by the functions that define them, whose nodes it may not know at a later opset."""

    @pytest.mark.parametrize(
        ("node", "dtype", "release", "opset", "kept"),
        [
            ("LeakyRelu <alpha = 0.1>", "double", "1.32", 25, 18),
            ("LeakyRelu <alpha = 0.1>", "float", "1.32", 25, 25),
            ("LayerNormalization", "float16", "1.16", 19, 17),
            ("LayerNormalization", "float16", "1.17", 19, 19),
            ("Swish", "float", "1.28", 25, 24),
        ],
    )
    def test_the_opset_is_one_at_which_they_run(
        self, node: str, dtype: str, release: str, opset: int, kept: int
    ) -> None:
        inputs = "(x, s)" if node == "LayerNormalization" else "(x)"
        text = f"g ({dtype}[2,3] x, {dtype}[3] s) => ({dtype}[2,3] y) {{ y = {node} {inputs} }}"
        given = model(f'<ir_version: 9, opset_import: ["": {opset}]> {text}')
        found = convert(given, target=f"onnxruntime=={release}", prove=False).model
        assert found.opset_import[0].version == kept
        assert [one.op_type for one in found.graph.node] == [node.split()[0]]


class TestListsThatAreLeftOut:
    """onnxruntime takes no LinearClassifier and no Scaler without them; some releases give wrong scores."""

    @pytest.mark.parametrize("release", ["0.3", "1.10", "1.32"])
    @pytest.mark.parametrize(
        ("node", "attributes"),
        [
            (
                "l, y = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 2.0, 3.0, 4.], classlabels_ints = [0,1]> (x)",
                {"intercepts": [0.0, 0.0]},
            ),
            ("y = ai.onnx.ml.Scaler <offset = [1.0, 2.0]> (x)", {"scale": [1.0, 1.0]}),
            ("y = ai.onnx.ml.Scaler <scale = [1.0, 2.0]> (x)", {"offset": [0.0, 0.0]}),
            ("y = ai.onnx.ml.Scaler (x)", {"offset": [0.0], "scale": [1.0]}),
        ],
    )
    def test_are_written(self, release: str, node: str, attributes: dict[str, list[float]]) -> None:
        text = f"g (float[N,2] x) => (float[N,2] y) {{ {node} }}"
        (found,) = converted(text, f"onnxruntime=={release}", opset=9, ml_opset=1).graph.node
        given = {one.name: list(one.floats) for one in found.attribute}
        assert {name: given[name] for name in attributes} == attributes

    def test_products_that_the_runtime_has_stay(self) -> None:
        text = "g (float[N,2] x) => (float[N,1] y) { y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0]> (x) }"
        assert operators(converted(text, "onnxruntime==1.10", opset=9, ml_opset=1)) == ["LinearRegressor"]


def test_a_zero_point_that_is_left_out_is_written_down() -> None:
    text = "g (uint8[4] x) => (float[4] y) <float s = {0.5}> { y = DequantizeLinear (x, s) }"
    (node,) = converted(text, "onnxruntime==1.1", opset=11).graph.node
    assert (node.op_type, len(node.input)) == ("DequantizeLinear", 3)
