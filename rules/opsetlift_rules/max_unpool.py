"""The inverse of MaxPool.

MaxUnpool  9: introduced · 11: the text states the default of strides · 22: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged
from opsetlift.rulebook.site import Operators, Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.narrow_floats import cast_bfloat16
from opsetlift_rules.helpers.zeros import zero


def replace_with_scatter_elements(site: Site) -> None:
    """Replace MaxUnpool-9 with ScatterElements of the values into zeros.

    The indices are flat in the shape that the attributes give; a larger output_shape is padded with zeros at the end,
    as in ONNX's node test.
    """
    op = site.op_at(opsets.BFLOAT16)
    rank = site.rank(0, because="the values are scattered into zeros of the same rank")
    minus_one = site.constant([-1], "int64", "shape")
    shape = site.folded(lambda: _unpooled_shape(site, op, rank), "shape")
    dtype = site.dtype(0)
    zeros = op.Expand(zero(site, dtype), op.ReduceProd(shape, axes=[0]))
    values = op.Reshape(site.input(0), minus_one)
    indices = site.folded(lambda: str(op.Reshape(site.input(1), minus_one)), "indices")
    unpooled = op.Reshape(op.ScatterElements(zeros, indices, values), shape)
    site.replace(_padded(site, op, unpooled, shape, rank) if site.input(2) else unpooled)


def pad_what_is_unpooled(site: Site) -> None:
    """Unpool without output_shape, and put zeros behind: for runtimes that take indices for flat in output_shape."""
    if not site.input(2):
        return
    rank = site.rank(0, because="zeros are put at the end of each axis")
    shape = site.folded(lambda: _unpooled_shape(site, site.op, rank), "shape")
    site.replace(_padded(site, site.op, site.op.copy(*site.inputs[:2]), shape, rank))


def _padded(site: Site, op: Operators, unpooled: str, shape: str, rank: int) -> str:
    begin = site.constant([0] * rank, "int64", "begin")
    pads = site.folded(lambda: str(op.Concat(begin, op.Sub(site.input(2), shape), axis=0)), "pads")
    return str(op.Pad(unpooled, pads))


def _unpooled_shape(site: Site, op: Operators, rank: int) -> str:
    """The output shape: (size - 1) * stride + kernel - pads after batch and channels."""
    kernel = site.attribute("kernel_shape")
    strides = site.attribute("strides") or [1] * (rank - 2)
    pads = site.attribute("pads") or [0] * 2 * (rank - 2)
    rest = [
        taps - stride - before - behind
        for taps, stride, before, behind in zip(kernel, strides, pads[: rank - 2], pads[rank - 2 :], strict=True)
    ]
    scaled = op.Mul(op.Shape(site.input(0)), site.constant([1, 1, *strides], "int64", "strides"))
    return str(op.Add(scaled, site.constant([0, 0, *rest], "int64", "rest")))


STEPS = [
    Step("MaxUnpool", 9, 11, up=unchanged, down=unchanged, because="11 states the default of strides"),
    Step("MaxUnpool", 11, 22, up=unchanged, down=cast_bfloat16),
]

INTRODUCTIONS = [Introduction("MaxUnpool", 9, down=replace_with_scatter_elements)]

FALLBACKS = [Fallback("MaxUnpool", pad_what_is_unpooled)]
