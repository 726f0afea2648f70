"""Padding.

Pad            2: paddings renamed pads, which may be negative · 11: pads and value attributes -> inputs, +integers ·
               13: +bool +string +complex +bfloat16 · 18: +axes · 19: +wrap mode · 21: +float8 +int4
CenterCropPad  18: introduced
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, widen_values
from opsetlift.rulebook.site import (
    Array,
    Dims,
    Operators,
    Site,
    known_shape,
    list_length,
    pop_attribute,
    widen_if_lost,
    widen_to_kernel,
)
from opsetlift.specification.dtypes import tensor_type
from opsetlift.specification.wider_dtypes import exact_wider_dtype
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import END, NamedAxes, counted_from_front, gather_within
from opsetlift_rules.helpers.counting import iota
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS
from opsetlift_rules.helpers.scalars import make_scalar
from opsetlift_rules.helpers.separating import put_maxima_before
from opsetlift_rules.helpers.zeros import zero


def rename_paddings_to_pads(site: Site) -> None:
    """Rename `paddings` of Pad-1 to `pads` of Pad-2."""
    _rename_attribute(site, "paddings", "pads")


def rename_pads_to_paddings(site: Site) -> None:
    """Rename `pads` of Pad-2 to `paddings` of Pad-1, which are not negative: Slice removes elements first."""
    slice_off_negative_pads(site)
    _rename_attribute(site, "pads", "paddings")


def _rename_attribute(site: Site, name: str, new_name: str) -> None:
    """Rename an attribute, also one that refers to a parameter of the function around the node."""
    for attribute in site.node.attribute:
        if attribute.name == name:
            site.set_attribute(new_name, attribute)
    site.remove_attribute(name)


def slice_off_negative_pads(site: Site) -> None:
    """Replace negative pads, as an attribute or as a constant input, with a Slice before the Pad."""
    pads = _known_pads(site)
    if min(pads, default=0) < 0:
        rank = len(pads) // 2
        axes = [axis for axis in range(rank) if min(pads[axis], pads[axis + rank]) < 0]
        starts = [max(-pads[axis], 0) for axis in axes]
        ends = [pads[axis + rank] if pads[axis + rank] < 0 else END for axis in axes]
        site.set_input(0, site.op_at(opsets.SLICE_ATTRIBUTES).Slice(site.input(0), axes=axes, starts=starts, ends=ends))
        added = [max(pad, 0) for pad in pads]
        if site.input(1):
            site.set_input(1, site.constant(added, "int64", "pads"))
        else:
            site.set_attribute("pads", added)


def _known_pads(site: Site) -> list[int]:
    known = site.constant_value(1) if site.input(1) and not site.input(3) else None
    return site.attribute("pads", []) if known is None else [int(pad) for pad in known.reshape(-1)]


def move_attributes_to_inputs(site: Site) -> None:
    """Move pads and value of Pad-2 to inputs of Pad-11.

    The value, 0 by default, counts in constant mode only.
    """
    site.set_input(len(site.inputs), site.constant(pop_attribute(site, "pads"), "int64", "pads"))
    value = numpy.float32(pop_attribute(site, "value", 0.0))
    if site.attribute("mode", "constant") == "constant" and (value != 0 or numpy.signbit(value)):
        site.set_input(len(site.inputs), site.constant(value, site.dtype(0), "value"))


def move_inputs_to_attributes(site: Site) -> None:
    """Move pads and value of Pad-11 to attributes of Pad-2, which takes floats only; gather what that cannot hold."""
    pads = site.constant_value(1)
    value = _value_as_attribute(site)
    dtype = site.dtype(0)
    compute_dtype = (
        dtype
        if dtype in FIRST_FLOATS
        else exact_wider_dtype(dtype, [tensor_type(one) for one in FIRST_FLOATS], site.opset)
    )
    if pads is None or value is None or compute_dtype is None or site.attribute("mode", "constant") == "wrap":
        site.replace(pad_by_gather(site))
        return
    attributes: dict[str, object] = {"pads": pads.reshape(-1).tolist()}
    if value != 0 or numpy.signbit(value):
        attributes["value"] = value
    if compute_dtype == dtype:
        site.remove_input(2)
        site.remove_input(1)
        for name, given in attributes.items():
            site.set_attribute(name, given)
        return
    op = site.op
    padded = op.Pad(op.Cast(site.input(0), to=compute_dtype), mode=site.attribute("mode"), **attributes)
    site.replace(op.Cast(padded, to=dtype))


def _value_as_attribute(site: Site) -> float | None:
    """The value that a float attribute holds; None where it is computed at run time, or a float does not hold it."""
    if site.attribute("mode", "constant") != "constant" or not site.input(2):
        return 0.0
    value = site.constant_value(2)
    if value is None or value.dtype.kind not in "biuf" or value.size != 1:
        return None
    number = value.reshape(()).item()
    narrow = float(numpy.float32(number))
    return narrow if narrow == number or numpy.isnan(narrow) else None


def pad_other_types_by_cast_or_gather(site: Site) -> None:
    """Pad types of Pad-13 that Pad-11 does not take: booleans as integers, strings and complex numbers by Gather."""
    if site.dtype(0) in ("string", "complex64", "complex128"):
        site.replace(pad_by_gather(site))
    elif not _gathered_where_wrapped(site):
        widen_if_lost(site)


def expand_axes(site: Site) -> None:
    """Write the pads of Pad-18 for all axes: Pad-13 has no axes input."""
    if _gathered_where_wrapped(site):
        return
    if not site.input(3):
        site.remove_input(3)
        return
    rank = site.rank(0, because="below opset 18 Pad needs the pads of every axis")
    axes, pads = site.constant_value(3), site.constant_value(1)
    if axes is not None and pads is not None:
        counts = pads.reshape(-1).tolist()
        full = [0] * (2 * rank)
        positions = counted_from_front(site, axes.reshape(-1).tolist(), rank)
        for position, count in zip([*positions, *(axis + rank for axis in positions)], counts, strict=True):
            full[position] = count
        site.set_input(1, site.constant(full, "int64", "pads"))
    else:
        site.set_input(1, _pads_of_all_axes(site, site.op_at(opsets.AXES_AS_INPUTS), rank))
    site.remove_input(3)


def _pads_of_all_axes(site: Site, op: Operators, rank: int) -> str:
    axes = site.input(3) if site.dtype(3) == "int64" else op.Cast(site.input(3), to="int64")
    count = list_length(site, 3, because="the axes are computed at run time")
    named = NamedAxes(site, op, axes, rank)
    bounds = [site.constant([bound], "int64", "bound") for bound in (0, count, 2 * count)]
    halves = [op.Slice(site.input(1), first, last) for first, last in pairwise(bounds)]
    return str(op.Concat(*map(named.spread, halves), axis=0))


def gather_wrapped_elements(site: Site) -> None:
    """Replace Pad-19 in wrap mode, which Pad-18 does not have, with Gather."""
    _gathered_where_wrapped(site)


def _gathered_where_wrapped(site: Site) -> bool:
    """Replace Pad in wrap mode with Gather, and say whether it is one.

    Exporters of PyTorch write that mode at opset 18, too, and onnxruntime takes it there.
    """
    is_wrapped: bool = site.attribute("mode", "constant") == "wrap"
    if is_wrapped:
        site.replace(pad_by_gather(site))
    return is_wrapped


# Padding by Gather: an index for every element of the result, axis by axis, in any dtype.


def pad_by_gather(site: Site) -> str:
    """Compute what Pad does, in any mode, with Gather. In constant mode the value is gathered from an added row."""
    op = site.op_at(opsets.AXES_AS_INPUTS)
    value = site.input(0)
    mode = site.attribute("mode", "constant")
    dims = site.shape(0)
    for axis, begin, end in _pads_by_axis(site, op):
        if begin == end == 0:
            continue
        size = dims[axis] if dims is not None else None
        if isinstance(begin, int) and isinstance(end, int) and isinstance(size, int):
            chosen = _indices(mode, begin, end, size)
            needs_row = mode == "constant" and max(begin, end) > 0
            indices = site.constant(chosen, hint="indices")
            size = len(chosen)
        else:
            needs_row = mode == "constant"
            indices = _indices_at_run_time(site, op, mode, value, axis, (begin, end))
            size = None
        if needs_row:
            value = op.Concat(value, _row(site, op, value, dims, axis), axis=axis)
        value = gather_within(site, value, indices, axis=axis)
        if dims is not None:
            dims[axis] = size
    return value


def _pads_by_axis(site: Site, op: Operators) -> list[tuple[int, int | str, int | str]]:
    """Axis, begin, end: numbers where they are constant, else the names of double vectors of one element."""
    pads = site.constant_value(1) if site.input(1) else numpy.array(_known_pads(site))
    axes = site.constant_value(3) if site.input(3) else None
    if pads is not None and (axes is not None or not site.input(3)):
        counts = pads.reshape(-1).tolist()
        half = len(counts) // 2
        positions = list(range(half)) if axes is None else axes.reshape(-1).tolist()
        if min(positions, default=0) < 0:
            positions = counted_from_front(site, positions, site.rank(0))
        return [(axis, counts[index], counts[half + index]) for index, axis in enumerate(positions)]
    rank = site.rank(0, because="the pads are computed at run time")
    full = op.Cast(_pads_of_all_axes(site, op, rank) if site.input(3) else site.input(1), to="double")

    def one(position: int) -> str:
        return str(op.Gather(full, site.constant([position], "int64", "position")))

    return [(axis, one(axis), one(axis + rank)) for axis in range(rank)]


def _indices(mode: str, begin: int, end: int, size: int) -> Array:
    """The source index of each element; in constant mode `size` is the added row. Negative pads are applied first."""
    kept = numpy.arange(size, dtype=numpy.int64)[max(-begin, 0) : size - max(-end, 0)]
    begin, end = max(begin, 0), max(end, 0)
    if mode == "constant":
        return numpy.pad(kept, (begin, end), constant_values=size)
    numbers = numpy.arange(-begin, len(kept) + end)
    last = len(kept) - 1
    if mode == "edge":
        numbers = numbers.clip(0, last)
    elif mode == "wrap":
        numbers %= len(kept)
    else:
        numbers = last - abs(last - numbers % max(2 * last, 1))
    return kept[numbers]


def _indices_at_run_time(
    site: Site, op: Operators, mode: str, value: str, axis: int, pads: tuple[int | str, int | str]
) -> str:
    """The same at run time, in double, which holds every size and has all functions from opset 1 on."""
    begin, end = (
        site.constant(numpy.array([pad], numpy.float64), hint="pad") if isinstance(pad, int) else pad for pad in pads
    )
    one = site.constant(numpy.ones(1), hint="one")
    size = op.Cast(op.Gather(op.Shape(value), site.constant([axis], "int64", "axis")), to="double")
    cut = op.Relu(op.Neg(begin))
    added = op.Relu(begin)
    kept = op.Sub(op.Sub(size, cut), op.Relu(op.Neg(end)))
    total = op.Squeeze(op.Add(op.Add(added, kept), op.Relu(end)), site.constant([0], "int64"))
    numbers = op.Sub(op.Cast(iota(site, op, op.Cast(total, to="int64")), to="double"), added)
    if mode == "constant":
        zero = site.constant(numpy.zeros(1), hint="zero")
        is_kept = op.Cast(op.And(op.Not(op.Less(numbers, zero)), op.Less(numbers, kept)), to="double")
        numbers = op.Add(op.Mul(is_kept, op.Sub(op.Add(numbers, cut), size)), size)
        return str(op.Cast(numbers, to="int64"))
    last = op.Sub(kept, one)
    if mode == "edge":
        numbers = op.Sub(last, op.Relu(op.Sub(last, op.Relu(numbers))))
    elif mode == "wrap":
        numbers = op.Sub(numbers, op.Mul(kept, op.Floor(op.Div(numbers, kept))))
    else:
        # Back and forth: as long as twice the last index, but at least 1.
        period = op.Add(op.Relu(op.Sub(op.Add(last, last), one)), one)
        phase = op.Sub(numbers, op.Mul(period, op.Floor(op.Div(numbers, period))))
        numbers = op.Sub(last, op.Abs(op.Sub(last, phase)))
    return str(op.Cast(op.Add(numbers, cut), to="int64"))


def _row(site: Site, op: Operators, value: str, dims: Dims | None, axis: int) -> str:
    """A slice of the padding value: the shape of the data with size 1 along `axis`."""
    scalar = site.input(2) or zero(site, site.dtype(0))
    if dims is not None and all(isinstance(dim, int) for dim in dims):
        shape = [1 if position == axis else int(dim or 0) for position, dim in enumerate(dims)]
        return str(op.Expand(scalar, site.constant(shape, "int64", "shape")))
    rank = site.rank(0, because="the data is extended by a row of the padding value")
    here = numpy.arange(rank) == axis
    others = op.Mul(op.Shape(value), site.constant((~here).astype(numpy.int64), hint="others"))
    return str(op.Expand(scalar, op.Add(others, site.constant(here.astype(numpy.int64), hint="one"))))


# CenterCropPad


def decompose_into_slice_and_pad(site: Site) -> None:
    """Replace CenterCropPad-18 with Slice where the input is too long, and Pad where it is too short.

    Of an odd difference the smaller half is at the front.
    """
    axes = site.attribute("axes")
    wanted, dims = site.constant_value(1), known_shape(site, 0)
    if wanted is None or dims is None:
        _slice_and_pad_at_run_time(site, axes)
        return
    axes = counted_from_front(site, range(len(dims)) if axes is None else axes, len(dims))
    op = site.op_at(opsets.PAD_AXES)
    value = site.input(0)
    excess = [dims[axis] - int(size) for axis, size in zip(axes, wanted.reshape(-1), strict=True)]
    if max(excess, default=0) > 0:
        cut = [
            (axis, more // 2, more // 2 + dims[axis] - more)
            for axis, more in zip(axes, excess, strict=True)
            if more > 0
        ]
        columns = zip(("axes", "starts", "ends"), zip(*cut, strict=True), strict=True)
        where, starts, ends = (site.constant(column, "int64", name) for name, column in columns)
        value = op.Slice(value, starts, ends, where)
    if min(excess, default=0) < 0:
        begins = [max(-more, 0) // 2 for more in excess]
        ends_ = [max(-more, 0) - begin for more, begin in zip(excess, begins, strict=True)]
        value = op.Pad(value, site.constant([*begins, *ends_], "int64", "pads"), "", site.constant(axes, "int64"))
    site.replace(value)


def _slice_and_pad_at_run_time(site: Site, axes: Sequence[int] | None) -> None:
    if axes is not None and min(axes, default=0) < 0:
        axes = counted_from_front(site, axes, site.rank(0, because="negative axes must be made non-negative"))
    op = site.op_at(opsets.PAD_AXES)
    sizes = op.Shape(site.input(0))
    names = "" if axes is None else site.constant(axes, "int64")
    if names:
        sizes = op.Gather(sizes, names)
    wanted = site.input(1) if site.dtype(1) == "int64" else op.Cast(site.input(1), to="int64")
    zero, two = site.constant(0, "int64", "zero"), site.constant(2, "int64", "two")
    excess = op.Sub(sizes, wanted)
    starts = op.Div(op.Max(excess, zero), two)
    sliced = op.Slice(site.input(0), starts, op.Add(starts, wanted), names)
    lack = op.Max(op.Neg(excess), zero)
    begins = op.Div(lack, two)
    site.replace(op.Pad(sliced, op.Concat(begins, op.Sub(lack, begins), axis=0), "", names))


_EXAMPLES = "13 states the default values of the dtypes that it adds"
_ALL_AXES = "without axes, 18 pads all axes, as 13 does"

STEPS = [
    Step("Pad", 1, 2, up=rename_paddings_to_pads, down=rename_pads_to_paddings),
    Step("Pad", 2, 11, up=move_attributes_to_inputs, down=move_inputs_to_attributes),
    Step("Pad", 11, 13, up=unchanged, down=pad_other_types_by_cast_or_gather, because=_EXAMPLES),
    Step("Pad", 13, 18, up=unchanged, down=expand_axes, because=_ALL_AXES),
    Step("Pad", 18, 19, up=unchanged, down=gather_wrapped_elements, because="19 adds a mode"),
    Step("Pad", 19, 21, up=unchanged, down=widen_values()),
]


_VALUE = 2
"""The input constant_value, from opset 11 on."""


def cast_or_slice_off_negative_pads(site: Site) -> None:
    """Replace negative pads with a Slice, or pad in a type that the runtime supports, or gather what is repeated.

    What is repeated along other axes than the last one is so along that one, between two Transposes. The value becomes
    a scalar, and what is padded by a number is kept apart from the node before.
    """
    make_scalar(site, _VALUE)
    if min(_known_pads(site), default=0) < 0:
        slice_off_negative_pads(site)
    elif not site.computes("Pad", T=site.dtype(0)) and widen_to_kernel(site):
        return
    elif site.attribute("mode", "constant") == "constant":
        put_maxima_before(site)
    elif not _padded_along_the_last_axis(site):
        site.replace(pad_by_gather(site))


def _padded_along_the_last_axis(site: Site) -> bool:
    """Exchange the last axis, to which nothing is added, with one to which something is; whether that was done."""
    pads = _known_pads(site)
    rank = len(pads) // 2
    axis = next((axis for axis in range(rank) if pads[axis] or pads[rank + axis]), rank)
    if axis >= rank - 1 or pads[rank - 1] or pads[-1]:
        return False
    order = [*range(rank)]
    order[axis], order[-1] = order[-1], order[axis]
    moved = [pads[half + place] for half in (0, rank) for place in order]
    op, value = site.op, site.op.Transpose(site.input(0), perm=order)
    padded = op.copy(value, site.constant(moved, "int64", "pads")) if site.input(1) else op.copy(value, pads=moved)
    site.replace(op.Transpose(padded, perm=order))
    return True


INTRODUCTIONS = [
    Introduction("CenterCropPad", 18, down=decompose_into_slice_and_pad),
]

FALLBACKS = [
    Fallback("Pad", cast_or_slice_off_negative_pads),
]
