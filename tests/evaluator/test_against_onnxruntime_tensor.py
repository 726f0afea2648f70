"""Operators on tensors as such, by the evaluator and by onnxruntime, on legal nodes drawn at random.

Each operator is tried at every since-version that onnxruntime has. Where the two differ, one of them is wrong, or the
text leaves the result open: DISAGREEMENTS says which, with an example that is checked to be real.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis.strategies import SearchStrategy

from tests.evaluator import indexing_strategies as indexing
from tests.evaluator import resampling_strategies as resampling
from tests.evaluator import tensor_strategies as tensors
from tests.evaluator.disagreements import Disagreement, compared_examples, is_real, judged_opsets
from tests.evaluator.onnxruntime_judge import OneNode

STRATEGIES: dict[str, Callable[[int], SearchStrategy[OneNode]]] = {
    "AffineGrid": resampling.affine_grid,
    "CenterCropPad": tensors.center_crop_pad,
    "Col2Im": resampling.col2im,
    "Compress": indexing.compress,
    "Concat": tensors.concat,
    "DeformConv": resampling.deform_conv,
    "DepthToSpace": tensors.depth_to_space,
    "Expand": tensors.expand,
    "Flatten": tensors.flatten,
    "Gather": indexing.gather,
    "GatherElements": indexing.gather_elements,
    "GatherND": indexing.gather_nd,
    "GridSample": resampling.grid_sample,
    "NonMaxSuppression": indexing.non_max_suppression,
    "NonZero": indexing.non_zero,
    "OneHot": tensors.one_hot,
    "Pad": tensors.pad,
    "Range": tensors.range_,
    "Reshape": tensors.reshape,
    "Resize": resampling.resize,
    "ReverseSequence": tensors.reverse_sequence,
    "RoiAlign": resampling.roi_align,
    "Scatter": indexing.scatter_elements,
    "ScatterElements": indexing.scatter_elements,
    "ScatterND": indexing.scatter_nd,
    "Slice": tensors.slice_,
    "SpaceToDepth": tensors.space_to_depth,
    "Split": tensors.split,
    "Squeeze": tensors.squeeze,
    "TensorScatter": indexing.tensor_scatter,
    "Tile": tensors.tile,
    "TopK": indexing.top_k,
    "Transpose": tensors.transpose,
    "Trilu": tensors.trilu,
    "Unique": indexing.unique,
    "Unsqueeze": tensors.unsqueeze,
    "Upsample": resampling.upsample,
}

ROUNDED = dict.fromkeys(("AffineGrid", "DeformConv", "GridSample", "Resize", "RoiAlign", "Upsample"), 0.0001)
"""Operators that add products, in an order that the text leaves open -> tolerance. All others must agree bit by bit."""


def _floats(*values: Any) -> Any:
    return numpy.array(values, numpy.float32)


def _scalar(value: float) -> Any:
    return numpy.array(value, numpy.float32)


def _ints(*values: Any) -> Any:
    return numpy.array(values, numpy.int64)


def _value(case: OneNode, index: int) -> Any:
    return case.inputs[index] if index < len(case.inputs) else None


def _resizes(transformation: str, *, policy: bool = False, scales: bool = False) -> Callable[[OneNode], bool]:
    """Resize nodes in a transformation whose output lengths come from one ratio (a policy), or from scales."""

    def applies(case: OneNode) -> bool:
        keeps_ratio = case.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch"
        by_scales = _value(case, 3) is None
        same_transformation = case.attributes.get("coordinate_transformation_mode") == transformation
        return same_transformation and ((policy and keeps_ratio) or (scales and by_scales))

    return applies


def _target_is_fractional(case: OneNode) -> bool:
    axes = case.attributes.get("axes", range(case.inputs[0].ndim))
    targets = [case.inputs[0].shape[axis] * float(scale) for axis, scale in zip(axes, case.inputs[2], strict=True)]
    return any(target != math.floor(target) for target in targets)


def _keeps_a_length(case: OneNode) -> bool:
    """Whether a Resize by sizes has an axis that keeps its length."""
    if _value(case, 3) is None:
        return False
    data, axes = case.inputs[0], case.attributes.get("axes", range(case.inputs[0].ndim))
    sizes = [int(size) for size in case.inputs[3]]
    policy = case.attributes.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        ratios = [size / data.shape[axis] for size, axis in zip(sizes, axes, strict=True)]
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        sizes = [math.floor(ratio * data.shape[axis] + 0.5) for axis in axes]
    regions = _value(case, 1)
    cropped = regions is not None and case.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize"
    return any(
        data.shape[axis] == size
        and (policy != "stretch" or (cropped and (regions[index], regions[index + len(sizes)]) != (0, 1)))
        for index, (axis, size) in enumerate(zip(axes, sizes, strict=True))
    )


def _writes_twice(case: OneNode) -> bool:
    """Whether a scatter without reduction has two updates for one place."""
    data, indices = case.inputs[:2]
    if case.attributes.get("reduction", "none") != "none":
        return False
    if case.operator == "ScatterND":
        places = (indices % data.shape[: indices.shape[-1]]).reshape(-1, indices.shape[-1])
        return len(numpy.unique(places, axis=0)) < len(places)
    axis = case.attributes.get("axis", 0)
    ordered = numpy.sort(indices % data.shape[axis], axis=axis)
    return bool((numpy.diff(ordered, axis=axis) == 0).any())


def _crops(case: OneNode) -> bool:
    return case.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"


DISAGREEMENTS = [
    Disagreement(
        "AffineGrid",
        "nobody",
        "with align_corners one pixel would be both corners; we take -1, onnxruntime 1, the function body 0 * inf",
        lambda case: case.attributes["align_corners"] == 1 and 1 in case.inputs[1][2:],
        OneNode("AffineGrid", 20, [_floats([[1, 0, 0], [0, 1, 0]]), _ints(1, 1, 1, 2)], {"align_corners": 1}),
    ),
    Disagreement(
        "Col2Im",
        "the evaluator",
        "onnxruntime loses elements of dilated blocks with three axes",
        lambda case: len(case.inputs[1]) > 2 and max(case.attributes["dilations"]) > 1,
        OneNode(
            "Col2Im",
            18,
            [numpy.arange(1, 145, dtype=numpy.float32).reshape(1, 8, 18), _ints(4, 4, 5), _ints(2, 2, 2)],
            {"dilations": [2, 2, 2], "strides": [1, 1, 1], "pads": [0, 0, 0, 0, 1, 0]},
        ),
    ),
    Disagreement(
        "Gather",
        "the evaluator",
        "onnxruntime gathers only the first string of each slice",
        lambda case: (
            case.inputs[0].dtype == object
            and math.prod(case.inputs[0].shape[case.attributes["axis"] % case.inputs[0].ndim + 1 :]) > 1
        ),
        OneNode("Gather", 13, [numpy.array([[["a", "b"]], [["c", "d"]]], object), _ints(0, 0)], {"axis": 1}),
    ),
    Disagreement(
        "NonMaxSuppression",
        "the evaluator",
        "boxes with score less than score_threshold are removed; onnxruntime removes equal ones too",
        lambda case: _value(case, 4) is not None and bool((case.inputs[1] == case.inputs[4]).any()),
        OneNode(
            "NonMaxSuppression",
            11,
            [_floats([[0, 0, 1, 1], [5, 5, 6, 6]]), _floats([[0.5, 0.25]]), _ints(3), _floats(0.5), _floats(0.25)],
            {"center_point_box": 0},
        ),
    ),
    Disagreement(
        "NonZero",
        "the evaluator",
        "the text gives the output of a scalar the shape (0, N), onnxruntime (1, N)",
        lambda case: case.inputs[0].ndim == 0,
        OneNode("NonZero", 13, [_scalar(3)]),
    ),
    Disagreement(
        "OneHot",
        "the evaluator",
        "OneHot-9 has off_value for negative indices, onnxruntime counts them from the back as from 11 on",
        lambda case: case.opset < 11 and bool((case.inputs[0] < 0).any()),
        OneNode("OneHot", 9, [_ints(-1, 0), _ints(3), _floats(0, 1)], {"axis": -1}),
    ),
    Disagreement(
        "OneHot",
        "the evaluator",
        "indices of another type are cast to int64, which truncates; onnxruntime compares them as they are",
        lambda case: case.inputs[0].dtype.kind == "f",
        OneNode("OneHot", 11, [_floats(0.75), _floats(3), _floats(0, 1)], {"axis": -1}),
        until=(1, 32),
    ),
    Disagreement(
        "Pad",
        "the evaluator",
        "the text's second example pads two elements by two reflected ones, which onnxruntime rejects as too many",
        lambda case: (
            case.attributes["mode"] == "reflect"
            and max(case.attributes.get("pads") or case.inputs[1]) >= min(case.inputs[0].shape)
        ),
        OneNode("Pad", 18, [_floats(1, 2), _ints(2, 0)], {"mode": "reflect"}),
    ),
    Disagreement(
        "Range",
        "the evaluator",
        "start + i * delta by the pseudocode; onnxruntime adds delta up, and rounds each time",
        lambda case: case.inputs[0].dtype.kind == "f" and any(float(value * 4) % 1 for value in case.inputs),
        OneNode("Range", 11, [_scalar(0), _scalar(100), _scalar(0.1)]),
    ),
    Disagreement(
        "Resize",
        "the evaluator",
        "align_corners with a fractional target, as ONNX's tests have it; onnxruntime takes its floor",
        lambda case: (
            _resizes("align_corners", policy=True)(case)
            or (_resizes("align_corners", scales=True)(case) and _target_is_fractional(case))
        ),
        OneNode(
            "Resize",
            19,
            [_floats(1, 2, 3, 4), None, _floats(0.6)],
            {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        ),
    ),
    Disagreement(
        "Resize",
        "the evaluator",
        "output_dimension = floor(input_dimension * (roi_end - roi_start) * scale); onnxruntime leaves the roi out",
        _resizes("tf_crop_and_resize", scales=True),
        OneNode(
            "Resize",
            19,
            [_floats(1, 2, 3, 4), _floats(0, 0.5), _floats(2)],
            {"mode": "nearest", "coordinate_transformation_mode": "tf_crop_and_resize"},
        ),
    ),
    Disagreement(
        "Resize",
        "the evaluator",
        "onnxruntime copies an axis that keeps its length, also where a roi or the filter's scale ask for more",
        lambda case: (_crops(case) or case.attributes.get("antialias", 0) == 1) and _keeps_a_length(case),
        OneNode(
            "Resize",
            19,
            [_floats([1, 2, 3, 4], [1, 2, 3, 4]), _floats(0, 0.5, 1, 1), None, _ints(3, 4)],
            {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"},
        ),
    ),
    Disagreement(
        "Resize",
        "the evaluator",
        "tf_half_pixel_for_nn shifts every axis by half a pixel; onnxruntime leaves those with scale 1 alone",
        lambda case: (
            case.attributes.get("coordinate_transformation_mode") == "tf_half_pixel_for_nn"
            and "ceil" in case.attributes["nearest_mode"]
        ),
        OneNode(
            "Resize",
            11,
            [_floats(1, 2, 3), _floats(0, 1), _floats(1)],
            {"mode": "nearest", "nearest_mode": "ceil", "coordinate_transformation_mode": "tf_half_pixel_for_nn"},
        ),
    ),
    Disagreement(
        "Resize",
        "the evaluator",
        "three elements to one: x_original is 1.0 exactly, onnxruntime rounds it below 1 on the way",
        lambda case: (
            case.attributes.get("coordinate_transformation_mode") == "half_pixel_symmetric"
            and case.attributes["mode"] == "nearest"
        ),
        OneNode(
            "Resize",
            19,
            [_floats(1, 2, 3), None, None, _ints(1)],
            {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "half_pixel_symmetric"},
        ),
    ),
    Disagreement(
        "Resize",
        "nobody",
        "averages of integers: both truncate, but onnxruntime rounds where it antialiases",
        lambda case: case.inputs[0].dtype.kind in "iu" and case.attributes.get("antialias", 0) == 1,
        OneNode(
            "Resize",
            18,
            [numpy.array([[[[0, 101, 50, 11], [3, 7, 120, 5]]]], numpy.int32), None, _floats(1, 1, 1, 0.5)],
            {"mode": "linear", "antialias": 1},
        ),
    ),
    Disagreement(
        "ScatterElements",
        "nobody",
        "max with NaN: the text says no more than max; ours is NaN as in the operator Max, onnxruntime's is not",
        lambda case: any(
            value.dtype.kind == "f" and bool(numpy.isnan(value).any()) for value in (case.inputs[0], case.inputs[2])
        ),
        OneNode("ScatterElements", 18, [_floats(numpy.nan), _ints(0), _floats(1)], {"reduction": "max"}),
    ),
    *(
        Disagreement(
            operator,
            "the evaluator",
            "indices should not have duplicates where reduction is none; onnxruntime lets the last update win",
            _writes_twice,
            OneNode(operator, 13, [_floats(1, 2), _ints(*indices), _floats(8, 9)]),
        )
        for operator, indices in (("ScatterElements", (1, 1)), ("ScatterND", ([1], [1])))
    ),
    Disagreement(
        "Slice",
        "the evaluator",
        "a backward slice whose end is clamped to the last element is empty; onnxruntime takes INT_MAX for the front",
        lambda case: (
            _value(case, 4) is not None and bool((case.inputs[2][case.inputs[4] < 0] == numpy.iinfo("int32").max).any())
        ),
        OneNode("Slice", 13, [_floats(1, 2, 3), _ints(0), _ints(2**31 - 1), _ints(0), _ints(-1)]),
    ),
    Disagreement(
        "Squeeze",
        "the evaluator",
        "axes that are provided, though empty, select nothing; onnxruntime squeezes every 1",
        lambda case: case.attributes.get("axes") == [] or (_value(case, 1) is not None and case.inputs[1].size == 0),
        OneNode("Squeeze", 13, [_floats([1, 2]), _ints()]),
    ),
    Disagreement(
        "TopK",
        "nobody",
        "the text does not place NaN; it is the greatest for us, onnxruntime's order depends on where it stands",
        lambda case: case.inputs[0].dtype.kind == "f" and bool(numpy.isnan(case.inputs[0]).any()),
        OneNode("TopK", 11, [_floats(1, numpy.nan, 3, numpy.nan, 0), _ints(3)], output_count=2),
        until=(1, 32),
    ),
    Disagreement(
        "Unique",
        "the evaluator",
        "NaN is a value of its own, as in numpy.unique, which the text cites; onnxruntime counts it as the next one",
        lambda case: case.inputs[0].dtype.kind == "f" and bool(numpy.isnan(case.inputs[0]).any()),
        OneNode("Unique", 11, [_floats(1, numpy.nan, 3, numpy.nan, 0)], output_count=4),
    ),
]


@pytest.mark.quick_share(120)
@pytest.mark.parametrize(
    ("operator", "opset"), [(operator, opset) for operator in STRATEGIES for opset in judged_opsets(operator)]
)
def test_same_results_as_onnxruntime(operator: str, opset: int) -> None:
    entries = [entry for entry in DISAGREEMENTS if entry.operator == operator]
    examples = 90 if operator == "Resize" else 30
    compared = compared_examples(
        STRATEGIES[operator](opset), entries, examples=examples, tolerance=ROUNDED.get(operator, 0.0)
    )
    assert compared, "onnxruntime executed none of the nodes"


@pytest.mark.parametrize("entry", DISAGREEMENTS, ids=lambda entry: f"{entry.operator}: {entry.because}")
def test_listed_disagreement_is_real(entry: Disagreement) -> None:
    assert is_real(entry, tolerance=ROUNDED.get(entry.operator, 0.0))
