"""Operators that move elements by a fixed pattern.

DepthToSpace     11: +mode CRD · 13: +bfloat16
ReverseSequence  10: introduced · 28: +bfloat16
SpaceToDepth     13: +bfloat16 · 28: +mode CRD
Trilu            14: introduced
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged, widen_values
from opsetlift.rulebook.site import Operators, Site, known_shape
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import END, gather_within
from opsetlift_rules.helpers.counting import LARGEST_TABLE, iota
from opsetlift_rules.helpers.dimensions import reshape_exactly
from opsetlift_rules.helpers.zeros import zero


def decompose_crd_depth_to_space(site: Site) -> None:
    """Replace DepthToSpace-11 in CRD mode with Reshape and Transpose: DepthToSpace-1 has the order DCR only."""
    if site.attribute("mode", "DCR") == "DCR":
        site.remove_attribute("mode")
    else:
        decompose_depth_to_space(site)


def decompose_depth_to_space(site: Site) -> None:
    """Write DepthToSpace of either mode as Reshape and Transpose."""
    block = site.attribute("blocksize")
    # N C H W and the block size are drawn into N, block, block, C / block², H, W, or with C / block² before the blocks.
    if site.attribute("mode", "DCR") == "DCR":
        blocks, permutation = ([0, 4, 4, 1, 2, 3], [1, 1, 1, block * block, 1, 1]), [0, 3, 4, 1, 5, 2]
    else:
        blocks, permutation = ([0, 1, 4, 4, 2, 3], [1, block * block, 1, 1, 1, 1]), [0, 1, 4, 2, 5, 3]
    _transpose_blocks(site, block, blocks, permutation, ([1, 1, block, block], [1, block * block, 1, 1]))


def decompose_crd_space_to_depth(site: Site) -> None:
    """Replace SpaceToDepth-28 in CRD mode with Reshape and Transpose: SpaceToDepth-13 has the order DCR only."""
    if site.attribute("mode", "DCR") == "DCR":
        site.remove_attribute("mode")
    else:
        decompose_space_to_depth(site)


def decompose_space_to_depth(site: Site) -> None:
    """Write SpaceToDepth of either mode as Reshape and Transpose."""
    block = site.attribute("blocksize")
    blocks = ([0, 1, 2, 4, 3, 4], [1, 1, block, 1, block, 1])
    permutation = [0, 3, 5, 1, 2, 4] if site.attribute("mode", "DCR") == "DCR" else [0, 1, 3, 5, 2, 4]
    _transpose_blocks(site, block, blocks, permutation, ([1, block * block, 1, 1], [1, 1, block, block]))


def _transpose_blocks(
    site: Site,
    block: int,
    blocks: tuple[list[int], list[int]],
    permutation: list[int],
    result: tuple[list[int], list[int]],
) -> None:
    """Reshape to blocks, transpose, reshape to the result.

    `blocks` draws its sizes from N, C, H, W, block and divides them; `result` has factors and divisors of N, C, H, W.
    """
    op = site.op_at(opsets.ALLOWZERO)
    dims = known_shape(site, 0)
    (drawn, divisors), (factors, result_divisors) = blocks, result
    if dims is not None:
        sizes = [*dims, block]
        inner = site.constant(
            [sizes[index] // by for index, by in zip(drawn, divisors, strict=True)], "int64", "blocks"
        )
        outer = site.constant(
            [dim * factor // by for dim, factor, by in zip(dims, factors, result_divisors, strict=True)],
            "int64",
            "shape",
        )
    else:
        shape = op.Shape(site.input(0))
        sizes_ = op.Concat(shape, site.constant([block], "int64", "block"), axis=0)
        picked = op.Gather(sizes_, site.constant(drawn, "int64", "drawn"))
        inner = op.Div(picked, site.constant(divisors, "int64", "divisors"))
        wider = op.Mul(shape, site.constant(factors, "int64", "factors"))
        outer = op.Div(wider, site.constant(result_divisors, "int64", "divisors"))
    moved = op.Transpose(reshape_exactly(op, site.input(0), inner), perm=permutation)
    site.replace(reshape_exactly(op, moved, outer))


def gather_reversed_sequences(site: Site) -> None:
    """Replace ReverseSequence-10 with Gather from both leading axes flattened to one."""
    time_axis, batch_axis = site.attribute("time_axis", 0), site.attribute("batch_axis", 1)
    if {time_axis, batch_axis} != {0, 1}:
        site.refuse(
            Why.INVALID_MODEL, f"time_axis is {time_axis} and batch_axis is {batch_axis}; one must be 0 and the other 1"
        )
    op = site.op_at(opsets.ALLOWZERO)
    data, lengths = site.inputs
    dims = site.shape(0)
    shape = op.Shape(data)
    steps, batch = (_size(site, op, shape, dims[axis] if dims else None, axis) for axis in (time_axis, batch_axis))
    along, across = (site.constant([1 - axis], "int64") for axis in (time_axis, batch_axis))
    time = op.Unsqueeze(iota(site, op, steps), along)
    lengths = op.Unsqueeze(lengths, across)
    reversed_time = op.Sub(op.Sub(lengths, site.constant(1, "int64", "one")), time)
    source = op.Where(op.Less(time, lengths), reversed_time, time)
    sequence = op.Unsqueeze(iota(site, op, batch), across)
    outer, size, inner = (source, batch, sequence) if time_axis == 0 else (sequence, steps, source)
    indices = op.Add(op.Mul(outer, size), inner)
    rest = op.Slice(shape, site.constant([2], "int64", "bound"), site.constant([END], "int64", "bound"))
    product = op.Unsqueeze(op.Mul(steps, batch), site.constant([0], "int64"))
    rows = reshape_exactly(op, data, op.Concat(product, rest, axis=0))
    site.replace(gather_within(site, rows, indices))


def _size(site: Site, op: Operators, shape: str, known: object, axis: int) -> str:
    if isinstance(known, int):
        return site.constant(known, "int64", "size")
    return str(op.Gather(shape, site.constant(axis, "int64", "axis")))


def select_the_triangle_by_comparison(site: Site) -> None:
    """Replace Trilu-14 with Where: column number - row number is compared with k."""
    data, k = site.input(0), site.constant_value(1) if site.input(1) else numpy.array(0)
    op = site.op_at(opsets.BFLOAT16_IN_WHERE)
    dims = site.shape(0)
    is_upper = site.attribute("upper", 1)
    rows, columns = (None, None) if dims is None else dims[-2:]
    if isinstance(rows, int) and isinstance(columns, int) and rows * columns <= LARGEST_TABLE:
        distances = numpy.arange(columns, dtype=numpy.int64) - numpy.arange(rows, dtype=numpy.int64)[:, None]
        if k is not None:
            kept = distances >= k.reshape(()) if is_upper else distances <= k.reshape(())
            site.replace(op.Where(site.constant(kept, hint="kept"), data, zero(site, site.dtype(0))))
            return
        distance = site.constant(distances, hint="distances")
    else:
        shape = op.Shape(data, start=-2)
        counts = [op.Gather(shape, site.constant(axis, "int64", "axis")) for axis in (0, 1)]
        row, column = (iota(site, op, count) for count in counts)
        distance = op.Sub(column, op.Unsqueeze(row, site.constant([1], "int64")))
    diagonal = site.constant(0, "int64", "k") if not site.input(1) else site.input(1)
    outside = op.Less(distance, diagonal) if is_upper else op.Greater(distance, diagonal)
    site.replace(op.Where(outside, zero(site, site.dtype(0)), data))


_DCR = "without a mode, the order is DCR, the default of the newer version"

STEPS = [
    Step("DepthToSpace", 1, 11, up=unchanged, down=decompose_crd_depth_to_space, because=_DCR),
    Step("DepthToSpace", 11, 13, up=unchanged, down=unchanged, because="13 only formats the code"),
    Step("SpaceToDepth", 13, 28, up=unchanged, down=decompose_crd_space_to_depth, because=_DCR),
    Step("ReverseSequence", 10, 28, up=unchanged, down=widen_values()),
]

INTRODUCTIONS = [
    Introduction("ReverseSequence", 10, down=gather_reversed_sequences),
    Introduction("Trilu", 14, down=select_the_triangle_by_comparison),
]

FALLBACKS = [
    Fallback("DepthToSpace", decompose_depth_to_space),
    Fallback("SpaceToDepth", decompose_space_to_depth),
    Fallback("Trilu", select_the_triangle_by_comparison),
]
