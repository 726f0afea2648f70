"""What is tried where a runtime takes nothing of what the first fallback writes.

Most of it is for OpenCV 4.5, which was run on each of these models (docs/targets.md).
"""

from __future__ import annotations

import pytest

from opsetlift import convert
from testing.conversion import model
from tests.test_fallbacks import converted, operators
from tests.test_fallbacks_for_other_runtimes import refused

_OPENCV = "opencv==4.5"


class TestInputsOfOneShape:
    """Arithmetic, comparisons, Max and Min get inputs of one shape; a constant meets the others in one long row."""

    @pytest.mark.parametrize("operator", ["Mul", "Div"])
    def test_a_constant_row_beside_a_batch(self, operator: str) -> None:
        text = f"""g (float[2,12] i) => (float[2,3,4] y) <int64[3] s = {{2,3,4}}, float[4] c = {{3, 5, 7, 9}}> {{
            r = Reshape (i, s) y = {operator} (r, c) }}"""
        assert operators(converted(text, _OPENCV)) == ["Reshape", "Reshape", operator, "Reshape"]

    @pytest.mark.parametrize("operator", ["Add", "Sub"])
    def test_what_is_computed_and_repeated_becomes_as_wide_as_the_other(self, operator: str) -> None:
        text = f"""g (float[2,3,4,5] x) => (float[2,3,4,5] y) {{
            m = ReduceMean <axes = [3]> (x) y = {operator} (x, m) }}"""
        found = operators(converted(text, _OPENCV))
        assert found == ["ReduceMean", "Reshape", "Resize", "Reshape", operator]

    @pytest.mark.parametrize("operator", ["Max", "Min"])
    def test_one_number_becomes_a_bound_of_clip(self, operator: str) -> None:
        text = f"g (float[2,3] x) => (float[2,3] y) <float c = {{0.5}}> {{ n = Neg (x) y = {operator} (n, c) }}"
        assert operators(converted(text, _OPENCV, opset=9)) == ["Neg", "Clip"]

    def test_a_constant_behind_a_power_is_kept_apart(self) -> None:
        text = "g (float[2,3] x) => (float[2,3] y) <float e = {3}, float c = {0.1}> { p = Pow (x, e) y = Mul (p, c) }"
        assert operators(converted(text, _OPENCV)) == ["Pow", "Reshape", "Mul", "Reshape"]
        assert operators(converted(text, "opencv==5.0")) == ["Pow", "Mul"]

    @pytest.mark.parametrize("text", ["Mul (x, c)", "Mul (c, x)"])
    def test_unknown_sizes_are_refused(self, text: str) -> None:
        refused(
            f"g (float[n,3,4] x) => (float y) <float[4] c = {{3, 5, 7, 9}}> {{ y = {text} }}",
            _OPENCV,
            because="repeats few constants",
        )


class TestRepeatedValues:
    def test_of_inner_axes_become_columns_of_an_image(self) -> None:
        text = "g (float[2,3,1,1] x) => (float[2,3,4,5] y) <int64[4] s = {2,3,4,5}> { y = Expand (x, s) }"
        assert operators(converted(text, _OPENCV)) == ["Reshape", "Resize", "Reshape"]

    def test_of_outer_axes_are_transposed(self) -> None:
        text = "g (float[1,3] x) => (float[4,3] y) <int64[2] s = {4,3}> { y = Expand (x, s) }"
        assert "Transpose" in operators(converted(text, _OPENCV))

    def test_are_tiled_by_expanding(self) -> None:
        text = "g (float[2,3] x) => (float[4,3] y) <int64[2] s = {2,1}> { y = Tile (x, s) }"
        assert "Tile" not in operators(converted(text, _OPENCV))

    def test_vectors_get_axes_before_opencv_4_14_takes_them_for_columns(self) -> None:
        text = "g (float[2] x) => (float[2,2] y) <int64[2] s = {2,2}> { r = Relu (x) y = Expand (r, s) }"
        assert operators(converted(text, "opencv==4.14"))[-2:] == ["Reshape", "Expand"]


