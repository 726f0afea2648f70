"""Fallbacks and refusals for what ONNX's released tests of nodes showed, converted for each runtime and run there."""

from __future__ import annotations

import pytest
from onnx import parser

from opsetlift import ConversionRefused, convert
from tests.test_fallbacks import converted, operators

MEASURED = (
    "opencv==4.5",
    "opencv==5.0",
    "openvino==2021.4",
    "openvino==2026.4",
    "onnxruntime==0.3",
    "onnxruntime==1.23",
)


class TestOtherDomains:
    """Those in which ONNX tries out operators, and those of others."""

    @pytest.mark.parametrize("target", MEASURED)
    @pytest.mark.parametrize(
        ("domain", "node"),
        [
            ("ai.onnx.preview", "y = m.FlexAttention (x, x, x)"),
            (
                "ai.onnx.preview.training",
                'y, z = m.Momentum <alpha = 1.0, beta = 1.0, mode = "nesterov", norm_coefficient = 1.0>(x, t, x, x, x)',
            ),
        ],
    )
    def test_that_onnx_tries_out_are_in_no_runtime(self, target: str, domain: str, node: str) -> None:
        text = f"""<ir_version: 3, opset_import: ["": 7, "m": 1]>
            g (float[1,2,3,4] x, int64 t) => (float[1,2,3,4] y) {{ {node} }}"""
        model = parser.parse_model(text)
        for message in (*model.opset_import, *model.graph.node):
            message.domain = domain if message.domain == "m" else message.domain
        with pytest.raises(ConversionRefused, match=f"is not known to have .* of {domain}"):
            convert(model, target=target)

    @pytest.mark.parametrize(
        ("target", "found"),
        [
            ("openvino==2021.4", ["Identity", "Foo", "Identity", "Identity"]),
            ("opencv==4.14", ["Identity", "Foo"]),
            ("opencv==5.0", ["Foo"]),
            ("onnxruntime==1.10", ["Foo"]),
        ],
    )
    def test_of_others_alone_get_an_opset_where_a_runtime_needs_nodes_beside_them(
        self, target: str, found: list[str]
    ) -> None:
        text = """<ir_version: 7, opset_import: ["com.example": 1]>
            g (float[2,3] x, float[2] unread) => (float[2,3] y, float[2,3] z) { y, z = com.example.Foo (x) }"""
        result = convert(parser.parse_model(text), target=target).model
        assert operators(result) == found
        assert ("" in {one.domain for one in result.opset_import}) == ("Identity" in found)


class TestPadsThatWrapAround:
    """Exporters of PyTorch write mode "wrap" at opset 18, which has none; onnxruntime from 1.16 on takes it there."""

    _TEXT = """
        g (float[2,3] x) => (float[4,6] y) <int64[4] p = {1, 2, 1, 1}> { y = Pad <mode = "wrap"> (x, p) }
    """

    @pytest.mark.parametrize(
        ("opset", "to", "found"),
        [
            (18, 13, "Gather"),
            (18, 10, "Gather"),
            (13, 11, "Gather"),
            (11, 9, "Gather"),
            (18, 19, "Pad"),
            (13, 18, "Pad"),
        ],
    )
    def test_are_gathered_below(self, opset: int, to: int, found: str) -> None:
        given = parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {self._TEXT}')
        assert set(operators(convert(given, to=to, require_proof=True).model)) == {found}

    @pytest.mark.parametrize(
        ("target", "found"),
        [
            ("onnxruntime==1.14", "Gather"),
            ("onnxruntime==1.15", "Gather"),
            ("onnxruntime==1.16", "Pad"),
            ("openvino==2026.4", "Gather"),
            ("opencv==4.14", "Gather"),
            ("opencv==5.0", "Pad"),
        ],
    )
    def test_are_gathered_where_a_runtime_has_no_such_mode(self, target: str, found: str) -> None:
        assert found in operators(converted(self._TEXT, target, opset=18))


