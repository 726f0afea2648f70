"""DFT, STFT, the window functions and MelWeightMatrix."""

from __future__ import annotations

from typing import Any

import numpy

from opsetlift.evaluator.kernels.axes import scalar
from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import dtype_name, numpy_dtype


@kernel("DFT", since=(17,))
def dft_with_axis_attribute(call: Call, x: Array, dft_length: Array | None = None) -> Array:
    """DFT-17: The discrete Fourier transform along the attribute axis.

    Args:
        call: axis, inverse, onesided.
        x: [batch, *signal, 1 or 2], any float dtype: real, or real and imaginary parts.
        dft_length: int32 or int64 scalar; absent, the size of the axis.

    Returns:
        Like x with the transform's length and 2 in the last axis.
    """
    return _dft(call, x, dft_length, call.attributes["axis"])


@kernel("DFT", since=(20,))
def dft_with_axis_input(call: Call, x: Array, dft_length: Array | None = None, axis: Array | None = None) -> Array:
    """DFT-20: The discrete Fourier transform along the input axis.

    Args:
        call: inverse, onesided.
        x: [*signal, 1 or 2], any float dtype: real, or real and imaginary parts.
        dft_length: int32 or int64 scalar; absent, the size of the axis.
        axis: int64 scalar; absent, -2.

    Returns:
        Like x with the transform's length; the last axis is 2, or 1 for an inverse that is onesided.
    """
    return _dft(call, x, dft_length, -2 if axis is None else int(scalar(call, axis, "axis")))


