"""Clip.

Clip  6: consumed_inputs goes, the bounds' defaults become float's own limits · 11: min and max attributes -> inputs ·
      12: +the eight integer dtypes · 13: says what min > max does, +bfloat16

A bound that is not given stands for the dtype's lowest or largest finite number, which infinities are clipped to.
Version 6 writes float's limits down as defaults for every dtype: by these a float16 is never clipped and a double is.
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Array, Site
from opsetlift.specification.dtypes import numpy_dtype

_LARGEST = {"float16": 65504.0, "float": 3.4028234663852886e38, "double": 1.7976931348623157e308}
_SIDES = (("min", -1), ("max", 1))


def _default(dtype: str, sign: int, opset: int) -> float:
    """The bound that an absent attribute stands for, as a number of `dtype`; infinite where it never binds."""
    if 6 <= opset < 11:
        return sign * (numpy.inf if dtype == "float16" else _LARGEST["float"])
    return sign * _LARGEST[dtype]


def defaults_become_those_of_float(site: Site) -> None:
    """From 1 to 6: what was left to the dtype's limits is written down, which a double's are too large for."""
    site.remove_attribute("consumed_inputs")
    _write_defaults(site, near=1, far=6)


def defaults_become_those_of_the_dtype(site: Site) -> None:
    """From 6 to 1."""
    _write_defaults(site, near=6, far=1)


def _write_defaults(site: Site, *, near: int, far: int) -> None:
    absent = [(name, sign) for name, sign in _SIDES if not site.has_attribute(name)]
    if not absent or site.dtype(0) == "float":
        return
    dtype = site.dtype(0)
    bounds = {name: _default(dtype, sign, near) for name, sign in absent}
    if all(_fits_float(bound) for bound in bounds.values()):
        for name, bound in bounds.items():
            site.set_attribute(name, float(bound))
        return
    low, high = (site.scalar(site.attribute(name, bounds.get(name)), dtype, name) for name, _ in _SIDES)
    _clip_by_extremes(site, low, high)


def _fits_float(bound: float) -> bool:
    return bool(numpy.isnan(bound) or numpy.float64(numpy.float32(bound)) == bound)


def bounds_become_inputs(site: Site) -> None:
    """Absent bounds stay absent where both versions mean the same limit by that."""
    bounds = [site.pop_attribute(name) for name, _ in _SIDES]
    if bounds == [None, None] and site.dtype(0) == "float":
        return
    dtype = site.dtype(0)
    for position, ((name, sign), given) in enumerate(zip(_SIDES, bounds, strict=True), start=1):
        bound = _default(dtype, sign, 6) if given is None else given
        if given is not None or bound != _default(dtype, sign, 11):
            site.set_input(position, site.constant(_narrowed(bound, dtype), name))


def _narrowed(bound: float, dtype: str) -> Array:
    with numpy.errstate(over="ignore"):
        return numpy.array(bound).astype(numpy_dtype(dtype))


def bounds_become_attributes(site: Site) -> None:
    """Bounds that are computed at run time, or that an attribute of float cannot hold, go to Max and Min.

    So do those of which min is greater: onnxruntime (1.4 to 1.31) does not load them as attributes.
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
        low, high = (limits[side] or site.scalar(bounds[side], dtype, side) for side, _ in _SIDES)
        _clip_by_extremes(site, low, high)
        return
    site.remove_input(2)
    site.remove_input(1)
    for side, sign in _SIDES:
        if limits[side] or bounds[side] != _default(dtype, sign, 6):
            site.set_attribute(side, bounds[side])


def _clip_by_extremes(site: Site, low: str, high: str) -> None:
    op = site.op_at(8)
    site.replace(op.Min(op.Max(site.input(0), low), high))


def integers_are_clipped_by_extremes(site: Site) -> None:
    """An integer's own limits clip nothing."""
    if site.dtype(0) not in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        return
    op = site.op_at(12)
    value = site.input(0)
    if site.input(1):
        value = op.Max(value, site.input(1))
    if site.input(2):
        value = op.Min(value, site.input(2))
    site.replace(value)


def values_are_cast_or_clipped_by_extremes(site: Site) -> None:
    """Where there is a kernel, it is the form that the runtime does not take: some optimisers fail on Relu and Clip."""
    dtype = site.dtype(0)
    if not site.computes("Clip", T=dtype):
        site.carry_to_kernel()
    elif site.target >= 11 and dtype in _LARGEST:
        bounds = (site.scalar(sign * _LARGEST[dtype], dtype, name) for name, sign in _SIDES)
        low, high = (site.input(place) or bound for place, bound in enumerate(bounds, start=1))
        _clip_by_extremes(site, low, high)
    else:
        integers_are_clipped_by_extremes(site)


_MIN_ABOVE_MAX = "13 says that max wins where min is greater, which is what Min(max, Max(input, min)) has always given"

STEPS = [
    Step("Clip", 1, 6, up=defaults_become_those_of_float, down=defaults_become_those_of_the_dtype),
    Step("Clip", 6, 11, up=bounds_become_inputs, down=bounds_become_attributes),
    Step("Clip", 11, 12, up=unchanged, down=integers_are_clipped_by_extremes),
    Step("Clip", 12, 13, up=unchanged, down=unchanged, because=_MIN_ABOVE_MAX),
]

FALLBACKS = [
    Fallback("Clip", values_are_cast_or_clipped_by_extremes),
]
