"""Values picked by index along an axis.

Gather          11: indices may be negative · 13: +bfloat16
GatherElements  13: +bfloat16
Compress        11: axis may be negative
"""

from __future__ import annotations

import numpy

from converter.rule import Step, unchanged, values_travel
from converter.site import Site
from rules.axes import axis_counts_from_front


def indices_count_from_front(site: Site) -> None:
    """Below 11 indices are not negative: constant ones are counted, others counted at run time."""
    indices = site.constant_value(1)
    if indices is not None and (indices >= 0).all():
        return
    axis, shape = site.attribute("axis", 0), site.shape(0)
    size = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    if indices is not None and isinstance(size, int):
        counted = numpy.where(indices < 0, indices + size, indices).astype(indices.dtype)
        site.set_input(1, site.constant(counted, "indices"))
        return
    dtype = site.dtype(1)
    op = site.op_at(13)
    name = site.input(1)
    if isinstance(size, int):
        whole = site.scalar(size, dtype, "size")
    else:
        position = site.constant(numpy.array(axis % site.rank(0), numpy.int64), "axis")
        whole = op.Cast(op.Gather(op.Shape(site.input(0)), position, axis=0), to=dtype)
    is_negative = op.Less(name, site.scalar(0, dtype, "zero"))
    site.set_input(1, op.Where(is_negative, op.Add(name, whole), name))


_EXAMPLES = "13 rewrote the examples and adds bfloat16"

STEPS = [
    Step(
        "Gather",
        1,
        11,
        up=unchanged,
        down=indices_count_from_front,
        because="11 says that indices may be negative; those that were legal before stay what they were",
    ),
    Step("Gather", 11, 13, up=unchanged, down=values_travel(), because=_EXAMPLES),
    Step("GatherElements", 11, 13, up=unchanged, down=values_travel(), because=_EXAMPLES),
    Step(
        "Compress",
        9,
        11,
        up=unchanged,
        down=axis_counts_from_front,
        because="11 says that the axis may be negative",
    ),
]
