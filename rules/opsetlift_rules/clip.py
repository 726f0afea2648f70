"""Clip.

Clip  6: -consumed_inputs, the bounds' defaults become float's own limits · 11: min and max attributes -> inputs ·
      12: +the eight integer dtypes · 13: says what min > max does, +bfloat16

An absent bound means the lowest or largest finite number of the dtype, to which infinities are clipped.
Version 6 writes float's limits down as defaults for every dtype: by these a float16 is never clipped and a double is.
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Array, Site, has_attribute, pop_attribute, widen_to_kernel
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets

_BOUNDS_AS_INPUTS = 11
_LARGEST = {"float16": 65504.0, "float": 3.4028234663852886e38, "double": 1.7976931348623157e308}
_SIDES = (("min", -1), ("max", 1))


def _default(dtype: str, sign: int, opset: int) -> float:
    """The default bound, as a number of `dtype`; infinite where it never applies."""
    if 6 <= opset < 11:
        return sign * (numpy.inf if dtype == "float16" else _LARGEST["float"])
    return sign * _LARGEST[dtype]


def write_default_bounds_of_version_1(site: Site) -> None:
    """Write the bounds that Clip-1 uses by default, the limits of the dtype, where Clip-6 would use those of float."""
    site.remove_attribute("consumed_inputs")
    _write_defaults(site, source_version=1)


def write_default_bounds_of_version_6(site: Site) -> None:
    """Write the bounds that Clip-6 uses by default, the limits of float, where Clip-1 would use those of the dtype."""
    _write_defaults(site, source_version=6)


def _write_defaults(site: Site, *, source_version: int) -> None:
    absent = [(name, sign) for name, sign in _SIDES if not has_attribute(site, name)]
    if not absent or site.dtype(0) == "float":
        return
    dtype = site.dtype(0)
    bounds = {name: _default(dtype, sign, source_version) for name, sign in absent}
    if all(_fits_float(bound) for bound in bounds.values()):
        for name, bound in bounds.items():
            site.set_attribute(name, float(bound))
        return
    low, high = (site.constant(site.attribute(name, bounds.get(name)), dtype, name) for name, _ in _SIDES)
    _clip_by_extremes(site, low, high)


def _fits_float(bound: float) -> bool:
    return bool(numpy.isnan(bound) or numpy.float64(_narrowed(bound, "float")) == bound)


def move_bounds_to_inputs(site: Site) -> None:
    """Move min and max of Clip-6 to inputs of Clip-11; absent bounds stay absent where both mean the same limit."""
    bounds = [pop_attribute(site, name) for name, _ in _SIDES]
    if bounds == [None, None] and site.dtype(0) == "float":
        return
    dtype = site.dtype(0)
    for position, ((name, sign), given) in enumerate(zip(_SIDES, bounds, strict=True), start=1):
        bound = _default(dtype, sign, 6) if given is None else given
        if given is not None or bound != _default(dtype, sign, 11):
            site.set_input(position, site.constant(_narrowed(bound, dtype), hint=name))


def _narrowed(bound: float, dtype: str) -> Array:
    with numpy.errstate(over="ignore"):
        return numpy.array(bound).astype(numpy_dtype(dtype))


def move_bounds_to_attributes(site: Site) -> None:
    """Move min and max of Clip-11 to attributes of Clip-6; use Max and Min where these cannot hold them.

    That is so for bounds that are computed at run time or that no float holds, and for min > max, which onnxruntime
    (1.4 to 1.31) does not load as attributes.
    """
    dtype = site.dtype(0)
    bounds: dict[str, float] = {}
    limits: dict[str, str] = {}
    for position, (side, sign) in enumerate(_SIDES, start=1):
        name, value = site.input(position), site.constant_value(position)
        limits[side] = name
        if not name:
            bounds[side] = _default(dtype, sign, 11)
        elif value is not None and value.size == 1:
            bounds[side] = float(value.reshape(()))
    if len(bounds) < len(_SIDES) or not all(map(_fits_float, bounds.values())) or bounds["min"] > bounds["max"]:
        low, high = (limits[side] or site.constant(bounds[side], dtype, side) for side, _ in _SIDES)
        _clip_by_extremes(site, low, high)
        return
    site.remove_input(2)
    site.remove_input(1)
    for side, sign in _SIDES:
        if limits[side] or bounds[side] != _default(dtype, sign, 6):
            site.set_attribute(side, bounds[side])


def _clip_by_extremes(site: Site, low: str, high: str) -> None:
    op = site.op_at(opsets.BROADCASTING_IN_MIN_AND_MAX)
    site.replace(op.Min(op.Max(site.input(0), low), high))


def clip_integers_with_min_and_max(site: Site) -> None:
    """Replace Clip-12 of integers, which Clip-11 does not take, with Min and Max."""
    if site.dtype(0) not in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        return
    op = site.op_at(opsets.INTEGERS_IN_MIN_AND_MAX)
    value = site.input(0)
    if site.input(1):
        value = op.Max(value, site.input(1))
    if site.input(2):
        value = op.Min(value, site.input(2))
    site.replace(value)


def clip_with_min_and_max_or_cast(site: Site) -> None:
    """Compute Clip with Min and Max where the runtime has a kernel but fails on the form; else cast the values.

    Some optimisers fail on a Clip without min after Relu.
    """
    dtype = site.dtype(0)
    if not site.computes("Clip", T=dtype):
        widen_to_kernel(site)
    elif site.target >= _BOUNDS_AS_INPUTS and dtype in _LARGEST:
        bounds = (site.constant(sign * _LARGEST[dtype], dtype, name) for name, sign in _SIDES)
        low, high = (site.input(place) or bound for place, bound in enumerate(bounds, start=1))
        _clip_by_extremes(site, low, high)
    else:
        clip_integers_with_min_and_max(site)


_MIN_ABOVE_MAX = (
    "13 says that max wins where min is greater: Min(max, Max(input, min)), as runtimes have always computed"
)

STEPS = [
    Step("Clip", 1, 6, up=write_default_bounds_of_version_1, down=write_default_bounds_of_version_6),
    Step("Clip", 6, 11, up=move_bounds_to_inputs, down=move_bounds_to_attributes),
    Step("Clip", 11, 12, up=unchanged, down=clip_integers_with_min_and_max),
    Step("Clip", 12, 13, up=unchanged, down=unchanged, because=_MIN_ABOVE_MAX),
]

FALLBACKS = [
    Fallback("Clip", clip_with_min_and_max_or_cast),
]