class TestIndicesThatMayBeNegative:
    """Runtimes that read computed negative indices wrongly, or fail on them, get them counted from the front."""

    @pytest.mark.parametrize(
        ("target", "node", "rest"),
        [
            ("openvino==2021.4", "Gather (x, i)", "int64[2] k"),
            ("openvino==2021.4", "GatherElements (x, i)", "int64[3,4] k"),
            ("openvino==2022.3", "GatherElements (x, i)", "int64[3,4] k"),
            ("openvino==2021.4", "ScatterElements (x, i, u)", "int64[1,4] k, float[1,4] u"),
            ("openvino==2022.3", "ScatterND (x, i, u)", "int64[1,1] k, float[1,4] u"),
            ("onnxruntime==1.4", "ScatterND (x, i, u)", "int64[1,1] k, float[1,4] u"),
            ("onnxruntime==1.10", "ScatterND (x, i, u)", "int64[1,2] k, float[1] u"),
        ],
    )
    @pytest.mark.parametrize("size", ["3", "N"])
    def test_are_counted_from_the_front(self, target: str, node: str, rest: str, size: str) -> None:
        text = f"g (float[{size},4] x, {rest}) => (float[?] y) <int64 c = {{2}}> {{ i = Sub (k, c) y = {node} }}"
        if size == "N" and target.startswith("openvino"):
            pytest.skip("OpenVINO 2021.4 takes fixed sizes, and 2022.3 is asked with these")
        text = text.replace("[?]", "[A,B]")
        assert "Mod" in operators(converted(text, target, opset=11))

    @pytest.mark.parametrize(
        "before",
        [
            "i = Identity (k)",
            "i = ArgMax <axis = 0> (x)",
            "a = Abs (k) i = Mul (a, c)",
            "r = Greater (k, c) s = Cast <to = 7> (r) t = Mul (s, c) i = Sub (c, t)",
            "n = Neg (k) i = Relu (n)",
            "f = Cast <to = 1> (k) g = Floor (f) i = Cast <to = 7> (g)",
            "n = Neg (k) m = Max (n, c) i = Min (m, k)",
            "t = Where (b, k, k) i = Concat <axis = 0> (t, k)",
        ],
    )
    def test_stay_where_their_operators_give_none(self, before: str) -> None:
        given = "float[3,4] x, int64[2] k, bool[2] b"
        text = f"g ({given}) => (float[A,B] y) <int64 c = {{2}}> {{ {before} y = Gather (x, i) }}"
        assert "Mod" not in operators(converted(text, "openvino==2021.4", opset=14))

    @pytest.mark.parametrize(
        "before",
        [
            "i = Neg (k)",
            "f = Cast <to = 1> (k) h = Sin (f) g = Ceil (h) i = Cast <to = 7> (g)",
            "n = Neg (k) i = Min (n, c)",
            "n = Neg (k) i = Concat <axis = 0> (n, k)",
            "r = Greater (k, c) n = Neg (k) i = Where (r, n, k)",
        ],
    )
    def test_are_counted_where_their_operators_give_some(self, before: str) -> None:
        text = f"g (float[3,4] x, int64[2] k) => (float[A,B] y) <int64 c = {{2}}> {{ {before} y = Gather (x, i) }}"
        assert "Mod" in operators(converted(text, "openvino==2021.4", opset=14))


class TestIntegers:
    @pytest.mark.parametrize("node", ["Add (x, c)", "Mul (x, c)", "Concat <axis = 0> (x, k)"])
    def test_of_constants_meet_no_computed_ones_in_opencv_4_5(self, node: str) -> None:
        text = f"g (int64[1,3] x) => (int64[A,3] y) <int64 c = {{2}}, int64[1,3] k = {{1, 2, 3}}> {{ y = {node} }}"
        with pytest.raises(ConversionRefused, match="constants of floats only"):
            converted(text, "opencv==4.5", opset=11)

    def test_of_an_embedding_are_counted_in_floats_in_opencv_4_5(self) -> None:
        """A negative index would meet the size of the axis, a constant integer, else."""
        table = "float[4,2] t = {1, 2, 3, 4, 5, 6, 7, 8}"
        text = f"g (int64[1,3] x) => (float[1,3,2] y) <{table}> {{ n = Neg (x) y = Gather (t, n) }}"
        assert converted(text, "opencv==4.5", opset=13)

    def test_beyond_32_bits_are_refused_for_openvino(self) -> None:
        text = "g (int64[3] x) => (int64[3] y) <int64 c = {4294967296}> { y = Add (x, c) }"
        with pytest.raises(ConversionRefused, match="computes integers in 32 bits"):
            converted(text, "openvino==2026.4", opset=13)
        assert converted(text.replace("4294967296", "4294967"), "openvino==2026.4", opset=13)

    def test_of_8_bits_are_divided_in_a_wider_type_in_openvino_2022_3(self) -> None:
        text = "g (int8[3] x, int8[3] z) => (int8[3] y) { y = Div (x, z) }"
        (node,) = [one for one in converted(text, "openvino==2022.3", opset=14).graph.node if one.op_type == "Div"]
        assert node.input[0] != "x"


@pytest.mark.parametrize("operator", ["Div", "Sub"])
def test_what_was_reduced_stays_behind_its_unsqueeze_in_openvino_2022_3(operator: str) -> None:
    text = f"""
        g (float[1,2,4] x) => (float[1,2,4] y) <int64[1] a = {{-1}}> {{
            s = ReduceSum <keepdims = 0> (x, a)
            u = Unsqueeze (s, a)
            y = {operator} (x, u)
        }}
    """
    assert operators(converted(text, "openvino==2022.3", opset=13)) == ["ReduceSum", "Unsqueeze", "Max", operator]
    assert "Max" not in operators(converted(text, "openvino==2026.4", opset=13))