class TestReductions:
    def test_along_the_last_of_three_axes(self) -> None:
        text = "g (float[2,3] x) => (float[2] y) { a = Abs (x) y = ReduceMax <axes = [1], keepdims = 0> (a) }"
        assert operators(converted(text, _OPENCV)) == ["Abs", "Reshape", "ReduceMax", "Reshape"]

    @pytest.mark.parametrize(
        ("operator", "written"),
        [
            ("ReduceMin", ["Neg", "ReduceMax", "Neg"]),
            ("ReduceL1", ["Abs", "ReduceSum"]),
            ("ReduceSumSquare", ["Mul", "ReduceSum"]),
            ("ReduceL2", ["Mul", "ReduceSum", "Sqrt"]),
            ("ReduceLogSum", ["ReduceSum", "Log"]),
        ],
    )
    def test_by_others(self, operator: str, written: list[str]) -> None:
        text = f"g (float[2,3,4] x) => (float[1,1,1] y) {{ a = Abs (x) y = {operator} (a) }}"
        text = text.replace("float[2,3,4] x", "float[2,3,4,5] x").replace("float[1,1,1] y", "float[1,1,1,1] y")
        assert operators(converted(text, _OPENCV)) == ["Abs", *written]

    def test_of_exponentials_keep_infinities(self) -> None:
        text = "g (float[2,3] x) => (float[1,1] y) { a = Abs (x) y = ReduceLogSumExp (a) }"
        found = operators(converted(text, _OPENCV, opset=9))
        assert "Clip" in found
        assert found.index("Exp") < found.index("ReduceSum") < found.index("Log")


class TestRecurrentNetworks:
    """OpenCV 4.5 wants all states and gives the sequence alone; 3 is the hidden size, 2 the batch."""

    @staticmethod
    def _text(operator: str, gates: int, directions: int, outputs: str, results: str, direction: str) -> str:
        weights, states = (", ".join(["0.5"] * (gates * 9 * directions)), ", ".join(["0.1"] * (gates * 6 * directions)))
        shape = f"float[{directions},{gates * 3},3]"
        attributes = f'hidden_size = 3, direction = "{direction}"'
        attributes += ", linear_before_reset = 1" if operator == "GRU" else ""
        return f"""g (float[4,6] i) => ({results}) <int64[3] s = {{4,2,3}}, {shape} w = {{{weights}}},
            {shape} r = {{{weights}}}, float[{directions},{gates * 6}] b = {{{states}}}> {{
            x = Reshape (i, s) {outputs} = {operator} <{attributes}> (x, w, r, b) }}"""

    @pytest.mark.parametrize(("operator", "gates"), [("GRU", 3), ("LSTM", 4)])
    def test_give_their_last_state_as_a_part_of_the_sequence(self, operator: str, gates: int) -> None:
        text = self._text(operator, gates, 1, "y, h", "float[4,1,2,3] y, float[1,2,3] h", "forward")
        found = converted(text, _OPENCV)
        assert operators(found) == ["Reshape", operator, "Slice", "Reshape"]
        assert all(found.graph.node[1].input[place] for place in (3, 5))

    def test_go_each_way_by_themselves(self) -> None:
        text = self._text("LSTM", 4, 2, "y", "float[4,2,2,3] y", "bidirectional")
        assert operators(converted(text, _OPENCV)) == ["Reshape", "LSTM", "LSTM", "Concat"]

    def test_read_backwards_what_is_reversed(self) -> None:
        found = operators(converted(self._text("GRU", 3, 1, "y", "float[4,1,2,3] y", "reverse"), _OPENCV))
        assert found.count("Concat") == 2
        assert found.count("GRU") == 1

    def test_with_a_cell_that_is_read_are_steps(self) -> None:
        text = self._text("LSTM", 4, 1, "y, h, c", "float[1,2,3] c", "forward")
        assert "LSTM" not in operators(converted(text, _OPENCV))

    @pytest.mark.parametrize("runtime", ["opencv==4.5", "opencv==4.14", "opencv==5.0"])
    def test_with_coupled_gates_are_steps(self, runtime: str) -> None:
        text = self._text("LSTM", 4, 1, "y", "float[4,1,2,3] y", "forward").replace(
            "<hidden", "<input_forget = 1, hidden"
        )
        assert "LSTM" not in operators(converted(text, runtime))


