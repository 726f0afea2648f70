"""Cast and CastLike across their versions."""

import numpy
import onnx
import pytest

from opsetlift import convert
from opsetlift.evaluator import Evaluator
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


def test_the_dtype_becomes_a_number_at_6():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 1]> g (float[N] x) => (int64[N] y) { y = Cast <to = "INT64"> (x) }',
        '<ir_version: 3, opset_import: ["": 6]> g (float[N] x) => (int64[N] y) { y = Cast <to = 7> (x) }',
    )


def test_the_dtype_becomes_text_below_6():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 6]> g (bool[N] x) => (float16[N] y) { y = Cast <to = 10> (x) }',
        '<ir_version: 3, opset_import: ["": 5]> g (bool[N] x) => (float16[N] y) { y = Cast <to = "FLOAT16"> (x) }',
    )


def test_a_dtype_in_words_is_known_to_what_comes_after():
    check_rewrite(
        """<ir_version: 3, opset_import: ["": 4]> g (uint8[N] x) => (float[N] y)
            { c = Cast <to = "FLOAT"> (x) d = Add (c, c) y = Clip <min = 0.0> (d) }""",
        """<ir_version: 7, opset_import: ["": 13]> g (uint8[N] x) => (float[N] y) <float y_min = {0}>
            { c = Cast <to = 1> (x) d = Add (c, c) y = Clip (d, y_min) }""",
    )


def test_text_that_onnx_1_1_wrote_at_6_becomes_a_number_too():
    model = onnx.parser.parse_model(
        '<ir_version: 3, opset_import: ["": 6]> g (float[N] x) => (double[N] y) { y = Cast <to = "DOUBLE"> (x) }'
    )
    assert convert(model, to=13, prove=False).model.graph.node[0].attribute[0].i == onnx.TensorProto.DOUBLE


def test_saturate_means_nothing_without_float8():
    check_rewrite(
        '<ir_version: 9, opset_import: ["": 19]> g (float[N] x) => (int8[N] y) { y = Cast <to = 3, saturate = 0> (x) }',
        '<ir_version: 8, opset_import: ["": 18]> g (float[N] x) => (int8[N] y) { y = Cast <to = 3> (x) }',
    )


def test_round_mode_means_nothing_without_float8e8m0():
    check_rewrite(
        '<ir_version: 12, opset_import: ["": 24]> g (float[N] x) => (float16[N] y) '
        '{ y = Cast <to = 10, round_mode = "down"> (x) }',
        '<ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float16[N] y) { y = Cast <to = 10> (x) }',
    )


@pytest.mark.parametrize("to", [18, 20])
@pytest.mark.parametrize(("source", "target"), [(19, 24), (21, 28), (23, 24), (24, 23), (28, 19)])
def test_saturating_casts_to_fnuz_types_stay_as_they_are(to, source, target):
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": {source}]> g (float[N] x) => (float[N] y) '
        f"{{ q = Cast <to = {to}> (x) y = Cast <to = 1> (q) }}"
    )
    conversion = convert(model, to=target, exact=True)
    assert conversion.model.graph.node == model.graph.node
    infinite = {"x": numpy.array([numpy.inf, -numpy.inf], numpy.float32)}
    largest = {18: 240.0, 20: 57344.0}[to]
    for one in (model, conversion.model):
        assert Evaluator(one).run(infinite)["y"].tolist() == [largest, -largest]


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("dtype", ["float", "double", "float16", "bfloat16", "float8e5m2", "string"])
@pytest.mark.parametrize("to", [18, 20])
@pytest.mark.parametrize(("source", "target"), [(23, 24), (24, 23), (28, 19)])
def test_infinities_cast_to_fnuz_types_keep_their_meaning_across_24(dtype, to, source, target):
    check_converts(
        f'<ir_version: 13, opset_import: ["": {source}]> g ({dtype}[N] x) => (float8e4m3fnuz[N] y) '
        f"{{ z = Cast <to = {to}> (x) w = Cast <to = 1> (z) y = Cast <to = 18, saturate = 0> (w) }}",
        target,
        exact=True,
    )


def test_without_saturation_infinities_need_nothing_across_24():
    check_rewrite(
        '<ir_version: 12, opset_import: ["": 24]> g (float[N] x) => (float8e5m2fnuz[N] y) '
        "{ y = Cast <to = 20, saturate = 0> (x) }",
        '<ir_version: 11, opset_import: ["": 23]> g (float[N] x) => (float8e5m2fnuz[N] y) '
        "{ y = Cast <to = 20, saturate = 0> (x) }",
    )


def test_strings_are_refused_below_9():
    check_refusal(
        '<ir_version: 4, opset_import: ["": 9]> g (string[N] x) => (float[N] y) { y = Cast <to = 1> (x) }',
        8,
        Why.DTYPE_NOT_AVAILABLE,
        "accepts string only from",
    )


def test_bfloat16_is_refused_below_13():
    check_refusal(
        '<ir_version: 7, opset_import: ["": 13]> g (float[N] x) => (bfloat16[N] y) { y = Cast <to = 16> (x) }',
        12,
        Why.DTYPE_NOT_AVAILABLE,
        "no operator of opset 12 accepts bfloat16",
    )


def test_cast_like_becomes_cast_below_15():
    check_rewrite(
        '<ir_version: 8, opset_import: ["": 15]> g (float[N] x, int8[M] like) '
        "=> (int8[N] y) { y = CastLike (x, like) }",
        '<ir_version: 7, opset_import: ["": 14]> g (float[N] x, int8[M] like) => (int8[N] y) { y = Cast <to = 3> (x) }',
    )


def test_cast_like_keeps_infinities_across_24():
    check_converts(
        '<ir_version: 12, opset_import: ["": 24]> g (float[N] x, float8e5m2fnuz[M] like) => (float8e5m2fnuz[N] y) '
        "{ y = CastLike (x, like) }",
        19,
        exact=True,
    )
