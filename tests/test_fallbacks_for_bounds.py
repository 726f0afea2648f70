"""Bounds, positions, labels and shapes that releases of runtimes do not take, found with exported networks."""

from __future__ import annotations

import pytest

from tests.test_fallbacks import converted, operators
from tests.test_fallbacks_for_other_runtimes import refused


class TestSlicesWithoutAxes:
    """onnxruntime before 1.10 slices all axes, also those without bounds."""

    def test_get_the_attribute(self) -> None:
        text = "g (float[4, 5] x) => (float[A, B] y) { y = Slice <starts = [1], ends = [3]> (x) }"
        (node,) = converted(text, "onnxruntime==0.5", opset=9).graph.node
        assert [list(one.ints) for one in node.attribute if one.name == "axes"] == [[0]]

    def test_get_the_input(self) -> None:
        text = """g (float[4, 5] x) => (float[A, B] y) <int64[1] start = {1}, int64[1] end = {3}> {
            y = Slice (x, start, end) }"""
        (node,) = converted(text, "onnxruntime==1.9", opset=11).graph.node
        assert len(node.input) == 4
        (node,) = converted(text, "onnxruntime==1.10", opset=11).graph.node
        assert len(node.input) == 3


def test_a_constant_without_elements_is_no_constant_of_shape_in_onnxruntime_1_2() -> None:
    text = """g (float[N, 3] x) => (float[A, B] y) <int64[2] shape = {0, 3}> {
        none = ConstantOfShape (shape) y = Concat <axis = 0> (none, x) }"""
    assert "ConstantOfShape" not in operators(converted(text, "onnxruntime==1.2", opset=11))
    assert "ConstantOfShape" in operators(converted(text, "onnxruntime==1.3", opset=11))


class TestMoreIndicesThanData:
    """onnxruntime 1.7 scatters no more elements along an axis than the data has."""

    @pytest.mark.parametrize("indices", ["int64[3] i", "int32[3] i"])
    def test_are_scattered_into_longer_data(self, indices: str) -> None:
        text = f"g (float[2] x, {indices}, float[3] u) => (float[2] y) {{ y = ScatterElements (x, i, u) }}"
        assert operators(converted(text, "onnxruntime==1.7", opset=11))[-3:] == ["Concat", "ScatterElements", "Slice"]

    def test_stay_as_they_are_where_there_are_fewer(self) -> None:
        text = "g (float[3] x, int64[2] i, float[2] u) => (float[3] y) { y = ScatterElements (x, i, u) }"
        assert operators(converted(text, "onnxruntime==1.7", opset=11)) == ["ScatterElements"]

    def test_of_open_sizes_are_written_one_after_the_other_at_an_older_opset(self) -> None:
        text = "g (float[N] x, int64[M] i, float[M] u) => (float[N] y) { y = ScatterElements (x, i, u) }"
        found = converted(text, "onnxruntime==1.7", opset=11)
        assert "Loop" in operators(found)
        assert not {"Scatter", "ScatterElements"} & {*operators(found)}


class TestReductions:
    """PyTorch writes max and min at opsets 16 and 17, which have neither; onnxruntime 1.13 overwrites there instead."""

    @pytest.mark.parametrize("reduction", ["max", "min"])
    @pytest.mark.parametrize("node", ["ScatterElements", "ScatterND"])
    def test_that_came_with_18_are_combined_one_by_one(self, node: str, reduction: str) -> None:
        indices = "int64[3] i" if node == "ScatterElements" else "int64[3, 1] i"
        text = f"""g (float[2] x, {indices}, float[3] u) => (float[2] y) {{
            y = {node} <reduction = "{reduction}"> (x, i, u) }}"""
        assert operators(converted(text, "onnxruntime==1.13", opset=17)).count("Loop") == 1
        assert operators(converted(text, "onnxruntime==1.17", opset=17)) == [node]
        assert "Loop" in operators(converted(text, "onnxruntime==1.7", opset=17))


