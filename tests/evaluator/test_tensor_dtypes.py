"""Operators that move elements do it alike for every dtype that a version takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from opsetlift.specification import dtypes
from opsetlift.specification.history import histories
from tests.evaluator.one_node import ints, node
from tests.evaluator.onnxruntime_judge import OneNode, evaluate


def _list(opset: int, since: int, **lists: list[int]) -> tuple[list[Any], dict[str, Any]]:
    """Lists as inputs from the opset `since` on, as attributes before."""
    return ([ints(*values) for values in lists.values()], {}) if opset >= since else ([], lists)


def _moved(operator: str, since: int, **lists: list[int]) -> Callable[[int, Any], OneNode]:
    def build(opset: int, data: Any) -> OneNode:
        inputs, attributes = _list(opset, since, **lists)
        return node(operator, opset, data, *inputs, **attributes)

    return build


MOVERS: dict[str, tuple[list[int], Callable[[int, Any], OneNode]]] = {
    "Compress": ([3, 2], lambda opset, data: node("Compress", opset, data, numpy.array([True, False, True]), axis=0)),
    "Concat": ([2, 3], lambda opset, data: node("Concat", opset, data, data, axis=1)),
    "DepthToSpace": ([1, 8, 1, 2], lambda opset, data: node("DepthToSpace", opset, data, blocksize=2)),
    "Expand": ([2, 1], lambda opset, data: node("Expand", opset, data, ints(2, 2, 3))),
    "Flatten": ([2, 1, 2], lambda opset, data: node("Flatten", opset, data, axis=2)),
    "Gather": ([3, 2], lambda opset, data: node("Gather", opset, data, ints([2, 0], [1, 1]))),
    "GatherElements": ([3, 2], lambda opset, data: node("GatherElements", opset, data, ints([2, 0]))),
    "GatherND": ([3, 2], lambda opset, data: node("GatherND", opset, data, ints([2, 0], [1, 1]))),
    "Pad": ([3, 2], lambda opset, data: _padded(opset, data)),
    "Reshape": ([2, 3], _moved("Reshape", 5, shape=[3, 2])),
    "ReverseSequence": ([3, 2], lambda opset, data: node("ReverseSequence", opset, data, ints(2, 3))),
    "ScatterElements": ([3], lambda opset, data: node("ScatterElements", opset, data, ints(2, 0), data[:2])),
    "ScatterND": ([3, 1], lambda opset, data: node("ScatterND", opset, data, ints([2], [0]), data[:2])),
    "Slice": ([4, 3], _moved("Slice", 10, starts=[1, 0], ends=[4, -1])),
    "SpaceToDepth": ([1, 2, 2, 2], lambda opset, data: node("SpaceToDepth", opset, data, blocksize=2)),
    "Split": ([3, 2], lambda opset, data: node("Split", opset, data, axis=1, **_one_part(opset))),
    "Squeeze": ([1, 3, 1], _moved("Squeeze", 13, axes=[2])),
    "TensorScatter": ([2, 3], lambda opset, data: node("TensorScatter", opset, data, data[:, :2], ints(1, 0), axis=1)),
    "Tile": ([2, 3], lambda opset, data: node("Tile", opset, data, ints(2, 1))),
    "Transpose": ([2, 3, 2], lambda opset, data: node("Transpose", opset, data, perm=[1, 2, 0])),
    "Unsqueeze": ([3], _moved("Unsqueeze", 13, axes=[0, 2])),
    "Upsample": ([1, 1, 2, 2], lambda opset, data: _upsampled(opset, data)),
    "Resize": ([2, 3], lambda opset, data: _resized(opset, data)),
    "GridSample": ([1, 1, 2, 2], lambda opset, data: _sampled(opset, data)),
    "Unique": ([4], lambda opset, data: node("Unique", opset, data, sorted=0)),
}
"""Operator -> the shape of its data and the node on given data."""


def _padded(opset: int, data: Any) -> OneNode:
    pads = [1, 0, 0, 2]
    if opset == 1:
        return node("Pad", opset, data, paddings=pads, mode="edge")
    return node(
        "Pad",
        opset,
        data,
        *([ints(*pads)] if opset >= 11 else []),
        **({} if opset >= 11 else {"pads": pads}),
        mode="edge",
    )


def _one_part(opset: int) -> dict[str, Any]:
    return {"num_outputs": 1} if opset >= 18 else {}


def _upsampled(opset: int, data: Any) -> OneNode:
    scales = [1.0, 1.0, 2.0, 1.5]
    if opset == 1:
        return node("Upsample", opset, data, height_scale=2.0, width_scale=1.5)
    if opset < 9:
        return node("Upsample", opset, data, scales=scales)
    return node("Upsample", opset, data, numpy.array(scales, numpy.float32))


def _resized(opset: int, data: Any) -> OneNode:
    scales = numpy.array([2.0, 1.5], numpy.float32)
    region = [numpy.zeros(0, numpy.float32)] if opset >= 11 else []
    return node("Resize", opset, data, *region, scales)


def _sampled(opset: int, data: Any) -> OneNode:
    grid = numpy.array([[[[-0.4, 0.4], [0.4, 0.4]]]], numpy.float32)
    return node("GridSample", opset, data, grid, mode="nearest")


def _values(count: int, dtype: str) -> Any:
    if dtype == "string":
        return numpy.array([f"text {index}" for index in range(count)], object)
    few = {"bool": 2, "int2": 2, "uint2": 4}.get(dtype, 7)
    return (numpy.arange(count) % few).astype(dtypes.numpy_dtype(dtype))


def _definitions() -> list[tuple[str, int]]:
    return [
        (operator, version)
        for operator in MOVERS
        for version, definition in histories()["", operator].definitions.items()
        if not definition.schema.deprecated and not (operator == "Tile" and version == 1)
    ]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(("operator", "opset"), _definitions())
def test_every_dtype_is_moved_to_the_same_places(operator: str, opset: int) -> None:
    shape, build = MOVERS[operator]
    count = math.prod(shape)
    places = evaluate(build(opset, numpy.arange(count, dtype=numpy.float32).reshape(shape)))[0].astype(int)
    definition = histories()["", operator].definitions[opset]
    allowed = definition.allowed_types(definition.schema.inputs[0].type_str)
    moved = 0
    for dtype in sorted(filter(None, map(dtypes.dtype_of_type, allowed))):
        values = _values(count, dtype)
        result = evaluate(build(opset, values.reshape(shape)))[0]
        assert result.dtype == values.dtype
        if operator == "Unique":
            assert set(result.tolist()) == set(values.tolist())
        else:
            # As lists of bits or texts: not every dtype has a 0, and NaN equals nothing.
            assert _bits(result) == _bits(values[places]), dtype
        moved += 1
    assert moved > 2


def _bits(tensor: Any) -> Any:
    return tensor.shape, tensor.tolist() if tensor.dtype == object else tensor.tobytes()


@pytest.mark.parametrize("operator", ["NonZero", "OneHot", "TopK", "Trilu", "CenterCropPad"])
def test_every_dtype_is_taken(operator: str) -> None:
    builders: dict[str, Callable[[int, Any], OneNode]] = {
        "NonZero": lambda opset, data: node("NonZero", opset, data),
        "OneHot": lambda opset, data: node("OneHot", opset, ints(1), ints(2), data),
        "TopK": lambda opset, data: node("TopK", opset, data, ints(1), outputs=2),
        "Trilu": lambda opset, data: node("Trilu", opset, data.reshape(1, 2)),
        "CenterCropPad": lambda opset, data: node("CenterCropPad", opset, data, ints(4)),
    }
    history = histories()["", operator]
    definition = history.definitions[history.since_versions[-1]]
    names = {"NonZero": [[1]], "OneHot": [[0, 1]], "TopK": [1], "Trilu": [[0, 1]], "CenterCropPad": [0, 0, 1, 0]}
    position = 2 if operator == "OneHot" else 0
    for kind in sorted(definition.allowed_types(definition.schema.inputs[position].type_str)):
        dtype = dtypes.dtype_of_type(kind)
        assert dtype is not None
        data = numpy.array(["", "a"], object) if dtype == "string" else numpy.array([0, 1], dtypes.numpy_dtype(dtype))
        result = evaluate(builders[operator](definition.since_version, data))[0]
        as_numbers = result if operator == "NonZero" else (result == "a" if dtype == "string" else result.astype(float))
        assert as_numbers.astype(float).tolist() == numpy.array(names[operator], float).tolist(), dtype
