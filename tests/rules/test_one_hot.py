"""OneHot across its versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

_13 = '<ir_version: 7, opset_import: ["": 13]>'
_CONSTANT = "<int64 d = {3}, float[2] v = {0.5, 2.5}>"


def test_negative_indices_stay_off_on_the_way_up():
    check_rewrite(
        f'<ir_version: 4, opset_import: ["": 9]> g (int64[N] i) => (float[N, 3] y) {_CONSTANT} '
        "{ y = OneHot (i, d, v) }",
        '<ir_version: 6, opset_import: ["": 11]> g (int64[N] i) => (float[N, 3] y) '
        "<int64 d = {3}, float[2] v = {0.5, 2.5}, int64 y_zero = {0}> "
        "{ y_Less = Less (i, y_zero) y_Where = Where (y_Less, d, i) y = OneHot (y_Where, d, v) }",
    )


@pytest.mark.parametrize("target", [11, 9])
@pytest.mark.parametrize("dtype", ["uint8", "int64"])
def test_indices_that_cannot_be_negative_stay_as_they_are(target, dtype):
    graph = "g () => (float[2, 3] y) <int64[2] i = {0, 1}, int64 d = {3}, float[2] v = {0, 1}>"
    if dtype == "uint8":
        graph = "g (uint8[2] i) => (float[2, 3] y) <int64 d = {3}, float[2] v = {0, 1}>"
    irs = {9: 4, 11: 6}
    before, after = (
        f'<ir_version: {irs[opset]}, opset_import: ["": {opset}]> {graph} {{ y = OneHot <axis = -1> (i, d, v) }}'
        for opset in (20 - target, target)
    )
    check_rewrite(before, after)


@pytest.mark.slow
@pytest.mark.parametrize("target", [10, 8, 7])
@pytest.mark.parametrize(
    ("signature", "attributes"),
    [
        pytest.param("int64[N, M] i, int64 d, float[2] v) => (float[N, M, D] y", "", id="depth of the run"),
        pytest.param(
            "float[2, 3] i, float[1] d, string[2] v) => (string[2, D, 3] y", "<axis = -2>", id="float indices"
        ),
        pytest.param("int32[0, 2] i, int32 d, float[2] v) => (float[D, 0, 2] y", "<axis = 0>", id="empty"),
    ],
)
def test_classes_are_compared_at_every_older_opset(target, signature, attributes):
    check_converts(f"{_13} g ({signature}) {{ y = OneHot {attributes} (i, d, v) }}", target, exact=True)


def test_indices_too_far_below_zero_are_off_below_11():
    check_converts(
        f"{_13} g () => (float[5, 3] y) <int64[5] i = {{-4, -3, -1, 2, 3}}, int64 d = {{3}}, float[2] v = {{0, 1}}> "
        "{ y = OneHot (i, d, v) }",
        9,
        exact=True,
    )


def test_the_place_of_a_dimension_in_an_unknown_rank_is_refused():
    check_refusal(
        f"{_13} g (int64[] i) => (float[] y) {_CONSTANT} {{ y = OneHot <axis = -2> (i, d, v) }}", 10, Why.RANK_UNKNOWN
    )


def test_bfloat16_values_are_taken_as_float_below_28():
    converted = check_converts(
        '<ir_version: 13, opset_import: ["": 28]> g (int64[3] i, int64 d, bfloat16[2] v) => (bfloat16[3, D] y) '
        "{ y = OneHot (i, d, v) }",
        21,
        exact=True,
    )
    assert [node.op_type for node in converted.graph.node] == ["Cast", "OneHot", "Cast"]
