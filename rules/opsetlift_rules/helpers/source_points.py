"""Helpers for the source coordinates of a resampled axis, by the coordinate transformations of Resize."""

from __future__ import annotations

from opsetlift.rulebook.site import Operators
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.coordinates import Coordinates, ResampledAxis
from opsetlift_rules.helpers.counting import iota


def source_points(coordinates: Coordinates, axis: ResampledAxis) -> str:
    """x_original for each x_resized of an axis, float."""
    points = _SourcePoints(coordinates, axis)
    name = coordinates.interpolation.transformation
    if name not in _FORMULAS:
        coordinates.site.refuse(
            Why.INVALID_MODEL, f"the specification defines no coordinate_transformation_mode {name!r}"
        )
    return coordinates.folded(lambda op: _FORMULAS[name](points, op))


class _SourcePoints:
    """The formulas for one axis, as the text of Resize writes them."""

    def __init__(self, coordinates: Coordinates, axis: ResampledAxis) -> None:
        self._number = coordinates.number
        self._half = coordinates.number(0.5)
        self._index = coordinates.folded(lambda op: op.Cast(iota(coordinates.site, op, axis.length), to="float"))
        self._coordinates = coordinates
        self._axis = axis

    def half_pixel(self, op: Operators) -> str:
        return str(op.Sub(op.Div(op.Add(self._index, self._half), self._axis.scale), self._half))

    def asymmetric(self, op: Operators) -> str:
        return str(op.Div(self._index, self._axis.scale))

    def tf_half_pixel_for_nn(self, op: Operators) -> str:
        return str(op.Div(op.Add(self._index, self._half), self._axis.scale))

    def pytorch_half_pixel(self, op: Operators) -> str:
        return str(op.Where(self._is_single(op), self._index, self.half_pixel(op)))

    def half_pixel_symmetric(self, op: Operators) -> str:
        number, axis = self._number, self._axis
        adjustment = op.Div(op.Cast(axis.length, to="float"), self._target(op))
        offset = op.Mul(op.Div(axis.size, number(2)), op.Sub(number(1), adjustment))
        return str(op.Sub(op.Add(offset, op.Div(op.Add(self._index, self._half), axis.scale)), self._half))

    def align_corners(self, op: Operators) -> str:
        # The target is fractional here, too, which onnx's issue 2462 calls intended.
        number = self._number
        gaps = op.Where(self._is_single(op), number(1), op.Sub(self._target(op), number(1)))
        last = self._coordinates.last(op, self._axis)
        # Beyond 4,096 elements the product may be no float.
        return str(op.Where(op.Equal(gaps, last), self._index, op.Div(op.Mul(self._index, last), gaps)))

    def tf_crop_and_resize(self, op: Operators) -> str:
        assert self._axis.region is not None
        start, end = self._axis.region
        number = self._number
        single, last = self._is_single(op), self._coordinates.last(op, self._axis)
        gaps = op.Where(single, number(1), op.Sub(op.Cast(self._axis.length, to="float"), number(1)))
        middle = op.Mul(op.Mul(self._half, op.Add(start, end)), last)
        steps = op.Div(op.Mul(op.Mul(self._index, op.Sub(end, start)), last), gaps)
        # The whole, as no step is taken within a region that is too large to be measured: 0 times infinity is NaN.
        points = op.Where(single, middle, op.Add(op.Mul(start, last), steps))
        # Beyond 4,096 elements the product may be no float.
        is_whole = op.And(op.Equal(start, number(0)), op.Equal(end, number(1)))
        is_same = op.And(op.Equal(op.Cast(self._axis.length, to="float"), self._axis.size), is_whole)
        return str(op.Where(is_same, self._index, points))

    def _is_single(self, op: Operators) -> str:
        return str(op.Equal(self._axis.length, self._coordinates.site.constant(1, "int64", "one")))

    def _target(self, op: Operators) -> str:
        """The length before it is cut to a whole number."""
        axis = self._axis
        return str(op.Mul(axis.scale, axis.size) if axis.is_cut else op.Cast(axis.length, to="float"))


_FORMULAS = {
    formula.__name__: formula
    for formula in (
        _SourcePoints.half_pixel,
        _SourcePoints.asymmetric,
        _SourcePoints.tf_half_pixel_for_nn,
        _SourcePoints.pytorch_half_pixel,
        _SourcePoints.half_pixel_symmetric,
        _SourcePoints.align_corners,
        _SourcePoints.tf_crop_and_resize,
    )
}
"""By the name of the coordinate_transformation_mode."""
