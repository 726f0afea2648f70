"""Elements selected by a condition, whose number is known at run time only.

Compress  9: introduced · 11: axis may be negative · 28: +bfloat16
NonZero   9: introduced · 13: +bfloat16
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, widen_values
from opsetlift.rulebook.site import Operators, Site, has_attribute
from opsetlift_rules.helpers.axes import gather_within, make_axis_non_negative
from opsetlift_rules.helpers.counting import endless
from opsetlift_rules.helpers.positions import Positions


def gather_the_selected_slices(site: Site) -> None:
    """Replace Compress-9 with Gather at the positions where the condition holds.

    Data [*shape] of any dtype, flattened without an axis; bool condition of one dimension, which may be shorter.
    """
    data, condition = site.inputs
    positions = Positions(site)
    kept = _kept(site, positions, condition)
    if not has_attribute(site, "axis"):
        row = positions.op.Reshape(data, site.constant([-1], "int64", "row"))
        site.replace(gather_within(site, row, kept))
    else:
        site.replace(site.op.Gather(data, kept, axis=site.attribute("axis")))


def cast_to_bool(site: Site) -> None:
    """Cast the input of NonZero to bool, for runtimes without the dtype: NaN is not zero, and becomes True."""
    if site.dtype(0) not in ("bool", "string"):
        site.set_input(0, site.op.Cast(site.input(0), to="bool"))


def compute_indices_of_nonzero_elements(site: Site) -> None:
    """Replace NonZero-9: compute the index in each dimension from the flat positions of nonzero elements."""
    data = site.input(0)
    positions = Positions(site)
    op = positions.op
    sizes = positions.sizes(data, because="the result has a row of indices for each dimension")
    is_kept = data if site.dtype(data) == "bool" else op.Cast(data, to="bool")
    row = op.Reshape(is_kept, site.constant([-1], "int64", "row"))
    rest = positions.of(_kept(site, positions, row))
    if not sizes:
        # A scalar has no dimension to index; the number of columns, 0 or 1, shows whether it is kept.
        none = site.constant(numpy.zeros((0, 1), numpy.int64), hint="none")
        site.replace(gather_within(site, none, positions.indices(rest), axis=1))
        return
    first = site.constant([0], "int64")
    indices = []
    for stride in positions.strides(sizes)[:-1]:
        index = positions.quotient(rest, stride)
        rest = positions.add(rest, positions.negated(positions.multiply(index, stride)))
        indices.append(index)
    rows = [op.Unsqueeze(positions.indices(index), first) for index in [*indices, rest]]
    site.replace(op.Concat(*rows, axis=0) if len(rows) > 1 else rows[0])


def _kept(site: Site, positions: Positions, condition: str) -> str:
    """The positions where a vector of booleans is true: a Loop removes the first one in each iteration."""
    known = site.constant_value(condition)
    if known is not None:
        return site.constant(numpy.flatnonzero(known), hint="kept")
    op = positions.op
    (size,) = positions.sizes(condition, because="its elements are enumerated")
    places = positions.indices(positions.counted(size))
    mask = op.Cast(condition, to="float")
    count = op.Cast(op.ReduceSum(op.Cast(mask, to="double"), keepdims=0), to="int64")

    def body(inner: Operators, number: str, going: str, left: str) -> list[str]:
        first = inner.ArgMax(left, axis=0, keepdims=0)
        others = inner.Cast(inner.Not(inner.Equal(places, first)), to="float")
        return [going, inner.Mul(left, others), inner.Identity(first)]

    known_size = None if isinstance(size, str) else int(size)
    graph = site.op.subgraph(body, takes=[("int64", []), ("bool", []), ("float", [known_size])])
    _, kept = site.op.Loop(count, endless(site), mask, body=graph, outputs=2)
    return str(kept)


STEPS = [
    Step("Compress", 9, 11, up=unchanged, down=make_axis_non_negative, because="11 adds negative axes"),
    Step("Compress", 11, 28, up=unchanged, down=widen_values()),
    Step("NonZero", 9, 13, up=unchanged, down=widen_values()),
]

INTRODUCTIONS = [
    Introduction("Compress", 9, down=gather_the_selected_slices),
    Introduction("NonZero", 9, down=compute_indices_of_nonzero_elements),
]

FALLBACKS = [
    Fallback("NonZero", cast_to_bool),
    Fallback("Compress", make_axis_non_negative),
]
