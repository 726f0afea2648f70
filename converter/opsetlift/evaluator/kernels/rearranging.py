"""Operators that move elements by a fixed pattern: DepthToSpace, SpaceToDepth, ReverseSequence, Trilu.

DepthToSpace  11: +mode CRD
SpaceToDepth  28: +mode CRD
"""

from __future__ import annotations

import numpy

from opsetlift.evaluator.kernels.axes import one_element, zero
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


def _mode(call: Call) -> str:
    # Where a version has no mode, its text names no order; that of the later default is the one that was meant.
    mode: str = call.attributes.get("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        call.fail(f"mode is {mode!r}; it is DCR or CRD")
    return mode


def _blocksize(call: Call, data: Array) -> int:
    if data.ndim != 4:
        call.fail(f"the input must be [N, C, H, W], its rank is {data.ndim}")
    block: int = call.attributes["blocksize"]
    if block < 1:
        call.fail(f"blocksize is {block}; a block has at least one element")
    return block


@kernel("DepthToSpace", since=(1, 11, 13, 28), changes=())
def depth_to_space(call: Call, data: Array) -> Array:
    """DepthToSpace-1, 11, 13, 28: Blocks of channels laid out in space.

    [N, C, H, W] of any dtype becomes [N, C / b^2, H * b, W * b] with b = blocksize; mode is DCR, or from 11 on CRD.
    """
    block = _blocksize(call, data)
    batch, channels, height, width = data.shape
    if channels % (block * block):
        call.fail(f"{channels} channels cannot be divided by blocksize * blocksize, {block * block}")
    depth = channels // (block * block)
    if _mode(call) == "DCR":
        blocks = data.reshape(batch, block, block, depth, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = data.reshape(batch, depth, block, block, height, width).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(batch, depth, height * block, width * block)


@kernel("SpaceToDepth", since=(1, 13, 28), changes=())
def space_to_depth(call: Call, data: Array) -> Array:
    """SpaceToDepth-1, 13, 28: Blocks of space laid out in channels.

    [N, C, H, W] of any dtype becomes [N, C * b^2, H / b, W / b] with b = blocksize: the inverse of DepthToSpace in the
    same mode.
    """
    block = _blocksize(call, data)
    batch, channels, height, width = data.shape
    if height % block or width % block:
        call.fail(f"height {height} and width {width} must be multiples of blocksize, {block}")
    blocks = data.reshape(batch, channels, height // block, block, width // block, block)
    order = (0, 3, 5, 1, 2, 4) if _mode(call) == "DCR" else (0, 1, 3, 5, 2, 4)
    return blocks.transpose(order).reshape(batch, channels * block * block, height // block, width // block)


@kernel("ReverseSequence", since=(10, 28), changes=())
def reverse_sequence(call: Call, data: Array, lengths: Array) -> Array:
    """ReverseSequence-10, 28: The first elements of each sequence reversed.

    Args:
        call: time_axis and batch_axis, one 0 and the other 1.
        data: [time, batch, *] or [batch, time, *], any dtype.
        lengths: int64 [batch], how many elements are reversed.

    Returns:
        The shape and dtype of data.
    """
    time_axis, batch_axis = call.attributes["time_axis"], call.attributes["batch_axis"]
    if {time_axis, batch_axis} != {0, 1}:
        call.fail(f"time_axis is {time_axis}, batch_axis {batch_axis}; one must be 0 and the other 1")
    if data.ndim < 2:
        call.fail(f"the rank of the input must be >= 2, it is {data.ndim}")
    steps, batch = data.shape[time_axis], data.shape[batch_axis]
    if lengths.shape != (batch,):
        call.fail(f"sequence_lens has the shape {list(lengths.shape)}, the batch has {batch} sequences")
    if lengths.size and not (lengths.min() >= 0 and lengths.max() <= steps):
        call.fail(f"sequence_lens must be in [0, {steps}]")
    time = numpy.arange(steps)[:, None]
    source = numpy.where(time < lengths, lengths - 1 - time, time)
    if time_axis == 0:
        return data[source, numpy.arange(batch)]
    return data[numpy.arange(batch)[:, None], source.T]


@kernel("Trilu", since=(14,))
def trilu(call: Call, data: Array, k: Array | None = None) -> Array:
    """Trilu-14: The upper or lower triangle of matrices, else 0.

    data [*batch, N, M] of any dtype; k, int64, one element, says at which diagonal, the main one where it is absent.
    """
    if data.ndim < 2:
        call.fail(f"the rank of the input must be >= 2, it is {data.ndim}")
    diagonal = 0 if k is None else int(one_element(call, k, "k"))
    rows, columns = data.shape[-2:]
    # Beyond the corners nothing changes; clipped, so that the sums below cannot overflow.
    diagonal = min(max(diagonal, -rows), columns)
    offsets = numpy.arange(columns) - numpy.arange(rows)[:, None]
    kept = offsets >= diagonal if call.attributes["upper"] else offsets <= diagonal
    return numpy.where(kept, data, zero(data.dtype))
