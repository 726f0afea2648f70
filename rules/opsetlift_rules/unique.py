"""The distinct elements of a tensor.

Unique  11: introduced · 28: +bfloat16
"""

from __future__ import annotations

from functools import cached_property

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, widen_values
from opsetlift.rulebook.site import Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import END, counted_from_front, gather_within
from opsetlift_rules.helpers.counting import endless
from opsetlift_rules.helpers.dimensions import reshape_exactly
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.positions import Number, Positions


def find_groups_by_sorting(site: Site) -> None:
    """Replace Unique-11: sort stably; a group begins where an element differs from the one before."""
    dtype = site.dtype(0)
    if dtype == "string" or dtype.startswith("complex"):
        site.refuse(Why.NO_EQUIVALENT, f"below opset 11 no operator sorts or compares values of dtype {dtype}")
    groups = _Groups(site)
    if groups.are_none:
        outputs = groups.none
    else:
        outputs = groups.in_order if site.attribute("sorted", 1) else groups.by_occurrence
    site.replace(*(outputs(position) if site.output(position) else "" for position in range(len(site.node.output))))


class _Groups:
    """The groups of equal elements, or of equal slices along an axis."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._positions = Positions(site)
        self._op = self._positions.op
        sizes = self._positions.sizes(0, because="its elements are compared in a flat list")
        axis = site.attribute("axis")
        if axis is None:
            self._data, self._axis = self._positions.row(site.input(0)), 0
            self._count = self._positions.product(sizes)
            self._width: Number = numpy.array(1)
        else:
            (self._axis,) = counted_from_front(site, [axis], len(sizes), name="axis")
            self._data, self._count = site.input(0), sizes[self._axis]
            self._width = self._positions.product([size for place, size in enumerate(sizes) if place != self._axis])
        self._is_row = axis is None or len(sizes) == 1

    @property
    def are_none(self) -> bool:
        """Whether it is known that there are none."""
        return not isinstance(self._count, str) and int(self._count) == 0

    def none(self, output: int) -> str:
        return self._site.constant([], "int64", "none") if output else self._data

    def in_order(self, output: int) -> str:
        """An output of which the elements come in ascending order."""
        if output == 0:
            return gather_within(self._site, self._data, self._first, axis=self._axis)
        return [self._first, self._group, self._counts][output - 1]

    def by_occurrence(self, output: int) -> str:
        """An output of which the elements come in the order of their first occurrences."""
        if output == 0:
            return gather_within(self._site, self._data, self._occurrences, axis=self._axis)
        if output == 1:
            return self._occurrences
        if output == 2:
            number = self._numbered(self._is_first)
            return self._gather(self._gather(number, self._first), self._group)
        return self._gather(self._counts, self._gather(self._group, self._occurrences))

    @cached_property
    def _columns(self) -> str:
        """Each slice as a column of sort keys; single elements have one key."""
        site, op = self._site, self._op
        keys = op.Cast(self._data, to="int32") if site.dtype(0) == "bool" else self._data
        if self._is_row:
            return str(keys)
        rank = site.rank(0)
        order = [place for place in range(rank) if place != self._axis] + [self._axis]
        shape = self._positions.shape([self._width, self._count])
        return reshape_exactly(op, op.Transpose(keys, perm=order), shape)

    @cached_property
    def _all(self) -> str:
        """The number of elements, as TopK takes it."""
        return self._positions.shape([self._count])

    @cached_property
    def _order(self) -> str:
        """The position of the element at each place in ascending order."""
        if self._is_row:
            return self._sorted(self._op, self._columns)
        site = self._site
        columns, last = self._columns, self._positions.indices(self._positions.add(self._width, numpy.array(-1)))

        def body(inner: Operators, number: str, going: str, order: str) -> list[str]:
            # From the last key to the first, each sort leaves equal ones in the order of the keys behind.
            keys = inner.Gather(columns, inner.Sub(last, number), axis=0)
            by_key = self._sorted(inner, inner.Gather(keys, order))
            return [going, inner.Gather(order, by_key)]

        count = None if isinstance(self._count, str) else int(self._count)
        graph = site.op_at(opsets.AXES_AS_INPUTS).subgraph(
            body, takes=[("int64", []), ("bool", []), ("int64", [count])]
        )
        start = self._positions.indices(self._positions.counted(self._count))
        loop = site.op_at(min(site.opset, site.target)).Loop
        order = loop(self._positions.indices(self._width), endless(site), start, body=graph)
        return reshape_exactly(self._op, order, self._all)

    def _sorted(self, op: Operators, keys: str) -> str:
        _, order = op.TopK(keys, self._all, axis=0, largest=0, outputs=2)
        return str(order)

    @cached_property
    def _place(self) -> str:
        """The inverse of the order: for each element its place."""
        has_doubles = self._site.computes("TopK", T="double")
        return self._sorted(self._op, self._op.Cast(self._order, to="double") if has_doubles else self._order)

    @cached_property
    def _begins(self) -> str:
        """For each place whether a group begins there."""
        site, op = self._site, self._op
        axis = 0 if self._is_row else 1
        keys = gather_within(site, self._columns, self._order, axis=axis)
        upper = op.Slice(keys, *(site.constant([bound], "int64", "bound") for bound in (1, END, axis)))
        lower = op.Slice(keys, *(site.constant([bound], "int64", "bound") for bound in (0, -1, axis)))
        if site.dtype(self._columns) in FLOATING:
            # NaN equals NaN, as in numpy.unique, to which the text refers.
            is_one_nan = op.Xor(op.IsNaN(lower), op.IsNaN(upper))
            differs = op.Or(op.Or(op.Less(lower, upper), op.Greater(lower, upper)), is_one_nan)
        else:
            differs = op.Not(op.Equal(lower, upper))
        differs = op.Cast(differs, to="float")
        if not self._is_row:
            differs = op.Cast(op.ReduceSum(differs, site.constant([0], "int64"), keepdims=0), to="bool")
            differs = op.Cast(differs, to="float")
        begin = site.constant(numpy.ones(1, numpy.float32), hint="begin")
        begins = op.Concat(begin, differs, axis=0)
        if isinstance(self._count, str):
            # Without elements there is no group.
            begins = op.Slice(begins, site.constant([0], "int64", "bound"), self._all)
        return str(op.Cast(begins, to="bool"))

    @cached_property
    def _starts(self) -> str:
        return str(self._op.Squeeze(self._op.NonZero(self._begins), self._site.constant([0], "int64")))

    @cached_property
    def _first(self) -> str:
        """For each group its first element."""
        return self._gather(self._order, self._starts)

    @cached_property
    def _group(self) -> str:
        """For each element its group."""
        return self._gather(self._numbered(self._begins), self._place)

    @cached_property
    def _counts(self) -> str:
        """For each group the number of its elements."""
        op, site = self._op, self._site
        bounds = op.Concat(self._starts, self._all, axis=0)
        ends = op.Slice(bounds, site.constant([1], "int64", "bound"), site.constant([END], "int64", "bound"))
        return str(op.Sub(ends, self._starts))

    @cached_property
    def _is_first(self) -> str:
        """For each element whether it is the first of its group."""
        return self._gather(self._begins, self._place)

    @cached_property
    def _occurrences(self) -> str:
        return str(self._op.Squeeze(self._op.NonZero(self._is_first), self._site.constant([0], "int64")))

    def _numbered(self, marks: str) -> str:
        """For each place the number of marks up to it, less one."""
        op, site = self._op, self._site
        total = op.CumSum(op.Cast(marks, to="int64"), site.constant(0, "int64", "axis"))
        return str(op.Sub(total, site.constant(1, "int64", "one")))

    def _gather(self, values: str, indices: str) -> str:
        return gather_within(self._site, values, indices)


def name_all_outputs(site: Site) -> None:
    """Name all outputs of Unique, for runtimes that need them."""
    site.ask_for_outputs(range(len(site.node.output)))


STEPS = [
    Step("Unique", 11, 28, up=unchanged, down=widen_values()),
]

INTRODUCTIONS = [
    Introduction("Unique", 11, down=find_groups_by_sorting),
]

FALLBACKS = [
    Fallback("Unique", name_all_outputs),
]
