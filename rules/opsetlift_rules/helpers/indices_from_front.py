"""Indices without negative ones, for runtimes that take none: Mod has the sign of the sizes."""

from __future__ import annotations

import numpy

from opsetlift.rulebook.site import Array, Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.positions import tuple_length


def count_indices_from_front(site: Site) -> None:
    """Count indices along the attribute axis from the front. Any data; indices of any shape, int32 or int64."""
    rank = site.rank(0, because="negative indices count from the end of an axis")
    _count_from_front(site, numpy.array(counted_from_front(site, [site.attribute("axis", 0)], rank, name="axis")[0]))


def count_tuples_from_front(site: Site) -> None:
    """Count indices in tuples from the front, each along its own axis. Any data; int64 indices [..., length]."""
    first = site.attribute("batch_dims", 0)
    _count_from_front(site, numpy.arange(first, first + tuple_length(site, site.input(1))))


def _count_from_front(site: Site, axes: Array) -> None:
    indices, dims, dtype = site.constant_value(1), site.shape(0), site.dtype(1)
    if site.opset < opsets.MOD or (indices is not None and (indices >= 0).all()):
        return
    named = [dims[axis] if dims is not None and axis < len(dims) else None for axis in axes.reshape(-1)]
    known = numpy.array([size for size in named if isinstance(size, int)], numpy.int64)
    op = site.op
    if known.size < axes.size:
        sizes = op.Gather(op.Shape(site.input(0)), site.constant(axes, "int64", "axes"))
        sizes = sizes if dtype == "int64" else op.Cast(sizes, to=dtype)
    elif indices is not None:
        site.set_input(1, site.constant((indices % known.reshape(axes.shape)).astype(indices.dtype), hint="indices"))
        return
    else:
        sizes = site.constant(known.reshape(axes.shape), dtype, "sizes")
    site.set_input(1, op.Mod(site.input(1), sizes))
