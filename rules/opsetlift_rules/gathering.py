"""Values picked by index along an axis.

Gather          11: indices may be negative · 13: +bfloat16
GatherElements  11: introduced · 13: +bfloat16
GatherND        11: introduced · 12: +batch_dims · 13: +bfloat16
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, widen_values
from opsetlift.rulebook.site import Array, Operators, Site, known_shape, pop_attribute, widen, widen_to_kernel
from opsetlift.specification.wider_dtypes import wider_dtypes_of
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front, make_axis_non_negative
from opsetlift_rules.helpers.dimensions import reshape_exactly
from opsetlift_rules.helpers.indices_from_front import count_indices_from_front
from opsetlift_rules.helpers.positions import Positions, tuple_length
from opsetlift_rules.helpers.separating import put_maxima_before
from opsetlift_rules.helpers.signs import added_where, is_negative, number_added_where


def make_indices_non_negative(site: Site) -> None:
    """Make the indices of Gather non-negative, as versions below 11 require: at run time if not constant."""
    indices = site.constant_value(1)
    if indices is not None and (indices >= 0).all():
        return
    axis, shape = site.attribute("axis", 0), site.shape(0)
    size = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    if indices is not None and isinstance(size, int):
        counted = numpy.where(indices < 0, indices + size, indices).astype(indices.dtype)
        site.set_input(1, site.constant(counted, hint="indices"))
        return
    dtype = site.dtype(1)
    op = site.op_at(opsets.BFLOAT16)
    name = site.input(1)
    counts_back = is_negative(site, op, name)
    if isinstance(size, int):
        site.set_input(1, number_added_where(site, op, counts_back, name, size, dtype))
        return
    position = site.constant(counted_from_front(site, [axis], site.rank(0), name="axis")[0], "int64", "axis")
    whole = op.Cast(op.Gather(op.Shape(site.input(0)), position, axis=0), to=dtype)
    site.set_input(1, added_where(op, counts_back, name, whole, dtype))


def gather_elements_from_flat_data(site: Site) -> None:
    """Replace GatherElements-11 with Gather of the flattened data at computed positions.

    Data of any dtype and integer indices, of one rank; the result has the shape of the indices.
    """
    because = "the flat positions of the elements depend on its dimensions"
    rank = site.rank(0, because=because)
    axis = counted_from_front(site, [site.attribute("axis", 0)], rank, name="axis")[0]
    data, indices = site.inputs
    positions = Positions(site)
    places = positions.along_axis(data, indices, axis, because=because)
    site.replace(positions.gather(positions.row(data), places))


def gather_slices_from_flat_data(site: Site) -> None:
    """Replace GatherND-11 with Gather: the dimensions that the index tuples index are flattened to one."""
    batch_dims = site.attribute("batch_dims", 0)
    data, indices = site.inputs
    length = tuple_length(site, indices)
    positions = Positions(site)
    sizes = positions.sizes(data, because="the flat positions of the slices depend on its dimensions")
    indexed = batch_dims + length
    if not batch_dims < indexed <= len(sizes):
        site.refuse(
            Why.INVALID_MODEL,
            f"index tuples of length {length} after {batch_dims} batch dimensions exceed the rank {len(sizes)}",
        )
    places = positions.of_tuples(indices, sizes[batch_dims:indexed])
    if batch_dims:
        batch = sizes[:batch_dims]
        start = positions.product(sizes[batch_dims:indexed])
        rank = site.rank(indices) - 1
        for position, stride in enumerate(positions.strides(batch)):
            first = positions.multiply(positions.counted(batch[position]), positions.multiply(stride, start))
            places = positions.add(places, positions.column(first, rank - 1 - position))
    slices = data
    if indexed > 1:
        shape = positions.shape([positions.product(sizes[:indexed]), *sizes[indexed:]])
        slices = reshape_exactly(positions.op, data, shape)
    site.replace(positions.gather(slices, places))


def cast_slices_or_gather_them_from_flat_data(site: Site) -> None:
    """Gather slices in a wider dtype that GatherND of the runtime computes, else in one that its Gather does."""
    dtype = site.dtype(0)
    if widen_to_kernel(site):
        return
    if site.computes("Gather", T=dtype, Tind="int64"):
        gather_slices_from_flat_data(site)
        return
    for wider in wider_dtypes_of(dtype):
        if site.computes("Gather", T=wider, Tind="int64"):
            widen(site, wider)
            return


def gather_otherwise(site: Site) -> None:
    """Gather from a row as from a stack of one, or in a wider dtype, or along an axis and by indices from the front."""
    shape = site.shape(0)
    if shape is not None and len(shape) == _MATRIX and shape[0] == 1 and known_shape(site, 1) is not None:
        _gather_from_a_stack_of_one_row(site)
    else:
        make_indices_non_negative_or_cast(site)


_MATRIX = 2


def _gather_from_a_stack_of_one_row(site: Site) -> None:
    """Gather with one axis more in front: some runtimes mistake the memory of a matrix with one row."""
    axis = counted_from_front(site, [site.attribute("axis", 0)], _MATRIX, name="axis")[0]
    stack = site.op.Reshape(site.input(0), site.constant([1, 1, -1], "int64", "stack"))
    gathered = site.op.copy(stack, site.input(1), axis=axis + 1)
    wanted, columns = known_shape(site, 1) or [], (site.shape(0) or [])[1]
    result = [1, *wanted] if axis else [*wanted, columns if isinstance(columns, int) else -1]
    site.replace(site.op.Reshape(gathered, site.constant(result, "int64", "shape")))


def make_indices_non_negative_or_cast(site: Site) -> None:
    """Gather in a wider dtype that the runtime computes; else along an axis from the front, by indices from there."""
    if site.computes("Gather", T=site.dtype(0), Tind=site.dtype(1)):
        if site.shape(0) is not None:
            make_axis_non_negative(site)
        if site.opset < opsets.MOD:
            make_indices_non_negative(site)
        else:
            count_indices_from_front(site)
    elif not site.computes("Gather", Tind="int64"):
        return
    elif site.dtype(1) != "int64":
        site.set_input(1, site.op.Cast(site.input(1), to="int64"))
    else:
        widen_to_kernel(site)


def add_batch_indices(site: Site) -> None:
    """Write the batch index into each index tuple of GatherND-12: GatherND-11 has no batch_dims.

    Data [*batch, *shape] of any dtype, int64 indices [*batch, ..., length of a tuple].
    """
    batch_dims = pop_attribute(site, "batch_dims", 0)
    if not batch_dims:
        return
    if site.target < opsets.GATHER_ND:
        site.set_attribute("batch_dims", batch_dims)
        gather_slices_from_flat_data(site)
        return
    data, indices = site.inputs
    rank = site.rank(indices, because="below opset 12 the batch index is part of each index tuple")
    positions = Positions(site)
    op = positions.op
    sizes = positions.sizes(indices, because="below opset 12 the batch index is part of each index tuple")
    shape = positions.shape([*sizes[:-1], numpy.array(1)])
    parts = []
    for position in range(batch_dims):
        numbers = positions.indices(positions.column(positions.counted(sizes[position]), rank - 1 - position))
        parts.append(op.Expand(numbers, shape))
    site.replace(site.op.GatherND(data, op.Concat(*parts, indices, axis=rank - 1)))


def gather_from_a_part_of_the_data(site: Site) -> None:
    """Cut the data of GatherElements to the sizes of the indices, for runtimes that want equal ones.

    The axis that the indices are of stays as it is. Where nothing is to be cut, the Max of the data and itself keeps it
    apart from the node before.
    """
    data, indices = (site.shape(position) or [] for position in (0, 1))
    if not data or len(data) != len(indices):
        return
    axis = site.attribute("axis", 0) % len(data)
    places = [place for place, size in enumerate(indices) if place != axis and size != data[place]]
    if not places:
        put_maxima_before(site)
        return
    value, op = site.input(0), site.op_at(opsets.BFLOAT16)
    for place in places:
        if not isinstance(size := indices[place], int):
            return
        # No Slice: optimisers leave out one that cuts no index off.
        value = op.Gather(value, site.constant(numpy.arange(size), "int64", "places"), axis=place)
    site.set_input(0, value)


def gather_by_slices_or_products(site: Site) -> None:
    """Write Gather by constant indices as slices of what follows one another, and of a constant table as a product.

    Of a vector, what follows is taken from a row, as some runtimes take vectors for columns.

    For the product each index becomes a row that is 1 in its column, and 0 in all others. It selects finite numbers as
    they are, but for -0.
    """
    shape, indices, wanted = known_shape(site, 0), site.constant_value(1), known_shape(site, 1)
    if shape is None or wanted is None:
        return
    axis = counted_from_front(site, [site.attribute("axis", 0)], len(shape), name="axis")[0]
    result = [*shape[:axis], *wanted, *shape[axis + 1 :]]
    if not math.prod(result):
        return
    op = site.op_at(opsets.SLICE_INPUTS)
    if indices is not None and not ((-shape[axis] <= indices) & (indices < shape[axis])).all():
        return
    if indices is not None:
        runs = _runs(indices.reshape(-1) % shape[axis])
        is_row = len(shape) == 1 < len(runs) <= _MOST_PARTS
        value = op.Reshape(site.input(0), site.constant([1, -1], "int64", "row")) if is_row else site.input(0)
        axis += is_row
        parts = [_part(site, op, value, axis, *run) for run in runs] if len(runs) <= _MOST_PARTS else []
        gathered = op.Concat(*parts, axis=axis) if len(parts) > 1 else (parts[0] if parts else None)
    else:
        gathered = _selected(site, op, axis, shape[axis], math.prod(wanted))
    if gathered is not None:
        site.replace(op.Reshape(gathered, site.constant(result, "int64", "shape")))


_MOST_PARTS = 256
_LARGEST_SELECTION = 1 << 25
"""Elements of rows that select; more of them take too much memory, and no float32 holds more indices."""


def _runs(indices: Array) -> list[tuple[int, int]]:
    """Stretches of indices that follow one another: the first one, and the one after the last."""
    starts = [0, *(numpy.flatnonzero(numpy.diff(indices) != 1) + 1).tolist(), len(indices)]
    return [(int(indices[one]), int(indices[after - 1]) + 1) for one, after in pairwise(starts)]


def _part(site: Site, op: Operators, value: str, axis: int, start: int, end: int) -> str:
    return str(op.Slice(value, *(site.constant([bound], "int64", "bound") for bound in (start, end, axis))))


def _selected(site: Site, op: Operators, axis: int, length: int, count: int) -> str | None:
    table = site.content(0)
    if axis or table is None or not site.holds(0, _is_kept_by_products) or count * length > _LARGEST_SELECTION:
        return None
    column = op.Reshape(op.Cast(site.input(1), to="float"), site.constant([count, 1], "int64", "column"))
    # Negative indices count from the end.
    one, negative = site.constant(1, "float", "one"), op.Neg(column)
    is_negative = op.Sub(op.Relu(negative), op.Relu(op.Sub(negative, one)))
    from_front = op.Add(op.Mul(is_negative, site.constant(length, "float", "length")), column)
    rows = op.Expand(from_front, site.constant([count, length], "int64", "shape"))
    distances = op.Abs(op.Sub(rows, site.constant(numpy.arange(length, dtype=numpy.float32), hint="positions")))
    is_at = op.Relu(op.Add(op.Neg(distances), one))
    return str(op.MatMul(is_at, site.constant(table.reshape(length, -1), hint="table")))


def _is_kept_by_products(table: Array) -> bool:
    is_float = table.dtype == numpy.float32
    return is_float and bool(numpy.isfinite(table).all()) and not (numpy.signbit(table) & (table == 0)).any()


_EXAMPLES = "13 rewrites the examples and adds bfloat16"

_NEGATIVE_INDICES = "11 adds negative indices; non-negative ones mean the same"

STEPS = [
    Step("Gather", 1, 11, up=unchanged, down=make_indices_non_negative, because=_NEGATIVE_INDICES),
    Step("Gather", 11, 13, up=unchanged, down=widen_values(), because=_EXAMPLES),
    Step("GatherElements", 11, 13, up=unchanged, down=widen_values(), because=_EXAMPLES),
    Step("GatherND", 11, 12, up=unchanged, down=add_batch_indices, because="without batch_dims, both mean the same"),
    Step("GatherND", 12, 13, up=unchanged, down=widen_values(), because=_EXAMPLES),
]

INTRODUCTIONS = [
    Introduction("GatherElements", 11, down=gather_elements_from_flat_data),
    Introduction("GatherND", 11, down=gather_slices_from_flat_data),
]

FALLBACKS = [
    Fallback("Gather", gather_otherwise, otherwise=gather_by_slices_or_products),
    Fallback("GatherElements", gather_from_a_part_of_the_data, otherwise=count_indices_from_front),
    Fallback("GatherND", cast_slices_or_gather_them_from_flat_data),
]
