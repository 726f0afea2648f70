"""Scatter, ScatterElements, ScatterND and TensorScatter across their versions."""

import numpy
import pytest

from opsetlift import convert
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model

_13 = '<ir_version: 7, opset_import: ["": 13]>'
_18 = '<ir_version: 8, opset_import: ["": 18]>'
_24 = '<ir_version: 11, opset_import: ["": 24]>'


def test_scatter_goes_by_its_newer_name_from_11_on():
    graph = "g (float[3] x, int64[2] i, float[2] u) => (float[3] y)"
    check_rewrite(
        f'<ir_version: 4, opset_import: ["": 9]> {graph} {{ y = Scatter <axis = 0> (x, i, u) }}',
        f'<ir_version: 6, opset_import: ["": 11]> {graph} {{ y = ScatterElements <axis = 0> (x, i, u) }}',
    )


def test_scatter_elements_goes_by_its_older_name_below_11():
    check_rewrite(
        f"{_13} g (string[N, 3] x, string[N, 1] u) => (string[N, 3] y) <int64[1, 1] i = {{-1}}> "
        "{ y = ScatterElements <axis = 1> (x, i, u) }",
        '<ir_version: 5, opset_import: ["": 10]> g (string[N, 3] x, string[N, 1] u) => (string[N, 3] y) '
        "<int64[1, 1] y_positions = {2}> { y = Scatter <axis = 1> (x, y_positions, u) }",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("target", [10, 8, 6])
@pytest.mark.parametrize(
    "signature",
    [
        pytest.param("float[N, M] x, int64[K, L] i, float[K, L] u) => (float[N, M] y", id="run-time sizes"),
        pytest.param("int8[3, 4] x, int32[3, 2] i, int8[3, 2] u) => (int8[3, 4] y", id="known sizes"),
        pytest.param("float[3, 0] x, int64[0, 0] i, float[0, 0] u) => (float[3, 0] y", id="empty"),
        pytest.param("bool[2, 3] x, int64[2, 0] i, bool[2, 0] u) => (bool[2, 3] y", id="no updates"),
    ],
)
def test_elements_are_written_at_every_older_opset(target, signature):
    check_converts(f"{_13} g ({signature}) {{ y = ScatterElements <axis = -1> (x, i, u) }}", target, exact=True)


def test_constant_indices_below_9_become_one_gather():
    check_rewrite(
        f"{_13} g (float[4] x, float[2] u) => (float[4] y) <int64[2] i = {{-1, 1}}> "
        "{ y = ScatterElements (x, i, u) }",
        '<ir_version: 3, opset_import: ["": 8]> g (float[4] x, float[2] u) => (float[4] y) '
        "<int64[4] y_positions_1 = {0, 5, 2, 4}> "
        "{ y_Concat = Concat <axis = 0> (x, u) y = Gather <axis = 0> (y_Concat, y_positions_1) }",
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("target", [10, 8])
@pytest.mark.parametrize(
    "signature",
    [
        pytest.param("float[N, M, 2] x, int64[K, 2] i, float[K, 2] u) => (float[N, M, 2] y", id="slices"),
        pytest.param("int64[N, 3] x, int64[2, 1, 1] i, int64[2, 1, 3] u) => (int64[N, 3] y", id="one index"),
        pytest.param("string[2, 3] x, int64[2] i, string u) => (string[2, 3] y", id="one tuple"),
        pytest.param("float[2, 0] x, int64[1, 1] i, float[1, 0] u) => (float[2, 0] y", id="empty slices"),
        pytest.param("float[2, 3] x, int64[0, 1] i, float[0, 3] u) => (float[2, 3] y", id="no updates"),
    ],
)
def test_slices_are_written_at_every_older_opset(target, signature):
    check_converts(f"{_13} g ({signature}) {{ y = ScatterND (x, i, u) }}", target, exact=True)


def test_tuples_of_unknown_length_are_refused_below_11():
    check_refusal(
        f"{_13} g (float[2, 3] x, int64[2, K] i, float[] u) => (float[2, 3] y) {{ y = ScatterND (x, i, u) }}",
        10,
        Why.SHAPE_UNKNOWN,
        "the number of indexed dimensions",
    )


def test_a_loop_combines_updates_one_by_one_below_18():
    check_rewrite(
        f"{_18} g (float[4] x, int64[K, 1] i, float[K] u) => (float[4] y) "
        '{ y = ScatterND <reduction = "add"> (x, i, u) }',
        '<ir_version: 8, opset_import: ["": 16]> g (float[4] x, int64[K, 1] i, float[K] u) => (float[4] y) '
        '{ y = ScatterND <reduction = "add"> (x, i, u) }',
    )
    converted = check_converts(
        f"{_18} g (float[4] x, int64[K, 1] i, float[K] u) => (float[4] y) "
        '{ y = ScatterND <reduction = "max"> (x, i, u) }',
        16,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node][-1] == "Loop"


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize(
    "node",
    [
        pytest.param(
            "(int8[2, 3] x, int64[2, 4] i, int8[2, 4] u) => (int8[2, 3] y) "
            "{{ y = ScatterElements <axis = 1, {}> (x, i, u) }}",
            id="ScatterElements",
        ),
        pytest.param(
            "(float[N, 2] x, int64[K, 1] i, float[K, 2] u) => (float[N, 2] y) {{ y = ScatterND <{}> (x, i, u) }}",
            id="ScatterND",
        ),
    ],
)
def test_reductions_are_lowered_to_15(reduction, node):
    check_converts(f"{_18} g {node.format(f'reduction = {chr(34)}{reduction}{chr(34)}')}", 15, exact=True)


@pytest.mark.parametrize("opset", [16, 17])
@pytest.mark.parametrize("reduction", ["max", "min"])
@pytest.mark.parametrize(("node", "indices"), [("ScatterElements", "int64[3] i"), ("ScatterND", "int64[3, 1] i")])
def test_reductions_that_came_with_18_are_kept_where_exporters_wrote_them_before(node, indices, reduction, opset):
    graph = f"g (float[4] x, {indices}, float[3] u) => (float[4] y)"
    text = (
        f'<ir_version: 8, opset_import: ["": {opset}]> {graph} {{ y = {node} <reduction = "{reduction}"> (x, i, u) }}'
    )
    assert "Loop" in [one.op_type for one in check_converts(text, 15, exact=True).graph.node]
    (kept,) = check_converts(text, 18, exact=True).graph.node
    assert kept == model(text).graph.node[0]


def test_an_unknown_reduction_is_the_models_fault():
    text = """<ir_version: 8, opset_import: ["": 16]> g (float[4] x, int64[3] i, float[3] u) => (float[4] y) {
        y = ScatterElements <reduction = "mean"> (x, i, u) }"""
    check_refusal(text, 15, Why.INVALID_MODEL, "there is no reduction 'mean'")


@pytest.mark.parametrize("reduction", ["add", "min"])
def test_a_loop_below_16_carries_bfloat16_as_float(reduction):
    check_converts(
        f"{_18} g (bfloat16[5, 2] x, int64[K, 1] i, bfloat16[K, 2] u) => (bfloat16[5, 2] y) "
        f'{{ y = ScatterND <reduction = "{reduction}"> (x, i, u) }}',
        13,
        exact=True,
    )


def test_no_reduction_is_no_attribute_below_16():
    graph = "g (bool[4] x, int64[2] i, bool[2] u) => (bool[4] y)"
    check_rewrite(
        f'{_18} {graph} {{ y = ScatterElements <reduction = "none"> (x, i, u) }}',
        f'<ir_version: 8, opset_import: ["": 15]> {graph} {{ y = ScatterElements (x, i, u) }}',
    )


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("target", [23, 18, 11, 8])
@pytest.mark.parametrize(
    ("signature", "attributes"),
    [
        pytest.param("float[B, 4, 3] c, float[B, 2, 3] u) => (float[B, 4, 3] y", "", id="from the start"),
        pytest.param("int32[2, S, 3] c, int32[2, L, 3] u, int64[2] w) => (int32[2, S, 3] y", "", id="run-time sizes"),
        pytest.param(
            "float[2, 1, 4] c, float[2, 1, 3] u, int64[2] w) => (float[2, 1, 4] y",
            '<mode = "circular", axis = 2>',
            id="circular",
        ),
    ],
)
def test_caches_are_written_at_every_older_opset(target, signature, attributes):
    inputs = "c, u, w" if " w)" in signature else "c, u"
    check_converts(f"{_24} g ({signature}) {{ y = TensorScatter {attributes} ({inputs}) }}", target, exact=True)


def test_caches_of_float8_are_written_as_float16():
    converted = check_converts(
        f"{_24} g (float8e5m2[2, 4, 3] c, float8e5m2[2, 2, 3] u) => (float8e5m2[2, 4, 3] y) "
        "{ y = TensorScatter (c, u) }",
        23,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node] == ["Expand", "Cast", "Cast", "ScatterElements", "Cast"]


@pytest.mark.parametrize("declared", ["2, 0, 4", "2, S, 4"])
def test_nothing_is_written_in_a_circle_of_no_length(declared):
    onnxruntime = pytest.importorskip("onnxruntime")
    source = model(
        f"{_24} g (float[{declared}] c, float[2, L, 4] u, int64[2] w) => (float[2, S, 4] y) "
        '{ y = TensorScatter <mode = "circular"> (c, u, w) }'
    )
    converted = convert(source, to=23).model
    session = onnxruntime.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    empty = numpy.zeros((2, 0, 4), numpy.float32)
    found = session.run(None, {"c": empty, "u": empty, "w": numpy.zeros(2, numpy.int64)})[0]
    assert found.shape == empty.shape
