"""RNN, GRU and LSTM across their versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(operator, opset, attributes="", *, outputs="y, h", layout=0, dtype="float"):
    """Two directions of hidden size 3 over inputs of size 2; time and batch are open."""
    rows = 3 * GATES[operator]
    x, state = ("B, T", "B, 2") if layout else ("T, B", "2, B")
    y = "B, T, 2" if layout else "T, 2, B"
    shapes = {"y": y, "h": state, "c": state}
    declared = ", ".join(f"{dtype}[{shapes[name]}, 3] {name}" for name in outputs.split(", ") if name in shapes)
    inputs, cell = (
        ("x, w, r, b, l, i, j", f", {dtype}[{state}, 3] j") if operator == "LSTM" else ("x, w, r, b, l, i", "")
    )
    return (
        f'<ir_version: 3, opset_import: ["": {opset}]> g ({dtype}[{x}, 2] x, {dtype}[2, {rows}, 2] w, '
        f"{dtype}[2, {rows}, 3] r, {dtype}[2, {2 * rows}] b, int32[B] l, {dtype}[{state}, 3] i{cell}) => ({declared}) "
        f'{{ {outputs} = {operator} <hidden_size = 3, direction = "bidirectional"{attributes}> ({inputs}) }}'
    )


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("value", [0, 1])
def test_output_sequence_goes_at_7(operator, value):
    oldest = 3 if operator == "GRU" else 1
    check_rewrite(recurrent(operator, oldest, f", output_sequence = {value}"), recurrent(operator, 7))


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_output_sequence_is_set_below_7_where_the_sequence_is_asked_for(operator):
    check_rewrite(recurrent(operator, 7), recurrent(operator, 6, ", output_sequence = 1"))
    absent = ", h = "
    before, after = (recurrent(operator, opset, outputs="h").replace(" h = ", absent) for opset in (7, 6))
    check_rewrite(before, after)


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("to", [13, 7, 3])
def test_batches_come_second_below_14(operator, to):
    outputs = "y, h, c" if operator == "LSTM" else "y, h"
    check_converts(recurrent(operator, 14, ", layout = 1", outputs=outputs, layout=1), to, exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_outputs_that_are_not_asked_for_stay_absent(operator):
    before = recurrent(operator, 14, ", layout = 1", outputs="h", layout=1).replace(" h = ", " , h = ")
    converted = check_converts(before, 13, exact=True)
    (node,) = [node for node in converted.graph.node if node.op_type == operator]
    assert node.output[0] == ""


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_the_first_layout_needs_nothing(operator):
    check_rewrite(recurrent(operator, 14, ", layout = 0"), recurrent(operator, 13))


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_bfloat16_is_computed_in_float_below_22(operator):
    check_converts(recurrent(operator, 22, dtype="bfloat16"), 21)


# GRU 1

FORWARD = (
    '<ir_version: 3, opset_import: ["": {opset}]> g (float[T, B, 2] x, float[1, 9, 2] w, float[1, 9, 3] r) '
    "=> (float[T, 1, B, 3] y{h}) {{ y{h_name} = GRU <hidden_size = 3{attributes}> (x, w, r) }}"
)


def forward(opset, attributes="", *, h=True):
    return FORWARD.format(
        opset=opset, attributes=attributes, h=", float[1, B, 3] h" if h else "", h_name=", h" if h else ""
    )


def test_the_misspelt_direction_is_spelt_right_at_3():
    check_rewrite(forward(1, ', direction = "foward"'), forward(3, ', direction = "forward"'))


def test_the_direction_is_written_down_below_3_where_the_default_is_misspelt():
    check_rewrite(
        forward(3, ", output_sequence = 1, linear_before_reset = 0"),
        forward(1, ', output_sequence = 1, direction = "forward"'),
    )


def test_the_last_state_is_asked_for_below_3():
    converted = check_converts(forward(3, ", output_sequence = 1", h=False), 1, exact=True)
    assert len(converted.graph.node[0].output) == 2


def test_a_linear_transformation_before_the_reset_is_refused_below_3():
    check_refusal(forward(3, ", linear_before_reset = 1"), 1, Why.NO_EQUIVALENT, "before the linear transformation")
