"""What the texts of the tensor operators say, clause by clause and version by version."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from onnx import helper

from opsetlift.evaluator import TooLarge, run_node
from tests.evaluator.one_node import assert_gives, assert_rejected, floats, ints, node, scalar, strings
from tests.evaluator.onnxruntime_judge import OneNode, evaluate

NAN = numpy.nan

EIGHT_CHANNELS = numpy.arange(8, dtype=numpy.float32).reshape(1, 8, 1, 1)

RESULTS: dict[str, tuple[OneNode, Any]] = {
    "a 0 in shape copies the dimension": (node("Reshape", 5, floats([1, 2]), ints(0, -1)), floats([1, 2])),
    "an empty shape makes a scalar": (node("Reshape", 1, floats([7]), shape=[]), scalar(7)),
    "allowzero honours a 0": (
        node("Reshape", 14, numpy.zeros((0, 3), "float32"), ints(3, 0), allowzero=1),
        floats([], [], []),
    ),
    "Squeeze without axes removes every 1": (node("Squeeze", 1, floats([[1], [2]])), floats(1, 2)),
    "Squeeze with an empty list of axes removes nothing": (node("Squeeze", 11, floats([1]), axes=[]), floats([1])),
    "an axis may be named twice to Squeeze": (node("Squeeze", 13, floats([1, 2]), ints(0, -2)), floats(1, 2)),
    "Unsqueeze takes axes in any order": (node("Unsqueeze", 13, floats(1, 2), ints(-1, 0)), floats([[1], [2]])),
    "Flatten at axis 0 gives one row": (node("Flatten", 9, floats([1], [2]), axis=0), floats([1, 2])),
    "Flatten at axis = rank gives one column": (node("Flatten", 9, floats([1, 2]), axis=2), floats([1], [2])),
    "Flatten makes a scalar a matrix": (node("Flatten", 11, scalar(5), axis=0), floats([5])),
    "Transpose without perm reverses the axes": (node("Transpose", 1, floats([1, 2])), floats([1], [2])),
    "Expand broadcasts both ways": (
        node("Expand", 8, floats([1], [2]), ints(1, 1, 2)),
        floats([[1, 1], [2, 2]]),
    ),
    "Tile-1 puts copies one after the other": (
        node("Tile", 1, floats(1, 2), scalar(2), scalar(0)),
        floats(1, 2, 1, 2),
    ),
    "Tile-6 repeats every axis": (node("Tile", 6, floats([1, 2]), ints(2, 1)), floats([1, 2], [1, 2])),
    "Concat-1 joins along axis 1": (node("Concat", 1, floats([1]), floats([2])), floats([1, 2])),
    "Split-1 takes lengths as an input": (node("Split", 1, floats(1, 2, 3), floats(3)), floats(1, 2, 3)),
    "Slice-1 counts negative ends from the back": (
        node("Slice", 1, floats(1, 2, 3), starts=[0], ends=[-1]),
        floats(1, 2),
    ),
    "Slice-10 steps backward": (
        node("Slice", 10, floats(1, 2, 3), ints(-1), ints(-9), ints(0), ints(-2)),
        floats(3, 1),
    ),
    "a backward end beyond the axis is clamped to the last element": (
        node("Slice", 13, floats(1, 2, 3), ints(1), ints(99), ints(0), ints(-1)),
        floats(),
    ),
    "Pad-1 lists all beginnings before the ends": (
        node("Pad", 1, floats([1]), paddings=[0, 1, 1, 0]),
        floats([0, 1], [0, 0]),
    ),
    "negative pads remove": (node("Pad", 2, floats(1, 2, 3), pads=[-1, 1], value=9.0), floats(2, 3, 9)),
    "a pad value may come in a list": (node("Pad", 11, floats(1), ints(0, 1), floats(2)), floats(1, 2)),
    "Unsqueeze-13 takes a scalar for a list": (node("Unsqueeze", 13, floats(1), scalar(0, "int64")), floats([1])),
    "removal comes before reflection": (
        node("Pad", 11, floats(1, 2, 3), ints(1, -1), mode="reflect"),
        floats(2, 1, 2),
    ),
    "a reflection goes on where the pads are longer than the data": (
        node("Pad", 11, floats(1, 2), ints(3, 0), mode="reflect"),
        floats(2, 1, 2, 1, 2),
    ),
    "one element is its own reflection": (node("Pad", 11, floats(4), ints(1, 1), mode="reflect"), floats(4, 4, 4)),
    "wrapping goes on around": (node("Pad", 19, floats(1, 2), ints(3, 1), mode="wrap"), floats(2, 1, 2, 1, 2, 1)),
    "strings are padded with empty ones": (node("Pad", 13, strings("a"), ints(0, 1)), strings("a", "")),
    "Pad-18 takes axes": (node("Pad", 18, floats([1]), ints(0, 1), None, ints(-1)), floats([1, 0])),
    "an odd crop starts left of the center": (node("CenterCropPad", 18, floats(1, 2, 3, 4), ints(1)), floats(2)),
    "an odd padding is longer on the right": (node("CenterCropPad", 18, floats(1), ints(4)), floats(0, 1, 0, 0)),
    "a positive k of Trilu leaves the diagonal out": (
        node("Trilu", 14, floats([1, 2], [3, 4]), scalar(1, "int64")),
        floats([0, 2], [0, 0]),
    ),
    "k of Trilu may stand in a vector, as in ONNX's tests of opset 23": (
        node("Trilu", 14, floats([1, 2], [3, 4]), ints(1)),
        floats([0, 2], [0, 0]),
    ),
    "k of Trilu may be beyond every corner": (
        node("Trilu", 14, floats([1, 2]), scalar(-(2**63), "int64")),
        floats([1, 2]),
    ),
    "Trilu of strings leaves empty ones": (node("Trilu", 14, strings(["a"], ["b"])), strings(["a"], [""])),
    "Range excludes the limit also backward": (
        node("Range", 11, *(scalar(value, "int32") for value in (5, 1, -2))),
        numpy.array([5, 3], "int32"),
    ),
    "Range against the direction of delta is empty": (node("Range", 11, *map(scalar, (0, 1, -1))), floats()),
    "Range of float16 counts in float": (
        node("Range", 27, *(scalar(value, "float16") for value in (2048, 2052, 1))),
        numpy.array([2048, 2048, 2050, 2052], "float16"),
    ),
    "OneHot-9 is off at negative indices": (node("OneHot", 9, ints(-1), ints(2), floats(0, 1)), floats([0, 0])),
    "OneHot-11 counts negative indices from the back": (
        node("OneHot", 11, ints(-1), ints(2), floats(0, 1)),
        floats([0, 1]),
    ),
    "OneHot is off outside [-depth, depth)": (
        node("OneHot", 11, ints(2, -3), ints(2), floats(0, 1)),
        floats([0, 0], [0, 0]),
    ),
    "OneHot is off at unsigned indices that int64 has not": (
        node("OneHot", 11, numpy.array([2**64 - 1], "uint64"), ints(2), floats(0, 1)),
        floats([0, 0]),
    ),
    "OneHot casts indices to int64": (node("OneHot", 11, floats(1.75), floats(2), floats(0, 1)), floats([0, 1])),
    "OneHot inserts the new axis where it is told": (
        node("OneHot", 11, ints(0, 1), ints(3), floats(0, 1), axis=0),
        floats([1, 0], [0, 1], [0, 0]),
    ),
    "Gather with a scalar drops the axis": (
        node("Gather", 1, strings("a", "b"), scalar(1, "int64")),
        numpy.array("b", object),
    ),
    "Gather-1 takes a negative axis": (node("Gather", 1, floats([1, 2]), ints(1), axis=-1), floats([2])),
    "Gather-11 counts negative indices from the back": (node("Gather", 11, floats(1, 2), ints(-1)), floats(2)),
    "GatherElements may read less than the data": (
        node("GatherElements", 11, floats([1, 2], [3, 4]), ints([1], [-2]), axis=1),
        floats([2], [3]),
    ),
    "GatherND-12 keeps batches apart": (
        node("GatherND", 12, floats([1, 2], [3, 4]), ints([1], [0]), batch_dims=1),
        floats(2, 3),
    ),
    "Scatter-9 writes along a negative axis": (
        node("Scatter", 9, floats(0, 0), ints(1), floats(5), axis=-1),
        floats(0, 5),
    ),
    "every duplicate is added": (
        node("ScatterElements", 16, floats(1), ints(0), floats(2), reduction="add"),
        floats(3),
    ),
    "duplicates are reduced one after the other": (
        node("ScatterND", 16, floats(1, 2), ints([1], [1]), floats(2, 3), reduction="mul"),
        floats(1, 12),
    ),
    "max joins the reductions at 18": (
        node("ScatterND", 18, floats(1, 5), ints([0], [1]), floats(4, 4), reduction="max"),
        floats(4, 5),
    ),
    "an index tuple may name a slice": (
        node("ScatterND", 11, floats([1], [2]), ints([1]), floats([9])),
        floats([1], [9]),
    ),
    "a circular cache wraps": (
        node("TensorScatter", 24, floats([1, 2, 3]), floats([8, 9]), ints(2), axis=1, mode="circular"),
        floats([9, 2, 8]),
    ),
    "Compress takes a condition that is too short": (
        node("Compress", 9, floats([1, 2], [3, 4]), numpy.array([False, True, True])),
        floats(2, 3),
    ),
    "a scalar has no index": (node("NonZero", 9, scalar(3)), numpy.zeros((0, 1), "int64")),
    "NaN is not zero, -0.0 is": (node("NonZero", 13, floats(NAN, -0.0)), ints([0])),
    "the empty string is zero": (node("NonZero", 13, strings("", "a")), ints([1])),
    "DepthToSpace-1 takes the depth first": (
        node("DepthToSpace", 1, EIGHT_CHANNELS, blocksize=2),
        floats([[[0, 2], [4, 6]], [[1, 3], [5, 7]]]),
    ),
    "mode CRD takes the depth last": (
        node("DepthToSpace", 11, EIGHT_CHANNELS, blocksize=2, mode="CRD"),
        floats([[[0, 1], [2, 3]], [[4, 5], [6, 7]]]),
    ),
    "SpaceToDepth-28 has mode CRD": (
        node("SpaceToDepth", 28, floats([[[0, 1], [2, 3]], [[4, 5], [6, 7]]]), blocksize=2, mode="CRD"),
        EIGHT_CHANNELS,
    ),
    "a sequence is reversed up to its length": (
        node("ReverseSequence", 10, floats([1, 2], [3, 4], [5, 6]), ints(3, 2)),
        floats([5, 4], [3, 2], [1, 6]),
    ),
    "TopK prefers the lower index among equals": (
        node("TopK", 1, floats(1, 2, 2), k=2, outputs=2),
        floats(2, 2),
    ),
    "TopK of no elements gives none, as in every runtime": (
        node("TopK", 10, floats([1, 2], [3, 4]), ints(0), axis=0, outputs=2),
        numpy.zeros((0, 2), "float32"),
    ),
    "NonMaxSuppression keeps a score at the threshold": (
        node("NonMaxSuppression", 10, floats([[0, 0, 1, 1]]), floats([[0.5]]), ints(1), floats(0), floats(0.5)),
        ints([0, 0, 0]),
    ),
    "NonMaxSuppression keeps an overlap at the threshold": (
        node("NonMaxSuppression", 10, floats([[0, 0, 1, 1], [0, 0, 1, 2]]), floats([[2, 1]]), ints(2), floats(0.5)),
        ints([0, 0, 0], [0, 0, 1]),
    ),
    "NonMaxSuppression selects nothing by default": (
        node("NonMaxSuppression", 11, floats([[0, 0, 1, 1]]), floats([[0.5]])),
        numpy.zeros((0, 3), "int64"),
    ),
}

REJECTED: dict[str, tuple[OneNode, str]] = {
    "two unknown dimensions": (node("Reshape", 5, floats(1), ints(-1, -1)), "at most one"),
    "a 0 beyond the input's rank": (node("Reshape", 5, floats(1), ints(1, 0)), "no dimension to copy"),
    "an unknown dimension beside a 0": (
        node("Reshape", 13, numpy.zeros((0, 2), "float32"), ints(0, -1)),
        "cannot be inferred",
    ),
    "allowzero with a 0 and an unknown dimension": (
        node("Reshape", 14, numpy.zeros((0, 2), "float32"), ints(0, -1), allowzero=1),
        "both 0 and -1",
    ),
    "other number of elements": (node("Reshape", 1, floats(1, 2), shape=[3]), "2 elements"),
    "Reshape-1 without shape": (node("Reshape", 1, floats(1)), "missing"),
    "Squeeze of a 2": (node("Squeeze", 13, floats(1, 2), ints(0)), "not 1"),
    "Unsqueeze to one axis twice": (node("Unsqueeze", 13, floats(1), ints(0, -3)), "no axis may be repeated"),
    "Unsqueeze beyond the result's rank": (node("Unsqueeze", 11, floats(1), axes=[2]), "[-2, 1]"),
    "Flatten of a scalar by default": (node("Flatten", 13, scalar(1)), "must not exceed"),
    "a permutation of too few axes": (node("Transpose", 1, floats([1]), perm=[0]), "exactly once"),
    "a permutation with negative axes": (node("Transpose", 13, floats([1]), perm=[0, -1]), "exactly once"),
    "Expand to another size": (node("Expand", 8, floats(1, 2), ints(3)), "must be equal, or one of them 1"),
    "Tile-6 with too few repeats": (node("Tile", 6, floats([1]), ints(1)), "no broadcast"),
    "Concat of other dimensions": (node("Concat", 4, floats([1]), floats([1, 2]), axis=0), "must be the same"),
    "Concat leaves no empty tensor out": (
        node("Concat", 13, floats([1, 2]), numpy.zeros((0, 3), "float32"), axis=0),
        "must be the same",
    ),
    "Split-2 into unequal parts by default": (node("Split", 2, floats(1, 2, 3), outputs=2), "equal sized parts"),
    "Split-13 with lengths of another sum": (node("Split", 13, floats(1, 2, 3), ints(1, 1), outputs=2), "add up"),
    "Split-18 without lengths and count": (node("Split", 18, floats(1, 2), outputs=2), "but not both"),
    "Split-18 with lengths and count": (
        node("Split", 18, floats(1, 2), ints(1, 1), outputs=2, num_outputs=2),
        "but not both",
    ),
    "Split-18 where more than the last part would be smaller": (
        node("Split", 18, floats(1, 2, 3, 4, 5), outputs=4, num_outputs=4),
        "only the last is smaller",
    ),
    "Slice with step 0": (node("Slice", 10, floats(1), ints(0), ints(1), ints(0), ints(0)), "cannot be 0"),
    "Slice of one axis twice": (node("Slice", 13, floats(1), ints(0, 0), ints(1, 1), ints(0, -1)), "repeated"),
    "Pad-2 in mode wrap": (node("Pad", 2, floats(1), pads=[1, 0], mode="wrap"), "this version has constant"),
    "Pad with too few pads": (node("Pad", 11, floats([1]), ints(1, 1)), "two for each"),
    "Pad of nothing by its edge": (node("Pad", 11, floats(), ints(1, 0), mode="edge"), "no element"),
    "pads that remove more than there is": (node("Pad", 11, floats(1), ints(-2, 3)), "remove more"),
    "Range with delta 0": (node("Range", 11, *map(scalar, (0, 1, 0))), "delta is 0"),
    "Range up to infinity": (node("Range", 11, *map(scalar, (0, numpy.inf, 1))), "not finite"),
    "OneHot of two depths": (node("OneHot", 9, ints(0), ints(1, 2), floats(0, 1)), "exactly one element"),
    "Gather beyond the axis": (node("Gather", 13, floats(1, 2), ints(2)), "out of bounds [-2, 1]"),
    "Gather before the axis": (node("Gather", 11, floats(1, 2), ints(-3)), "out of bounds [-2, 1]"),
    "GatherElements of another rank": (node("GatherElements", 11, floats([1]), ints(0)), "must be the same"),
    "GatherND with too long tuples": (node("GatherND", 11, floats(1), ints([0, 0])), "between 1 and 1"),
    "GatherND with batch_dims of all axes of indices": (
        node("GatherND", 12, floats([1]), ints(0), batch_dims=1),
        "must be less than the ranks, 2 and 1",
    ),
    "GatherND with batch_dims of all axes": (
        node("GatherND", 12, floats([1]), ints([0]), batch_dims=2),
        "must be less than the ranks",
    ),
    "ScatterElements with updates of another shape": (
        node("ScatterElements", 11, floats(1, 2), ints(0), floats(1, 2)),
        "must be the same",
    ),
    "ScatterElements-16 by mean": (
        node("ScatterElements", 16, floats(1), ints(0), floats(1), reduction="mean"),
        "this version has none, add, mul",
    ),
    "ScatterND with updates of another shape": (
        node("ScatterND", 11, floats([1], [2]), ints([0]), floats(1)),
        "data and indices ask for [1, 1]",
    ),
    "TensorScatter beyond the cache": (
        node("TensorScatter", 24, floats([1, 2]), floats([8]), ints(2), axis=1),
        "linear mode requires",
    ),
    "TensorScatter along the batch": (
        node("TensorScatter", 24, floats([1, 2]), floats([8]), axis=0),
        "the batch dimension",
    ),
    "Compress with too long a condition": (
        node("Compress", 11, floats(1), numpy.array([False, True])),
        "2 elements, the axis only 1",
    ),
    "more than all elements": (node("TopK", 11, floats(1), ints(2), outputs=2), "has 1 elements"),
    "DepthToSpace of too few channels": (
        node("DepthToSpace", 13, floats([[[1]]]), blocksize=2),
        "cannot be divided",
    ),
    "SpaceToDepth of half a block": (node("SpaceToDepth", 13, floats([[[1, 2]]]), blocksize=2), "multiples"),
    "ReverseSequence beyond the time": (node("ReverseSequence", 10, floats([1], [2]), ints(3)), "[0, 2]"),
    "ReverseSequence of one axis with itself": (
        node("ReverseSequence", 10, floats([1], [2]), ints(1), batch_axis=0, time_axis=0),
        "one must be 0",
    ),
    "an overlap above 1": (
        node("NonMaxSuppression", 10, floats([[0, 0, 1, 1]]), floats([[0.5]]), ints(1), floats(2)),
        "[0, 1]",
    ),
}

COMMONLY_BROKEN: dict[str, tuple[OneNode, Any]] = {
    "Squeeze-1 with a negative axis": (node("Squeeze", 1, floats([1]), axes=[-1]), floats(1)),
    "Unsqueeze-1 with a negative axis": (node("Unsqueeze", 1, floats(1), axes=[-1]), floats([1])),
    "Flatten-9 with a negative axis": (node("Flatten", 9, floats([[1, 2]]), axis=-1), floats([1, 2])),
    "Concat-4 with a negative axis": (node("Concat", 4, floats([1]), floats([2]), axis=-1), floats([1, 2])),
    "Split-2 with a negative axis": (node("Split", 2, floats([1, 2]), axis=-1, split=[2]), floats([1, 2])),
    "Slice-10 with a negative axis": (node("Slice", 10, floats([1, 2]), ints(1), ints(2), ints(-1)), floats([2])),
    "Gather-1 with a negative index": (node("Gather", 1, floats(1, 2), ints(-1)), floats(2)),
    "Compress-9 with a negative axis": (
        node("Compress", 9, floats([1, 2]), numpy.array([False, True]), axis=-1),
        floats([2]),
    ),
    "Pad-1 with negative paddings": (node("Pad", 1, floats(1, 2), paddings=[-1, 0]), floats(2)),
    "Squeeze with a scalar for its axes": (node("Squeeze", 13, floats([1]), scalar(0, "int64")), floats(1)),
    "Unsqueeze-23 with a scalar for its axes": (node("Unsqueeze", 23, floats(1), scalar(0, "int64")), floats([1])),
    "Range with a limit of two dimensions": (node("Range", 11, scalar(0), floats([3]), scalar(1)), floats(0, 1, 2)),
    "ScatterElements-16 by max": (
        node("ScatterElements", 16, floats(5, 0), ints(0, 1, 1), floats(1, 7, 3), reduction="max"),
        floats(5, 7),
    ),
    "ScatterND-16 by min": (
        node("ScatterND", 16, floats(5, 9), ints([0], [1], [1]), floats(1, 7, 3), reduction="min"),
        floats(1, 3),
    ),
    "two updates of one element": (
        node("ScatterElements", 13, floats(1, 2), ints(0, 0), floats(8, 9)),
        floats(9, 2),
    ),
}


@pytest.mark.parametrize("clause", RESULTS)
def test_result_by_the_text(clause: str) -> None:
    case, expected = RESULTS[clause]
    assert_gives(case, expected)


@pytest.mark.parametrize("what", REJECTED)
def test_rejected_by_the_text(what: str) -> None:
    case, clause = REJECTED[what]
    assert_rejected(case, clause)
    assert_rejected(case, clause, strict=False)


@pytest.mark.parametrize("what", COMMONLY_BROKEN)
def test_what_exporters_commonly_broke_runs_only_where_not_strict(what: str) -> None:
    case, expected = COMMONLY_BROKEN[what]
    assert_rejected(case, "")
    assert_gives(case, expected, strict=False)


@pytest.mark.parametrize(("in_order", "expected"), [(1, [1, 2, NAN]), (0, [2, 1, NAN])])
def test_unique_describes_every_element(in_order: int, expected: list[float]) -> None:
    data = floats(2, 1, NAN, 2, NAN)
    values, first, inverse, counts = evaluate(node("Unique", 11, data, outputs=4, sorted=in_order))
    numpy.testing.assert_array_equal(values, floats(*expected))
    numpy.testing.assert_array_equal(data[first], values)
    numpy.testing.assert_array_equal(values[inverse], data)
    assert counts.tolist() == [sum(inverse == group) for group in range(3)]


def test_unique_takes_the_first_zero_of_either_sign() -> None:
    (values,) = evaluate(node("Unique", 11, floats(0.0, -0.0, 1)))
    assert numpy.signbit(values).tolist() == [False, False]
    (values,) = evaluate(node("Unique", 11, floats(-0.0, 0.0, 1)))
    assert numpy.signbit(values).tolist() == [True, False]


def test_unique_compares_whole_slices() -> None:
    data = floats([1, 0, 1], [1, 0, 1])
    values, first, inverse, counts = evaluate(node("Unique", 11, data, outputs=4, axis=1))
    assert values.tolist() == [[0, 1], [0, 1]]
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([1, 0], [1, 0, 1], [1, 2])


@pytest.mark.parametrize(("largest", "expected"), [(1, [3, 0, 2]), (0, [1, 0, 2])])
def test_equal_elements_come_in_the_order_of_their_indices(largest: int, expected: list[int]) -> None:
    data = numpy.array([5, 0, 5, 255], "uint8")
    values, indices = evaluate(node("TopK", 11, data, ints(3), outputs=2, largest=largest))
    assert indices.tolist() == expected
    assert values.tolist() == data[expected].tolist()


def test_slices_of_strings_split_with_the_last_one_smaller() -> None:
    parts = evaluate(node("Split", 18, strings("a", "b", "c"), outputs=2, num_outputs=2))
    assert [part.tolist() for part in parts] == [["a", "b"], ["c"]]


def test_inputs_are_left_as_they_are() -> None:
    data, update = floats([1, 2, 3]), floats([9])
    for case in (
        node("TensorScatter", 24, data, update, axis=1),
        node("ScatterElements", 18, data, ints([0]), update, axis=1),
        node("ScatterND", 18, data, ints([0, 0]), floats(9)),
    ):
        assert evaluate(case)[0][0, 0] == 9
        assert data.tolist() == [[1, 2, 3]]


LARGE = 1 << 20
COLUMN, ROW = numpy.ones((LARGE, 1), numpy.int32), numpy.ones((1, LARGE), numpy.int32)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("Pad", [floats(1, 2), ints(1 << 45, 0)], {"mode": "edge"}),
        ("Pad", [floats(1, 2), ints(1 << 45, 0)], {"mode": "reflect"}),
        ("Pad", [floats(1, 2), ints(1 << 45, 0)], {"mode": "constant"}),
        ("Pad", [floats([1]), ints(1 << 45, -1, 0, 0)], {"mode": "edge"}),
        ("Tile", [floats([1]), ints(1 << 45, 0)], {}),
        ("Add", [COLUMN, ROW], {}),
        ("Where", [COLUMN == 1, ROW, ROW], {}),
        ("MatMul", [COLUMN, ROW], {}),
        ("Gemm", [COLUMN, ROW], {}),
        ("Einsum", [COLUMN, ROW], {"equation": "ab,cd->ad"}),
        ("Gather", [ROW, numpy.zeros(LARGE, numpy.int32)], {"axis": 0}),
        ("GatherND", [ROW, numpy.zeros((LARGE, 1), numpy.int64)], {}),
        ("ConstantOfShape", [ints(1 << 45, 0)], {}),
        ("Resize", [floats([1] * 1024), None, floats(1 << 15, 2**-10)], {"mode": "linear"}),
        ("Resize", [floats(*[[1]] * 1024), None, floats(2**-10, 1 << 15)], {"mode": "nearest"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_beyond_the_limit_is_refused_before_it_is_allocated(
    operator: str, inputs: list[numpy.ndarray | None], attributes: dict[str, object]
) -> None:
    """An array without elements counts, too, by its other sizes: what reduces its empty axis has these alone."""
    names = ["" if value is None else f"x{number}" for number, value in enumerate(inputs)]
    node = helper.make_node(operator, names, ["y"], **attributes)
    with pytest.raises(TooLarge):
        run_node(node, inputs, {"": 16}, element_limit=LARGE)
