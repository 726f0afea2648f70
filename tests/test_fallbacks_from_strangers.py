"""Fallbacks for onnxruntime from models that other projects keep, and what was measured around them."""

from __future__ import annotations

import pytest
from onnx import GraphProto, TensorProto

from opsetlift import ConversionRefused, convert
from testing.conversion import model
from tests.test_fallbacks import converted, operators


def attributes(target: str, text: str, opset: int) -> dict[str, object]:
    """Those of the only node of the result, by name."""
    (node,) = converted(text, target, opset=opset).graph.node
    return {one.name: list(one.ints) or one.s.decode() for one in node.attribute}


class TestPadsOfTransposedConvolutions:
    """onnxruntime before 1.13 pads otherwise where auto_pad of a ConvTranspose is SAME_UPPER or SAME_LOWER."""

    @pytest.mark.parametrize(
        ("mode", "kernel", "stride", "expected"),
        [
            ("SAME_UPPER", 3, 1, {"pads": [1, 1, 1, 1]}),
            ("SAME_UPPER", 4, 1, {"pads": [1, 1, 2, 2]}),
            ("SAME_LOWER", 4, 1, {"pads": [2, 2, 1, 1]}),
            ("SAME_UPPER", 3, 2, {"pads": [0, 0, 1, 1]}),
            ("SAME_LOWER", 1, 3, {"pads": [0, 0, 0, 0]}),
        ],
    )
    @pytest.mark.parametrize("target", ["onnxruntime==0.3", "onnxruntime==1.4", "onnxruntime==1.12"])
    def test_are_written_out(
        self, target: str, mode: str, kernel: int, stride: int, expected: dict[str, object]
    ) -> None:
        text = (
            f"g (float[1, 2, H, W] x, float[2, 2, {kernel}, {kernel}] w) => (float[1, 2, A, B] y) "
            f'{{ y = ConvTranspose <auto_pad = "{mode}", strides = [{stride}, {stride}]> (x, w) }}'
        )
        assert attributes(target, text, 7) == {"strides": [stride, stride], **expected}

    @pytest.mark.parametrize(
        ("target", "more"),
        [("onnxruntime==1.13", 'auto_pad = "SAME_UPPER"'), ("onnxruntime==1.4", 'auto_pad = "VALID"')],
    )
    def test_stay_where_they_are_found_right(self, target: str, more: str) -> None:
        text = (
            "g (float[1, 2, H, W] x, float[2, 2, 3, 3] w) => (float[1, 2, A, B] y) "
            f"{{ y = ConvTranspose <{more}> (x, w) }}"
        )
        assert "auto_pad" in attributes(target, text, 11)


def test_scales_of_upsample_that_callers_may_override_pass_through_a_node_where_they_are_not_read() -> None:
    text = "g (float[1,1,2,2] x, float[4] s) => (float[1,1,A,B] y) <float[4] s = {1, 1, 2, 2}> { y = Upsample (x, s) }"
    assert operators(converted(text, "onnxruntime==0.3", opset=9)) == ["Identity", "Upsample"]
    assert operators(converted(text, "onnxruntime==0.4", opset=9)) == ["Upsample"]


def test_opset_19_is_lowered_for_a_release_that_loads_it_and_lacks_its_casts() -> None:
    text = "g (float16[2] x) => (float16[2] y) { y = Sin (x) }"
    given = model(f'<ir_version: 9, opset_import: ["": 19]> {text}')
    found = [convert(given, target=f"onnxruntime=={version}").model for version in ("1.15", "1.16")]
    assert [one.opset_import[0].version for one in found] == [18, 19]


def test_trees_go_to_an_opset_of_which_the_release_has_kernels() -> None:
    trees = (
        'n_targets = 1, nodes_modes = ["LEAF"], nodes_nodeids = [0], nodes_treeids = [0], nodes_featureids = [0], '
        "nodes_values = [0.0], nodes_truenodeids = [0], nodes_falsenodeids = [0], target_ids = [0], "
        "target_nodeids = [0], target_treeids = [0], target_weights = [1.0]"
    )
    given = model(
        '<ir_version: 7, opset_import: ["": 13, "ai.onnx.ml": 3]> g (float[2,3] x) => (float[2,1] y) '
        f"{{ y = ai.onnx.ml.TreeEnsembleRegressor <{trees}> (x) }}"
    )
    found = [convert(given, target=f"onnxruntime=={version}").model for version in ("1.11", "1.12")]
    assert [{one.domain: one.version for one in each.opset_import}["ai.onnx.ml"] for each in found] == [2, 3]


