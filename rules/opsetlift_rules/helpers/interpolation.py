"""Resampling along axes, as Upsample and Resize do: neighbours gathered, and their weighted average.

Everything is written as operators; what follows from constants and static shapes is folded, so that a resampling by
known scales takes one Gather for each axis, and two nodes more where it averages. Elements far away never mix, as they
would in a product with a matrix, where NaN times 0 is NaN.

The texts give no precision for coordinates: it is float, the dtype of scales, as in onnxruntime and in ONNX's tests.
They speak of a scale that is the quotient of both lengths, and take the one that is given, also by all executors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy

from opsetlift.rulebook.rule import Apply, Rule, rounding
from opsetlift.rulebook.site import Operators, is_constant
from opsetlift.specification.dtypes import DIGITS, numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.axes import gather_within
from opsetlift_rules.helpers.coordinates import Coordinates, ResampledAxis
from opsetlift_rules.helpers.sampling import cubic_polynomials
from opsetlift_rules.helpers.source_points import source_points

ULPS = 8
_ULPS_OF_QUOTIENTS = 4 * ULPS
"""Where weights are divided by their sum."""
_BECAUSE = "a kernel may add the neighbours' terms in another order"
_BECAUSE_OF_QUOTIENTS = f"{_BECAUSE}, and the weights by whose sum they are divided too"

_INTEGERS = {"int8": "double", "uint8": "double", "int16": "double", "uint16": "double"}
_INTEGERS |= {"int32": "double", "uint32": "double"}
_FLOATS = {"float16": "float", "bfloat16": "float", "float": "float", "double": "double"}
_EXACT_STEPS = 2.0**-10
"""Weights that are multiples of it average integers without rounding: four axes of 32 bits would not fit a double."""


_DIGITS_BEYOND_FLOAT = DIGITS["double"] - DIGITS["float"]


def resampling(rule: Apply, *, when: str = "floats are averaged", divides: bool = True) -> Rule:
    """A rule that may decompose a resampling.

    `divides` where it may divide weights by their sum, as Resize does since 11.
    """
    if not divides:
        return rounding(rule, ulps=ULPS, when=when, because=_BECAUSE)
    return rounding(
        rule,
        ulps=_ULPS_OF_QUOTIENTS,
        when=when,
        because=_BECAUSE_OF_QUOTIENTS,
        fewer_digits=_DIGITS_BEYOND_FLOAT,
    )


class Resampler(Coordinates):
    """Emits the resampling of one site."""

    def run(self, axes: Sequence[ResampledAxis]) -> None:
        """Resample axis by axis and replace the node."""
        site, dtype = self.site, self.site.dtype(0)
        value = site.input(0)
        all_points = [source_points(self, axis) for axis in axes]
        moving = [pair for pair in zip(axes, all_points, strict=True) if not self._stays(*pair)]
        if self.interpolation.mode == "nearest":
            for axis, points in moving:
                value = gather_within(site, value, self._nearest(axis, points), axis=axis.axis)
        elif moving:
            value = self._averaged(value, dtype, moving)
        for axis, points in zip(axes, all_points, strict=True):
            if self.interpolation.transformation == "tf_crop_and_resize":
                value = self._extrapolated(value, dtype, axis, points)
        site.replace(value)

    def _stays(self, axis: ResampledAxis, points: str) -> bool:
        values = [self.site.constant_value(name) for name in (axis.size, points)]
        size, found = values
        return size is not None and found is not None and numpy.array_equal(found, numpy.arange(int(size)))

    def _nearest(self, axis: ResampledAxis, points: str) -> str:
        half = self.number(0.5)
        roundings: dict[str, Callable[[Operators, str], str]] = {
            "round_prefer_floor": lambda op, at: op.Ceil(op.Sub(at, half)),
            "round_prefer_ceil": lambda op, at: op.Floor(op.Add(at, half)),
            "floor": lambda op, at: op.Floor(at),
            "ceil": lambda op, at: op.Ceil(at),
            "by direction": lambda op, at: op.Where(op.Less(axis.scale, self.number(1)), op.Ceil(at), op.Floor(at)),
        }
        if self.interpolation.rounding not in roundings:
            self.site.refuse(
                Why.INVALID_MODEL, f"the specification defines no nearest_mode {self.interpolation.rounding!r}"
            )
        rounded = roundings[self.interpolation.rounding]
        # Confined first: what is rounded to -0 would leave open which zero a bound of 0 gives.
        return self.folded(lambda op: op.Cast(rounded(op, self._confined(op, points, axis)), to="int64"), "indices")

    def _confined(self, op: Operators, places: str, axis: ResampledAxis) -> str:
        return str(op.Clip(places, self.number(0), self.last(op, axis)))

    def _averaged(self, value: str, dtype: str, moving: Sequence[tuple[ResampledAxis, str]]) -> str:
        if dtype not in _FLOATS and dtype not in _INTEGERS:
            self.site.refuse(
                Why.NO_EQUIVALENT,
                (
                    f"{self.interpolation.mode} interpolation averages, and the specification does not define the "
                    f"average of {dtype}"
                ),
            )
        op = self.op
        compute_dtype = _FLOATS.get(dtype) or _INTEGERS[dtype]
        value = op.Cast(value, to=compute_dtype) if compute_dtype != dtype else value
        for axis, points in moving:
            indices, weights = self._taps(axis, points)
            if dtype in _INTEGERS:
                self._check_exact(weights)
            value = self._weighted(value, axis, indices, weights, compute_dtype)
        if dtype in _INTEGERS:
            # What cubic interpolation overshoots stays in the dtype's range; fractions are cut off, as a cast does.
            limits = numpy.iinfo(numpy_dtype(dtype))
            value = op.Clip(
                value, *(self.site.constant(limit, compute_dtype, "limit") for limit in (limits.min, limits.max))
            )
        else:
            self._declare_rounding(dtype)
        return str(op.Cast(value, to=dtype)) if compute_dtype != dtype else value

    def _declare_rounding(self, dtype: str) -> None:
        if not (self.interpolation.antialiases or self.interpolation.excludes_outside):
            self.site.rounds(ULPS)
        else:
            self.site.rounds(fewer_digits=_DIGITS_BEYOND_FLOAT if dtype == "double" else 0)

    def _check_exact(self, weights: str) -> None:
        known = self.site.constant_value(weights)
        if known is None or (known / _EXACT_STEPS != numpy.rint(known / _EXACT_STEPS)).any():
            self.site.refuse(
                Why.NO_EQUIVALENT,
                (
                    "averages of integers are truncated; unless every weight is a sum of few powers of two, "
                    "the result depends on the order of additions in the runtime"
                ),
            )

    def _weighted(self, value: str, axis: ResampledAxis, indices: str, weights: str, compute_dtype: str) -> str:
        """Gathered neighbours have a dimension of their own, behind the axis; it is summed away."""
        site, op = self.site, self.op
        trailing = site.rank(0, because="the weights need a dimension of size 1 for each later axis") - axis.axis - 1
        neighbours = gather_within(site, value, indices, axis=axis.axis)

        def shaped(name: str) -> str:
            return str(op.Unsqueeze(name, site.constant(range(2, 2 + trailing), "int64"))) if trailing else name

        factors = site.folded(
            lambda: shaped(op.Cast(weights, to=compute_dtype) if compute_dtype != "float" else weights), "weights"
        )
        terms = op.Mul(neighbours, factors)
        if not is_constant(site, axis.scale):
            # An axis whose scale turns out to be 1 stays as it is, with infinities beside finite elements.
            is_idle = op.And(op.Equal(weights, self.number(0)), self._is_identity(op, axis))
            terms = op.Where(shaped(is_idle), site.constant(0, compute_dtype, "zero"), terms)
        return str(op.ReduceSum(terms, site.constant([axis.axis + 1], "int64"), keepdims=0))

    def _is_identity(self, op: Operators, axis: ResampledAxis) -> str:
        whole = op.Equal(axis.scale, self.number(1))
        if axis.region is not None:
            start, end = axis.region
            whole = op.And(whole, op.And(op.Equal(start, self.number(0)), op.Equal(end, self.number(1))))
        return str(whole)

    def _taps(self, axis: ResampledAxis, points: str) -> tuple[str, str]:
        """For each point its neighbours' indices and weights, both [points, neighbours]."""
        site, number = self.site, self.number
        reach = 1 if self.interpolation.mode == "linear" else 2
        stretch, offsets = None, site.constant(numpy.arange(1 - reach, 1 + reach, dtype=numpy.float32), hint="offsets")
        if self.interpolation.antialiases:
            stretch = self.folded(lambda op: op.Max(number(1), op.Div(number(1), axis.scale)))
            offsets = self.folded(lambda op: self._stretched_offsets(op, stretch, reach))
        axes = site.constant([1], "int64")
        column = self.folded(lambda op: op.Unsqueeze(points, axes))
        places = self.folded(lambda op: op.Add(op.Floor(column), offsets))

        def weigh(op: Operators) -> str:
            distances = op.Sub(places, column)
            if stretch is not None:
                distances = op.Div(distances, stretch)
            weights = self._weights(op, op.Abs(distances))
            if self.interpolation.excludes_outside:
                is_outside = op.Not(op.Equal(places, self._confined(op, places, axis)))
                weights = op.Where(is_outside, number(0), weights)
            if self.interpolation.excludes_outside or stretch is not None:
                total = op.ReduceSum(weights, axes, keepdims=1)
                # A point whose neighbours are all left out has no value to take: 0, where the quotient is 0 / 0.
                weights = op.Div(weights, op.Where(op.Equal(total, number(0)), number(1), total))
            if self.interpolation.mode == "linear":
                # Where all neighbours are one element, it is the value; an infinity times a weight of 0 would be NaN.
                found = self._confined(op, places, axis)
                ends = (reduce(found, axes=[1], keepdims=1) for reduce in (op.ReduceMin, op.ReduceMax))
                weights = op.Where(op.Equal(*ends), op.ReduceMean(weights, axes=[1], keepdims=1), weights)
            return str(weights)

        indices = self.folded(lambda op: op.Cast(self._confined(op, places, axis), to="int64"), "indices")
        return indices, self.folded(weigh, "weights")

    def _stretched_offsets(self, op: Operators, stretch: str, reach: int) -> str:
        count = op.Cast(op.Ceil(op.Mul(stretch, self.number(reach))), to="int64")
        one = self.site.constant(1, "int64", "one")
        return str(op.Cast(op.Range(op.Sub(one, count), op.Add(one, count), one), to="float"))

    def _weights(self, op: Operators, distance: str) -> str:
        number = self.number
        if self.interpolation.mode == "linear":
            return str(op.Relu(op.Sub(number(1), distance)))
        a = numpy.float32(self.interpolation.cubic_coefficient)
        near, far = cubic_polynomials(op, number, distance, a)
        beyond = op.Where(op.Less(distance, number(2)), far, number(0))
        return str(op.Where(op.Greater(distance, number(1)), beyond, near))

    def _extrapolated(self, value: str, dtype: str, axis: ResampledAxis, points: str) -> str:
        """Points outside take the extrapolation value."""
        site, op = self.site, self.op
        outside = self.folded(
            lambda inner: inner.Or(inner.Less(points, self.number(0)), inner.Greater(points, self.last(inner, axis)))
        )
        known = site.constant_value(outside)
        if known is not None and not known.any():
            return value
        trailing = site.rank(0, because="the weights need a dimension of size 1 for each later axis") - axis.axis - 1
        if trailing:
            outside = self.folded(
                lambda inner: inner.Unsqueeze(outside, site.constant(range(1, 1 + trailing), "int64"))
            )
        filling = site.constant(
            numpy.array(self.interpolation.extrapolation_value).astype(numpy_dtype(dtype)), hint="filling"
        )
        return str(op.Where(outside, filling, value))
