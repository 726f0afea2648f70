"""Sequences as tensors: what stands for a sequence whose elements are counted at run time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opsetlift.rulebook.site import Dims, Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.counting import endless, iota
from opsetlift_rules.helpers.signs import added_where, is_negative


class Packed(NamedTuple):
    """A sequence in four vectors. Elements of any shapes fit in."""

    data: str
    """The numbers of all elements, one element after the other."""
    ends: str
    """0, and where each element ends in `data`."""
    sizes: str
    """The shapes of all elements, one after the other."""
    shape_ends: str
    """0, and where the shape of each element ends in `sizes`."""


def types_of_packed(dtype: str) -> list[tuple[str, Dims]]:
    """The types of the four vectors."""
    return [(one, [None]) for one in (dtype, "int64", "int64", "int64")]


def pack(site: Site, op: Operators, elements: Sequence[str], dtype: str) -> Packed:
    """The sequence of these tensors."""
    start = site.constant([0], "int64", "start")
    packed = Packed(site.constant([], dtype, "none"), start, site.constant([], "int64", "none"), start)
    for element in elements:
        packed = append(site, op, packed, element)
    return packed


def append(site: Site, op: Operators, packed: Packed, element: str) -> Packed:
    """A tensor more at the end."""
    data = op.Concat(packed.data, op.Reshape(element, site.constant([-1], "int64", "row")), axis=0)
    sizes = op.Concat(packed.sizes, op.Shape(element), axis=0)
    ends = op.Concat(packed.ends, op.Shape(data), axis=0)
    return Packed(data, ends, sizes, op.Concat(packed.shape_ends, op.Shape(sizes), axis=0))


def length(site: Site, op: Operators, packed: Packed) -> str:
    """The number of elements: a scalar."""
    return str(op.Reshape(_count(site, op, packed), site.constant([], "int64", "scalar")))


def _count(site: Site, op: Operators, packed: Packed) -> str:
    return str(op.Sub(op.Shape(packed.ends), site.constant([1], "int64")))


def _position(site: Site, op: Operators, packed: Packed, position: str) -> str:
    """A position from the front: [1]."""
    counted = op.Reshape(op.Cast(position, to="int64"), site.constant([1], "int64"))
    return added_where(op, is_negative(site, op, counted), counted, _count(site, op, packed), "int64")


def element_at(site: Site, op: Operators, packed: Packed, position: str) -> str:
    """The element at a position, which may be counted from the back."""
    return _element(site, op, packed, _position(site, op, packed, position))


def _element(site: Site, op: Operators, packed: Packed, place: str) -> str:
    following = op.Add(place, site.constant([1], "int64"))
    data = op.Slice(packed.data, op.Gather(packed.ends, place), op.Gather(packed.ends, following))
    shape = op.Slice(packed.sizes, op.Gather(packed.shape_ends, place), op.Gather(packed.shape_ends, following))
    return str(op.at(opsets.ALLOWZERO).Reshape(data, shape, allowzero=1))


def insert(site: Site, op: Operators, packed: Packed, element: str, position: str) -> Packed:
    """A tensor more, before the one at a position; at the end where there is none ("")."""
    if not position:
        return append(site, op, packed, element)
    place = _position(site, op, packed, position)
    row = op.Reshape(element, site.constant([-1], "int64", "row"))
    data, ends = _with_more(site, op, packed.data, packed.ends, place, row)
    sizes, shape_ends = _with_more(site, op, packed.sizes, packed.shape_ends, place, op.Shape(element))
    return Packed(data, ends, sizes, shape_ends)


def _with_more(site: Site, op: Operators, values: str, ends: str, place: str, more: str) -> tuple[str, str]:
    start, last = site.constant([0], "int64", "start"), site.constant([_LAST], "int64", "last")
    cut = op.Gather(ends, place)
    joined = op.Concat(op.Slice(values, start, cut), more, op.Slice(values, cut, last), axis=0)
    kept = op.Slice(ends, start, op.Add(place, site.constant([1], "int64")))
    return joined, op.Concat(kept, op.Add(op.Slice(ends, place, last), op.Shape(more)), axis=0)


_LAST = (1 << 63) - 1


def erase(site: Site, op: Operators, packed: Packed, position: str) -> Packed:
    """All elements but the one at a position, or the last where there is none ("")."""
    place = _position(site, op, packed, position or site.constant([-1], "int64", "last"))
    data, ends = _with_less(site, op, packed.data, packed.ends, place)
    sizes, shape_ends = _with_less(site, op, packed.sizes, packed.shape_ends, place)
    return Packed(data, ends, sizes, shape_ends)


def _with_less(site: Site, op: Operators, values: str, ends: str, place: str) -> tuple[str, str]:
    start, last = site.constant([0], "int64", "start"), site.constant([_LAST], "int64", "last")
    following = op.Add(place, site.constant([1], "int64"))
    begin, end = op.Gather(ends, place), op.Gather(ends, following)
    joined = op.Concat(op.Slice(values, start, begin), op.Slice(values, end, last), axis=0)
    after = op.Slice(ends, op.Add(following, site.constant([1], "int64")), last)
    return joined, op.Concat(op.Slice(ends, start, following), op.Sub(after, op.Sub(end, begin)), axis=0)


def concatenate(site: Site, op: Operators, packed: Packed, axis: int, *, new_axis: bool) -> str:
    """ConcatFromSequence of one element or more."""
    if axis == 0:
        return _joined_in_front(site, op, packed, new_axis=new_axis)
    axes = site.constant([axis], "int64")

    def element(inner: Operators, place: str) -> str:
        found = _element(site, inner, packed, place)
        return str(inner.Unsqueeze(found, axes)) if new_axis else found

    first = element(op, site.constant([0], "int64", "start"))

    def build(inner: Operators, number: str, going: str, joined: str) -> list[str]:
        place = inner.Add(inner.Reshape(number, site.constant([1], "int64")), site.constant([1], "int64"))
        return [going, inner.Concat(joined, element(inner, place), axis=axis)]

    body = op.subgraph(build, takes=[("int64", []), ("bool", []), (site.dtype(packed.data), None)])
    return str(op.Loop(op.Sub(length(site, op, packed), site.constant(1, "int64")), endless(site), first, body=body))


def _joined_in_front(site: Site, op: Operators, packed: Packed, *, new_axis: bool) -> str:
    """Elements of one shape, but for the first size, joined along the first axis: their numbers are so in order."""
    start, one = site.constant([0], "int64", "start"), site.constant([1], "int64")
    rest = op.Slice(packed.sizes, start if new_axis else one, op.Gather(packed.shape_ends, one))
    if new_axis:
        rows = _count(site, op, packed)
    else:
        firsts = op.Gather(packed.sizes, op.Slice(packed.shape_ends, start, site.constant([-1], "int64", "last")))
        rows = op.ReduceSum(firsts, start)
    return str(op.at(opsets.ALLOWZERO).Reshape(packed.data, op.Concat(rows, rest, axis=0), allowzero=1))


def keeps_the_axis(site: Site, lengths: str, keepdims: int) -> bool:
    """Whether the pieces of a SplitToSequence keep the axis that is split.

    Without it they are pieces of length 1, by default or by a scalar. `docs/disagreements.md` says why a scalar counts.
    """
    if keepdims or not lengths:
        return bool(keepdims)
    length = site.constant_value(lengths)
    if length is None and site.rank(lengths, because="keepdims=0 counts for a scalar, not for a list") == 0:
        site.refuse(
            Why.INPUT_NOT_CONSTANT,
            f"keepdims=0 removes the axis of pieces of length 1, and the length {lengths!r} is computed at run time",
        )
    return length is None or length.ndim > 0 or int(length) != 1


def split(site: Site, op: Operators, value: str, size: str, axis: int, *, keepdims: bool) -> Packed:
    """The pieces of a tensor along an axis, of `size` each, a scalar, or of 1 where there is none ("").

    The last one may be smaller.
    """
    shape = site.shape(value)
    if shape is not None:
        axis = axis % len(shape)
    if size and site.shape(size) != []:
        site.refuse(Why.NO_EQUIVALENT, f"the lengths of the pieces of {value!r} are not known, nor how many there are")
    if axis and (keepdims or shape is None):
        site.refuse(
            Why.NO_EQUIVALENT,
            f"the number of pieces of {value!r} is computed at run time, and not along the first axis: axis {axis}",
        )
    if axis:
        value = op.Transpose(value, perm=[axis, *(one for one in range(len(shape or ())) if one != axis)])
    one = site.constant([1], "int64")
    step = op.Reshape(op.Cast(size, to="int64"), one) if size else one
    return _split_in_front(site, op, value, step, keepdims=keepdims)


def _split_in_front(site: Site, op: Operators, value: str, size: str, *, keepdims: bool) -> Packed:
    """Pieces of `size` rows each, a list of one number."""
    start, one, row = (site.constant([number], "int64") for number in (0, 1, -1))
    last = site.constant([_LAST], "int64", "last")
    shape = op.Shape(value)
    rows, rest = op.Slice(shape, start, one), op.Slice(shape, one, last)
    whole = op.Div(rows, size)
    count = op.Add(whole, op.Min(op.Sub(rows, op.Mul(whole, size)), one))
    numbers = iota(site, op, op.Reshape(op.Add(count, one), site.constant([], "int64", "scalar")))
    firsts = op.Min(op.Mul(numbers, size), rows)
    ends = op.Mul(firsts, op.ReduceProd(rest, axes=[0], keepdims=1))
    data = op.Reshape(value, row)
    if not keepdims:
        return Packed(data, ends, op.Tile(rest, count), op.Mul(numbers, op.Shape(rest)))
    lengths = op.Sub(op.Slice(firsts, one, last), op.Slice(firsts, start, row))
    others = op.Expand(rest, op.Concat(count, op.Shape(rest), axis=0))
    sizes = op.Concat(op.Unsqueeze(lengths, one), others, axis=1)
    return Packed(data, ends, op.Reshape(sizes, row), op.Mul(numbers, op.Shape(shape)))