class TestNormalizations:
    def test_of_several_images_are_of_one_with_all_channels(self) -> None:
        text = """g (float[2,3,4,4] x) => (float[2,3,4,4] y) <float[3] s = {1, 2, 3}, float[3] b = {4, 5, 6}> {
            y = InstanceNormalization (x, s, b) }"""
        found = converted(text, _OPENCV)
        assert operators(found) == ["Reshape", "InstanceNormalization", "Reshape"]
        assert "epsilon" in {one.name for one in found.graph.node[1].attribute}

    def test_of_one_image_have_their_epsilon_written(self) -> None:
        text = """g (float[1,3,4,4] x) => (float[1,3,4,4] y) <float[3] s = {1, 2, 3}, float[3] b = {4, 5, 6}> {
            y = InstanceNormalization (x, s, b) }"""
        (node,) = converted(text, _OPENCV).graph.node
        assert "epsilon" in {one.name for one in node.attribute}

    @pytest.mark.parametrize("batch", [1, 2])
    def test_in_opencv_4_14_are_of_numbers_without_their_mean(self, batch: int) -> None:
        """It takes the variance for a difference of squares: of numbers far from 0 that has few digits."""
        shape = f"float[{batch},3,4,4]"
        text = f"""g ({shape} x) => ({shape} y) <float[3] s = {{1, 2, 3}}, float[3] b = {{4, 5, 6}}> {{
            y = InstanceNormalization (x, s, b) }}"""
        found = operators(converted(text, "opencv==4.14"))
        assert [one for one in found if one != "Reshape"] == ["ReduceMean", "Sub", "InstanceNormalization"]


class TestGather:
    def test_stretches_of_indices_are_sliced(self) -> None:
        text = "g (float[5,3] x) => (float[4,3] y) <int64[4] i = {1, 2, -1, 0}> { r = Relu (x) y = Gather (r, i) }"
        assert operators(converted(text, _OPENCV)) == ["Relu", "Slice", "Slice", "Slice", "Concat", "Reshape"]

    def test_a_constant_table_is_multiplied_with_rows_that_select(self) -> None:
        text = "g (int64[2,4] x) => (float[2,4,2] y) <float[3,2] t = {1, 2, 3, 4, 5, 6}> { y = Gather (t, x) }"
        found = operators(converted(text, _OPENCV))
        assert "Gather" not in found
        assert found[-2:] == ["MatMul", "Reshape"]

    @pytest.mark.parametrize("number", ["-0.0", "inf", "nan"])
    def test_a_table_whose_numbers_products_change_is_refused(self, number: str) -> None:
        import numpy
        from onnx import TensorProto, helper, numpy_helper

        from opsetlift import ConversionRefused, convert

        table = numpy.array([[1, 2], [3, float(number)]], numpy.float32)
        graph = helper.make_graph(
            [helper.make_node("Gather", ["t", "x"], ["y"])],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.INT64, [2, 4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4, 2])],
            [numpy_helper.from_array(table, "t")],
        )
        with pytest.raises(ConversionRefused, match="gathers by no indices"):
            convert(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), target=_OPENCV)


class TestWholeScales:
    @pytest.mark.parametrize("mode", ["half_pixel", "pytorch_half_pixel"])
    def test_the_nearest_element_is_placed_at_corners(self, mode: str) -> None:
        text = f"""g (float[1,2,4,6] x) => (float[1,2,8,18] y) <float[4] s = {{1, 1, 2, 3}}> {{
            y = Resize <mode = "nearest", coordinate_transformation_mode = "{mode}"> (x, "", s) }}"""
        found = converted(text, _OPENCV)
        assert operators(found) == ["Resize"]
        assert [one.s for one in found.graph.node[0].attribute if one.name == "nearest_mode"] == [b"floor"]


class TestScalars:
    def test_of_computed_scalars(self) -> None:
        text = """g (float[2,3] x) => (float y) {
            m = ReduceMax <keepdims = 0> (x) n = Neg (x) l = ReduceMax <keepdims = 0> (n) y = Add (m, l) }"""
        assert operators(converted(text, _OPENCV, opset=11))[-1] == "ReduceMax"
        assert operators(converted(text, "opencv==4.14"))[-2:] == ["Concat", "ReduceMax"]


