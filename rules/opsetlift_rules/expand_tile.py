"""Operators that repeat a tensor.

Expand  8: introduced · 13: +bfloat16
Tile    6: tiles and axis, one each -> repeats for every axis, +all dtypes · 13: +bfloat16
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step
from opsetlift.rulebook.site import Operators, Site, is_constant, list_length, widen_to_kernel
from opsetlift.specification.wider_dtypes import holds
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import counted_from_front
from opsetlift_rules.helpers.broadcasting import tile_onto
from opsetlift_rules.helpers.moving import move_elements

_RANKS_DECIDE = "below opset 8 a tensor is repeated by a count for each dimension"


def replace_with_tile(site: Site) -> None:
    """Replace Expand-8 with Tile: each dimension of size 1 is repeated as often as the target shape asks for."""
    op = site.op_at(opsets.AXES_AS_INPUTS)
    target = site.shape(site.output(0)) if is_constant(site, 1) else None
    tiled = tile_onto(site, op, site.input(0), target) if target is not None else None
    site.replace(tiled or _repeated_at_run_time(site, op))


def _repeated_at_run_time(site: Site, op: Operators) -> str:
    value, wanted = site.inputs
    rank = site.rank(value, because=_RANKS_DECIDE)
    length = list_length(site, wanted, because=_RANKS_DECIDE)
    if rank < length:
        value = op.Unsqueeze(value, site.constant(range(length - rank), "int64"))
    if length < rank:
        wanted = op.Concat(site.constant([1] * (rank - length), "int64", "ones"), wanted, axis=0)
    # A dimension of size 1 repeats as often as asked for, any other once. Arithmetic selects: Where needs opset 9.
    ones = site.constant([1] * max(rank, length), "int64", "ones")
    is_one = op.Cast(op.Equal(op.Shape(value), ones), to="int64")
    return str(op.Tile(value, op.Add(op.Mul(is_one, op.Sub(wanted, ones)), ones)))


def write_repeats_for_every_axis(site: Site) -> None:
    """Write tiles and axis of Tile-1, one number each, as the repeats of Tile-6, one for each dimension."""
    rank = site.rank(0, because="from opset 6 on Tile takes a repeat count for every dimension")
    tiles, axis = site.constant_value(1), site.constant_value(2)
    if tiles is not None and axis is not None and tiles.size == 1 and axis.size == 1:
        repeats = [1] * rank
        repeats[counted_from_front(site, [int(axis.reshape(()))], rank, name="axis")[0]] = int(tiles.reshape(()))
        site.remove_input(2)
        site.set_input(1, site.constant(repeats, "int64", "repeats"))
        return
    op = site.op_at(opsets.BFLOAT16)
    count, position = (op.Cast(name, to="int64") for name in site.inputs[1:])
    dimensions = site.constant(numpy.arange(rank, dtype=numpy.int64), hint="dimensions")
    one = site.constant(1, "int64", "one")
    is_axis = op.Cast(op.Equal(dimensions, position), to="int64")
    site.replace(op.Tile(site.input(0), op.Add(op.Mul(is_axis, op.Sub(count, one)), one)))


def tile_one_axis_at_a_time(site: Site) -> None:
    """Replace Tile-6 with one Tile-1 for each axis, or with Gather where the dimension is known."""
    repeats = site.constant_value(1)
    if repeats is None:
        _copy_at_run_time(site)
        return
    dims = site.shape(0)
    value, op = site.input(0), site.op
    unknown: list[tuple[int, int]] = []
    for axis, times in enumerate(repeats.reshape(-1).tolist()):
        dim = dims[axis] if dims is not None and axis < len(dims) else None
        if times != 1 and isinstance(dim, int):
            indices = numpy.tile(numpy.arange(dim, dtype=numpy.int64), times)
            value = op.Gather(value, site.constant(indices, hint="indices"), axis=axis)
        elif times != 1:
            unknown.append((axis, times))
    if unknown:
        compute_dtype = _compute_dtype(site)
        counts = [(axis, site.constant(times, compute_dtype, "tiles")) for axis, times in unknown]
        value = _copied(site, op, value, compute_dtype, counts)
    site.replace(value)


def _copy_at_run_time(site: Site) -> None:
    rank = site.rank(0, because="below opset 6 Tile repeats one dimension, so each dimension needs a node of its own")
    op = site.op_at(opsets.AXES_AS_INPUTS)
    compute_dtype = _compute_dtype(site)
    counts = []
    for axis in range(rank):
        bounds = [site.constant([bound], "int64", "bound") for bound in (axis, axis + 1)]
        count = op.Squeeze(op.Slice(site.input(1), *bounds), site.constant([0], "int64"))
        counts.append((axis, op.Cast(count, to=compute_dtype)))
    site.replace(_copied(site, site.op, site.input(0), compute_dtype, counts))


def _compute_dtype(site: Site) -> str:
    """The dtype of counts and data of Tile-1, which are the same: only double surely holds the counts."""
    if not holds("double", site.dtype(0)):
        site.refuse(
            Why.DTYPE_NOT_AVAILABLE,
            f"Tile accepts only floats below opset 6, and none represents every {site.dtype(0)} ({site.input(0)!r})",
        )
    return "double"


def _copied(site: Site, op: Operators, value: str, compute_dtype: str, counts: Sequence[tuple[int, str]]) -> str:
    dtype = site.dtype(0)
    if dtype != compute_dtype:
        value = op.Cast(value, to=compute_dtype)
    for axis, count in counts:
        value = op.Tile(value, count, site.constant(axis, compute_dtype, "axis"))
    return str(op.Cast(value, to=dtype)) if dtype != compute_dtype else value


def expand_by_tiling(site: Site) -> None:
    """Write Expand to a constant shape as Tile, for a runtime that mistakes the value of an Expand; else widen."""
    if not is_constant(site, 1) or not all(site.computes(one, T=site.dtype(0)) for one in ("Expand", "Tile")):
        widen_to_kernel(site)
        return
    replace_with_tile(site)


STEPS = [
    Step("Tile", 1, 6, up=write_repeats_for_every_axis, down=tile_one_axis_at_a_time),
]

INTRODUCTIONS = [
    Introduction("Expand", 8, down=replace_with_tile),
]

FALLBACKS = [
    Fallback("Expand", expand_by_tiling),
    Fallback("Tile", move_elements),
]
