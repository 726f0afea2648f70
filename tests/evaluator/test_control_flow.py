"""If, Loop, Scan and SequenceMap: what ONNX's node tests leave open."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from onnx import helper

from opsetlift.evaluator import ComputationFailed, EvaluationError, Rejected, run_node
from opsetlift.evaluator.values import Sequence

FLOATS = numpy.array([1, 2], dtype=numpy.float32)
TRUE = numpy.array(True)


def graph(text: str) -> onnx.GraphProto:
    return onnx.parser.parse_graph(text)


def floats(*numbers: float) -> Any:
    return numpy.array(numbers, dtype=numpy.float32)


# If


def if_node(then_branch: str, else_branch: str, *, outputs: int = 1) -> onnx.NodeProto:
    names = [f"o{index}" for index in range(outputs)]
    return helper.make_node("If", ["c"], names, then_branch=graph(then_branch), else_branch=graph(else_branch))


ONE = "t () => (float[1] a) <float[1] a = {1}> {}"
TWO = "e () => (float[2] b) <float[2] b = {1, 2}> {}"
LONG = "e () => (int64[1] b) <int64[1] b = {1}> {}"


def test_branches_of_different_shapes_are_legal_from_version_11_on() -> None:
    assert run_node(if_node(ONE, TWO), [~TRUE], {"": 11})[0].tolist() == [1, 2]
    with pytest.raises(Rejected, match=r"If-1 .*must be of one shape"):
        run_node(if_node(ONE, TWO), [TRUE], {"": 10})


@pytest.mark.parametrize("opset", [1, 11, 16, 25])
def test_branches_of_different_types_are_illegal(opset: int) -> None:
    with pytest.raises(Rejected, match="must be of one type"):
        run_node(if_node(ONE, LONG), [TRUE], {"": opset})


def test_branches_have_as_many_outputs_as_the_node() -> None:
    with pytest.raises(Rejected, match="must have 2 outputs, not 1"):
        run_node(if_node(ONE, ONE, outputs=2), [TRUE], {"": 11})


def test_the_condition_is_a_single_element_of_any_rank() -> None:
    assert run_node(if_node(ONE, TWO), [numpy.array([[False]])], {"": 11})[0].size == 2
    with pytest.raises(Rejected, match="single element"):
        run_node(if_node(ONE, TWO), [numpy.array([True, True])], {"": 11})


# Loop


COUNT = """body (int64 i, bool c, float[1] before) => (bool d, float[1] after, int64 number) {
    d = Identity(c) after = Add(before, before) number = Identity(i)
}"""


def run_loop(body: str, trip_count: Any, condition: Any, *states: Any, outputs: int, opset: int = 13) -> list[Any]:
    names = ["m" if trip_count is not None else "", "c" if condition is not None else ""]
    node = helper.make_node(
        "Loop", [*names, *(f"s{n}" for n in range(len(states)))], [f"o{n}" for n in range(outputs)], body=graph(body)
    )
    return run_node(node, [trip_count, condition, *states], {"": opset}, iteration_limit=100)


def test_a_trip_count_alone_makes_a_for_loop() -> None:
    state, numbers = run_loop(COUNT, numpy.array(3), None, floats(1), outputs=2)
    assert state.tolist() == [8]
    assert numbers.tolist() == [0, 1, 2]


def test_without_a_condition_input_the_body_s_condition_is_ignored() -> None:
    body = """body (int64 i, bool c, float[1] x) => (bool d, float[1] y) {
        d = Constant <value = bool {0}> () y = Add(x, x)
    }"""
    assert run_loop(body, numpy.array(3), None, floats(1), outputs=1)[0].tolist() == [8]
    assert run_loop(body, numpy.array(3), TRUE, floats(1), outputs=1)[0].tolist() == [2]


def test_a_condition_alone_makes_a_while_loop() -> None:
    body = """body (int64 i, bool c, float x) => (bool d, float y) {
        limit = Constant <value = float {20}> () y = Add(x, x) d = Less(y, limit)
    }"""
    assert run_loop(body, None, TRUE, numpy.float32(1), outputs=1)[0].item() == 32
    assert run_loop(body, None, ~TRUE, numpy.float32(1), outputs=1)[0].item() == 1


@pytest.mark.parametrize("trip_count", [0, -5])
def test_without_an_iteration_scan_outputs_are_empty_of_the_declared_type(trip_count: int) -> None:
    state, numbers = run_loop(COUNT, numpy.array(trip_count), None, floats(1), outputs=2)
    assert state.tolist() == [1]
    assert (numbers.dtype, numbers.shape) == (numpy.int64, (0,))


def test_a_scan_output_may_not_change_its_shape() -> None:
    body = """body (int64 i, bool c, float[N] x) => (bool d, float[M] y, float[K] z) {
        d = Identity(c) y = Concat <axis = 0> (x, x) z = Identity(x)
    }"""
    assert run_loop(body, numpy.array(1), None, floats(1), outputs=2)[0].shape == (2,)
    with pytest.raises(Rejected, match=r"scan output 'z' may not change.*\(1,\) became float32\(2,\)"):
        run_loop(body, numpy.array(2), None, floats(1), outputs=2)


def test_a_declared_iteration_number_of_rank_1_is_obliged() -> None:
    body = "body (int64[1] i, bool c) => (bool d, int64[1] n) { d = Identity(c) n = Identity(i) }"
    assert run_loop(body, numpy.array(2), None, outputs=1)[0].tolist() == [[0], [1]]


def test_loops_without_states_came_with_version_11() -> None:
    body = "body (int64 i, bool c) => (bool d, int64 n) { d = Identity(c) n = Identity(i) }"
    assert run_loop(body, numpy.array(2), None, outputs=1, opset=11)[0].tolist() == [0, 1]
    with pytest.raises(Rejected, match="Loop-1"):
        run_loop(body, numpy.array(2), None, outputs=1, opset=10)


def test_the_body_gives_a_condition() -> None:
    body = "body (int64 i, bool c) => (int64 d, int64 n) { d = Identity(i) n = Identity(i) }"
    with pytest.raises(Rejected, match="first output must be a single bool"):
        run_loop(body, numpy.array(2), None, outputs=1)


def test_a_state_keeps_the_type_that_the_body_declares() -> None:
    body = "body (int64 i, bool c, float x) => (bool d, int64 y) { d = Identity(c) y = Identity(i) }"
    with pytest.raises(Rejected, match=r"subgraph input 'x': tensor\(float\) is declared, tensor\(int64\)"):
        run_loop(body, numpy.array(2), None, numpy.float32(1), outputs=1)


def test_sequences_may_be_states_from_version_13_on() -> None:
    body = """body (int64 i, bool c, seq(int64) s) => (bool d, seq(int64) t) {
        d = Identity(c) t = SequenceInsert(s, i)
    }"""
    (result,) = run_loop(body, numpy.array(2), None, Sequence([], "seq(tensor(int64))"), outputs=1)
    assert [element.item() for element in result] == [0, 1]
    with pytest.raises(Rejected, match="Loop-11"):
        run_loop(body, numpy.array(2), None, Sequence([], "seq(tensor(int64))"), outputs=1, opset=12)


# Scan

CUMULATE = """body (float[2] sum, float[2] x) => (float[2] next, float[2] out) {
    next = Add(sum, x) out = Identity(next)
}"""


def run_scan(opset: int, inputs: list[Any], *, body: str = CUMULATE, outputs: int = 2, **attributes: Any) -> list[Any]:
    names = [f"i{index}" if value is not None else "" for index, value in enumerate(inputs)]
    attributes.setdefault("num_scan_inputs", 1)
    node = helper.make_node("Scan", names, [f"o{n}" for n in range(outputs)], body=graph(body), **attributes)
    return run_node(node, inputs, {"": opset})


ROWS = numpy.array([[1, 2], [3, 4], [5, 6]], dtype=numpy.float32)
ZEROS = numpy.zeros(2, dtype=numpy.float32)


@pytest.mark.parametrize("opset", [9, 11, 25])
def test_scan_cumulates_along_the_first_axis(opset: int) -> None:
    final, out = run_scan(opset, [ZEROS, ROWS])
    assert final.tolist() == [9, 12]
    assert out.tolist() == [[1, 2], [4, 6], [9, 12]]


def test_inputs_and_outputs_can_be_scanned_backward_and_along_other_axes() -> None:
    final, out = run_scan(
        9,
        [ZEROS, ROWS.T],
        scan_input_axes=[1],
        scan_input_directions=[1],
        scan_output_axes=[1],
        scan_output_directions=[1],
    )
    assert final.tolist() == [9, 12]
    assert out.tolist() == [[9, 8, 5], [12, 10, 6]]


def test_negative_scan_axes_came_with_version_11() -> None:
    assert run_scan(11, [ZEROS, ROWS.T], scan_input_axes=[-1], scan_output_axes=[-1])[1].shape == (2, 3)
    with pytest.raises(Rejected, match=r"Scan-9 .*negative axes"):
        run_scan(9, [ZEROS, ROWS.T], scan_input_axes=[-1])


def test_a_scan_over_nothing_gives_empty_outputs_of_the_declared_type() -> None:
    final, out = run_scan(11, [ZEROS, ROWS[:0]], scan_output_axes=[1])
    assert final.tolist() == [0, 0]
    assert (out.dtype, out.shape) == (numpy.float32, (2, 0))


def test_a_scan_over_nothing_needs_declared_outputs() -> None:
    body = "body (float[2] x) => (out) { out = Identity(x) }"
    with pytest.raises(ComputationFailed, match="scan output 'out' is unknown: declare it"):
        run_scan(11, [ROWS[:0]], body=body, outputs=1)


@pytest.mark.parametrize(
    ("attributes", "clause"),
    [
        ({"num_scan_inputs": 3}, "num_scan_inputs is 3, but there are 2 inputs"),
        ({"num_scan_inputs": 0}, "num_scan_inputs is 0"),
        ({"scan_input_axes": [2]}, r"in \[-2, 1\], not 2"),
        ({"scan_input_axes": [0, 0]}, "must have 1 elements, not 2"),
        ({"scan_input_directions": [2]}, "must be 0 or 1"),
    ],
)
def test_broken_scan_attributes_are_rejected(attributes: dict[str, Any], clause: str) -> None:
    with pytest.raises(Rejected, match=clause):
        run_scan(11, [ZEROS, ROWS], **attributes)


def test_scan_inputs_have_one_length() -> None:
    body = "body (float[2] x, float[2] y) => (float[2] z) { z = Add(x, y) }"
    with pytest.raises(Rejected, match=r"one sequence length, not \[2, 3\]"):
        run_scan(11, [ROWS, ROWS[:2]], body=body, outputs=1, num_scan_inputs=2)


def test_a_state_variable_keeps_its_shape() -> None:
    body = "body (float[N] s, float[2] x) => (float[M] t, float[2] y) { t = Concat <axis = 0> (s, x) y = Identity(x) }"
    with pytest.raises(Rejected, match="state variables keep shape and type"):
        run_scan(11, [ZEROS, ROWS], body=body)


BATCH = numpy.stack([ROWS, 10 * ROWS])
STATES = numpy.zeros((2, 2), dtype=numpy.float32)


def test_scan_8_scans_each_entry_of_the_batch() -> None:
    final, out = run_scan(8, [None, STATES, BATCH])
    assert final.tolist() == [[9, 12], [90, 120]]
    assert out[1].tolist() == [[10, 20], [40, 60], [90, 120]]


def test_scan_8_ends_each_sequence_at_its_own_length() -> None:
    final, out = run_scan(8, [numpy.array([1, 3]), STATES, BATCH])
    assert final.tolist() == [[1, 2], [90, 120]]
    assert out[0].tolist() == [[1, 2], [0, 0], [0, 0]]


def test_scan_8_reads_a_shorter_sequence_backward_from_its_own_end() -> None:
    _, out = run_scan(8, [numpy.array([2, 3]), STATES, BATCH], directions=[1])
    assert out[0].tolist() == [[3, 4], [4, 6], [0, 0]]


@pytest.mark.parametrize(
    ("lengths", "states", "clause"),
    [
        (numpy.array([1, 4]), STATES, "between 0 and the sequence length 3"),
        (numpy.array([1]), STATES, r"must be of shape \[2\]"),
        (None, STATES[:1], "batch size 2"),
    ],
)
def test_scan_8_checks_its_batch(lengths: Any, states: Any, clause: str) -> None:
    with pytest.raises(Rejected, match=clause):
        run_scan(8, [lengths, states, BATCH])


def test_scan_8_without_any_iteration_gives_empty_outputs() -> None:
    final, out = run_scan(8, [None, STATES, BATCH[:, :0]])
    assert final.tolist() == STATES.tolist()
    assert out.shape == (2, 0, 2)


# SequenceMap

DOUBLE = "body (float[N] x, float[N] y) => (float[N] z) { z = Add(x, y) }"


def run_map(*inputs: Any, body: str = DOUBLE, strict: bool = True) -> list[Any]:
    node = helper.make_node("SequenceMap", [f"i{n}" for n in range(len(inputs))], ["o"], body=graph(body))
    results: list[Any] = run_node(node, inputs, {"": 17}, strict=strict)[0]
    return results


def test_sequences_are_taken_sample_by_sample_and_tensors_whole() -> None:
    samples = Sequence([floats(1), floats(2, 3)], "seq(tensor(float))")
    assert [sample.tolist() for sample in run_map(samples, samples)] == [[2], [4, 6]]
    assert [sample.tolist() for sample in run_map(samples, floats(10))] == [[11], [12, 13]]


def test_mapping_an_empty_sequence_gives_an_empty_sequence_of_the_declared_type() -> None:
    result = run_map(Sequence([], "seq(tensor(float))"), floats(1))
    assert isinstance(result, Sequence)
    assert result.type_string == "seq(tensor(float))"


def test_further_sequences_have_the_same_number_of_samples() -> None:
    two = Sequence([floats(1), floats(2)], "seq(tensor(float))")
    three = Sequence([floats(1), floats(2), floats(3)], "seq(tensor(float))")
    assert len(run_map(two, three, strict=False)) == 2
    for inputs in ((two, three), (three, two)):
        with pytest.raises(EvaluationError, match="samples"):
            run_map(*inputs)
