"""The sum of overlapping blocks, the inverse of cutting an image into them.

Col2Im  18: introduced
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Introduction, rounding
from opsetlift.rulebook.site import Operators, Site, list_length
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import gather_within
from opsetlift_rules.helpers.dimensions import Size, named, numbers_up_to, product, reshaped, size
from opsetlift_rules.helpers.dtype_groups import COMPUTED_IN
from opsetlift_rules.helpers.zeros import zero

_ULPS = 32


_SUMMED = ("int32", "uint32", "int64", "uint64", "float", "double")


def sum_overlapping_blocks(site: Site) -> None:
    """Replace Col2Im-18: for each element of the image, gather and sum the block elements on it, axis by axis."""
    op = site.op_at(opsets.ALLOWZERO)
    dtype = site.dtype(0)
    compute_dtype = COMPUTED_IN.get(dtype, dtype)
    if compute_dtype not in _SUMMED:
        site.refuse(Why.NO_EQUIVALENT, f"Col2Im adds the elements of overlapping blocks, and no operator adds {dtype}")
    rank = list_length(site, 1, because="the number of spatial axes must be known")
    image, block = ([_element(site, op, position, axis) for axis in range(rank)] for position in (1, 2))
    counts = [_count(site, op, axis, image[axis], block[axis]) for axis in range(rank)]
    value = op.Cast(site.input(0), to=compute_dtype) if compute_dtype != dtype else site.input(0)
    channels = _divided(site, op, size(site, op, site.input(0), 1), product(site, op, block))
    batch = size(site, op, site.input(0), 0)
    value = reshaped(site, op, value, [batch, channels, *block, *counts])
    pairs = [position for axis in range(rank) for position in (2 + axis, 2 + rank + axis)]
    value = op.Transpose(value, perm=[0, 1, *pairs])
    lengths = [product(site, op, [block[axis], counts[axis]]) for axis in range(rank)]
    value = reshaped(site, op, value, [batch, channels, *lengths])
    for axis in range(rank):
        value = _summed(site, op, value, compute_dtype, axis, rank, (image[axis], block[axis], counts[axis]))
    if compute_dtype in ("float", "double"):
        site.rounds()
    site.replace(op.Cast(value, to=dtype) if compute_dtype != dtype else value)


def _element(site: Site, op: Operators, position: int, index: int) -> Size:
    known = site.constant_value(position)
    if known is not None:
        return int(known[index])
    return str(op.Gather(site.input(position), site.constant(index, "int64", "index")))


def _divided(site: Site, op: Operators, whole: Size, divisor: Size) -> Size:
    if isinstance(whole, int) and isinstance(divisor, int):
        return whole // divisor
    return str(op.Div(named(site, whole), named(site, divisor)))


def _geometry(site: Site, axis: int, rank: int) -> tuple[int, int, int, int]:
    """Stride, dilation, and the padding before and after."""
    pads = site.attribute("pads", [0] * 2 * rank)
    strides, dilations = (site.attribute(name, [1] * rank) for name in ("strides", "dilations"))
    return strides[axis], dilations[axis], pads[axis], pads[axis + rank]


def _count(site: Site, op: Operators, axis: int, image: Size, block: Size) -> Size:
    """The number of blocks along an axis."""
    rank = list_length(site, 1)
    stride, dilation, before, after = _geometry(site, axis, rank)
    if isinstance(image, int) and isinstance(block, int):
        return (image + before + after - dilation * (block - 1) - 1) // stride + 1

    def number(value: int) -> str:
        return site.constant(value, "int64", "number")

    extent = op.Mul(op.Sub(named(site, block), number(1)), number(dilation))
    room = op.Sub(op.Add(named(site, image), number(before + after - 1)), extent)
    return str(op.Add(op.Div(room, number(stride)), number(1)))


def _summed(
    site: Site, op: Operators, value: str, dtype: str, axis: int, rank: int, sizes: tuple[Size, Size, Size]
) -> str:
    places, counts = _table(site, op, axis, rank, sizes)
    if not isinstance(sizes[2], int) or sizes[2] == 0:
        # There may be no block at all: an element that does not count is added for the Gather.
        ends = [0] * (2 * rank + 4)
        ends[rank + 4 + axis] = 1
        value = op.Pad(value, site.constant(ends, "int64", "pads"), zero(site, dtype))
    gathered = gather_within(site, value, places, axis=2 + axis)
    known = site.constant_value(counts)
    if known is None or not known.all():
        trailing = rank - 1 - axis
        mask = op.Unsqueeze(counts, site.constant(range(2, 2 + trailing), "int64")) if trailing else counts
        gathered = op.Where(mask, gathered, zero(site, dtype))
    return str(op.ReduceSum(gathered, site.constant([3 + axis], "int64"), keepdims=0))


def _table(site: Site, op: Operators, axis: int, rank: int, sizes: tuple[Size, Size, Size]) -> tuple[str, str]:
    """For each place of the image the block elements that may overlap it, and whether they do: [image, block]."""
    image, block, count = sizes
    stride, dilation, before, _ = _geometry(site, axis, rank)

    def number(value: int) -> str:
        return site.constant(value, "int64", "number")

    def start() -> str:
        columns = op.Unsqueeze(numbers_up_to(site, op, image), site.constant([1], "int64"))
        shifts = op.Mul(numbers_up_to(site, op, block), number(dilation))
        return str(op.Sub(op.Add(columns, number(before)), shifts))

    starts = site.folded(start)
    blocks = site.folded(lambda: op.Div(starts, number(stride)))

    def lies_on() -> str:
        is_whole = op.Equal(op.Mul(blocks, number(stride)), starts)
        is_there = op.And(op.Not(op.Less(starts, number(0))), op.Less(blocks, named(site, count)))
        return str(op.And(is_whole, is_there))

    counts = site.folded(lies_on, "counts")

    def place() -> str:
        firsts = op.Mul(numbers_up_to(site, op, block), named(site, count))
        return str(op.Where(counts, op.Add(firsts, blocks), number(0)))

    places = site.folded(place, "places")
    known = [site.constant_value(name) for name in (places, counts)]
    if known[0] is None or known[1] is None:
        return places, counts
    # As many columns as elements overlap any place.
    order = numpy.argsort(~known[1], axis=1, kind="stable")[:, : max(int(known[1].sum(axis=1).max(initial=0)), 1)]
    narrowed = [numpy.take_along_axis(table, order, axis=1) for table in known if table is not None]
    return site.constant(narrowed[0], hint="places"), site.constant(narrowed[1], hint="counts")


_SUM_OVERLAPPING_BLOCKS = rounding(
    sum_overlapping_blocks,
    ulps=_ULPS,
    when="the elements are floats",
    because="elements of overlapping blocks may be added in another order",
)


INTRODUCTIONS = [
    Introduction("Col2Im", 18, down=_SUM_OVERLAPPING_BLOCKS),
]
