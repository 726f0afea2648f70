"""Matrix products.

MatMul  9: +int32 +int64 +uint32 +uint64 · 13: +bfloat16
Gemm    6: text only · 7: C is broadcast without `broadcast` · 9: +int32 +int64 +uint32 +uint64 · 11: C optional ·
        13: +bfloat16
"""

from __future__ import annotations

from functools import partial
from math import prod

import numpy

from opsetlift.rulebook.rule import Fallback, Step, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site, is_constant, widen_to_kernel
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import have_one_shape
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.separating import put_maxima_before, put_sums_before


def multiply_and_sum_integers(site: Site) -> None:
    """Replace MatMul-9 of integers, which MatMul-1 does not take, with Mul and ReduceSum."""
    if site.dtype(0) not in FLOATING:
        op = site.op_at(opsets.AXES_AS_INPUTS)
        ranks = [site.rank(position, because="the summed dimensions are counted from the back") for position in (0, 1)]
        site.replace(_product(site, op, site.input(0), site.input(1), ranks))


def _product(site: Site, op: Operators, first: str, second: str, ranks: list[int]) -> str:
    """(..., M, K, 1) times (..., 1, K, N), summed over K; a vector has no M or N."""
    if ranks[1] > 1:
        first = op.Unsqueeze(first, site.constant([-1], "int64"))
    if ranks[0] > 1 and ranks[1] > 1:
        second = op.Unsqueeze(second, site.constant([-3], "int64"))
    summed = site.constant([-1 if ranks[1] == 1 else -2], "int64")
    return str(op.ReduceSum(op.Mul(first, second), summed, keepdims=0))


def remove_the_broadcast_attribute(site: Site) -> None:
    """Remove `broadcast` of Gemm-6: from 7 on C is always broadcast to the shape of the product."""
    site.remove_attribute("broadcast")


def set_the_broadcast_attribute(site: Site) -> None:
    """Set broadcast=1 for Gemm-6 unless C is known to have the shape of the product."""
    shapes = [site.shape(2), site.shape(site.output(0))]
    if not have_one_shape(shapes):
        site.set_attribute("broadcast", 1)


def add_a_zero_term(site: Site) -> None:
    """Add -0, which leaves every sum as it is, for C of Gemm-11 where it is absent: Gemm-9 requires it."""
    if not site.input(2):
        site.remove_attribute("beta")
        site.set_input(2, site.constant(-numpy_dtype(site.dtype(0)).type(0).reshape(()), hint="no_term"))


def decompose_integer_gemm(site: Site) -> None:
    """Replace Gemm-9 of integers, which Gemm-7 does not take, with Transpose, Mul, ReduceSum and Add."""
    dtype = site.dtype(0)
    if dtype in FLOATING:
        return
    factors = [site.attribute(name, 1.0) for name in ("alpha", "beta")]
    if any(not factor.is_integer() or factor < 0 for factor in factors):
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                f"Gemm multiplies {dtype} by alpha {factors[0]} and beta {factors[1]}, and the specification "
                "leaves the result open"
            ),
        )
    op = site.op_at(opsets.AXES_AS_INPUTS)
    first, second = (
        op.Transpose(site.input(position), perm=[1, 0]) if site.attribute(name, 0) else site.input(position)
        for position, name in enumerate(("transA", "transB"))
    )
    terms = [_product(site, op, first, second, [2, 2]), site.input(2)]
    scaled = [
        term if factor == 1 else op.Mul(term, site.constant(int(factor), dtype, "factor"))
        for term, factor in zip(terms, factors, strict=True)
    ]
    site.replace(op.Add(*scaled))


def split_gemm_into_matmul_and_add(site: Site) -> None:
    """Write Gemm as MatMul, Mul and Add, for a runtime whose Gemm lacks a dtype or a form that these have."""
    dtype = site.dtype(0)
    if dtype not in FLOATING or not site.computes("MatMul", T=dtype):
        widen_to_kernel(site)
        return
    op = site.op
    first, second = (
        op.Transpose(site.input(position), perm=[1, 0]) if site.attribute(name, 0) else site.input(position)
        for position, name in enumerate(("transA", "transB"))
    )
    terms = [op.MatMul(first, second), *filter(None, [site.input(2)])]
    factors = [site.attribute(name, 1.0) for name in ("alpha", "beta")]

    def times(term: str, factor: float) -> str:
        return str(op.Mul(term, site.constant(factor, dtype, "factor")))

    scaled = [
        term if factor == 1 else site.folded(partial(times, term, factor), "scaled")
        for term, factor in zip(terms, factors, strict=False)
    ]
    site.replace(op.Add(*scaled) if len(scaled) > 1 else op.Identity(scaled[0]))