def _dft(call: Call, x: Array, dft_length: Array | None, axis: int) -> Array:
    onesided, inverse = bool(call.attributes["onesided"]), bool(call.attributes["inverse"])
    rank = x.ndim
    if rank < 2 or not (-rank <= axis <= -2 or 0 <= axis <= rank - 2):
        call.fail(f"axis is {axis}; the accepted range is [-r, -2] and [0, r-2] with r = {rank}")
    signal = _complex(call, x)
    length = None if dft_length is None else int(scalar(call, dft_length, "dft_length"))
    axis %= rank
    if onesided and inverse:
        if x.shape[-1] != 2:
            call.fail("with onesided=1 and inverse=1, only complex input is supported")
        length = 2 * (x.shape[axis] - 1) if length is None else length
    elif onesided and x.shape[-1] != 1:
        call.fail("with onesided=1 and inverse=0, only real input is supported")
    length = x.shape[axis] if length is None else length
    if length < 1:
        call.fail(f"dft_length must be positive, not {length}")
    call.reserve(signal.size // max(signal.shape[axis], 1) * length)
    if not signal.shape[axis]:
        # Padded here, since numpy's irfft leaves uninitialized what it computes of nothing.
        signal = numpy.zeros([1 if place == axis else dim for place, dim in enumerate(signal.shape)], signal.dtype)
    if onesided and inverse:
        return as_dtype(numpy.fft.irfft(signal, length, axis)[..., None], x.dtype)
    if onesided:
        return _real_pairs(numpy.fft.rfft(signal.real, length, axis), x.dtype)
    transform = numpy.fft.ifft if inverse else numpy.fft.fft
    return _real_pairs(transform(signal, length, axis), x.dtype)


@kernel("STFT", since=(17,))
def stft(
    call: Call, signal: Array, frame_step: Array, window: Array | None = None, frame_length: Array | None = None
) -> Array:
    """STFT-17: Fourier transforms of frames of a signal.

    Args:
        call: onesided.
        signal: [batch, length, 1 or 2], any float dtype: real, or real and imaginary parts.
        frame_step: int32 or int64 scalar.
        window: [frame_length], of the dtype of signal; absent, ones.
        frame_length: int32 or int64 scalar; absent, the length of the window.

    Returns:
        [batch, frames, bins, 2], of the dtype of signal.
    """
    if signal.ndim != 3:
        call.fail(f"the signal must have the shape [batch_size][signal_length][1 or 2], not {list(signal.shape)}")
    onesided = bool(call.attributes["onesided"])
    if onesided and signal.shape[2] != 1:
        call.fail("if the input is complex, then onesided output is not possible")
    length = signal.shape[1] if window is None else window.shape[0] if window.ndim else 0
    if frame_length is not None:
        length = int(scalar(call, frame_length, "frame_length"))
    step = int(scalar(call, frame_step, "frame_step"))
    if window is not None and window.shape != (length,):
        call.fail(f"window must be a 1-D tensor of frame_length {length}, not {list(window.shape)}")
    if length < 1 or step < 1 or length > signal.shape[1]:
        call.fail(f"frame_length {length} and frame_step {step} do not fit a signal of length {signal.shape[1]}")
    starts = numpy.arange((signal.shape[1] - length) // step + 1) * step
    frames = _complex(call, signal)[:, starts[:, None] + numpy.arange(length)]
    if window is not None:
        frames = frames * widened(window)
        _check_finite(call, frames)
    spectrum = numpy.fft.rfft(frames.real, axis=-1) if onesided else numpy.fft.fft(frames, axis=-1)
    return _real_pairs(spectrum, signal.dtype)


def _complex(call: Call, x: Array) -> Array:
    """The numbers whose real (and imaginary) parts the last axis holds."""
    if x.shape[-1] not in (1, 2):
        call.fail(f"the last dimension must be 1 (real) or 2 (complex), not {x.shape[-1]}")
    wide = numpy.ascontiguousarray(widened(x))
    _check_finite(call, wide)
    if x.shape[-1] == 1:
        return wide[..., 0]
    return wide.view(numpy.result_type(wide.dtype, numpy.complex64))[..., 0]


def _check_finite(call: Call, transformed: Array) -> None:
    if not numpy.isfinite(transformed).all():
        call.fail_if_strict("which results of a transform of infinities are NaN depends on the algorithm")


def _real_pairs(values: Array, dtype: numpy.dtype[Any]) -> Array:
    return as_dtype(numpy.stack([values.real, values.imag], axis=-1), dtype)


@kernel("BlackmanWindow", since=(17,))
def blackman_window(call: Call, size: Array) -> Array:
    """BlackmanWindow-17: A Blackman window [size] of output_datatype."""
    return _cosine_window(call, size, 0.42, 0.5, 0.08)


@kernel("HannWindow", since=(17,))
def hann_window(call: Call, size: Array) -> Array:
    """HannWindow-17: A Hann window [size] of output_datatype."""
    return _cosine_window(call, size, 0.5, 0.5, 0.0)


@kernel("HammingWindow", since=(17,))
def hamming_window(call: Call, size: Array) -> Array:
    """HammingWindow-17: A Hamming window [size] of output_datatype."""
    return _cosine_window(call, size, 25 / 46, 21 / 46, 0.0)


def _cosine_window(call: Call, size: Array, a0: float, a1: float, a2: float) -> Array:
    """a0 - a1 cos(t) + a2 cos(2t), in float32 like the operators' function bodies."""
    count = int(scalar(call, size, "size"))
    if count < 0:
        call.fail(f"size must not be negative, it is {count}")
    call.reserve(count)
    single = numpy.float32
    steps = count if call.attributes["periodic"] else count - 1
    angles = numpy.arange(count, dtype=single) * (single(2 * numpy.pi) / single(steps))
    values = single(a0) - single(a1) * numpy.cos(angles) + single(a2) * numpy.cos(angles * single(2))
    return _as_output_datatype(call, values)


@kernel("MelWeightMatrix", since=(17,))
def mel_weight_matrix(
    call: Call,
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
) -> Array:
    """MelWeightMatrix-17: Weights from frequency bins to mel bands.

    The text names the mel scale and the peaks only; where the bands lie follows ONNX's node test: their edges are
    spaced by the mel range over (num_mel_bins + 2) and rounded down to bins of (dft_length + 1) / sample_rate.

    Args:
        call: output_datatype.
        num_mel_bins: int32 or int64 scalar.
        dft_length: int32 or int64 scalar.
        sample_rate: int32 or int64 scalar.
        lower_edge_hertz: Float scalar.
        upper_edge_hertz: Float scalar.

    Returns:
        [dft_length // 2 + 1, num_mel_bins], of output_datatype.
    """
    integers = ((num_mel_bins, "num_mel_bins"), (dft_length, "dft_length"), (sample_rate, "sample_rate"))
    bands, length, rate = (int(scalar(call, tensor, name)) for tensor, name in integers)
    hertz = ((lower_edge_hertz, "lower_edge_hertz"), (upper_edge_hertz, "upper_edge_hertz"))
    lower, upper = (2595 * numpy.log10(1 + float(scalar(call, tensor, name)) / 700) for tensor, name in hertz)
    call.reserve(max(bands + 2, 1) * max(length // 2 + 1, 1))
    mels = numpy.arange(bands + 2) * ((upper - lower) / (bands + 2)) + lower
    edges = ((length + 1) * (700 * (numpy.power(10.0, mels / 2595) - 1)) // rate).astype(numpy.int64)
    first, peak, last = edges[:-2], edges[1:-1], edges[2:]
    bins = numpy.arange(length // 2 + 1)[:, None]
    rising = numpy.where((bins >= first) & (bins < peak), (bins - first) / (peak - first), 0.0)
    falling = numpy.where((bins >= peak) & (bins < last), (last - bins) / (last - peak), 0.0)
    return _as_output_datatype(call, numpy.where(bins == peak, 1.0, rising + falling))


def _as_output_datatype(call: Call, values: Array) -> Array:
    number = call.attributes["output_datatype"]
    try:
        dtype = numpy_dtype(dtype_name(number))
    except ValueError:
        call.fail(f"output_datatype must be a value of TensorProto's DataType, not {number}")
    return as_dtype(values, dtype)
