"""NonMaxSuppression below the opset at which it was introduced."""

import re

import pytest

from opsetlift import convert
from testing.conversion import check_converts, model

_11 = '<ir_version: 6, opset_import: ["": 11]>'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inputs", "attributes", "target"),
    [
        pytest.param(
            "float[2, 5, 4] b, float[2, 3, 5] s, int64[1] m, float[1] o, float[1] t", "", 9, id="batches and classes"
        ),
        pytest.param("float[B, N, 4] b, float[B, C, N] s, int64 m, float o", "", 9, id="run-time sizes"),
        pytest.param("float[B, N, 4] b, float[B, C, N] s, int64 m, float o", "", 8, id="run-time sizes below 9"),
        pytest.param(
            "float[1, 6, 4] b, float[1, 1, 6] s, int64 m", "<center_point_box = 1>", 9, id="centers and sizes"
        ),
    ],
)
def test_a_loop_chooses_the_boxes(inputs, attributes, target):
    names = ", ".join(re.findall(r" ([bsmot])\b", inputs))
    check_converts(
        f"{_11} g ({inputs}) => (int64[K, 3] y) {{ y = NonMaxSuppression {attributes} ({names}) }}", target, exact=True
    )


def test_no_box_is_chosen_by_default():
    graph = "g (float[1, 6, 4] b, float[1, 1, 6] s) => (int64[0, 3] y)"
    source = model(f"{_11} {graph} {{ y = NonMaxSuppression (b, s) }}")
    converted = convert(source, to={"": 9}, exact=True).model
    assert [node.op_type for node in converted.graph.node] == ["Identity"]
    assert list(converted.graph.initializer[0].dims) == [0, 3]