class TestBranches:
    """Where no kernel of If is, both branches are computed, if neither minds what leads to the other one."""

    @staticmethod
    def _text(branch: str, *, given: str = "float[2,3] x", result: str = "float[2,3] y") -> str:
        constants = "float[3] w = {1, 2, 3}, int64[1] o = {0}, int64[1] t = {2}"
        return f"""g ({given}, bool[1] c) => ({result}) <{constants}> {{
            y = If (c) <then_branch = t () => ({result.replace("y", "a")}) {{ {branch} }},
                else_branch = e () => ({result.replace("y", "b")}) {{ r = Relu (x) b = Mul (r, w) }}> }}"""

    def test_both_are_computed_and_the_condition_selects(self) -> None:
        found = operators(converted(self._text("q = Div (x, w) a = Tanh (q)"), "openvino==2021.4"))
        assert sorted(found) == ["Div", "Mul", "Relu", "Tanh", "Where"]

    def test_by_a_computed_condition(self) -> None:
        text = """g (float[2,3] x) => (float[2,3] y) <float z = {0}> {
            n = ReduceSum <keepdims = 0> (x) c = Greater (n, z) y = If (c) <
                then_branch = t () => (float[2,3] a) { a = Abs (x) },
                else_branch = e () => (float[2,3] b) { b = Neg (x) }> }"""
        assert operators(converted(text, "opencv==4.14"))[-3:] == ["Abs", "Neg", "Where"]

    def test_branches_within_branches(self) -> None:
        inner = (
            "then_branch = i () => (float[2,3] u) { u = Abs (x) }, else_branch = j () => (float[2,3] v) { v = Neg (x) }"
        )
        found = operators(converted(self._text(f"a = If (c) <{inner}>"), "openvino==2021.4"))
        assert sorted(found) == ["Abs", "Mul", "Neg", "Relu", "Where", "Where"]

    def test_a_condition_of_unknown_rank_is_reshaped(self) -> None:
        text = """g (float x, bool c, bool d) => (float y) {
            y = If (c) <then_branch = t () => (float a) {
                    a = If (d) <then_branch = i () => (float u) { u = Abs (x) },
                                else_branch = j () => (float v) { v = Neg (x) }> },
                else_branch = e () => (float b) { b = Exp (x) }> }"""
        source = model(f'<ir_version: 7, opset_import: ["": 13]> {text}')
        source.graph.input[2].type.tensor_type.ClearField("shape")
        branch = convert(source, target="openvino==2022.3").model.graph.node[0].attribute[0].g
        assert sorted(node.op_type for node in branch.node) == ["Abs", "Neg", "Squeeze", "Where"]

    def test_several_results(self) -> None:
        text = """g (float[2,3] x, bool c) => (float[2,3] y, float[3,2] z) <int64[2] s = {3, 2}> {
            y, z = If (c) <
                then_branch = t () => (float[2,3] a, float[3,2] d) { a = Abs (x) d = Reshape (x, s) },
                else_branch = e () => (float[2,3] b, float[3,2] f) { b = Neg (x) f = Transpose (x) }> }"""
        found = operators(converted(text, "openvino==2021.4"))
        assert sorted(found) == ["Abs", "Neg", "Reshape", "Transpose", "Where", "Where"]

    @pytest.mark.parametrize(
        ("branch", "why"),
        [
            ("n = Cast <to = 6> (x) q = Div (n, n) a = Cast <to = 1> (q)", "a quotient by 0"),
            ("i = Cast <to = 7> (w) a = Gather (x, i)", "an index may be beyond the size"),
            ("k = RandomNormalLike (x) a = Add (x, k)", "random numbers"),
            ("i = Cast <to = 7> (w) k = Slice (i, o, t) a = Reshape (x, k)", "a computed shape"),
        ],
    )
    def test_stay_where_one_may_fail(self, branch: str, why: str) -> None:
        refused(self._text(branch), "openvino==2021.4", because="has no If")

    def test_stay_where_sizes_are_open_or_differ(self) -> None:
        open_sizes = self._text("a = Abs (x)", given="float[N,3] x", result="float[N,3] y")
        refused(open_sizes, "opencv==4.14", because="has no If")
        other = """g (float[2,3] x, bool c) => (float[A,B] y) <int64[2] s = {3, 2}> {
            y = If (c) <then_branch = t () => (float[2,3] a) { a = Abs (x) },
                else_branch = e () => (float[3,2] b) { b = Reshape (x, s) }> }"""
        refused(other, "opencv==4.14", because="has no If")


