"""Sums and matrix products whose bits depend only on values and on the shapes of the operands.

BLAS and numpy choose the order of summation by memory layout and by what else they compute in the same call. Here BLAS
gets one call for each pair of matrices, never vectors, and operands whose layout makes no difference; sums run along
contiguous rows. So an element of a batch does not depend on the others. The rows of one matrix product may: BLAS
computes rows in blocks, and edges differently. `one_thread.py` rules out the number of threads.
"""

from __future__ import annotations

import math

import numpy

from opsetlift.evaluator.kernels.numeric import float_to_integer
from opsetlift.model.arrays import Array

Axes = tuple[int, ...]

_BLOCK = 8
"""A multiple of what BLAS computes at once in double."""

_SMALL = 1 << 20
"""Matrices of up to this many elements are copied into C order: for small ones BLAS may have special kernels."""


def product(a: Array, b: Array) -> Array:
    """Multiply two arrays as numpy.matmul does, with bits that depend on values and shapes alone.

    Args:
        a: [..., M, K] or [K], float32, float64 or integers, which wrap.
        b: [..., K, N] or [K], of the dtype of a.

    Returns:
        [..., M, N], of the same dtype; a vector's axis is left out.
    """
    if a.dtype.kind in "iu":
        if not _fits_float64(a, b):
            return numpy.asarray(numpy.matmul(a, b))
        return float_to_integer(product(a.astype(numpy.float64), b.astype(numpy.float64)), a.dtype)
    left = a[None] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    rows, columns = left.shape[-2], right.shape[-1]
    # BLAS multiplies vectors in another order than matrices, and in which one depends on the layout of the matrix.
    left = _with_zeros(left, -2) if rows == 1 else _laid_out(left)
    right = _with_zeros(right, -1) if columns == 1 else _laid_out(right)
    if numpy.may_share_memory(left, right):  # numpy looks for products of a matrix by itself, transposed
        right = right.copy()
    result = numpy.matmul(left, right)
    if rows == 1 or columns == 1:
        result = numpy.ascontiguousarray(result[..., :rows, :columns])
    if a.ndim == 1:
        result = result[..., 0, :]
    return numpy.asarray(result[..., 0] if b.ndim == 1 else result)


class RowProduct:
    """Multiplies matrices by one matrix, in double and rounded once: their rows are elements of a batch.

    Whole blocks of rows and columns leave BLAS no edges, at which it would compute otherwise.
    """

    def __init__(self, matrix: Array) -> None:
        terms, self._columns = matrix.shape
        self._blocks = numpy.zeros((terms, -(-self._columns // _BLOCK) * _BLOCK))
        self._blocks[:, : self._columns] = matrix

    def __call__(self, rows: Array) -> Array:
        """Multiply rows [n, terms] by the matrix [terms, columns]: [n, columns], of the dtype of the rows."""
        count = len(rows)
        blocks = numpy.zeros((-(-count // _BLOCK) * _BLOCK, rows.shape[1]))
        blocks[:count] = rows
        return (blocks @ self._blocks)[:count, : self._columns].astype(rows.dtype)


def _with_zeros(matrices: Array, axis: int) -> Array:
    """Two rows (or columns) in place of one, the second of zeros."""
    shape = list(matrices.shape)
    shape[axis] = 2
    result = numpy.zeros(shape, matrices.dtype)
    result[(..., slice(1), slice(None)) if axis == -2 else (..., slice(1))] = matrices
    return result


def _laid_out(matrices: Array) -> Array:
    """The same values in C order, with regular strides; a large matrix may stay a transposed view."""
    if matrices.size > _SMALL and matrices.ndim == 2 and matrices.T.flags.c_contiguous:
        return matrices
    return numpy.ascontiguousarray(matrices).reshape(-1).reshape(matrices.shape)


def _fits_float64(a: Array, b: Array) -> bool:
    if not a.size or not b.size:
        return True
    return int(a.shape[-1]) * _magnitude(a) * _magnitude(b) < 2**53


def _magnitude(values: Array) -> int:
    return max(abs(int(values.min())), abs(int(values.max())))


def total(x: Array, axes: Axes, *, keepdims: bool = False, combine: numpy.ufunc = numpy.add) -> Array:
    """Add up floats over axes, or multiply them.

    Args:
        x: [*shape], any float dtype.
        axes: Which axes go, none negative; over none the result is x, whose -0 stays -0.
        keepdims: Whether the axes stay with size 1.
        combine: numpy.add or numpy.multiply.

    Returns:
        float64, the dtype that it is accumulated in.
    """
    if not axes:
        return x.astype(numpy.float64)
    kept = [axis for axis in range(x.ndim) if axis not in axes]
    count = math.prod(x.shape[axis] for axis in axes)
    outer = [x.shape[axis] for axis in kept]
    ordered = x.transpose(*kept, *axes).astype(numpy.float64, order="C")
    sums = combine.reduce(ordered.reshape(math.prod(outer), count), axis=-1)
    shape = [1 if axis in axes else size for axis, size in enumerate(x.shape)] if keepdims else outer
    return numpy.asarray(sums).reshape(shape)


def mean(x: Array, axes: Axes, *, keepdims: bool = False) -> Array:
    """Average float32 or float64 [*shape] over axes, in the dtype of x; NaN where there is nothing to average."""
    count = math.prod(x.shape[axis] for axis in axes)
    return numpy.asarray(total(x, axes, keepdims=keepdims) / numpy.float64(count)).astype(x.dtype, copy=False)
