"""MatMul, Gemm, Einsum, Det.

Narrow floats are multiplied as float32 and rounded once. Integers wrap.
"""

from __future__ import annotations

import math

import numpy

from opsetlift.evaluator.kernels.accumulation import product
from opsetlift.evaluator.kernels.contraction import contracted
from opsetlift.evaluator.kernels.numeric import float_to_integer, is_integer, narrowed_as, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


def check_matmul(call: Call, a: Array, b: Array) -> None:
    """Refuse operands that numpy.matmul does not take: scalars, and [..., M, K] times [..., N, L]."""
    if not a.ndim or not b.ndim:
        call.fail("a matrix product takes no scalar")
    rows = b.shape[0] if b.ndim == 1 else b.shape[-2]
    if a.shape[-1] != rows:
        call.fail(f"the shapes {list(a.shape)} and {list(b.shape)} do not fit: {a.shape[-1]} is not {rows}")
    try:
        batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        call.fail(f"the batches of {list(a.shape)} and {list(b.shape)} cannot be broadcast")
    call.reserve(math.prod((*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))))


@kernel("MatMul", since=(1, 9, 13), changes=())
def matmul(call: Call, a: Array, b: Array) -> Array:
    """MatMul-1, 9, 13: The matrix product, as numpy.matmul defines it.

    A [..., M, K] and B [..., K, N] of one numeric dtype; leading axes are broadcast, vectors count as matrices.
    """
    check_matmul(call, a, b)
    return narrowed_as(product(widened(a), widened(b)), a.dtype)


@kernel("Gemm", since=(1, 6, 7, 9, 11, 13), changes=(7,))
def gemm(call: Call, a: Array, b: Array, c: Array | None = None) -> Array:
    """Gemm-1, 6, 7, 9, 11, 13: alpha * A * B + beta * C.

    Args:
        call: alpha, beta, transA, transB.
        a: [M, K], transposed by transA, any numeric dtype of the version.
        b: [K, N], transposed by transB.
        c: Broadcast to [M, N]; absent, from 11 on, zeros.

    Returns:
        [M, N], of the dtype of A.
    """
    if a.ndim != 2 or b.ndim != 2:
        call.fail(f"A and B must be matrices, not of ranks {a.ndim} and {b.ndim}")
    left = a.T if call.attributes["transA"] else a
    right = b.T if call.attributes["transB"] else b
    if left.shape[1] != right.shape[0]:
        call.fail(f"A' is {left.shape[0]} x {left.shape[1]}, B' is {right.shape[0]} x {right.shape[1]}")
    call.reserve(left.shape[0] * right.shape[1])
    result = _scaled(product(widened(left), widened(right)), call.attributes["alpha"])
    if c is not None:
        _check_bias(call, c, (left.shape[0], right.shape[1]))
        result = numpy.asarray(result + _scaled(widened(c), call.attributes["beta"]))
    return (
        float_to_integer(result, a.dtype)
        if is_integer(a.dtype) and not is_integer(result.dtype)
        else narrowed_as(result, a.dtype)
    )


def _scaled(values: Array, factor: float) -> Array:
    """Integers times a fraction are reals; the sum of both terms is truncated, not each of them."""
    if factor == 1:
        return values
    if values.dtype.kind in "iu":
        return values * values.dtype.type(int(factor)) if factor.is_integer() and factor >= 0 else values * factor
    return numpy.asarray(values * values.dtype.type(factor))


def _check_bias(call: Call, c: Array, shape: tuple[int, int]) -> None:
    if call.since_version < 7 and not call.attributes["broadcast"]:
        if c.shape != shape:
            call.fail(f"without broadcast, C must have the shape {list(shape)}, not {list(c.shape)}")
        return
    fits = c.ndim <= 2 and all(have in (1, want) for have, want in zip(c.shape[::-1], shape[::-1], strict=False))
    if not fits:
        call.fail(f"C of shape {list(c.shape)} cannot be broadcast to {list(shape)}")


@kernel("Einsum", since=(12, 28), changes=())
def einsum(call: Call, *operands: Array) -> Array:
    """Einsum-12, 28: Einstein summation by the attribute equation.

    Inputs of one numeric dtype, with an axis for each letter of their term.
    """
    equation = call.attributes["equation"]
    if isinstance(equation, bytes):
        call.fail(f"the equation {equation!r} is no text")
    equation = equation.replace(" ", "")
    terms = equation.partition("->")[0].split(",")
    if len(terms) != len(operands):
        call.fail(f"{equation!r} has {len(terms)} terms for {len(operands)} inputs")
    letters = set(equation.replace("->", "").replace(",", "").replace("...", ""))
    if not all(letter.isascii() and letter.isalpha() for letter in letters):
        call.fail(f"{equation!r} has characters other than letters, commas, spaces, one arrow and ellipses")
    _check_ellipses(call, terms, operands)
    _check_letters(call, terms, operands)
    wide = [widened(operand) for operand in operands]
    try:
        result = contracted(equation, wide, call.reserve)
    except ValueError as error:
        call.fail(f"{equation!r} does not fit the inputs: {error}")
    return narrowed_as(result, operands[0].dtype)


def _check_ellipses(call: Call, terms: list[str], operands: tuple[Array, ...]) -> None:
    """Every ellipsis stands for the same number of dimensions."""
    counts = set()
    for term, operand in zip(terms, operands, strict=True):
        named = len(term.replace("...", ""))
        if "..." in term:
            counts.add(operand.ndim - named)
        elif named != operand.ndim:
            call.fail(f"the term {term!r} names {named} dimensions of an input of rank {operand.ndim}")
    if len(counts) > 1 or any(count < 0 for count in counts):
        call.fail("every ellipsis must represent the same number of dimensions")


def _check_letters(call: Call, terms: list[str], operands: tuple[Array, ...]) -> None:
    """A letter stands for one size; the text broadcasts the ellipsis alone, runtimes letters of size 1 as well."""
    sizes: dict[str, int] = {}
    for term, operand in zip(terms, operands, strict=True):
        before, _, after = term.partition("...")
        ends = [*zip(before, operand.shape, strict=False), *zip(after[::-1], operand.shape[::-1], strict=False)]
        for letter, size in ends:
            if 1 in (size, known := sizes.setdefault(letter, size)) and size != known:
                call.fail_if_strict(f"{letter!r} stands for {known} and for {size}")


@kernel("Det", since=(11, 22), changes=())
def determinant(call: Call, x: Array) -> Array:
    """Det-11, 22: Determinants of float matrices [*batch, M, M].

    Returns:
        [*batch], of the dtype of x.
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        call.fail(f"the innermost two dimensions must form square matrices; the shape is {list(x.shape)}")
    wide = x.astype(numpy.float64)
    # LAPACK may take a NaN for a pivot of 0.
    found = numpy.where(numpy.isnan(wide).any(axis=(-2, -1)), numpy.nan, numpy.linalg.det(wide))
    return narrowed_as(found.astype(widened(x).dtype), x.dtype)
