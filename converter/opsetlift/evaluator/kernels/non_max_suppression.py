"""NonMaxSuppression: boxes chosen by score, unless they overlap one chosen before."""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


def _single(call: Call, tensor: Array | None, name: str, default: float) -> float:
    # "It is a scalar", but all of ONNX's own tests, and with them the exporters, write a tensor of shape [1].
    if tensor is None:
        return default
    if tensor.size != 1:
        call.fail(f"{name} must be a scalar, its shape is {list(tensor.shape)}")
    return float(tensor.reshape(-1)[0])


@kernel("NonMaxSuppression", since=(10, 11), changes=())
def non_max_suppression(
    call: Call,
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
) -> Array:
    """NonMaxSuppression-10, 11: Boxes chosen by score, unless they overlap one chosen before.

    Args:
        call: center_point_box says how the four numbers of a box are read.
        boxes: float32 [batches, boxes, 4].
        scores: float32 [batches, classes, boxes].
        max_output_boxes_per_class: int64 scalar; absent or 0, no box is chosen.
        iou_threshold: float32 scalar in [0, 1], above which boxes overlap; absent, 0.
        score_threshold: float32 scalar, below which boxes are left out; absent, none is.

    Returns:
        int64 [chosen, 3]: batch, class and box.
    """
    if boxes.ndim != 3 or boxes.shape[2] != 4 or scores.ndim != 3:
        call.fail("boxes must be [num_batches, spatial_dimension, 4], scores [num_batches, num_classes, ...]")
    if (scores.shape[0], scores.shape[2]) != boxes.shape[:2]:
        call.fail(f"boxes {list(boxes.shape)} and scores {list(scores.shape)} differ in batches or in boxes")
    limit = int(_single(call, max_output_boxes_per_class, "max_output_boxes_per_class", 0))
    overlap = _single(call, iou_threshold, "iou_threshold", 0.0)
    if not 0 <= overlap <= 1:
        call.fail(f"iou_threshold is {overlap}; its range is [0, 1]")
    least = _single(call, score_threshold, "score_threshold", -numpy.inf)
    if call.attributes["center_point_box"] not in (0, 1):
        call.fail(f"center_point_box is {call.attributes['center_point_box']}; it must be 0 or 1")

    selected = [numpy.zeros((0, 3), numpy.int64)]
    for batch, corners in enumerate(_corners(boxes, bool(call.attributes["center_point_box"]))):
        for category, class_scores in enumerate(scores[batch]):
            chosen = _greedy(corners, class_scores, limit, numpy.float32(overlap), numpy.float32(least))
            prefix = numpy.broadcast_to((batch, category), (len(chosen), 2))
            selected.append(numpy.column_stack([prefix, chosen]).astype(numpy.int64))
    return numpy.concatenate(selected)


def _corners(boxes: Array, centered: bool) -> Array:
    """The boxes as [batch, (low y, low x, high y, high x), box]; (x, y) where centered, which makes no difference."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if centered:
        first, second = first - second / 2, first + second / 2
    return numpy.concatenate([numpy.minimum(first, second), numpy.maximum(first, second)], axis=2).transpose(0, 2, 1)


def _greedy(corners: Array, scores: Array, limit: int, overlap: numpy.float32, least: numpy.float32) -> list[int]:
    """Box indices in the order of selection; equal scores keep the order of the boxes."""
    # "Less than score_threshold are removed": a box exactly at the threshold stays (onnxruntime removes it).
    candidates = numpy.flatnonzero(~(scores < least))
    candidates = candidates[numpy.argsort(-scores[candidates], kind="stable")]
    low_y, low_x, high_y, high_x = corners[:, candidates]
    areas = (high_y - low_y) * (high_x - low_x)
    # Positions among the candidates; those that overlap a chosen one leave.
    left = numpy.arange(candidates.size)
    chosen: list[int] = []
    while left.size and len(chosen) < limit:
        best, left = left[0], left[1:]
        chosen.append(int(candidates[best]))
        height = numpy.minimum(high_y[best], high_y[left]) - numpy.maximum(low_y[best], low_y[left])
        width = numpy.minimum(high_x[best], high_x[left]) - numpy.maximum(low_x[best], low_x[left])
        shared = height.clip(0, None) * width.clip(0, None)
        union = areas[best] + areas[left] - shared
        # Boxes without area overlap nothing, where the quotient would be 0 / 0.
        ratio = numpy.divide(shared, union, out=numpy.zeros_like(shared), where=shared > 0)
        left = left[~(ratio > overlap)]
    return chosen