@pytest.mark.parametrize("operator", ["Split <split = [0, 4]> (x)", "Split <split = [4, 0]> (x)"])
def test_parts_of_no_length_are_sliced_before_1_3(operator: str) -> None:
    text = f"g (float[4,3] x) => (float[A,3] y, float[B,3] z) {{ y, z = {operator} }}"
    assert operators(converted(text, "onnxruntime==1.2", opset=11)) == ["Slice", "Slice"]
    assert operators(converted(text, "onnxruntime==1.3", opset=11)) == ["Split"]


@pytest.mark.parametrize("target", ["onnxruntime==0.3", "onnxruntime==1.4", "opencv==4.5"])
def test_an_empty_list_of_axes_is_refused_where_it_is_not_loaded(target: str) -> None:
    given = model(
        '<ir_version: 4, opset_import: ["": 11]> '
        "g (float[1,2,3] x) => (float[1,2,3] y) { y = Squeeze <axes : ints = []> (x) }"
    )
    with pytest.raises(ConversionRefused, match="empty list"):
        convert(given, target=target)


ATTENTION = "y = com.microsoft.MultiHeadAttention <num_heads = 2>"
SKIP = "com.microsoft.SkipLayerNormalization"


class TestContributedOperators:
    """What older releases compute otherwise, or do not run, of operators of com.microsoft that they have."""

    @pytest.mark.parametrize(
        ("refusing", "taking", "node", "because"),
        [
            ("1.14", "1.16", f"{ATTENTION} (q, q, q, b)", "has no MultiHeadAttention"),
            ("1.15", "1.16", f"{ATTENTION} (q, k, k)", "without a bias"),
            ("1.20", "1.21", f"{ATTENTION} (q, k, k, b, m)", "more keys than queries"),
            ("1.15", "1.16", f"{ATTENTION} (q, q, q, b, t)", "three axes"),
            ("1.19", "1.20", f'{ATTENTION} (q, k, k, b, "", a)', "does not repeat attention_bias"),
            ("1.20", "1.21", f'{ATTENTION} (q, k, k, b, "", h)', "does not repeat attention_bias"),
            ("1.3", "1.4", "y = com.microsoft.Attention <num_heads = 2> (q, w, b, m)", "one axis of mask_index"),
            ("1.0", "1.1", "y = com.microsoft.Attention <num_heads = 2> (q, w, b, l)", "has no Attention"),
            ("1.13", "1.14", f'y, "", "", s = {SKIP} (q, q, c, c)', "the sum of its inputs"),
            ("1.29", "1.30", f"y, z = {SKIP} (q, q, c, c)", "computes no mean"),
            ("1.15", "1.16", "y = com.microsoft.SkipSimplifiedLayerNormalization (q, q, c)", "has no SkipSimplified"),
        ],
    )
    def test_are_refused_until_a_release(self, refusing: str, taking: str, node: str, because: str) -> None:
        inputs = (
            "float[2,3,8] q, float[2,4,8] k, float[24] b, float[8,24] w, int32[2,4] m, int32[2,3,3] t, int32[2] l, "
            "float[1,2,3,4] a, float[2,1,3,4] h, float[1,3,8] o, float[8] c"
        )
        head = '<ir_version: 4, opset_import: ["": 11, "com.microsoft": 1]>'
        given = model(f"{head} g ({inputs}) => (float[2,3,8] y) {{ {node} }}")
        convert(given, target=f"onnxruntime=={taking}")
        with pytest.raises(ConversionRefused, match=because):
            convert(given, target=f"onnxruntime=={refusing}")


@pytest.mark.parametrize("node", ["DynamicQuantizeMatMul (x, b, s)", "MatMulIntegerToFloat (u, b, t, s)"])
def test_several_scales_of_a_product_are_multiplied_apart_before_1_8(node: str) -> None:
    numbers = "{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}"
    given = model(
        '<ir_version: 7, opset_import: ["": 12, "com.microsoft": 1]> g (float[2,3] x, uint8[2,3] u) => (float[2,4] y) '
        f"<int8[3,4] b = {numbers}, float[4] s = {{1, 2, 3, 4}}, float t = {{0.5}}> {{ y = com.microsoft.{node} }}"
    )
    (operator,) = operators(convert(given, target="onnxruntime==1.8").model)
    found = convert(given, target="onnxruntime==1.7")
    assert operator not in operators(found.model)
    assert found.certificate is not None
    assert found.certificate.is_proven, found.certificate.summary()


