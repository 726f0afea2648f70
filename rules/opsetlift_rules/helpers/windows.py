"""Helpers for the sliding windows of convolutions and poolings: their positions and their elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy

from opsetlift.rulebook.site import Array, Operators, Site, has_attribute
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.axes import END


@dataclass(frozen=True)
class Windows:
    """The windows that a pooling's attributes describe; every field has one entry per spatial axis."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    sizes: tuple[int | None, ...]
    """The input's sizes, as far as they are known."""
    rounds_up: bool
    """Whether a last window that the input and its pads do not fill counts."""

    @property
    def pads(self) -> list[int]:
        """The pads as the attribute has them: those before the elements of each axis, then those behind."""
        return [*self.begin, *self.end]

    @property
    def spans(self) -> list[int]:
        """How many elements a window spans from its first to its last one."""
        return [(taps - 1) * dilation + 1 for taps, dilation in zip(self.kernel, self.dilations, strict=True)]

    @property
    def is_dilated(self) -> bool:
        """Whether any window has gaps between its elements."""
        return any(dilation != 1 for dilation in self.dilations)

    @property
    def filled_ends(self) -> list[int]:
        """The pads behind the elements with which rounding down gives the windows that count.

        They are those of rounding up but for windows that start behind the input and the pads before it. No window
        that counts reaches further behind the input than its span, less the one element that it starts with. Where the
        size is not known, the pads are as many as fit all sizes.
        """
        if not self.rounds_up:
            return list(self.end)
        found = []
        for size, begin, end, span, stride in zip(
            self.sizes, self.begin, self.end, self.spans, self.strides, strict=True
        ):
            if size is None:
                found.append(min(end + stride - 1, span - 1))
                continue
            count = min(-(-(size + begin + end - span) // stride) + 1, -(-(size + begin) // stride))
            least = (count - 1) * stride + span - size - begin
            found.append(min(max(min(end, span - 1), least), least + stride - 1))
        return found

    @property
    def filled_pads(self) -> list[int]:
        """The pads before the elements of each axis, then those behind with which rounding down gives all windows."""
        return [*self.begin, *self.filled_ends]

    @property
    def own_ends(self) -> list[int]:
        """What of the filled ends are pads of the node itself."""
        return [min(end, filled) for end, filled in zip(self.end, self.filled_ends, strict=True)]

    @property
    def missing(self) -> list[int]:
        """What of the filled ends the node's pads lack."""
        return [filled - own for filled, own in zip(self.filled_ends, self.own_ends, strict=True)]

    def may_start_late(self) -> bool:
        """Whether rounding up may give a window that starts behind the input and the pads before it."""
        if not self.rounds_up:
            return False
        for size, begin, end, span, stride in zip(
            self.sizes, self.begin, self.end, self.spans, self.strides, strict=True
        ):
            if size is None and stride + end > span:
                return True
            if size is not None and -(-(size + begin + end - span) // stride) * stride >= size + begin:
                return True
        return False

    def may_cover_pads_only(self) -> bool:
        """Whether a window may have no element of the input in it."""
        inside = all(pad < taps for pads in (self.begin, self.end) for pad, taps in zip(pads, self.kernel, strict=True))
        return self.rounds_up or self.is_dilated or not inside


def windows_of(site: Site, kernel_shape: Sequence[int] = ()) -> Windows:
    """The windows of a pooling, or of another node with this kernel.

    Refuses where pads that follow from the input's sizes cannot be known: not where strides are 1, as any size then
    gives the same.
    """
    kernel = tuple(kernel_shape or site.attribute("kernel_shape", ()))
    if not kernel:
        site.refuse(Why.INVALID_MODEL, "the attribute kernel_shape is missing")
    rank = len(kernel)
    strides = tuple(site.attribute("strides") or (1,) * rank)
    dilations = tuple(site.attribute("dilations") or (1,) * rank)
    pads = tuple(site.attribute("pads") or (0,) * 2 * rank)
    shape = site.shape(0)
    sizes: tuple[int | None, ...] = (None,) * rank
    if shape is not None and len(shape) == rank + 2:
        sizes = tuple(size if isinstance(size, int) else None for size in shape[2:])
    auto_pad = site.attribute("auto_pad", "NOTSET")
    # With VALID the texts' formula for ceil_mode, ceil((size - span + 1) / stride), is that of rounding down. onnx's
    # inference and every release of onnxruntime (0.5 to 1.31) round up.
    rounds_up = bool(site.attribute("ceil_mode", 0)) and auto_pad in ("NOTSET", "VALID")
    if auto_pad != "NOTSET":
        pads = (0,) * 2 * rank
    windows = Windows(kernel, strides, dilations, pads[:rank], pads[rank:], sizes, rounds_up)
    return _padded_to_same(site, windows, auto_pad) if auto_pad.startswith("SAME") else windows


def _padded_to_same(site: Site, windows: Windows, auto_pad: str) -> Windows:
    totals = []
    for size, span, stride in zip(windows.sizes, windows.spans, windows.strides, strict=True):
        if stride == 1:
            totals.append(span - 1)
            continue
        if size is None:
            site.refuse(
                Why.SHAPE_UNKNOWN, f"the pads of auto_pad {auto_pad} depend on spatial sizes that cannot be inferred"
            )
        totals.append(max(0, (-(-size // stride) - 1) * stride + span - size))
    less, more = (tuple(total // 2 for total in totals), tuple(total - total // 2 for total in totals))
    begin, end = (less, more) if auto_pad == "SAME_UPPER" else (more, less)
    return Windows(windows.kernel, windows.strides, windows.dilations, begin, end, windows.sizes, False)


def spelt_out_windows(site: Site) -> dict[str, Any]:
    """The attributes that say what `auto_pad` and the shape of a convolution's weights say; none where neither does.

    Refuses where pads that follow from the input's sizes cannot be known.
    """
    weights = site.shape(1) if len(site.inputs) > 1 else None
    kernel = site.attribute("kernel_shape") or [size for size in (weights or [])[2:] if isinstance(size, int)]
    is_named = bool(site.attribute("kernel_shape"))
    if not kernel or (weights is not None and len(kernel) != len(weights) - 2):
        return {}
    if site.attribute("auto_pad", "NOTSET").startswith("SAME"):
        pads = list(windows_of(site, kernel).pads)
        return {"kernel_shape": kernel, "pads": pads, "auto_pad": None}
    return {} if is_named else {"kernel_shape": kernel}


def writes_same_as_pads(site: Site) -> bool:
    """Write the pads that auto_pad gives by the sizes of the input: whether it does.

    For runtimes that put the odd pad at the other end. What comes of it is looked at anew.
    """
    if not site.attribute("auto_pad", "NOTSET").startswith("SAME"):
        return False
    windows = windows_of(site)
    ceil_mode = {"ceil_mode": None} if has_attribute(site, "ceil_mode") else {}
    copy = site.op.copy(*site.inputs, pads=[*windows.begin, *windows.end], auto_pad=None, **ceil_mode)
    site.replace(*((copy,) if isinstance(copy, str) else copy))
    return True


def set_pads(site: Site, begin: Sequence[int], end: Sequence[int]) -> None:
    """Let the node's pads be these and nothing else."""
    site.remove_attribute("auto_pad")
    site.remove_attribute("ceil_mode")
    site.set_attribute("pads", [*begin, *end])


def padded(site: Site, op: Operators, value: str, dtype: str, pads: Sequence[int], *, with_: float = 0.0) -> str:
    """A tensor of batch and channels with pads around its spatial axes. `op` writes for opset 13 or later."""
    if not any(pads):
        return value
    rank = len(pads) // 2
    counts = site.constant([0, 0, *pads[:rank], 0, 0, *pads[rank:]], "int64", "pads")
    return str(op.Pad(value, counts, site.constant(with_, dtype, "pad") if with_ else ""))


def combined(site: Site, op: Operators, value: str, windows: Windows, combine: Callable[[Sequence[str]], str]) -> str:
    """The elements of each window combined, axis after axis: each as a slice of what has its pads already.

    `op` writes for opset 10 or later.
    """
    for axis, (taps, span) in enumerate(zip(windows.kernel, windows.spans, strict=True)):
        stride, dilation = windows.strides[axis], windows.dilations[axis]
        value = combine([slice_of_tap(site, op, value, axis, tap * dilation, span, stride) for tap in range(taps)])
    return value


def slice_of_tap(site: Site, op: Operators, value: str, axis: int, first: int, span: int, stride: int) -> str:
    """The elements at one place of every window along a spatial axis."""
    if span == stride == 1:
        return value
    end = first - span + 1 or END
    numbers = (site.constant([number], "int64", "bound") for number in (first, end, axis + 2, stride))
    return str(op.Slice(value, *numbers))


def added(op: Operators) -> Callable[[Sequence[str]], str]:
    """The sum of values, as `combined` takes it."""
    return lambda values: reduce(op.Add, values)


def element_counts(site: Site, op: Operators, windows: Windows, dtype: str, with_pads: bool) -> str:
    """How many elements each window covers, of the pads too if asked for, but not of what rounding up adds to them."""
    if not any(windows.filled_pads):
        return site.constant(math.prod(windows.kernel), dtype, "count")
    known = _known_counts(windows, with_pads)
    if known is not None:
        return site.constant(known.astype(numpy_dtype(dtype)), hint="counts")
    ones = op.Expand(site.constant(1, dtype, "one"), op.Shape(site.input(0)))
    ones = padded(site, op, ones, dtype, [*windows.begin, *windows.own_ends], with_=float(with_pads))
    ones = padded(site, op, ones, dtype, [*(0 for _ in windows.kernel), *windows.missing])
    return combined(site, op, ones, windows, added(op))


def _known_counts(windows: Windows, with_pads: bool) -> Array | None:
    result = numpy.ones((), numpy.int64)
    pad = int(with_pads)
    for axis, size in enumerate(windows.sizes):
        if size is None:
            return None
        line = [pad] * windows.begin[axis] + [1] * size + [pad] * windows.own_ends[axis] + [0] * windows.missing[axis]
        starts = numpy.arange(0, len(line) - windows.spans[axis] + 1, windows.strides[axis])
        taps = starts[:, None] + numpy.arange(windows.kernel[axis]) * windows.dilations[axis]
        result = numpy.multiply.outer(result, numpy.array(line)[taps].sum(axis=1))
    return numpy.asarray(result)