def test_results_of_branches_whose_rank_is_not_known_come_from_loops_in_onnxruntime_1_2() -> None:
    text = """g (float[6] x, int64[A] s, bool c) => (float y) {
        u = If (c) <then_branch = t () => (float[] r) { r = Reshape (x, s) },
                    else_branch = e () => (float[] q) { q = Expand (x, s) }>
        y = ReduceSum <keepdims = 0> (u) }"""
    for release in ("0.5", "1.2"):
        found = operators(converted(text, f"onnxruntime=={release}", opset=10))
        assert "If" not in found
        assert found.count("Loop") == 2
    assert "If" in operators(converted(text, "onnxruntime==1.4", opset=10))


def test_lists_that_an_if_gives_are_no_tensors_of_any_rank() -> None:
    text = """g (float[2] x, bool c) => (float[A] y) {
        s = If (c) <then_branch = t () => (seq(float[2]) r) { r = SequenceConstruct (x) },
                    else_branch = e () => (seq(float[2]) q) { q = SequenceConstruct (x, x) }>
        y = ConcatFromSequence <axis = 0> (s) }"""
    refused(text, "openvino==2021.4", because="If", opset=13)


def test_a_computed_shape_of_a_reshape_may_hold_minus_one_which_onnxruntime_1_10_does_not_take_with_allowzero() -> None:
    text = """g (float[1, 8, 4] x, int64[3] s) => (float[A, B, C] y) { y = Reshape <allowzero = 1> (x, s) }"""
    for release, attributes in (("1.10", []), ("1.11", ["allowzero"])):
        (node,) = converted(text, f"onnxruntime=={release}", opset=15).graph.node
        assert [one.name for one in node.attribute if one.i] == attributes


def test_a_part_without_elements_is_left_out_for_onnxruntime_0_3() -> None:
    empty = "g (float[N, 2] x, float[N, 0] z) => (float[N, 2] y) { y = Concat <axis = 1> (x, z) }"
    assert "Concat" not in operators(converted(empty, "onnxruntime==0.3", opset=9))


def test_a_false_rank_in_a_body_is_corrected_in_the_output_of_its_loop_too() -> None:
    """Exporters declare what they thought; onnxruntime 1.0 does not load it, nor a body without a shape."""
    text = """g (float[4, 3] x) => (float[A, B, C] y) <int64 n = {4}, bool c = {1}, int64 one = {1}> {
        s = SplitToSequence <axis = 0, keepdims = 0> (x, one)
        y = Loop (n, c) <body = b (int64 i, bool g) => (bool h, float[B, C] v) {
            h = Identity (g) e = SequenceAt (s, i) v = Neg (e) }> }"""
    found = converted(text, "onnxruntime==1.0", opset=11)
    (info,) = found.graph.output
    assert len(info.type.tensor_type.shape.dim) == 2
    loop = next(node for node in found.graph.node if node.op_type == "Loop")
    (body,) = (one.g for one in loop.attribute)
    assert [dim.dim_value for dim in body.output[-1].type.tensor_type.shape.dim] == [3]


@pytest.mark.parametrize("position", ["int64 p", "int32 p"])
def test_a_position_behind_the_last_element_is_one_within_a_longer_sequence_in_onnxruntime_1_7(position: str) -> None:
    text = f"""g (float[2] x, float[2] z, {position}) => (seq(float[2]) s) {{
        a = SequenceConstruct (x, z) s = SequenceInsert (a, x, p) }}"""
    found = operators(converted(text, "onnxruntime==1.7", opset=11))
    assert found[-3:] == ["SequenceInsert", "SequenceInsert", "SequenceErase"]


def test_a_choice_along_six_axes_is_one_in_a_row_in_openvino_2021() -> None:
    text = """g (bool[1,2,1,2,1,3] c, float[1,2,1,2,1,3] x, float[1,2,1,2,1,3] z) => (float[1,2,1,2,1,3] y) {
        y = Where (c, x, z) }"""
    assert operators(converted(text, "openvino==2021.4", opset=11)) == [*["Reshape"] * 3, "Where", "Reshape"]


def test_losses_that_openvino_computes_otherwise_are_written_in_steps() -> None:
    text = "g (float[2, 3] x, int64[2] t) => (float y) { y = SoftmaxCrossEntropyLoss (x, t) }"
    assert "SoftmaxCrossEntropyLoss" not in operators(converted(text, "openvino==2022.3"))
    text = "g (float[2, 3] x, int64[2] t) => (float y) { y = NegativeLogLikelihoodLoss (x, t) }"
    assert "NegativeLogLikelihoodLoss" not in operators(converted(text, "openvino==2026.4"))


