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
