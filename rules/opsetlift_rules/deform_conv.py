"""Convolutions whose columns are gathered by position.

DeformConv  19: introduced · 22: +bfloat16
"""

from __future__ import annotations

import math
from functools import partial

import numpy

from opsetlift.rulebook.rule import Introduction, Step, exact_cast, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site, static_shape
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dimensions import Size, divisor, numbers_up_to, product, reshaped, size
from opsetlift_rules.helpers.sampling import Rows, Weigh, confined_by_zeros, linear_weights, neighbours_on

_ULPS = 32
_STATIC = "the shape of the kernel determines how many points are sampled"


def gather_displaced_points(site: Site) -> None:
    """Replace DeformConv-19: gather the values at the displaced points, and multiply them by the weights.

    Floats X [N, C, *spatial], W [M, C / group, *kernel], offset [N, offset_group * taps * rank, *output], mask [N,
    offset_group * taps, *output]; taps is the number of elements of the kernel.
    """
    op = site.op_at(opsets.ALLOWZERO)
    dtype = site.dtype(0)
    precision = "double" if dtype == "double" else "float"
    data, weights, offset = (
        op.Cast(site.input(one), to=precision) if dtype != precision else site.input(one) for one in range(3)
    )
    out_channels, group_channels, *kernel = static_shape(site, 1, because=_STATIC)
    rank, taps = len(kernel), math.prod(kernel)
    groups, offset_groups = site.attribute("group", 1), site.attribute("offset_group", 1)
    batch = size(site, op, data, 0)
    output = [size(site, op, site.input(2), 2 + axis) for axis in range(rank)]
    positions = product(site, op, output)
    images = product(site, op, [batch, offset_groups])
    spatial = [size(site, op, data, 2 + axis) for axis in range(rank)]

    own_channels = group_channels * groups // offset_groups
    rows = Rows(site, op, reshaped(site, op, data, [images, own_channels, *spatial]), precision)
    shifts = reshaped(site, op, offset, [images, taps, rank, positions])
    weigh = Weigh(1, lambda distance: linear_weights(site, op, distance, precision))
    axes = []
    for axis, length in enumerate(rows.spatial):
        places = site.folded(lambda axis=axis: _places(site, op, axis, kernel, output, precision), "places")  # type: ignore[misc]
        shift = op.Gather(shifts, site.constant(axis, "int64", "axis"), axis=2)
        bring = partial(confined_by_zeros, site, op, length=length, dtype=precision)
        axes.append(neighbours_on(site, op, op.Add(shift, places), precision, bring, weigh))
    terms = rows.read(axes, 3)
    # [images, taps, positions, channels]
    columns = op.ReduceSum(terms, site.constant(range(3, 3 + rank), "int64"), keepdims=0)
    if site.input(4):
        mask = op.Cast(site.input(4), to=precision) if dtype != precision else site.input(4)
        columns = op.Mul(columns, reshaped(site, op, mask, [images, taps, positions, 1]))
    columns = op.Transpose(columns, perm=[0, 3, 1, 2])
    columns = reshaped(site, op, columns, [batch, groups, group_channels * taps, positions])
    matrix = reshaped(site, op, weights, [groups, out_channels // groups, group_channels * taps])
    result = reshaped(site, op, op.MatMul(matrix, columns), [batch, out_channels, *output])
    if site.input(3):
        bias = op.Cast(site.input(3), to=precision) if dtype != precision else site.input(3)
        result = op.Add(result, op.Unsqueeze(bias, site.constant(range(1, 1 + rank), "int64")))
    site.replace(op.Cast(result, to=dtype) if dtype != precision else result)


def _places(site: Site, op: Operators, axis: int, kernel: list[int], output: list[Size], dtype: str) -> str:
    """The points of each weight at each position, without the offsets: [taps, positions]."""
    rank = len(kernel)
    stride = site.attribute("strides", [1] * rank)[axis]
    dilation = site.attribute("dilations", [1] * rank)[axis]
    begin = site.attribute("pads", [0] * 2 * rank)[axis]
    of_tap = numpy.indices(kernel)[axis].reshape(-1, 1) * dilation - begin
    numbers = numbers_up_to(site, op, product(site, op, output))
    inner = divisor(site, op, product(site, op, output[axis + 1 :]))
    along = op.Mod(op.Div(numbers, inner), divisor(site, op, output[axis]))
    of_position = op.Cast(op.Mul(along, site.constant(stride, "int64", "stride")), to=dtype)
    return str(op.Add(site.constant(of_tap.astype(numpy_dtype(dtype)), hint="taps"), of_position))


STEPS = [
    Step("DeformConv", 19, 22, up=unchanged, down=exact_cast("bfloat16", through="float")),
]

_GATHER_DISPLACED_POINTS = rounding(
    gather_displaced_points, ulps=_ULPS, because="products may be added in another order"
)

INTRODUCTIONS = [
    Introduction("DeformConv", 19, down=_GATHER_DISPLACED_POINTS),
]
