"""Sequences and optionals: what ONNX's node tests leave open."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

from opsetlift.evaluator import Evaluator, Rejected, run_node
from opsetlift.evaluator.values import Optional, Sequence


def run(operator: str, *inputs: Any, opset: int = 13, **attributes: Any) -> Any:
    names = [f"i{index}" if value is not None else "" for index, value in enumerate(inputs)]
    return run_node(helper.make_node(operator, names, ["o"], **attributes), inputs, {"": opset})[0]


def floats(*numbers: float) -> Any:
    return numpy.array(numbers, dtype=numpy.float32)


def sequence(*tensors: Any) -> Sequence:
    return Sequence(tensors, "seq(tensor(float))")


def position(number: int) -> Any:
    return numpy.array(number, dtype=numpy.int64)


def test_an_empty_sequence_is_of_floats_unless_dtype_says_otherwise() -> None:
    assert run("SequenceEmpty").type_string == "seq(tensor(float))"
    assert run("SequenceEmpty", dtype=TensorProto.STRING).type_string == "seq(tensor(string))"
    with pytest.raises(Rejected, match="dtype 99 is not an element type"):
        run("SequenceEmpty", dtype=99)
    with pytest.raises(Rejected, match=r"would be seq\(tensor\(bfloat16\)\)"):
        run("SequenceEmpty", dtype=TensorProto.BFLOAT16)


@pytest.mark.parametrize(("index", "expected"), [(0, 1), (1, 2), (-1, 2), (-2, 1)])
def test_elements_are_counted_from_both_ends(index: int, expected: int) -> None:
    assert run("SequenceAt", sequence(floats(1), floats(2)), position(index)).tolist() == [expected]


@pytest.mark.parametrize(
    ("operator", "lowest", "highest"), [("SequenceAt", -2, 1), ("SequenceErase", -2, 1), ("SequenceInsert", -2, 2)]
)
def test_positions_out_of_range_are_rejected(operator: str, lowest: int, highest: int) -> None:
    inserted = [floats(3)] if operator == "SequenceInsert" else []
    two = sequence(floats(1), floats(2))
    for index in (lowest, highest):
        run(operator, two, *inserted, position(index))
    for index in (lowest - 1, highest + 1):
        with pytest.raises(Rejected, match=rf"position must be in \[{lowest}, {highest}\], not {index}"):
            run(operator, two, *inserted, position(index))


def test_inserting_and_erasing_leave_the_given_sequence_alone() -> None:
    given = sequence(floats(1), floats(2))
    assert [tensor.tolist() for tensor in run("SequenceInsert", given, floats(9), position(-1))] == [[1], [9], [2]]
    assert [tensor.tolist() for tensor in run("SequenceErase", given, position(0))] == [[2]]
    assert [tensor.tolist() for tensor in run("SequenceErase", given)] == [[1]]
    assert len(given) == 2


@pytest.mark.parametrize(
    ("split", "keepdims", "shapes"),
    [
        (None, 1, [(1, 2)] * 5),
        (None, 0, [(2,)] * 5),
        (numpy.array(1), 0, [(2,)] * 5),
        (numpy.array([1] * 5), 0, [(1, 2)] * 5),
        (numpy.array(2), 0, [(2, 2), (2, 2), (1, 2)]),
        (numpy.array([4, 0, 1]), 1, [(4, 2), (0, 2), (1, 2)]),
    ],
    ids=["ones", "ones squeezed", "named ones squeezed", "listed ones", "chunks ignore keepdims", "lengths"],
)
def test_a_tensor_splits_into_a_sequence(split: Any, keepdims: int, shapes: list[tuple[int, ...]]) -> None:
    tensor = numpy.arange(10, dtype=numpy.float32).reshape(5, 2)
    parts = run("SplitToSequence", tensor, split, keepdims=keepdims)
    assert [part.shape for part in parts] == shapes
    assert numpy.concatenate([part.reshape(-1) for part in parts]).tolist() == list(range(10))


def test_nothing_splits_into_no_parts() -> None:
    nothing = numpy.zeros((0, 2), dtype=numpy.float32)
    assert run("SplitToSequence", nothing, None) == []
    assert run("SplitToSequence", nothing, numpy.array([], dtype=numpy.int64)) == []
    assert [part.shape for part in run("SplitToSequence", nothing, numpy.array([0, 0]))] == [(0, 2), (0, 2)]


@pytest.mark.parametrize("split", [numpy.array(0), numpy.array([1, 1]), numpy.array([6, -1])])
def test_splits_that_do_not_add_up_are_rejected(split: Any) -> None:
    with pytest.raises(Rejected, match="split must be"):
        run("SplitToSequence", numpy.zeros((5, 2), dtype=numpy.float32), split)


def test_a_sequence_is_concatenated_or_stacked() -> None:
    parts = sequence(floats(1, 2), floats(3, 4))
    assert run("ConcatFromSequence", parts, axis=-1).tolist() == [1, 2, 3, 4]
    assert run("ConcatFromSequence", parts, axis=-1, new_axis=1).tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    ("parts", "attributes", "clause"),
    [
        (sequence(), {"axis": 0}, "nothing in the sequence"),
        (sequence(floats(1), floats(2)), {"axis": 1}, r"axis must be in \[-1, 0\], not 1"),
        (sequence(floats(1), floats(2)), {"axis": 2, "new_axis": 1}, r"axis must be in \[-2, 1\], not 2"),
        (sequence(floats(1), floats(1, 2)), {"axis": 0, "new_axis": 1}, "same shape"),
    ],
)
def test_what_does_not_go_together_is_rejected(parts: Sequence, attributes: dict[str, int], clause: str) -> None:
    with pytest.raises(Rejected, match=clause):
        run("ConcatFromSequence", parts, **attributes)


def test_an_optional_is_full_or_empty_of_a_type() -> None:
    declared = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
    assert run("Optional", floats(1), opset=15) == Optional(floats(1), "optional(tensor(float))")
    assert run("Optional", opset=15, type=declared) == Optional(None, "optional(tensor(float))")
    with pytest.raises(Rejected, match="either an input or the attribute type"):
        run("Optional", opset=15)


def test_an_empty_optional_has_no_element_to_get() -> None:
    empty = Optional(None, "optional(tensor(float))")
    assert run("OptionalHasElement", empty, opset=15).item() is False
    with pytest.raises(Rejected, match="no element to get"):
        run("OptionalGetElement", empty, opset=15)


def test_an_optional_that_is_left_out_has_no_element_from_version_18_on() -> None:
    assert run("OptionalHasElement", opset=18).item() is False
    with pytest.raises(Rejected, match="OptionalHasElement-15"):
        run("OptionalHasElement", opset=17)


def test_callers_give_and_get_optionals_as_value_or_none() -> None:
    text = """<ir_version: 10, opset_import: ["" : 18]>
    g (optional(float[2]) x) => (optional(float[2]) y, bool full) { y = Identity(x) full = OptionalHasElement(x) }"""
    evaluator = Evaluator(onnx.parser.parse_model(text))
    assert evaluator.run({"x": None}) == {"y": None, "full": numpy.array(False)}
    results = evaluator.run({"x": floats(1, 2)})
    assert results["y"].tolist() == [1, 2]
    assert results["full"].item() is True


def test_callers_give_and_get_sequences_as_lists() -> None:
    text = """<ir_version: 10, opset_import: ["" : 18]>
    g (seq(float[N]) x) => (seq(float[N]) y, int64 n) { y = SequenceErase(x) n = SequenceLength(y) }"""
    results = Evaluator(onnx.parser.parse_model(text)).run({"x": [floats(1)]})
    assert results == {"y": [], "n": numpy.array(0)}
    assert type(results["y"]) is list
