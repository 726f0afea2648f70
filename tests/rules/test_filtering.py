"""Compress and NonZero below the opset at which they were introduced."""

import numpy
import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

_13 = '<ir_version: 7, opset_import: ["": 13]>'


def test_slices_of_a_constant_condition_are_gathered():
    check_rewrite(
        f"{_13} g (string[2, 3] x) => (string[2, 2] y) <bool[3] c = {{1, 0, 1}}> {{ y = Compress <axis = -1> (x, c) }}",
        '<ir_version: 3, opset_import: ["": 8]> g (string[2, 3] x) => (string[2, 2] y) <int64[2] y_kept = {0, 2}> '
        "{ y = Gather <axis = 1> (x, y_kept) }",
    )


@pytest.mark.parametrize("target", [8, 7, 5])
@pytest.mark.parametrize(
    ("signature", "attributes"),
    [
        pytest.param("float[N, M] x, bool[K] c) => (float[P] y", "", id="all elements in a row"),
        pytest.param("int32[3, 4] x, bool[3] c) => (int32[3, P] y", "<axis = 1>", id="shorter than the axis"),
        pytest.param("float[0, 2] x, bool[0] c) => (float[P, 2] y", "<axis = 0>", id="empty"),
    ],
)
def test_a_loop_finds_the_chosen_slices(target, signature, attributes):
    check_converts(f"{_13} g ({signature}) {{ y = Compress {attributes} (x, c) }}", target, exact=True)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("target", [8, 7])
@pytest.mark.parametrize(
    "signature",
    [
        pytest.param("float[N, M] x) => (int64[2, K] y", id="run-time sizes"),
        pytest.param("bool[4] x) => (int64[1, K] y", id="one dimension"),
        pytest.param("float[2, 0, 3] x) => (int64[3, K] y", id="empty"),
        pytest.param("int32 x) => (int64[0, K] y", id="scalar"),
    ],
)
def test_indices_of_what_is_not_zero_are_found_at_older_opsets(target, signature):
    check_converts(f"{_13} g ({signature}) {{ y = NonZero (x) }}", target, exact=True)


def test_empty_strings_cannot_be_told_below_9():
    check_refusal(f"{_13} g (string[3] x) => (int64[1, K] y) {{ y = NonZero (x) }}", 8, Why.DTYPE_NOT_AVAILABLE)


def test_bfloat16_is_chosen_as_float_below_28():
    converted = check_converts(
        '<ir_version: 13, opset_import: ["": 28]> g (bfloat16[3] x, bool[3] c) => (bfloat16[K] y) '
        "{ y = Compress <axis = 0> (x, c) }",
        21,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node] == ["Cast", "Compress", "Cast"]


@pytest.mark.slow
@pytest.mark.parametrize("target", [8, 7])
@pytest.mark.parametrize(
    ("declared", "shape"),
    [("N, M", (2, 0)), ("N, M", (0, 2)), ("A, B, C", (2, 0, 3)), ("A, B, C", (2, 2, 0)), ("2, 0", (2, 0))],
)
def test_nothing_is_divided_by_a_size_of_0(target, declared, shape):
    onnxruntime = pytest.importorskip("onnxruntime")
    converted = check_converts(f"{_13} g (float[{declared}] x) => (int64[R, K] y) {{ y = NonZero (x) }}", target)
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": numpy.zeros(shape, numpy.float32)})[0].shape == (len(shape), 0)
