"""Values written by index.

Scatter          9: introduced · 11: deprecated, the same as ScatterElements
ScatterElements  11: introduced · 13: +bfloat16 · 16: +reduction add, mul · 18: +max, min
ScatterND        11: introduced · 13: +bfloat16 · 16: +reduction add, mul · 18: +max, min
TensorScatter    24: introduced
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Rule, Step, unchanged
from opsetlift.rulebook.site import Dims, Operators, Site, has_attribute, static_shape
from opsetlift.specification.dtypes import tensor_type
from opsetlift.specification.wider_dtypes import cast_back_attributes, exact_wider_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.attributes import replace_with_attributes
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.counting import endless
from opsetlift_rules.helpers.dimensions import divisor, reshape_exactly
from opsetlift_rules.helpers.indices_from_front import count_indices_from_front, count_tuples_from_front
from opsetlift_rules.helpers.positions import Number, Positions, tuple_length
from opsetlift_rules.helpers.signs import added_where, is_negative
from opsetlift_rules.helpers.zeros import zero

_BECAUSE = "the flat positions of the written elements depend on its dimensions"
_WIDER_DTYPES = [tensor_type(dtype) for dtype in ("int8", "uint8", "float16", "bfloat16")]
_COMBINE = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


def rename_to_scatter_elements(site: Site) -> None:
    """Rename Scatter-9 to ScatterElements-11: Scatter is deprecated at 11 and does not run."""
    site.become("ScatterElements")


def make_indices_non_negative(site: Site) -> None:
    """Make the indices of Scatter non-negative: version 9 defines nothing for negative ones."""
    indices = site.constant_value(1)
    if indices is None or (indices < 0).any():
        positions = Positions(site)
        because = "below opset 11 negative indices must be made non-negative"
        sizes, axis = positions.sizes(0, because=because), _axis(site)
        counted = positions.from_front(positions.of(site.input(1)), lambda: sizes[axis])
        site.set_input(1, positions.indices(counted))


def rename_to_scatter(site: Site) -> None:
    """Rename ScatterElements-11 to Scatter-9, with non-negative indices."""
    make_indices_non_negative(site)
    site.become("Scatter", opset=min(site.opset, opsets.NON_NEGATIVE_INDICES))


def scatter_slices_as_elements(site: Site) -> None:
    """Replace ScatterND-11 with Scatter of rows: the dimensions that index tuples index are flattened to one."""
    positions = Positions(site)
    writing = _slices(site, positions)
    if site.target < opsets.SCATTER:
        site.replace(writing.restored(positions, _chosen_by_a_table(site, positions, writing)))
        return
    op = positions.op
    rows, updates, indices = writing.rows, writing.updates, writing.written
    slice_sizes = writing.sizes[writing.indexed :]
    if slice_sizes:
        width = positions.product(slice_sizes)
        matrix = positions.shape([writing.number_of_updates, width])
        rows = reshape_exactly(op, rows, positions.shape([writing.number_of_rows(positions), width]))
        updates = reshape_exactly(op, updates, matrix)
        indices = op.Expand(positions.indices(positions.column(indices, 1)), matrix)
    written = site.op_at(min(site.opset, opsets.NON_NEGATIVE_INDICES)).Scatter(
        rows, positions.indices(indices), updates, axis=0
    )
    is_reshaped = len(slice_sizes) > 1 or writing.indexed > 1
    site.replace(reshape_exactly(op, written, positions.shape(writing.sizes)) if is_reshaped else written)


def select_elements_with_a_table(site: Site) -> None:
    """Replace Scatter-9, below which no operator writes by index, with a table of positions by updates.

    Data [*shape] of any dtype; integer indices and updates of one shape and of the rank of data.
    """
    positions = Positions(site)
    writing = _elements(site, positions)
    site.replace(writing.restored(positions, _chosen_by_a_table(site, positions, writing)))


def _one_by_one(*reductions: str) -> Rule:
    """For the step down that loses these reductions; PyTorch writes max and min at 16 and 17, too."""

    def combine_updates_one_by_one(site: Site) -> None:
        reduction = site.attribute("reduction", "none")
        if reduction not in ("none", *_COMBINE):
            site.refuse(Why.INVALID_MODEL, f"there is no reduction {reduction!r}")
        if "add" in reductions:
            site.remove_attribute("reduction")
        if reduction in reductions:
            _combine_one_by_one(site, _COMBINE[reduction])

    return Rule("combine updates one by one", combine_updates_one_by_one)


def _combine_one_by_one(site: Site, operator: str) -> None:
    """A Loop, in the order of the updates: an index that comes again finds what has been written before."""
    positions = Positions(site)
    writing = _elements(site, positions) if site.node.op_type == "ScatterElements" else _slices(site, positions)
    written = positions.indices(writing.written)
    dtype = site.dtype(0)
    # Loop takes bfloat16 from 16 on.
    compute_dtype = "float" if dtype == "bfloat16" and site.target < opsets.BFLOAT16_IN_LOOPS else dtype
    start = writing.rows if compute_dtype == dtype else positions.op.Cast(writing.rows, to=compute_dtype)

    def body(inner: Operators, number: str, going: str, rows: str) -> list[str]:
        this = inner.Unsqueeze(number, site.constant([0], "int64"))
        place = inner.Gather(written, this, axis=0)
        row = inner.Gather(rows, place, axis=0)
        row = row if compute_dtype == dtype else inner.Cast(row, to=dtype)
        combined = getattr(inner, operator)(row, inner.Gather(writing.updates, this))
        combined = combined if compute_dtype == dtype else inner.Cast(combined, to=compute_dtype)
        tuples = inner.Unsqueeze(place, site.constant([1], "int64"))
        return [going, inner.ScatterND(rows, tuples, combined)]

    dims: Dims = [None if isinstance(size, str) else int(size) for size in writing.row_sizes(positions)]
    graph = site.op.subgraph(body, takes=[("int64", []), ("bool", []), (compute_dtype, dims)])
    count = positions.indices(writing.number_of_updates)
    # This Loop means the same at every version.
    op = site.op_at(min(site.opset, site.target))
    rows = op.Loop(count, endless(site), start, body=graph)
    site.replace(writing.restored(positions, rows if compute_dtype == dtype else positions.op.Cast(rows, to=dtype)))


@dataclass
class _Writing:
    """Flattened slices of the data (single elements for ScatterElements), the written positions, and the updates."""

    rows: str
    written: Number
    """A vector of positions, not negative."""
    updates: str
    """As many slices in a row."""
    number_of_updates: Number
    sizes: Sequence[Number]
    """The dimensions of the data."""
    indexed: int
    """How many of them, from the first on, have become that of the slices."""

    def number_of_rows(self, positions: Positions) -> Number:
        return positions.product(self.sizes[: self.indexed])

    def row_sizes(self, positions: Positions) -> list[Number]:
        return [self.number_of_rows(positions), *self.sizes[self.indexed :]]

    def restored(self, positions: Positions, rows: str) -> str:
        """The slices in the shape of the data."""
        return rows if self.indexed == 1 else reshape_exactly(positions.op, rows, positions.shape(self.sizes))


def _elements(site: Site, positions: Positions) -> _Writing:
    data, indices, updates = site.inputs
    places = positions.along_axis(data, indices, _axis(site), because=_BECAUSE)
    written = places.reshape(-1) if not isinstance(places, str) else positions.row(places)
    sizes, extents = (positions.sizes(value, because=_BECAUSE) for value in (data, indices))
    count = positions.product(extents)
    return _Writing(positions.row(data), written, positions.row(updates), count, sizes, len(sizes))


def _slices(site: Site, positions: Positions) -> _Writing:
    data, indices, updates = site.inputs
    op = positions.op
    indexed = tuple_length(site, indices)
    sizes = positions.sizes(data, because=_BECAUSE)
    if not 1 <= indexed <= len(sizes):
        site.refuse(Why.INVALID_MODEL, f"index tuples of length {indexed} do not index a tensor of rank {len(sizes)}")
    places = positions.of_tuples(indices, sizes[:indexed])
    rows, slice_sizes = data, sizes[indexed:]
    count = positions.product(positions.sizes(indices, because=_BECAUSE)[:-1])
    if site.rank(indices) != 2:
        updates = reshape_exactly(op, updates, positions.shape([count, *slice_sizes]))
        row = site.constant([-1], "int64", "row")
        places = places.reshape(-1) if not isinstance(places, str) else str(op.Reshape(places, row))
    if indexed > 1:
        rows = reshape_exactly(op, data, positions.shape([positions.product(sizes[:indexed]), *slice_sizes]))
    return _Writing(rows, places, updates, count, sizes, indexed)


def _axis(site: Site) -> int:
    return counted_from_front(site, [site.attribute("axis", 0)], site.rank(0, because=_BECAUSE), name="axis")[0]


def _chosen_by_a_table(site: Site, positions: Positions, writing: _Writing) -> str:
    """Select the last update of each slice by a table of slices by updates, whose first row is for none."""
    op = positions.op
    count, written = writing.number_of_rows(positions), writing.written
    rows = op.Concat(writing.rows, writing.updates, axis=0)
    if not isinstance(count, str) and not isinstance(written, str):
        source = numpy.arange(int(count))
        source[written] = int(count) + numpy.arange(written.size)
        return positions.gather(rows, source)
    numbers = positions.column(positions.counted(positions.add(writing.number_of_updates, numpy.array(1))), 1)
    named = op.Concat(site.constant([-1], "int64", "none"), positions.indices(written), axis=0)
    places = positions.counted(count)
    is_named = op.Equal(op.Unsqueeze(named, site.constant([1], "int64")), positions.indices(places))
    table = positions.multiply(op.Cast(is_named, to=positions.dtype), numbers)
    last = op.ReduceMax(positions.name(table), axes=[0], keepdims=0)
    is_written = op.Cast(op.Cast(last, to="bool"), to=positions.dtype)
    update = positions.add(last, positions.add(count, numpy.array(-1)))
    step = positions.multiply(is_written, positions.add(update, positions.negated(places)))
    return positions.gather(rows, positions.add(places, step))


def scatter_the_cache_by_elements(site: Site) -> None:
    """Replace TensorScatter-24 with ScatterElements: each update element gets its index along the axis.

    The index counts from the write position of its batch.
    """
    cache, update = site.inputs[:2]
    because = "the axis is counted from the front, and each batch has a write position of its own"
    positions = Positions(site)
    op = positions.op
    sizes, extents = (positions.sizes(value, because=because) for value in (cache, update))
    rank = len(sizes)
    (axis,) = counted_from_front(site, [site.attribute("axis", -2)], rank, name="axis")
    indices = positions.column(positions.counted(extents[axis]), rank - 1 - axis)
    if site.input(2):
        start, is_circular = positions.of(site.input(2)), site.attribute("mode", "linear") == "circular"
        length = sizes[axis]
        size = length if isinstance(length, str) else int(length)
        if is_circular:
            # First of the start alone: sums with it may overflow.
            start = op.Mod(positions.name(start), divisor(site, op, size))
        indices = positions.add(positions.column(start, rank - 1), indices)
        if is_circular:
            indices = op.Mod(positions.name(indices), divisor(site, op, size))
    everywhere = op.Expand(positions.indices(indices), positions.shape(extents))
    op, dtype = site.op, site.dtype(0)
    compute_dtype = (
        exact_wider_dtype(dtype, _WIDER_DTYPES, site.opset)
        if dtype.startswith(("float8", "float4", "int4", "uint4"))
        else None
    )
    if compute_dtype is not None:
        cache, update = op.Cast(cache, to=compute_dtype), op.Cast(update, to=compute_dtype)
    result = op.ScatterElements(cache, everywhere, update, axis=axis)
    site.replace(result if compute_dtype is None else op.Cast(result, to=dtype, **cast_back_attributes(dtype)))


def leave_out_reduction(site: Site) -> None:
    """Leave out the attribute reduction: where there is one, updates are combined one by one."""
    reduction = site.attribute("reduction", "none")
    site.remove_attribute("reduction")
    if reduction != "none":
        _combine_one_by_one(site, _COMBINE[reduction])


def leave_out_reduction_or_scatter_rows(site: Site) -> None:
    """Leave out reduction="none" of ScatterND; without it, write updates that are a vector as a row of a matrix."""
    if has_attribute(site, "reduction"):
        leave_out_reduction(site)
    elif len(site.shape(2) or []) == 1:
        op, axes = site.op_at(opsets.AXES_AS_INPUTS), site.constant([0], "int64", "axes")
        site.set_input(1, op.Unsqueeze(site.input(1), axes))
        site.set_input(2, op.Unsqueeze(site.input(2), axes))


def leave_out_reduction_or_scatter_into_more(site: Site) -> None:
    """Count the axis from the front, or leave out a reduction; else give the data more elements than there are indices.

    The additional elements are cut off again; negative indices count from the end of the data as it was.
    """
    if site.attribute("axis", 0) < 0:
        rank = site.rank(0, because="the axis is counted from the front")
        replace_with_attributes(site, axis=site.attribute("axis") + rank)
        return
    if has_attribute(site, "reduction"):
        leave_out_reduction(site)
        return
    data, indices, updates = site.inputs
    dims, others = (static_shape(site, one, because="the runtime takes no more indices than data") for one in (0, 1))
    (axis,) = counted_from_front(site, [site.attribute("axis", 0)], len(dims), name="axis")
    if others[axis] <= dims[axis]:
        return
    op, known = site.op_at(opsets.AXES_AS_INPUTS), site.constant_value(1)
    size = site.constant(dims[axis], site.dtype(1), "size")
    if known is None or (known < 0).any():
        indices = added_where(op, is_negative(site, op, indices), indices, size, site.dtype(1))
    more = [others[axis] - dims[axis] if place == axis else dim for place, dim in enumerate(dims)]
    filler = op.Expand(zero(site, site.dtype(0)), site.constant(more, "int64", "shape"))
    longer = op.Concat(data, filler, axis=axis)
    written = getattr(site.op, site.node.op_type)(longer, indices, updates, axis=axis)
    bounds = (site.constant([one], "int64", "bound") for one in (0, dims[axis], axis))
    site.replace(op.Slice(written, *bounds))


_ORDER = (
    "without a reduction, 16 requires indices to be unique, which follows from 13: it leaves the order of updates open"
)
_MORE = "18 adds two reductions"


STEPS = [
    Step("Scatter", 9, 11, up=rename_to_scatter_elements, down=make_indices_non_negative),
    Step("ScatterElements", 13, 16, up=unchanged, down=_one_by_one(*_COMBINE), because=_ORDER),
    Step("ScatterElements", 16, 18, up=unchanged, down=_one_by_one("max", "min"), because=_MORE),
    Step("ScatterND", 13, 16, up=unchanged, down=_one_by_one(*_COMBINE), because=_ORDER),
    Step("ScatterND", 16, 18, up=unchanged, down=_one_by_one("max", "min"), because=_MORE),
]

INTRODUCTIONS = [
    Introduction("Scatter", 9, down=select_elements_with_a_table),
    Introduction("ScatterElements", 11, down=rename_to_scatter),
    Introduction("ScatterND", 11, down=scatter_slices_as_elements),
    Introduction("TensorScatter", 24, down=scatter_the_cache_by_elements),
]

FALLBACKS = [
    Fallback("Scatter", leave_out_reduction_or_scatter_into_more),
    Fallback("ScatterElements", leave_out_reduction_or_scatter_into_more, otherwise=count_indices_from_front),
    Fallback("ScatterND", leave_out_reduction_or_scatter_rows, otherwise=count_tuples_from_front),
]