def test_a_smaller_skip_is_added_before_1_16() -> None:
    given = model(
        '<ir_version: 4, opset_import: ["": 11, "com.microsoft": 1]> g (float[2,3,8] q, float[1,3,8] o, float[8] c) '
        f"=> (float[2,3,8] y) {{ y = {SKIP} (q, o, c, c) }}"
    )
    assert operators(convert(given, target="onnxruntime==1.16").model) == ["SkipLayerNormalization"]
    assert "ReduceMean" in operators(convert(given, target="onnxruntime==1.15").model)


def test_scales_for_each_column_are_kept_apart_from_a_quantized_product_before_1_8() -> None:
    weights = f"int8[2,4] w = {{{', '.join(map(str, range(8)))}}}, float[4] s = {{1, 2, 3, 4}}"
    nodes = "q, r, z = DynamicQuantizeLinear (x) p = Mul (r, s) i = MatMulInteger (q, w, z) c = Cast <to = 1> (i)"
    text = f"g (float[3,2] x) => (float[3,4] y) <{weights}> {{ {nodes} y = Mul (c, p) }}"
    assert operators(converted(text, "onnxruntime==1.4", opset=11))[-3:] == ["Neg", "Neg", "Mul"]
    assert "Neg" not in operators(converted(text, "onnxruntime==1.8", opset=11))


@pytest.mark.parametrize(
    ("dtype", "target", "is_apart"), [("double", "1.5", 0), ("double", "1.6", 1), ("float", "1.6", 0)]
)
def test_scales_in_double_are_kept_apart_from_a_quantized_product_from_1_6_on(
    dtype: str, target: str, is_apart: int
) -> None:
    cast = f"c = Cast <to = {getattr(TensorProto, dtype.upper())}> (i)"
    nodes = f"i = MatMulInteger (x, w) {cast} y = Mul (c, s)"
    text = f"g (uint8[3,2] x, int8[2,4] w, {dtype} s) => ({dtype}[3,4] y) {{ {nodes} }}"
    found = converted(text, f"onnxruntime=={target}", opset=11)
    assert operators(found).count("Neg") == 2 * is_apart


@pytest.mark.parametrize("operator", ["Max", "Min"])
@pytest.mark.parametrize(
    ("target", "opset", "nodes"),
    [
        ("onnxruntime==1.3", 12, 4),
        ("onnxruntime==1.6", 12, 4),
        ("onnxruntime==1.6", 11, 1),
        ("onnxruntime==1.7", 12, 1),
    ],
)
def test_halves_are_compared_in_float_where_negative_ones_are_the_wrong_way_round(
    operator: str, target: str, opset: int, nodes: int
) -> None:
    text = f"g (float16[2,3] x, float16[2,3] z) => (float16[2,3] y) {{ y = {operator} (x, z) }}"
    assert len(converted(text, target, opset=opset).graph.node) == nodes


class TestZeroPointsOfColumns:
    """onnxruntime before 1.8 takes one zero point of the second matrix; 0.4 to 1.4 take the first of several."""

    @pytest.mark.parametrize(
        ("target", "numbers", "is_kept"),
        [
            ("onnxruntime==0.5", "1, 2", False),
            ("onnxruntime==1.4", "1, 2", False),
            ("onnxruntime==1.7", "1, 2", False),
            ("onnxruntime==1.7", "2, 2", True),
            ("onnxruntime==1.8", "1, 2", True),
        ],
    )
    def test_are_subtracted_before_the_product(self, target: str, numbers: str, is_kept: bool) -> None:
        text = (
            f"g (uint8[3,2] x, uint8 a) => (int32[3,2] y) <uint8[2,2] w = {{1, 2, 3, 4}}, uint8[2] z = {{{numbers}}}> "
            "{ y = MatMulInteger (x, w, a, z) }"
        )
        found = converted(text, target, opset=10)
        assert ("MatMulInteger" in operators(found)) == is_kept
        if is_kept and target == "onnxruntime==1.7":
            assert not found.graph.initializer[-1].dims

    def test_of_the_first_matrix_do_not_go_with_int8_before_1_4(self) -> None:
        text = (
            "g (uint8[3,2] x) => (int32[3,2] y) <int8[2,2] w = {1, 2, 3, 4}, uint8 a = {3}> "
            "{ y = MatMulInteger (x, w, a) }"
        )
        assert "MatMulInteger" not in operators(converted(text, "onnxruntime==1.3", opset=10))
        assert operators(converted(text, "onnxruntime==1.4", opset=10)) == ["MatMulInteger"]