class TestLoops:
    """OpenVINO finds no condition that a body reads, and gave nothing of a Loop that is not run at all."""

    _TEXT = """g (float[3] x, bool d) => (float[3] y) <int64 n = {{3}}, bool c = {{1}}, int64 none = {{0}}> {{
        y = Loop ({given}, x) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] t) {{ {body} }}> }}"""
    _READS = "on = Identity (go) a = Neg (s) k = Abs (s) t = Where (go, a, k)"

    @pytest.mark.parametrize("release", ["2021.4", "2022.3", "2026.4"])
    def test_what_reads_the_condition_reads_true(self, release: str) -> None:
        text = self._TEXT.format(given="n, c", body=self._READS).replace(", bool d", "")
        (loop,) = converted(text, f"openvino=={release}", opset=11).graph.node
        body = loop.attribute[0].g
        assert body.node[-1].op_type == "Where"
        assert not any(body.input[1].name in node.input for node in body.node)

    def test_a_condition_that_is_only_passed_on_stays(self) -> None:
        text = self._TEXT.format(given="n, c", body="on = Identity (go) t = Neg (s)").replace(", bool d", "")
        (loop,) = converted(text, "openvino==2022.3", opset=11).graph.node
        body = loop.attribute[0].g
        assert body.node[0].input[0] == body.input[1].name

    @pytest.mark.parametrize("release", ["2021.4", "2022.3", "2026.4"])
    def test_that_may_not_run_at_all_are_refused(self, release: str) -> None:
        text = self._TEXT.format(given="n, d", body="on = Identity (go) t = Neg (s)")
        refused(text, f"openvino=={release}", because="gives other results of a Loop", opset=11)

    @pytest.mark.parametrize("release", ["2021.4", "2022.3"])
    def test_that_surely_do_not_run_are_copies(self, release: str) -> None:
        text = self._TEXT.format(given="none, c", body="on = Identity (go) t = Neg (s)")
        assert {*operators(converted(text, f"openvino=={release}", opset=11))} == {"Identity"}

    def test_that_may_not_run_at_all_are_refused_where_a_run_changes_nothing(self) -> None:
        text = self._TEXT.format(given="n, d", body="on = Identity (go) t = Constant <value = float[3] {1, 2, 3}> ()")
        computed = text.replace("bool d", "int64 d").replace("n, d", "d, c")
        refused(computed, "openvino==2026.4", because="what no run of a Loop changes", opset=11)
        assert operators(converted(text.replace("n, d", "n, c"), "openvino==2026.4", opset=11)) == ["Loop"]

    _LISTS = """g (float[3] x, bool d, int64 m) => (float[3] y, float[K,3] z) <int64 n = {{3}}, bool c = {{1}}> {{
        y, z = Loop ({given}, x) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] t, float[3] v) {{
            {on} t = Neg (s) v = Abs (s) }}> }}"""

    def test_that_may_not_run_at_all_and_give_lists_are_refused(self) -> None:
        passed_on = self._LISTS.format(given="n, d", on="on = Identity (go)")
        refused(passed_on, "onnxruntime==0.4", because="a scalar for the lists", opset=9)
        assert operators(converted(passed_on, "onnxruntime==0.5", opset=9)) == ["Loop"]

    _SWAPPED = """g (float[3] x, float[3] w) => (float[3] y, float[3] z)
            <int64 n = {{3}}, int64[1] k = {{3}}, bool c = {{1}}> {{
        y, z = Loop (n, c, x, w) <
            body = b (int64 i, bool go, float[3] s, float[3] r) => (bool on, float[3] t, float[3] u) {{
            on = Identity (go) t = Relu ({other}) u = {view} }}> }}"""

    @pytest.mark.parametrize("view", ["Identity (s)", "Reshape (s, k)"])
    @pytest.mark.parametrize("release", ["2022.3", "2026.4"])
    def test_states_that_become_others_as_they_are_are_multiplied_by_1(self, release: str, view: str) -> None:
        found = converted(self._SWAPPED.format(view=view, other="r"), f"openvino=={release}")
        body = found.graph.node[0].attribute[0].g
        assert body.node[-1].op_type == "Mul"
        assert body.output[2].name in body.node[-1].output

    def test_states_that_stay_as_they_are_stay_so(self) -> None:
        found = converted(self._SWAPPED.format(view="Identity (r)", other="s"), "openvino==2026.4")
        assert [node.op_type for node in found.graph.node[0].attribute[0].g.node] == ["Identity", "Relu", "Identity"]

    def test_truth_values_that_become_others_are_refused(self) -> None:
        text = self._SWAPPED.format(view="Identity (s)", other="r").replace("Relu", "Not").replace("float", "bool")
        assert "Loop" not in operators(converted(text, "openvino==2026.4", opset=11))
        text = text.replace("bool[3] w)", "bool[3] w, int64 n)").replace("int64 n = {3}, ", "")
        refused(text, "openvino==2026.4", because="mixes states of a Loop up")

    def test_the_condition_in_a_body_is_a_vector_to_onnxruntime_0_4(self) -> None:
        text = self._TEXT.format(given="n, c", body="on = Identity (go) f = Cast <to = 1> (go) t = Mul (s, f)")
        text = text.replace(", bool d", "")
        for release, reads in (("0.4", False), ("0.5", True)):
            (loop,) = (one for one in converted(text, f"onnxruntime=={release}", opset=9).graph.node if one.attribute)
            body = loop.attribute[0].g
            cast = next(one for one in body.node if one.op_type == "Cast")
            assert (cast.input[0] == body.input[1].name) is reads

    def test_initializers_of_a_body_that_only_branches_in_it_read_are_read_before_in_onnxruntime_0_3(self) -> None:
        text = """g (float[3] x) => (float[3] y) <int64 n = {3}, bool c = {1}> {
            y = Loop (n, c, x) <body = b (int64 i, bool go, float[3] s) => (bool on, float[3] t) <float k = {2}> {
                on = Identity (go) m = ReduceSum <keepdims = 0> (s) d = Less (m, m)
                t = If (d) <then_branch = p () => (float[3] u) { u = Mul (s, k) },
                            else_branch = q () => (float[3] v) { v = Neg (s) }> }> }"""
        (loop,) = converted(text, "onnxruntime==0.3", opset=9).graph.node
        assert [node.op_type for node in loop.attribute[0].g.node].count("Shape") == 1


