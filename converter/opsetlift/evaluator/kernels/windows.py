"""The sliding windows of convolution and pooling: where they lie, from the attributes of each version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import mul
from typing import Any

import numpy

from opsetlift.evaluator.kernels.registry import Call
from opsetlift.model.arrays import Array

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Windows:
    """One window per output element; every field has one entry per spatial axis."""

    kernel: Ints
    strides: Ints
    dilations: Ints
    pads_begin: Ints
    pads_end: Ints
    input_shape: Ints
    output_shape: Ints

    @cached_property
    def trivial(self) -> bool:
        """Whether each window is the one input element at its own position."""
        return self.output_shape == self.input_shape and all(
            size == 1 and stride == 1 and begin == 0
            for size, stride, begin in zip(self.kernel, self.strides, self.pads_begin, strict=True)
        )

    @cached_property
    def _room(self) -> list[tuple[int, int]]:
        """How far the windows reach beyond the input on both sides of each axis."""
        ends = [
            (out - 1) * stride + span(size, dilation)
            for out, stride, size, dilation in zip(
                self.output_shape, self.strides, self.kernel, self.dilations, strict=True
            )
        ]
        spatial = zip(self.pads_begin, ends, self.input_shape, strict=True)
        return [(0, 0), (0, 0), *((begin, max(0, end - begin - size)) for begin, end, size in spatial)]

    def padded(self, x: Array, value: Any) -> Array:
        """`x` with `value` around it, as far as the windows reach; `x` itself where they stay inside."""
        if not any(map(any, self._room)):
            return x
        shape = [before + size + after for size, (before, after) in zip(x.shape, self._room, strict=True)]
        result = numpy.full(shape, value, x.dtype) if value else numpy.zeros(shape, x.dtype)
        inside = zip(x.shape, self._room, strict=True)
        result[tuple(slice(before, before + size) for size, (before, _) in inside)] = x
        return result

    def taps(self, padded: Array) -> Array:
        """A view of the padded input: batch, channel, then the kernel's axes, then the output's."""
        source = numpy.ascontiguousarray(padded)
        batch, channel, *spatial = source.strides
        taps = map(mul, spatial, self.dilations)
        starts = map(mul, spatial, self.strides)
        shape = (*padded.shape[:2], *self.kernel, *self.output_shape)
        # What as_strided does, at a tenth of its price.
        return numpy.ndarray(shape, source.dtype, source.data, 0, (batch, channel, *taps, *starts))


@lru_cache(maxsize=256)
def element_counts(windows: Windows, *, with_pads: bool) -> Array:
    """Count how many elements of the input (of its padded extent, with pads) each window covers: int64 [*output]."""
    counts = numpy.ones((), numpy.int64)
    for axis, size in enumerate(windows.input_shape):
        starts = numpy.arange(windows.output_shape[axis]) * windows.strides[axis] - windows.pads_begin[axis]
        taps = starts[:, None] + numpy.arange(windows.kernel[axis]) * windows.dilations[axis]
        first = -windows.pads_begin[axis] if with_pads else 0
        end = size + windows.pads_end[axis] if with_pads else size
        counts = numpy.multiply.outer(counts, ((taps >= first) & (taps < end)).sum(axis=1))
    return counts


def span(size: int, dilation: int) -> int:
    """Return how many input elements a kernel axis spans from its first tap to its last."""
    return (size - 1) * dilation + 1


def per_axis(call: Call, name: str, count: int, *, default: int, least: int) -> Ints:
    """Return a list attribute with one entry per spatial axis (pads: two)."""
    values = tuple(call.attributes.get(name) or (default,) * count)
    if len(values) != count:
        call.fail(f"{name} needs {count} values, it has {len(values)}")
    if min(values, default=least) < least:
        call.fail(f"{name} is {list(values)}; no value may be less than {least}")
    return values


def kernel_windows(call: Call, input_shape: Ints, kernel: Ints) -> Windows:
    """Return the windows that the attributes strides, dilations, pads, auto_pad and ceil_mode describe."""
    rank = len(input_shape)
    strides = per_axis(call, "strides", rank, default=1, least=1)
    dilations = per_axis(call, "dilations", rank, default=1, least=1)
    pads = per_axis(call, "pads", 2 * rank, default=0, least=0)
    auto_pad = checked_auto_pad(call)
    ceil_mode = bool(call.attributes.get("ceil_mode", 0))
    windows = _laid_out(input_shape, kernel, strides, dilations, pads, auto_pad, ceil_mode)
    if min(windows.output_shape) < 0:
        call.fail(f"the kernel {list(kernel)} is larger than the padded input, {list(input_shape)} without its padding")
    return windows


@lru_cache(maxsize=1024)
def _laid_out(
    input_shape: Ints,
    kernel: Ints,
    strides: Ints,
    dilations: Ints,
    pads: Ints,
    auto_pad: str,
    ceil_mode: bool,
) -> Windows:
    """The windows; a negative output size where the kernel does not fit."""
    rank = len(input_shape)
    spans = tuple(map(span, kernel, dilations))
    begin, end = pads[:rank], pads[rank:]
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        # "the output spatial size matches the input" before 11 is "ceil(input / stride)" since; AveragePool-11's floor
        # without ceil_mode contradicts its own auto_pad attribute and was corrected in 19.
        output = tuple(-(-size // stride) for size, stride in zip(input_shape, strides, strict=True))
        totals = [
            max(0, (out - 1) * stride + extent - size)
            for out, stride, extent, size in zip(output, strides, spans, input_shape, strict=True)
        ]
        begin, end = split_padding(totals, upper=auto_pad == "SAME_UPPER")
    else:
        if auto_pad == "VALID":
            begin = end = (0,) * rank
        # With VALID the formula for ceil_mode, ceil((size - span + 1) / stride), is that of rounding down. onnx's
        # inference and every release of onnxruntime (0.5 to 1.31) round up.
        output = tuple(
            _explicit_size(size + before + after - extent, stride, size + before, ceil_mode)
            for size, before, after, extent, stride in zip(input_shape, begin, end, spans, strides, strict=True)
        )
    return Windows(kernel, strides, dilations, begin, end, input_shape, output)


def _explicit_size(room: int, stride: int, right_pad_start: int, ceil_mode: bool) -> int:
    """How many windows there are, but for those that would start in the end pads.

    "Sliding windows that would start in the right padded region are ignored" is in the text from 22 on. ONNX's test of
    MaxPool-12 ("ceil_output_size_reduce_by_one") and onnxruntime from 1.21 on ignore them at every version.
    """
    size = (-(-room // stride) if ceil_mode else room // stride) + 1
    return min(size, -(-right_pad_start // stride)) if ceil_mode else size


def checked_auto_pad(call: Call) -> str:
    """Return the attribute auto_pad, which cannot be used together with pads."""
    auto_pad: str = call.attributes.get("auto_pad", "NOTSET")
    if auto_pad not in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
        call.fail(f"auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, not {auto_pad!r}")
    if auto_pad != "NOTSET" and any(call.attributes.get("pads") or ()):
        call.fail_if_strict(f"pads cannot be used simultaneously with auto_pad {auto_pad}")
    return auto_pad


def split_padding(totals: Sequence[int], *, upper: bool) -> tuple[Ints, Ints]:
    """Divide each total between two sides; what is odd goes to the end for `upper`, to the beginning otherwise."""
    less = tuple(total // 2 for total in totals)
    more = tuple(total - total // 2 for total in totals)
    return (less, more) if upper else (more, less)


def spatial_shape(call: Call, x: Array, what: str = "X") -> Ints:
    """Return the spatial part of the shape [N, C, *spatial]."""
    if x.ndim < 3:
        call.fail(f"{what} must have the shape (N x C x D1 x ... x Dn), not {list(x.shape)}")
    return x.shape[2:]