def add_a_zero_term_or_split_gemm(site: Site) -> None:
    """Give a Gemm without C that the runtime fails on a C of -0, and repeat a C of one number to a vector.

    Split it into MatMul and Add where the dtype or another form of C fails.
    """
    if not site.input(2) and site.computes("Gemm", T=site.dtype(0)):
        add_a_zero_term(site)
        return
    term, width = site.content(2) if site.input(2) else None, (site.shape(site.output(0)) or [None])[-1]
    if term is not None and term.size == 1 and isinstance(width, int) and term.shape != (width,):
        site.set_input(2, site.constant(numpy.full(width, term.reshape(())), hint="repeated"))
        # A new node, which is split in its turn where that was not enough.
        site.replace(site.op.copy(*site.inputs))
        return
    site.rounds()
    split_gemm_into_matmul_and_add(site)


def multiply_vectors_as_matrices(site: Site) -> None:
    """Write a vector as a matrix of one row or column, and leave that out of the product.

    Matrices are kept apart from the nodes before: some optimisers merge a Transpose into products of dtypes that the
    merged operator does not compute, or a Softmax and what leads to it into an attention that they read wrongly.
    """
    ranks = [site.rank(place, because="a vector has one axis") for place in (0, 1)]
    if 1 not in ranks:
        if site.dtype(0) == "double":
            put_sums_before(site, (0, 1))
        elif not is_constant(site, 0):
            put_sums_before(site)
        return
    op = site.op_at(opsets.AXES_AS_INPUTS)
    operands, rank = site.inputs, max(2, *ranks)
    added = [place for place in (0, 1) if ranks[place] == 1]
    for place in added:
        operands[place] = op.Unsqueeze(operands[place], site.constant([place], "int64"))
    site.replace(op.Squeeze(op.MatMul(*operands), site.constant([rank - 2 + place for place in added], "int64")))


def give_matrices_one_rank_or_multiply_vectors(site: Site) -> None:
    """Write the first of two stacks of matrices with as many dimensions as the second; vectors as matrices.

    Some runtimes leave the dimensions of size 1 out of the result that only the second stack has. A constant second
    stack of several matrices is written as often as it is used, for those that repeat it otherwise, and a constant
    matrix of halves as a stack, for those that end where they move the axes of the first.
    """
    if _repeats_constant_matrices(site):
        return
    ranks = [site.rank(place, because="it says which dimensions the stacks of matrices have") for place in (0, 1)]
    fewer = 0 if ranks[0] < ranks[1] else 1
    is_meant = fewer == 0 or (site.dtype(0) == "float16" and is_constant(site, 1))
    is_fewer = _ONE_MATRIX <= ranks[fewer] < ranks[1 - fewer]
    if not is_fewer or not is_meant or not site.computes("MatMul", T=site.dtype(0)):
        multiply_vectors_as_matrices(site)
        return
    added = site.constant(range(ranks[1 - fewer] - ranks[fewer]), "int64")
    site.set_input(fewer, site.op_at(opsets.AXES_AS_INPUTS).Unsqueeze(site.input(fewer), added))


def _repeats_constant_matrices(site: Site) -> bool:
    result, matrices = site.shape(site.output(0)), site.content(1)
    if matrices is None or result is None or not all(isinstance(size, int) for size in result[:-2]):
        return False
    wanted = (*(size for size in result[:-2] if isinstance(size, int)), *matrices.shape[-2:])
    if not 1 < prod(matrices.shape[:-2]) < prod(wanted[:-2]):
        return False
    site.set_input(1, site.constant(numpy.broadcast_to(matrices, wanted).copy(), hint="repeated"))
    # A new node, which is looked at in its turn.
    site.replace(site.op.copy(*site.inputs))
    return True


_ONE_MATRIX = 2
"""The rank of a matrix."""

_WITH_A_TERM_OR_IN_PARTS = rounding(
    add_a_zero_term_or_split_gemm,
    ulps=2,
    when="Gemm is split into MatMul and Add",
    because="the product, its factor and the term are rounded one after the other",
)

_TEXT_6 = "6 drops 'can be inplace', which cannot change what an operator computes"
_TEXT_13 = "13 only lists A' and B' on lines of their own"

STEPS = [
    Step("MatMul", 1, 9, up=unchanged, down=multiply_and_sum_integers),
    Step("Gemm", 1, 6, up=unchanged, down=unchanged, because=_TEXT_6),
    Step("Gemm", 6, 7, up=remove_the_broadcast_attribute, down=set_the_broadcast_attribute),
    Step("Gemm", 7, 9, up=unchanged, down=decompose_integer_gemm),
    Step("Gemm", 9, 11, up=unchanged, down=add_a_zero_term),
    Step("Gemm", 11, 13, up=unchanged, down=unchanged, because=_TEXT_13),
]

FALLBACKS = [
    Fallback("Gemm", _WITH_A_TERM_OR_IN_PARTS),
    Fallback("MatMul", give_matrices_one_rank_or_multiply_vectors, otherwise=put_maxima_before),
]
