"""Convolutions.

Conv           11: states auto_pad and the defaults · 22: +bfloat16
ConvTranspose  11: the odd pad that output_shape leaves moves to the other side · 22: +bfloat16
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from opsetlift.rulebook.rule import Fallback, Step, rounding, unchanged
from opsetlift.rulebook.site import Array, Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.attributes import replace_with_attributes
from opsetlift_rules.helpers.axes import END
from opsetlift_rules.helpers.dimensions import reshape_exactly
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round
from opsetlift_rules.helpers.separating import put_maxima_before
from opsetlift_rules.helpers.windows import padded, spelt_out_windows


def keep_odd_padding_on_its_side(site: Site) -> None:
    """Write the pads of ConvTranspose where versions 1 and 11 divide an odd total by output_shape differently.

    Where the total is unknown, auto_pad names the side.
    """
    wanted = site.attribute("output_shape")
    if not wanted:
        return
    rank = len(site.shape(1) or []) - 2
    if rank > 0 and len(wanted) == rank + 2:
        # As 11 says; exporters of old models wrote batch and channels as well.
        wanted = wanted[2:]
        site.set_attribute("output_shape", wanted)
    totals = _total_pads(site, wanted)
    if totals is not None and all(total <= 0 or total % 2 == 0 for total in totals):
        return
    upward = site.transition.upward
    less_at_begin = (site.attribute("auto_pad", "NOTSET") == "SAME_UPPER") != upward
    site.remove_attribute("pads")
    if totals is None or min(totals) < 0:
        site.set_attribute("auto_pad", "SAME_UPPER" if less_at_begin == upward else "SAME_LOWER")
        return
    less, more = [total // 2 for total in totals], [total - total // 2 for total in totals]
    site.set_attribute("pads", [*less, *more] if less_at_begin else [*more, *less])
    site.remove_attribute("output_shape")
    site.remove_attribute("auto_pad")


def _total_pads(site: Site, wanted: Sequence[int]) -> list[int] | None:
    """The total padding of each spatial axis; None where a size is unknown."""
    shape, weights = site.shape(0), site.shape(1)
    rank = len(wanted)
    kernel = site.attribute("kernel_shape") or (weights[2:] if weights else None)
    if shape is None or kernel is None or len(shape) != rank + 2:
        return None
    strides = site.attribute("strides") or [1] * rank
    dilations = site.attribute("dilations") or [1] * rank
    output_padding = site.attribute("output_padding") or [0] * rank
    totals = []
    for axis, (size, taps) in enumerate(zip(shape[2:], kernel, strict=True)):
        if not isinstance(size, int) or not isinstance(taps, int):
            return None
        covered = strides[axis] * (size - 1) + output_padding[axis] + (taps - 1) * dilations[axis] + 1
        totals.append(covered - wanted[axis])
    return totals


def write_pads_or_convolve_otherwise(site: Site) -> None:
    """Write the pads that auto_pad and output_shape mean, for runtimes that find others; else write the node otherwise.

    The output has the input's sizes times the strides: the total of the pads does not depend on the sizes. It is 0
    where kernels are shorter than strides, and the output is smaller.
    """
    if _writes_pads_of_output_shape(site):
        return
    totals = _pads_of_same(site)
    if totals is None:
        convolve_rows_as_images_or_between_zeros(site)
        return
    less, more = [total // 2 for total in totals], [(total + 1) // 2 for total in totals]
    is_upper = site.attribute("auto_pad") == "SAME_UPPER"
    site.remove_attribute("auto_pad")
    site.set_attribute("pads", [*less, *more] if is_upper else [*more, *less])
    site.replace(site.op.copy(*site.inputs))


def _writes_pads_of_output_shape(site: Site) -> bool:
    """Write the pads and the zeros behind the output that output_shape asks for; returns whether that could be done."""
    if not site.attribute("output_shape"):
        return False
    rank = len((site.shape(1) or [])[2:])
    strides, dilations = (site.attribute(name) or [1] * rank for name in ("strides", "dilations"))
    pads = _pads(site, strides)
    zeros = [max(0, -one) for one in pads[rank:]]
    extra = [one + more for one, more in zip(site.attribute("output_padding") or [0] * rank, zeros, strict=True)]
    if not rank or any(one >= max(pair) for one, pair in zip(extra, zip(strides, dilations, strict=True), strict=True)):
        return False
    cut, added = [max(0, one) for one in pads], extra if any(extra) else None
    site.replace(site.op.copy(*site.inputs, auto_pad=None, output_shape=None, pads=cut, output_padding=added))
    return True


def _pads_of_same(site: Site) -> list[int] | None:
    """The total padding of each spatial axis where SAME_UPPER or SAME_LOWER decides on it; None where it does not."""
    weights = site.shape(1)
    kernel = site.attribute("kernel_shape") or (weights[2:] if weights else None)
    if not site.attribute("auto_pad", "NOTSET").startswith("SAME") or site.attribute("output_shape") or not kernel:
        return None
    strides, dilations = (site.attribute(name) or [1] * len(kernel) for name in ("strides", "dilations"))
    extra = site.attribute("output_padding") or [0] * len(kernel)
    if not all(isinstance(taps, int) for taps in kernel):
        return None
    rows = zip(kernel, strides, dilations, extra, strict=True)
    return [max(0, (taps - 1) * dilation + 1 + more - stride) for taps, stride, dilation, more in rows]


def convolve_rows_as_images_or_between_zeros(site: Site) -> None:
    """Compute a ConvTranspose of [N, C, L] as one of [N, C, 1, L], and others as Conv, for runtimes without them.

    Conv computes the same on an input with zeros between its elements, and with the weights turned round.
    """
    rank = site.rank(0, because="the number of spatial axes is needed to compute ConvTranspose otherwise") - 2
    if rank == 1:
        _add_spatial_axes(site, 1)
        return
    if _spells_its_kernel_out(site):
        return
    weights = site.constant_value(1)
    if weights is None or not numpy.isfinite(weights).all():
        site.refuse(Why.INPUT_NOT_CONSTANT, "ConvTranspose becomes Conv only where its weights are constant and finite")
    strides, dilations = (site.attribute(name) or [1] * rank for name in ("strides", "dilations"))
    group, extra = site.attribute("group", 1), site.attribute("output_padding") or [0] * rank
    pads = _pads(site, strides)
    op = site.op_at(opsets.AXES_AS_INPUTS)
    begin, end = [], []
    for axis, taps in enumerate(weights.shape[2:]):
        reach = (taps - 1) * dilations[axis]
        begin.append(reach - pads[axis])
        end.append(reach - pads[rank + axis] + extra[axis] - (strides[axis] - 1))
    value = _with_zeros_between(site, op, strides)
    value = _without_ends(site, op, value, [max(0, -one) for one in begin], [max(0, -one) for one in end])
    inputs = [value, site.constant(_turned_round(weights, group), hint="weights"), *site.inputs[2:]]
    around = [max(0, one) for one in (*begin, *end)]
    site.rounds()
    site.replace(op.Conv(*inputs, group=group, kernel_shape=[*weights.shape[2:]], dilations=[*dilations], pads=around))


def _spells_its_kernel_out(site: Site) -> bool:
    """Replace a ConvTranspose of which only the weights say how large its kernel is."""
    shape = site.shape(1) or []
    kernel = [size for size in shape[2:] if isinstance(size, int)]
    if site.attribute("kernel_shape") or not kernel or len(kernel) != len(shape) - 2:
        return False
    replace_with_attributes(site, kernel_shape=kernel)
    return True


def _pads(site: Site, strides: Sequence[int]) -> list[int]:
    """What a ConvTranspose cuts off: before each spatial axis, then behind them."""
    rank, auto_pad = len(strides), site.attribute("auto_pad", "NOTSET")
    wanted = (site.attribute("output_shape") or [])[-rank:]
    if not wanted:
        return (site.attribute("pads") if auto_pad == "NOTSET" else None) or [0] * 2 * rank
    totals = _total_pads(site, wanted)
    if totals is None:
        site.refuse(Why.SHAPE_UNKNOWN, "the pads of ConvTranspose depend on spatial sizes that cannot be inferred")
    less = [max(0, total) // 2 for total in totals]
    more = [total - one for total, one in zip(totals, less, strict=True)]
    # Where nothing is left over both are equal; zeros that output_shape asks for in addition are at the end.
    ends_with_more = (auto_pad == "SAME_UPPER") != (site.opset < opsets.ODD_PADS_MOVED)
    before = [
        one if ends_with_more or total < 0 else other for one, other, total in zip(less, more, totals, strict=True)
    ]
    return [*before, *(total - one for total, one in zip(totals, before, strict=True))]


def _spatial_sizes(site: Site) -> list[int] | None:
    """The spatial sizes; None where one is not known, or is 0."""
    sizes = [size for size in (site.shape(0) or ())[2:] if isinstance(size, int) and size]
    return sizes if len(sizes) + 2 == len(site.shape(0) or ()) else None


def _with_zeros_between(site: Site, op: Operators, strides: Sequence[int]) -> str:
    """The first input with zeros behind each element, as many as a stride skips."""
    value, rank = site.input(0), len(strides)
    if max(strides) == 1:
        return value
    sizes = _spatial_sizes(site)
    value = op.Unsqueeze(value, site.constant([3 + 2 * axis for axis in range(rank)], "int64", "axes"))
    behind = [zeros for stride in strides for zeros in (0, stride - 1)]
    value = op.Pad(value, site.constant([0] * (2 * rank + 2) + [0, 0, *behind], "int64", "pads"))
    if sizes is None:
        longer = op.Mul(op.Shape(site.input(0)), site.constant([1, 1, *strides], "int64", "strides"))
        return reshape_exactly(site.op_at(opsets.ALLOWZERO), value, longer)
    wanted = [0, 0, *(size * stride for size, stride in zip(sizes, strides, strict=True))]
    return str(op.Reshape(value, site.constant(wanted, "int64", "shape")))


def _without_ends(site: Site, op: Operators, value: str, before: Sequence[int], behind: Sequence[int]) -> str:
    if not any((*before, *behind)):
        return value
    ends = [-one or END for one in behind]
    axes = range(2, 2 + len(before))
    return str(op.Slice(value, *(site.constant([*numbers], "int64", "bounds") for numbers in (before, ends, axes))))


def _turned_round(weights: Array, group: int) -> Array:
    """The weights of the Conv that computes a ConvTranspose: [M, C / group, *kernel] of [C, M / group, *kernel]."""
    channels, maps, *kernel = weights.shape
    parts = weights.reshape(group, channels // group, maps, *kernel).swapaxes(1, 2)
    joined = parts.reshape(group * maps, channels // group, *kernel)
    return numpy.flip(joined, axis=tuple(range(2, joined.ndim)))


def pad_before_or_convolve_volumes(site: Site) -> None:
    """Pad the input of Conv with zeros by Pad, for runtimes that read the pads of Conv otherwise.

    What auto_pad and the shape of the weights say is written out first, and the node looked at anew. Without pads it is
    kept apart from the node before it.

    A kernel of nine elements in a row, which some runtimes take for one of 3x3, gets the axes of a volume; pads that
    are the same at both ends stay with it.
    """
    if spelt_out := spelt_out_windows(site):
        replace_with_attributes(site, **spelt_out)
        return
    pads = site.attribute("pads") or []
    half, is_row = len(pads) // 2, _is_row_of_nine(site)
    if any(pads) and not (is_row and pads[:half] == pads[half:]):
        # A new node, which is kept apart in its turn where that was not enough.
        value = padded(site, site.op_at(opsets.BFLOAT16), site.input(0), site.dtype(0), pads)
        site.replace(site.op.copy(value, *site.inputs[1:], pads=[0] * len(pads)))
    elif not is_row:
        put_maxima_before(site)
    else:
        _add_spatial_axes(site, 5 - site.rank(0, because="the number of spatial axes is needed to add others"))


def _is_row_of_nine(site: Site) -> bool:
    kernel = site.attribute("kernel_shape") or (site.shape(1) or [])[2:]
    return len(kernel) < 3 and 9 in kernel and set(kernel) <= {1, 9}


def _add_spatial_axes(site: Site, count: int) -> None:
    """Compute a convolution of [N, C, *spatial] with axes of one element before the spatial ones."""
    op, axes = site.op_at(opsets.AXES_AS_INPUTS), site.constant(list(range(2, 2 + count)), "int64", "axes")
    for name, one in _OF_A_ROW.items():
        if along := site.attribute(name):
            site.set_attribute(name, [one] * count + along)
    if pads := site.attribute("pads"):
        half = len(pads) // 2
        site.set_attribute("pads", [0] * count + pads[:half] + [0] * count + pads[half:])
    data, weights = site.inputs[:2]
    values = [op.Unsqueeze(data, axes), site.folded(lambda: str(op.Unsqueeze(weights, axes)), "weights")]
    site.replace(op.Squeeze(site.op.copy(*values, *site.inputs[2:]), axes))


_OF_A_ROW = {"kernel_shape": 1, "strides": 1, "dilations": 1, "output_padding": 0, "output_shape": 1}

_SPELT_OUT = "11 states the defaults of strides and dilations, and spells out the output size that auto_pad gives"

_AS_CONV = rounding(
    write_pads_or_convolve_otherwise,
    ulps=8,
    when="it becomes Conv",
    because="Conv adds the same products in another order",
)

STEPS = [
    Step("Conv", 1, 11, up=unchanged, down=unchanged, because=_SPELT_OUT),
    Step("Conv", 11, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("ConvTranspose", 1, 11, up=keep_odd_padding_on_its_side, down=keep_odd_padding_on_its_side),
    Step("ConvTranspose", 11, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
]

FALLBACKS = [
    Fallback("Conv", pad_before_or_convolve_volumes),
    Fallback("ConvTranspose", _AS_CONV),
]