class TestEinsum:
    """OpenCV 5.0 sums neither all to a scalar nor a label of one input alone; OpenVINO 2022 takes no ellipsis."""

    @pytest.mark.parametrize(
        ("equation", "output"), [("ij,ij->", "float y"), ("ij,jk->i", "float[2] y"), ("ij,jk->k", "float[K] y")]
    )
    def test_is_computed_by_sums_and_products(self, equation: str, output: str) -> None:
        other = "float[2, 3] z" if equation.startswith("ij,ij") else "float[3, 4] z"
        text = f'g (float[2, 3] x, {other}) => ({output}) {{ y = Einsum <equation = "{equation}"> (x, z) }}'
        assert "Einsum" not in operators(converted(text, "opencv==5.0"))

    def test_stays_where_every_label_is_shared_or_kept(self) -> None:
        text = 'g (float[2, 3] x, float[3, 4] z) => (float[2, 4] y) { y = Einsum <equation = "ij,jk->ik"> (x, z) }'
        assert operators(converted(text, "opencv==5.0")) == ["Einsum"]

    def test_with_an_ellipsis_is_written_otherwise_for_openvino_2022(self) -> None:
        text = 'g (float[2, 3] x, float[2, 3] z) => (float[2] y) { y = Einsum <equation = "...i,...i->..."> (x, z) }'
        assert "Einsum" not in operators(converted(text, "openvino==2022.3"))


def test_a_sum_behind_a_product_of_computed_values_is_kept_apart_from_it_in_opencv_4_5() -> None:
    text = """g (float[2, 3] x, float[3, 4] z) => (float[2, 4] y) <float[4] b = {1, 2, 3, 4}> {
        m = MatMul (x, z) y = Add (m, b) }"""
    assert operators(converted(text, "opencv==4.5", opset=11)) == ["MatMul", "Max", "Sub"]
    weights = "<float[3, 2] z = {1, 2, 3, 4, 5, 6}, float[2] b = {1, 2}> { m = MatMul (x, z) y = Add (m, b) }"
    found = converted(f"g (float[2, 3] x) => (float[2, 2] y) {weights}", "opencv==4.5", opset=11)
    assert operators(found) == ["MatMul", "Add"]


def test_a_loop_within_a_loop_is_refused_by_openvino_2022() -> None:
    inner = "<body = d (int64 j, bool g, float[3] u) => (bool o, float[3] v) { o = Identity (g) v = Neg (u) }>"
    text = f"""g (float[3] x, bool c) => (float[3] y) <int64 n = {{3}}> {{
        y = Loop (n, c, x) <body = b (int64 i, bool h, float[3] s) => (bool k, float[3] t) {{
            k = Identity (h) t = Loop (n, c, s) {inner} }}> }}"""
    refused(text, "openvino==2022.3", because="does not find in a Loop within a Loop")


def test_shapes_of_all_values_are_declared_for_releases_that_share_memory_wrongly() -> None:
    text = "g (float[N, 3] x) => (float[A, B] y) { a = Neg (x) b = Transpose (a) y = Exp (b) }"
    found = converted(text, "onnxruntime==1.2", opset=11).graph.value_info
    sizes = {one.name: [dim.dim_value or dim.dim_param for dim in one.type.tensor_type.shape.dim] for one in found}
    assert sizes == {"a": ["size_1", 3], "b": [3, "size_2"]}
    assert not converted(text, "onnxruntime==1.6", opset=11).graph.value_info


def test_the_output_of_a_normalizer_stays_undeclared() -> None:
    """It is wrong where onnxruntime knows that it may work in the memory of its input."""
    text = """g (float[3, 2] x) => (float[3, 2] y) {
        scaled = ai.onnx.ml.Scaler <offset = [0.5, 0.25], scale = [2.0, -3.0]> (x)
        normal = ai.onnx.ml.Normalizer <norm = "L2"> (scaled)
        y = Neg (normal) }"""
    found = converted(text, "onnxruntime==1.2", opset=11, ml_opset=1).graph.value_info
    assert "normal" not in {one.name for one in found}