def test_a_constant_condition_takes_its_branch_in_openvino_2022() -> None:
    text = """g (float[3] x) => (float[3] y) <bool c = {0}, float[3] w = {1, 2, 3}> {
        y = If (c) <then_branch = t () => (float[3] a) { a = Neg (w) },
                    else_branch = e () => (float[3] b) { b = Abs (x) }> }"""
    assert operators(converted(text, "openvino==2022.3")) == ["Abs"]


@pytest.mark.parametrize("nodes", ["m = Mul (x, k) y = Max (x, m)", "m = Mul (k, x) y = Max (m, x)"])
def test_a_slope_above_1_is_no_leaky_relu(nodes: str) -> None:
    """OpenVINO 2022.3 takes the greater of a value and a multiple of it for LeakyRelu, but not in double."""
    text = f"g (float[2,3] x, float j) => (float[2,3] y) <float k = {{K}}> {{ {nodes} }}"
    for slope in (
        text.replace("{K}", "{1.5}"),
        text.replace("{K}", "{1}").replace("Mul (x, k)", "Mul (x, j)").replace("Mul (k, x)", "Mul (j, x)"),
    ):
        found = [node.op_type for node in converted(slope, "openvino==2022.3").graph.node]
        assert found == ["Mul", "Cast", "Cast", "Max", "Cast"]
    for slope, release in (("{0.2}", "2022.3"), ("{1.5}", "2026.4")):
        found = [node.op_type for node in converted(text.replace("{K}", slope), f"openvino=={release}").graph.node]
        assert found == ["Mul", "Max"]


def test_values_named_as_quantized_are_refused() -> None:
    """OpenCV 4.5 looks for their scale by the name."""
    text = "g (float[2,3] x) => (float[2,3] y) { r_quantized = Relu (x) y = Neg (r_quantized) }"
    refused(text, _OPENCV, because="another name would do")
    assert operators(converted(text.replace("quantized", "quantized_1"), _OPENCV)) == ["Relu", "Neg"]
