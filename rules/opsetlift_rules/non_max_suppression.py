"""Boxes chosen by score.

NonMaxSuppression  10: introduced · 11: says that a box of just the threshold stays
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Introduction, Step, unchanged
from opsetlift.rulebook.site import Dims, Operators, Site
from opsetlift_rules.helpers.counting import endless
from opsetlift_rules.helpers.positions import Positions


def select_boxes_with_a_loop(site: Site) -> None:
    """Replace NonMaxSuppression-10 with a Loop that selects one box per batch and class in each iteration.

    Each iteration suppresses the boxes that overlap the selected one. The text gives no formula for the overlap: it is
    computed in float, as the intersection divided by the union.
    """
    if not site.input(2):
        # By default at most 0 boxes.
        site.replace(site.constant(numpy.zeros((0, 3), numpy.int64), hint="none"))
        return
    positions = Positions(site)
    op = positions.op
    boxes, scores, alive = _candidates(site, op)
    batches, _, count = positions.sizes(scores, because="its batches and boxes are enumerated")
    corners = _Corners(site, op, boxes)
    starts = positions.indices(positions.column(positions.multiply(positions.counted(batches), count), 2))
    places = positions.indices(positions.counted(count))
    zero, one, two = (site.constant(number, "float", "number") for number in (0, 1, 2))
    infinity = site.constant(numpy.inf, "float", "infinity")
    # NaN ranks below all other scores.
    numbers = op.Where(op.IsNaN(scores), zero, scores)
    weights = op.Sub(two, op.Cast(op.IsNaN(scores), to="float"))
    overlap = site.input(3) or zero
    limit = op.Cast(op.Reshape(site.input(2), site.constant([], "int64", "shape")), to="double")

    def body(inner: Operators, number: str, going: str, left: str) -> list[str]:
        is_candidate = inner.Mul(left, _is_greatest(inner, inner.Mul(left, weights)))
        # Min with infinity keeps the score of a candidate; -infinity replaces that of any other box.
        keys = inner.Min(numbers, inner.Mul(inner.Sub(inner.Mul(is_candidate, two), one), infinity))
        best = inner.ArgMax(inner.Mul(is_candidate, _is_greatest(inner, keys)), axis=2, keepdims=1)
        is_other = inner.Not(inner.Equal(places, best))
        is_apart = inner.Not(corners.overlap(inner, inner.Add(best, starts), overlap))
        rest = inner.Mul(left, inner.Cast(inner.And(is_other, is_apart), to="float"))
        is_any_left = inner.ReduceMax(left, axes=[2], keepdims=0)
        chosen_before = inner.Cast(number, to="double")
        is_chosen = inner.And(inner.Cast(is_any_left, to="bool"), inner.Less(chosen_before, limit))
        is_short = inner.Less(inner.Add(chosen_before, site.constant(1, "double", "one")), limit)
        goes_on = inner.And(inner.Cast(inner.ReduceSum(rest, keepdims=0), to="bool"), is_short)
        return [goes_on, rest, inner.Squeeze(best, axes=[2]), inner.Cast(is_chosen, to="float")]

    dims: Dims = [dim if isinstance(dim, int) else None for dim in site.shape(scores) or []]
    graph = site.op.subgraph(body, takes=[("int64", []), ("bool", []), ("float", dims)])
    loop = site.op_at(min(site.opset, site.target)).Loop
    # At least one candidate is added: without any iteration the results would lack dimensions.
    _, best, is_chosen = loop(positions.name(count), endless(site), alive, body=graph, outputs=3)
    site.replace(_listed(site, op, best, is_chosen))


def _candidates(site: Site, op: Operators) -> tuple[str, str, str]:
    """Boxes, scores, and whether each score reaches the threshold (1 or 0); one more box where there may be none."""
    boxes, scores = site.inputs[:2]
    threshold = site.input(4)
    # No number is less than itself.
    alive = op.Cast(op.Not(op.Less(scores, threshold or scores)), to="float")
    count = (site.shape(scores) or [None])[-1]
    if isinstance(count, int) and count > 0:
        return boxes, scores, alive
    ends = [site.constant([0, 0, 0, *end], "int64", "pads") for end in ((0, 1, 0), (0, 0, 1))]
    return op.Pad(boxes, ends[0]), op.Pad(scores, ends[1]), op.Pad(alive, ends[1])


def _is_greatest(op: Operators, values: str) -> str:
    """1 for the greatest of the boxes of a class, 0 for others."""
    return str(op.Cast(op.Not(op.Less(values, op.ReduceMax(values, axes=[2], keepdims=1))), to="float"))


class _Corners:
    """Low and high corners and areas of boxes: of all, and as a table whose rows are gathered."""

    def __init__(self, site: Site, op: Operators, boxes: str) -> None:
        self._site = site
        parts = [op.Gather(boxes, site.constant(part, "int64", "part"), axis=2) for part in range(4)]
        firsts, seconds = parts[:2], parts[2:]
        if site.attribute("center_point_box", 0):
            halves = [op.Div(size, site.constant(2, "float", "number")) for size in seconds]
            centers = firsts
            firsts = [op.Sub(center, half) for center, half in zip(centers, halves, strict=True)]
            seconds = [op.Add(center, half) for center, half in zip(centers, halves, strict=True)]
        low = [op.Min(*pair) for pair in zip(firsts, seconds, strict=True)]
        high = [op.Max(*pair) for pair in zip(firsts, seconds, strict=True)]
        area = op.Mul(*(op.Sub(*pair) for pair in zip(high, low, strict=True)))
        self._all = [op.Unsqueeze(value, site.constant([1], "int64")) for value in (*low, *high, area)]
        columns = [op.Reshape(value, site.constant([-1, 1], "int64", "column")) for value in (*low, *high, area)]
        self._table = op.Concat(*columns, axis=1)

    def overlap(self, op: Operators, chosen: str, threshold: str) -> str:
        """Whether the selected box of each class and every other box overlap more than the threshold allows."""
        row = op.Gather(self._table, chosen, axis=0)
        *ours, area = (op.Gather(row, self._site.constant(column, "int64", "part"), axis=3) for column in range(5))
        *theirs, their_area = self._all
        sides = [
            op.Relu(op.Sub(op.Min(ours[side + 2], theirs[side + 2]), op.Max(ours[side], theirs[side])))
            for side in range(2)
        ]
        shared = op.Mul(*sides)
        union = op.Sub(op.Add(area, their_area), shared)
        # Boxes without area overlap nothing, where the quotient would be 0 / 0.
        is_shared = op.Greater(shared, self._site.constant(0, "float", "number"))
        return str(op.And(is_shared, op.Greater(op.Div(shared, union), threshold)))


def _listed(site: Site, op: Operators, best: str, is_chosen: str) -> str:
    """Batch, class and box of each selection, ordered by batch, class and time of selection."""
    by_class = [op.Transpose(value, perm=[1, 2, 0]) for value in (best, is_chosen)]
    box, condition = (op.Reshape(value, site.constant([-1], "int64", "row")) for value in by_class)
    boxes = op.Compress(box, op.Cast(condition, to="bool"), axis=0)
    bounds = [site.constant([bound], "int64", "bound") for bound in (0, 2)]
    classes = op.Slice(op.NonZero(by_class[1]), *bounds)
    rows = op.Concat(classes, op.Unsqueeze(boxes, site.constant([0], "int64")), axis=0)
    return str(op.Transpose(rows, perm=[1, 0]))


_THRESHOLD = "11 only adds that boxes that reach the threshold exactly are kept, which follows from both texts"

STEPS = [
    Step("NonMaxSuppression", 10, 11, up=unchanged, down=unchanged, because=_THRESHOLD),
]

INTRODUCTIONS = [
    Introduction("NonMaxSuppression", 10, down=select_boxes_with_a_loop),
]