class TestOutputShapesOfTransposedConvolutions:
    """onnxruntime puts an odd pad on one side at all opsets: the end before 1.14 (1.13 with SAME), the begin since."""

    @pytest.mark.parametrize(
        ("target", "opset", "mode", "pads"),
        [
            ("onnxruntime==1.4", 11, "NOTSET", [1, 1, 0, 0]),
            ("onnxruntime==1.13", 11, "NOTSET", [1, 1, 0, 0]),
            ("onnxruntime==1.12", 11, "SAME_UPPER", [0, 0, 1, 1]),
            ("onnxruntime==1.13", 8, "SAME_LOWER", [0, 0, 1, 1]),
            ("onnxruntime==1.14", 8, "NOTSET", [0, 0, 1, 1]),
            ("onnxruntime==1.4", 8, "NOTSET", None),
            ("onnxruntime==1.14", 11, "NOTSET", None),
            ("onnxruntime==1.13", 11, "SAME_UPPER", None),
        ],
    )
    def test_are_written_as_pads(self, target: str, opset: int, mode: str, pads: list[int] | None) -> None:
        text = (
            "g (float[1, 2, 3, 3] x, float[2, 2, 3, 3] w) => (float[1, 2, 6, 6] y) "
            f'{{ y = ConvTranspose <auto_pad = "{mode}", strides = [2, 2], output_shape = [6, 6]> (x, w) }}'
        )
        assert attributes(target, text, opset).get("pads") == pads

    @pytest.mark.parametrize("target", ["onnxruntime==0.3", "onnxruntime==1.4", "onnxruntime==1.20", "onnxruntime"])
    @pytest.mark.parametrize(("height", "is_written_otherwise"), [(8, False), (9, True)])
    def test_far_beyond_the_windows_are_made_by_a_convolution(
        self, target: str, height: int, is_written_otherwise: bool
    ) -> None:
        text = (
            f"g (float[1, 1, 3, 2] x) => (float[1, 1, {height}, 5] y) <float[1, 1, 3, 3] w = {{1,2,3,4,5,6,7,8,9}}>"
            f"{{ y = ConvTranspose <strides = [2, 2], output_shape = [{height}, 5]> (x, w) }}"
        )
        if is_written_otherwise:
            assert "ConvTranspose" not in operators(converted(text, target, opset=9))
        else:
            assert attributes(target, text, 9)["output_shape"] == [height, 5]


class TestMeansAndVariances:
    """onnxruntime before 1.16 normalizes four axes only, and all or all but the second one together."""

    @pytest.mark.parametrize(
        ("shape", "axes"),
        [("2, 3", "[0]"), ("2, 3, 4", "[0, 2]"), ("1, 2, 3, 2, 2", "[0, 2, 3]"), ("2, 3, 2, 2", "[2, 3]")],
    )
    @pytest.mark.parametrize("target", ["onnxruntime==0.3", "onnxruntime==1.4", "onnxruntime==1.15"])
    def test_are_computed_otherwise_along_others(self, target: str, shape: str, axes: str) -> None:
        text = f"g (float[{shape}] x) => (float[{shape}] y) {{ y = MeanVarianceNormalization <axes = {axes}> (x) }}"
        assert operators(converted(text, target, opset=9))[-1] == "Div"

    @pytest.mark.parametrize(
        ("target", "axes"),
        [("onnxruntime==1.4", "[0, 2, 3]"), ("onnxruntime==1.4", "[0, 1, 2, 3]"), ("onnxruntime==1.16", "[2, 3]")],
    )
    def test_stay_where_they_run(self, target: str, axes: str) -> None:
        text = f"g (float[2,3,2,2] x) => (float[2,3,2,2] y) {{ y = MeanVarianceNormalization <axes = {axes}> (x) }}"
        assert operators(converted(text, target, opset=9)) == ["MeanVarianceNormalization"]


