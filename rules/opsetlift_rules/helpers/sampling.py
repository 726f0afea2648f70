"""Helpers for values sampled at arbitrary points, weighted over the neighbours of each.

A tensor [batch, channels, *spatial] is laid out as rows of channels, one for each place; the neighbours of all points
are then one Gather, whatever the number of axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from opsetlift.rulebook.site import Operators, Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers.axes import gather_within
from opsetlift_rules.helpers.dimensions import Size, named, numbers_up_to, product, reshaped, size
from opsetlift_rules.helpers.zeros import zero

_FAR = float(2**40)


@dataclass(frozen=True)
class Neighbours:
    """On one axis, for points of some shape, [*shape, neighbours] each: places (int64), and what counts of them."""

    places: str
    weights: str | None = None
    """None: they count in full."""
    inside: str | None = None
    """Booleans: others count as 0. None: all are inside."""


class Rows:
    """The places of a tensor as rows of channels. `op` writes for opset 16; `dtype` is the one of the values."""

    def __init__(self, site: Site, op: Operators, data: str, dtype: str) -> None:
        self.site, self.op, self.dtype = site, op, dtype
        rank = site.rank(data, because="the number of spatial axes must be known")
        self.batch, self.channels = (size(site, op, data, axis) for axis in (0, 1))
        self.spatial = [size(site, op, data, axis) for axis in range(2, rank)]
        self.per_image = product(site, op, self.spatial)
        last = op.Transpose(data, perm=[0, *range(2, rank), 1])
        self.rows = reshaped(site, op, last, [product(site, op, [self.batch, self.per_image]), self.channels])

    def read(self, axes: Sequence[Neighbours], leading: int, images: str | None = None) -> str:
        """The weighted values of the neighbours: [*points, *neighbours of each axis, channels].

        `leading` is the rank of the points, whose first axis is the batch, unless `images` says which image each of
        them reads.
        """
        site, op = self.site, self.op
        count = len(axes)
        images = images or numbers_up_to(site, op, self.batch)
        trailing = site.constant(range(1, leading + count), "int64")
        flat = site.folded(lambda: op.Unsqueeze(op.Mul(images, named(site, self.per_image)), trailing))
        for number, axis in enumerate(axes):
            stride = product(site, op, self.spatial[number + 1 :])
            places = self._spread(axis.places, number, leading, count)
            flat = op.Add(flat, places if stride == 1 else op.Mul(places, named(site, stride)))
        values = gather_within(site, self.rows, flat)
        for number, axis in enumerate(axes):
            if axis.inside is not None:
                inside = self._spread(axis.inside, number, leading, count, channels=True)
                values = op.Where(inside, values, zero(site, self.dtype))
        weights: str | None = None
        for number, axis in enumerate(axes):
            if axis.weights is not None:
                own = self._spread(axis.weights, number, leading, count, channels=True)
                weights = own if weights is None else op.Mul(weights, own)
        if weights is None:
            return values
        return str(op.Mul(values, weights if site.dtype(weights) == self.dtype else op.Cast(weights, to=self.dtype)))

    def _spread(self, value: str, number: int, leading: int, count: int, *, channels: bool = False) -> str:
        axes = [leading + other for other in range(count) if other != number]
        axes += [leading + count] if channels else []
        return str(self.op.Unsqueeze(value, self.site.constant(axes, "int64"))) if axes else value


@dataclass(frozen=True)
class Weigh:
    """How many neighbours on either side count, and how much by their distance."""

    reach: int
    weights: Callable[[str], str]


# Each maps whole numbers of a float dtype to positions in an axis, int64, and to which of them count (None: all).


def confined_by_zeros(site: Site, op: Operators, places: str, length: Size, dtype: str) -> tuple[str, str | None]:
    """Points outside count as 0."""
    low, high = _bounds(site, op, length, dtype)
    inside = op.And(op.Not(op.Less(places, low)), op.Not(op.Greater(places, high)))
    return op.Cast(op.Clip(places, low, high), to="int64"), inside


def confined_by_border(site: Site, op: Operators, places: str, length: Size, dtype: str) -> tuple[str, str | None]:
    """Points outside take the value of the border."""
    return op.Cast(op.Clip(places, *_bounds(site, op, length, dtype)), to="int64"), None


def confined_by_centers(site: Site, op: Operators, places: str, length: Size, dtype: str) -> tuple[str, str | None]:
    """Points outside are reflected at the centers of the border elements."""
    one, two = (site.constant(number, "int64", "number") for number in (1, 2))
    last = site.folded(lambda: op.Sub(named(site, length), one))
    period = site.folded(lambda: op.Max(op.Mul(two, last), one))
    remainder = op.Mod(op.Cast(places, to="int64"), period)
    return op.Sub(last, op.Abs(op.Sub(last, remainder))), None


def confined_by_edges(site: Site, op: Operators, places: str, length: Size, dtype: str) -> tuple[str, str | None]:
    """Points outside are reflected at the outer edges of the border elements."""
    one, two = (site.constant(number, "int64", "number") for number in (1, 2))
    period = site.folded(lambda: op.Mul(two, named(site, length)))
    last = site.folded(lambda: op.Sub(period, one))
    remainder = op.Mod(op.Cast(places, to="int64"), period)
    # The lesser of r and last - r, whose difference is odd.
    difference = op.Abs(op.Sub(last, op.Mul(two, remainder)))
    return op.Div(op.Sub(last, difference), two), None


def _bounds(site: Site, op: Operators, length: Size, dtype: str) -> tuple[str, str]:
    low = site.constant(0, dtype, "low")
    if isinstance(length, int):
        return low, site.constant(length - 1, dtype, "high")
    return low, op.Sub(op.Cast(length, to=dtype), site.constant(1, dtype, "one"))


def linear_weights(site: Site, op: Operators, distance: str, dtype: str) -> str:
    """The triangle of linear interpolation."""
    return str(op.Relu(op.Sub(site.constant(1, dtype, "one"), distance)))


def cubic_polynomials(
    op: Operators, number: Callable[[float | numpy.floating[Any]], str], distance: str, a: numpy.floating[Any]
) -> tuple[str, str]:
    """Equation (4) of Keys, "Cubic Convolution Interpolation", for distances up to 1, and from 1 to 2.

    Args:
        op: Emits the nodes.
        number: Makes a constant of the dtype of the distance.
        distance: The distance of a neighbour, not negative.
        a: The coefficient, in the dtype of the distance.
    """
    near = op.Sub(op.Mul(number(a + 2), distance), number(a + 3))
    near = op.Add(op.Mul(op.Mul(near, distance), distance), number(1))
    far = op.Sub(op.Mul(number(a), distance), number(5 * a))
    far = op.Sub(op.Mul(op.Add(op.Mul(far, distance), number(8 * a)), distance), number(4 * a))
    return near, far


def cubic_weights(site: Site, op: Operators, distance: str, dtype: str, coefficient: float) -> str:
    """The weights of cubic interpolation with the coefficient `a`."""
    a = numpy.dtype(numpy_dtype(dtype)).type(coefficient)

    def number(value: float | numpy.floating[Any]) -> str:
        return site.constant(value, dtype, "number")

    near, far = cubic_polynomials(op, number, distance, a)
    # Both are 0 at the distance 1. NaN, which infinite points have for distances, is beyond.
    beyond = op.Where(op.Less(distance, number(2)), far, number(0))
    return str(op.Where(op.Less(distance, number(1)), near, beyond))


def neighbours_on(
    site: Site, op: Operators, points: str, dtype: str, confine: Callable[[str], tuple[str, str | None]], weigh: Weigh
) -> Neighbours:
    """The neighbours of points of a float dtype on an axis."""
    column = op.Unsqueeze(points, site.constant([-1], "int64"))
    offsets = numpy.arange(1 - weigh.reach, 1 + weigh.reach).astype(numpy_dtype(dtype))
    places = op.Add(op.Floor(column), site.constant(offsets, hint="offsets"))
    weights = weigh.weights(op.Abs(op.Sub(places, column)))
    confined, inside = confine(tamed(site, op, places, dtype))
    return Neighbours(confined, weights, inside)


def nearest_on(
    site: Site, op: Operators, points: str, dtype: str, confine: Callable[[str], tuple[str, str | None]]
) -> Neighbours:
    """The nearest neighbour on an axis; halves round to even."""
    rounded = op.Round(op.Unsqueeze(points, site.constant([-1], "int64")))
    confined, inside = confine(tamed(site, op, rounded, dtype))
    return Neighbours(confined, inside=inside)


def tamed(site: Site, op: Operators, places: str, dtype: str) -> str:
    """Limit whole numbers so that they can be cast to integers; NaN becomes a point far outside."""
    low, high = (site.constant(bound, dtype, "bound") for bound in (-_FAR, _FAR))
    return str(op.Clip(op.Where(op.IsNaN(places), low, places), low, high))
