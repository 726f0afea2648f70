"""Matrix products.

MatMul  9: +int32 +int64 +uint32 +uint64 · 13: +bfloat16
Gemm    6: text only · 7: C is broadcast without `broadcast` · 9: +int32 +int64 +uint32 +uint64 · 11: C optional ·
        13: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Step, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers.broadcasting import have_one_shape
from opsetlift_rules.helpers.dtype_groups import FLOATING


def integer_products_are_summed(site: Site) -> None:
    """ReduceSum and Mul take integers before MatMul does."""
    if site.dtype(0) not in FLOATING:
        op = site.op_at(13)
        ranks = [
            site.rank(position, because="the dimensions to sum over are counted from the back") for position in (0, 1)
        ]
        site.replace(_product(site, op, site.input(0), site.input(1), ranks))


def _product(site: Site, op: Operators, first: str, second: str, ranks: list[int]) -> str:
    """(..., M, K, 1) times (..., 1, K, N), summed over K; a vector has no M or N."""
    if ranks[1] > 1:
        first = op.Unsqueeze(first, site.constant_int64([-1]))
    if ranks[0] > 1 and ranks[1] > 1:
        second = op.Unsqueeze(second, site.constant_int64([-3]))
    summed = site.constant_int64([-1 if ranks[1] == 1 else -2])
    return str(op.ReduceSum(op.Mul(first, second), summed, keepdims=0))


def broadcast_goes(site: Site) -> None:
    """From 7 on C is always broadcast to the product's shape."""
    site.remove_attribute("broadcast")


def broadcast_is_written_down(site: Site) -> None:
    """The inverse; it also holds where C has the product's shape."""
    shapes = [site.shape(2), site.shape(site.output(0))]
    if not have_one_shape(shapes):
        site.set_attribute("broadcast", 1)


def absent_term_is_zero(site: Site) -> None:
    """-0 added to any number leaves its sign as it is, which 0 does not."""
    if not site.input(2):
        site.remove_attribute("beta")
        site.set_input(2, site.constant(-numpy_dtype(site.dtype(0)).type(0).reshape(()), "no_term"))


def integers_are_multiplied_and_added(site: Site) -> None:
    """Transpose, MatMul, Mul and Add; MatMul goes its own way from here."""
    dtype = site.dtype(0)
    if dtype in FLOATING:
        return
    factors = [site.attribute(name, 1.0) for name in ("alpha", "beta")]
    if any(not factor.is_integer() or factor < 0 for factor in factors):
        site.refuse(
            Why.NO_EQUIVALENT,
            f"alpha {factors[0]} and beta {factors[1]} are to multiply {dtype}; which number that gives is left open",
        )
    op = site.op_at(13)
    first, second = (
        op.Transpose(site.input(position), perm=[1, 0]) if site.attribute(name, 0) else site.input(position)
        for position, name in enumerate(("transA", "transB"))
    )
    terms = [_product(site, op, first, second, [2, 2]), site.input(2)]
    scaled = [
        term if factor == 1 else op.Mul(term, site.scalar(int(factor), dtype, "factor"))
        for term, factor in zip(terms, factors, strict=True)
    ]
    site.replace(op.Add(*scaled))


def product_and_term_are_added(site: Site) -> None:
    """For a runtime whose Gemm lacks a dtype or a form that its MatMul, Mul and Add have."""
    dtype = site.dtype(0)
    if dtype not in FLOATING or not site.computes("MatMul", T=dtype):
        site.carry_to_kernel()
        return
    op = site.op
    first, second = (
        op.Transpose(site.input(position), perm=[1, 0]) if site.attribute(name, 0) else site.input(position)
        for position, name in enumerate(("transA", "transB"))
    )
    terms = [op.MatMul(first, second), *filter(None, [site.input(2)])]
    factors = [site.attribute(name, 1.0) for name in ("alpha", "beta")]
    scaled = [
        term if factor == 1 else op.Mul(term, site.scalar(factor, dtype, "factor"))
        for term, factor in zip(terms, factors, strict=False)
    ]
    site.replace(op.Add(*scaled) if len(scaled) > 1 else op.Identity(scaled[0]))


_IN_PARTS = rounding(
    product_and_term_are_added, ulps=2, because="the product, its factor and the term are rounded one after the other"
)

_TEXT_6 = "6 drops 'can be inplace', and a version 1 that wrote its result over C would not be a function"
_TEXT_13 = "13 writes A' and B' as a list"

STEPS = [
    Step("MatMul", 1, 9, up=unchanged, down=integer_products_are_summed),
    Step("Gemm", 1, 6, up=unchanged, down=unchanged, because=_TEXT_6),
    Step("Gemm", 6, 7, up=broadcast_goes, down=broadcast_is_written_down),
    Step("Gemm", 7, 9, up=unchanged, down=integers_are_multiplied_and_added),
    Step("Gemm", 9, 11, up=unchanged, down=absent_term_is_zero),
    Step("Gemm", 11, 13, up=unchanged, down=unchanged, because=_TEXT_13),
]

FALLBACKS = [
    Fallback("Gemm", _IN_PARTS),
]