class TestInterpolationBesideImages:
    """onnxruntime before 1.12 interpolates linearly along the last two of four axes only."""

    @staticmethod
    def text(scales: str, operator: str, mode: str = "linear") -> str:
        return (
            f"g (float[1, 2, 3, 2] x) => (float[A, B, C, D] y) <float[4] s = {{{scales}}}> "
            f'{{ y = {operator} <mode = "{mode}"> (x, s) }}'
        )

    @pytest.mark.parametrize(("operator", "opset"), [("Resize", 10), ("Upsample", 9)])
    @pytest.mark.parametrize("scales", ["1, 2, 2, 1", "1, 2, 1, 1"])
    @pytest.mark.parametrize("target", ["onnxruntime==0.4", "onnxruntime==1.4", "onnxruntime==1.11"])
    def test_is_written_out(self, target: str, scales: str, operator: str, opset: int) -> None:
        found = operators(converted(self.text(scales, operator), target, opset=opset))
        assert {"Resize", "Upsample"}.isdisjoint(found)

    @pytest.mark.parametrize("target", ["onnxruntime==1.12", "onnxruntime==1.23"])
    def test_is_written_out_along_channels_and_columns_together(self, target: str) -> None:
        assert "Resize" not in operators(converted(self.text("1, 2, 1, 2", "Resize"), target, opset=10))
        assert "Resize" in operators(converted(self.text("1, 2, 2, 1", "Resize"), target, opset=10))

    @pytest.mark.parametrize(("scales", "mode"), [("1, 1, 2, 2", "linear"), ("1, 2, 2, 1", "nearest")])
    def test_stays_where_it_runs(self, scales: str, mode: str) -> None:
        assert operators(converted(self.text(scales, "Resize", mode), "onnxruntime==1.4", opset=10)) == ["Resize"]


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("onnxruntime==0.3", ["Unsqueeze", "BatchNormalization", "Squeeze"]),
        ("onnxruntime==1.20", ["Unsqueeze", "BatchNormalization", "Squeeze"]),
        ("onnxruntime==1.22", ["BatchNormalization"]),
    ],
)
def test_vectors_are_normalized_with_a_second_axis_before_1_22(target: str, found: list[str]) -> None:
    text = (
        "g (float[5] x, float[1] s, float[1] b, float[1] m, float[1] v) => (float[5] y) "
        "{ y = BatchNormalization (x, s, b, m, v) }"
    )
    assert operators(converted(text, target, opset=9)) == found


@pytest.mark.parametrize(("target", "stays"), [("0.5", False), ("1.4", False), ("1.7", False), ("1.8", True)])
def test_products_with_a_scale_for_each_column_are_written_out_before_1_8(target: str, stays: bool) -> None:
    text = """g (uint8[2, 4] a, uint8[4, 2] b) => (uint8[2, 2] y)
        <float i = {0.1}, uint8 j = {3}, float[2] k = {0.1, 0.5}, uint8[2] l = {1, 7}, float m = {0.5}, uint8 n = {9}>
        { y = QLinearMatMul (a, i, j, b, k, l, m, n) }"""
    assert (operators(converted(text, f"onnxruntime=={target}", opset=10)) == ["QLinearMatMul"]) is stays
    single = text.replace("float[2] k = {0.1, 0.5}", "float k = {0.1}").replace("uint8[2] l = {1, 7}", "uint8 l = {1}")
    assert operators(converted(single, f"onnxruntime=={target}", opset=10)) == ["QLinearMatMul"]


class TestConstantsThatSubgraphsRead:
    """onnxruntime 0.2 and 0.3 do not find initializers that only subgraphs read, and give zeros for Constants."""

    _TEXT = """
        g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
            y = If (c) <then_branch = t () => (float[2] a) { a = Add (x, w) },
                        else_branch = e () => (float[2] b) { b = Mul (x, w) }>
        }
    """

    @pytest.mark.parametrize(
        ("target", "found"),
        [
            ("onnxruntime==0.2", ["Shape", "If"]),
            ("onnxruntime==0.3", ["Shape", "If"]),
            ("onnxruntime==0.4", ["If"]),
        ],
    )
    def test_are_read_by_a_shape_beside_them(self, target: str, found: list[str]) -> None:
        result = converted(self._TEXT, target, opset=8)
        assert operators(result) == found
        assert found == ["If"] or list(result.graph.node[0].input) == ["w"]

    def test_are_read_once_for_several_readers(self) -> None:
        twice = self._TEXT.replace("=> (float[2] y)", "=> (float[2] y, float[2] z)").replace(
            "        }\n    ",
            """
            z = If (c) <then_branch = u () => (float[2] d) { d = Sub (x, w) },
                        else_branch = f () => (float[2] f) { f = Div (x, w) }>
        }""",
        )
        assert operators(converted(twice, "onnxruntime==0.3", opset=8)) == ["Shape", "If", "If"]

    @pytest.mark.parametrize("target", ["onnxruntime==0.2", "onnxruntime==0.3", "onnxruntime==0.5"])
    def test_that_branches_give_are_gathered(self, target: str) -> None:
        text = """
            g (bool c) => (float[2] y) {
                y = If (c) <then_branch = t () => (float[2] a) { a = Constant <value = float[2] {1, 2}> () },
                            else_branch = e () => (float[2] b) { b = Constant <value = float[2] {3, 4}> () }>
            }
        """
        result = converted(text, target, opset=8)
        branch: GraphProto = next(node for node in result.graph.node if node.op_type == "If").attribute[0].g
        assert branch.node[-1].op_type != "Constant"
