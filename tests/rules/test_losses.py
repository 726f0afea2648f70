"""Losses."""

import pytest

from tests.conversion import check_converts, check_rewrite


def test_thirteen_changes_nothing_but_the_layout_of_the_text():
    before, after = (
        f'<ir_version: 8, opset_import: ["": {opset}]> g (float[3, 5] x, int64[3] t) => (float y) '
        "{ y = NegativeLogLikelihoodLoss (x, t) }"
        for opset in (13, 12)
    )
    check_rewrite(before, after)
    check_rewrite(after, before)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("operator", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_losses_become_their_function_bodies_below_12(operator, reduction):
    result = check_converts(
        f'<ir_version: 8, opset_import: ["": 13]> g (float[3, 5] x, int64[3] t, float[5] w) => (float[] y) '
        f'{{ y = {operator} <reduction = "{reduction}", ignore_index = 1> (x, t, w) }}',
        9,
    )
    assert all(node.op_type != operator for node in result.graph.node)