class TestSubgraphs:
    """OpenVINO 2022.3 loses what an If within a Loop reads from around the Loop; OpenCV 5.0 ends on most loops."""

    _TEXT = """g (float[3] x, bool c, float[3] w) => (float[3] y) <int64 n = {{3}}> {{
        y = Loop (n, c, x) <body = b (int64 i, bool g, float[3] s) => (bool h, float[3] t) {{
            h = Identity (g)
            t = If (g) <then_branch = p () => (float[3] u) {{ u = Neg (s) }},
                        else_branch = q () => (float[3] v) {{ v = Add (s, {other}) }}>
        }}> }}"""

    def test_of_subgraphs_that_read_from_around_a_loop_are_both_computed_in_openvino_2022(self) -> None:
        text = self._TEXT.format(other="w").replace("bool c, ", "").replace("= {3}>", "= {3}, bool c = {1}>")
        (loop,) = converted(text, "openvino==2022.3", opset=11).graph.node
        assert [node.op_type for node in loop.attribute[0].g.node] == ["Identity", "Neg", "Add", "Where"]
        gathers = text.replace("v = Add (s, w)", "k = Cast <to = 7> (s) v = Gather (w, k)")
        assert "Loop" not in operators(converted(gathers, "openvino==2022.3", opset=11))
        gathers = gathers.replace("float[3] w)", "float[3] w, int64 n)").replace("int64 n = {3}, ", "")
        refused(gathers, "openvino==2022.3", because="what it reads from around that", opset=11)

    def test_that_are_loops_are_refused_by_opencv_5(self) -> None:
        refused(self._TEXT.format(other="s"), "opencv==5.0", because="ends on most of Loop", opset=11)


def test_a_scalar_of_a_transpose_comes_from_a_vector_in_openvino_2021() -> None:
    text = """g (float[2, 3] x) => (float y) {
        t = Transpose (x) m = ReduceMax (t) y = Squeeze <axes = [0, 1]> (m) }"""
    found = operators(converted(text, "openvino==2021.4", opset=11))
    assert found == ["Transpose", "ReduceMax", "Reshape", "Squeeze"]


def test_numbers_are_compared_with_themselves_where_openvino_2022_ends_on_isnan() -> None:
    found = operators(converted("g (float[3] x) => (bool[3] y) { y = IsNaN (x) }", "openvino==2022.3", opset=13))
    assert "IsNaN" not in found


def test_quantization_to_16_bits_is_arithmetic_in_opencv_5() -> None:
    text = """g (float[3] x) => (float[3] y) <float scale = {0.5}, uint16 zero = {7}> {
        q = QuantizeLinear (x, scale, zero) y = DequantizeLinear (q, scale, zero) }"""
    assert not {"QuantizeLinear", "DequantizeLinear"} & {*operators(converted(text, "opencv==5.0", opset=21))}
    of_8_bits = text.replace("uint16", "uint8")
    assert operators(converted(of_8_bits, "opencv==5.0", opset=21)) == ["QuantizeLinear", "DequantizeLinear"]


def test_indices_of_a_pooled_sequence_are_refused_by_opencv_4_14_and_compared_in_5() -> None:
    text = """g (float[1, 2, 9] x) => (float[1, 2, 3] y, int64[1, 2, 3] i) {
        y, i = MaxPool <kernel_shape = [3], strides = [3]> (x) }"""
    refused(text, "opencv==4.14", because="gives no indices of a MaxPool of sequences", opset=11)
    pools = [node for node in converted(text, "opencv==5.0", opset=11).graph.node if node.op_type == "MaxPool"]
    assert all(len(node.output) == 1 for node in pools)


def test_a_computed_term_of_a_gemm_on_which_opencv_4_14_fails_gets_the_shape_of_the_product() -> None:
    text = """g (float[3, 2] x, float[2] z) => (float[3, 2] y) <float[2, 2] w = {1, 2, 3, 4}> { y = Gemm (x, w, z) }"""
    assert operators(converted(text, "opencv==4.14")) == ["MatMul", "Reshape", "Expand", "Add"]
    assert operators(converted(text, "opencv==5.0")) == ["Gemm"]
