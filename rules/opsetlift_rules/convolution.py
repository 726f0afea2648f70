"""Convolutions.

Conv           11: states auto_pad and the defaults · 22: +bfloat16
ConvTranspose  11: the odd pad that output_shape leaves moves to the other side · 22: +bfloat16
"""

from __future__ import annotations

from collections.abc import Sequence

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round
from opsetlift_rules.helpers.windows import padded


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


def convolve_rows_as_images(site: Site) -> None:
    """Compute a ConvTranspose of [N, C, L] as one of [N, C, 1, L], for runtimes without the former."""
    if site.rank(0, because="only a convolution with one spatial axis is rewritten") == 3:
        _add_spatial_axes(site, 1)


def pad_before_or_convolve_volumes(site: Site) -> None:
    """Pad the input of Conv with zeros by Pad, for runtimes that read the pads of Conv otherwise.

    A kernel of nine elements in a row, which some runtimes take for one of 3x3, gets the axes of a volume; pads that
    are the same at both ends stay with it.
    """
    pads = site.attribute("pads") or []
    half, is_row = len(pads) // 2, _is_row_of_nine(site)
    if any(pads) and not (is_row and pads[:half] == pads[half:]):
        op = site.op_at(opsets.BFLOAT16)
        site.set_input(0, padded(site, op, site.input(0), site.dtype(0), pads))
        site.set_attribute("pads", [0] * len(pads))
    if is_row:
        _add_spatial_axes(site, 5 - site.rank(0, because="the number of spatial axes is needed to add others"))


def _is_row_of_nine(site: Site) -> bool:
    kernel = site.attribute("kernel_shape") or (site.shape(1) or [])[2:]
    return len(kernel) < 3 and sorted(kernel)[-1:] == [9] and set(kernel) <= {1, 9}


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

STEPS = [
    Step("Conv", 1, 11, up=unchanged, down=unchanged, because=_SPELT_OUT),
    Step("Conv", 11, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("ConvTranspose", 1, 11, up=keep_odd_padding_on_its_side, down=keep_odd_padding_on_its_side),
    Step("ConvTranspose", 11, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
]

FALLBACKS = [
    Fallback("Conv", pad_before_or_convolve_volumes),
    Fallback("ConvTranspose", convolve_rows_as_images),
]
