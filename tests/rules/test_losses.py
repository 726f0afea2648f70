"""Losses."""

import pytest

from testing.conversion import check_converts, check_rewrite


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


def test_losses_of_narrow_floats_are_computed_in_float():
    check_converts(
        '<ir_version: 8, opset_import: ["": 12]> g (float16[3, 5] x, int64[3] t) => (float16 y, float16[3, 5] z) '
        "{ y, z = SoftmaxCrossEntropyLoss (x, t) }",
        11,
    )
    check_converts(
        '<ir_version: 10, opset_import: ["": 22]> g (bfloat16[3, 5] x, int64[3] t) => (bfloat16 y) '
        "{ y = NegativeLogLikelihoodLoss (x, t) }",
        21,
    )


@pytest.mark.parametrize("operator", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_losses_of_unknown_sizes_are_written_out_below_12(operator):
    check_converts(
        '<ir_version: 8, opset_import: ["": 12]> g (float[N, C, D] x, int64[N, D] t, float[C] w) => (float[N, D] y) '
        f'{{ y = {operator} <reduction = "none"> (x, t, w) }}',
        11,
    )


def test_a_loss_whose_number_of_classes_only_its_second_output_declares_is_proven_with_that_number():
    check_converts(
        """<ir_version: 8, opset_import: ["": 15]> g (float[?, ?] x, int64[3] t) => (float[3] y, float[3, 5] p) {
            y, p = SoftmaxCrossEntropyLoss <reduction = "none"> (x, t)
        }""",
        7,
    )
