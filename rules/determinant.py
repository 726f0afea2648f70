"""Det.

Det  11: born · 22: +bfloat16
"""

from __future__ import annotations

from itertools import combinations, permutations

import numpy

from converter.refusal import Why
from converter.rule import Birth
from converter.site import Site
from rules.narrow_floats import computed_bfloat16_step

_LARGEST_SIZE = 5
"""Leibniz's formula has 120 products for it, and 720 for the next."""


def determinant_is_a_sum_of_products(site: Site) -> None:
    """Leibniz's formula, in double: the sum cancels, and of double itself more digits than a bound could name."""
    dtype = site.dtype(0)
    shape = site.shape(0)
    size = shape[-1] if shape else None
    if not isinstance(size, int) or not 1 <= size <= _LARGEST_SIZE:
        site.refuse(
            Why.SHAPE_UNKNOWN if size is None or isinstance(size, str) else Why.NO_EQUIVALENT,
            f"below opset 11 a determinant is written out, for matrices of a known size from 1 to {_LARGEST_SIZE}",
        )
    if dtype == "double":
        site.refuse(
            Why.NO_EQUIVALENT,
            "a determinant that is written out cancels digits, and double has no carrier that would have them",
        )
    site.rounds(1, "a sum of products in double, which cancels other digits than an elimination does")
    assert shape is not None
    op = site.op_at(13)
    batch = len(shape) - 2
    entries = op.Reshape(
        op.Cast(site.input(0), to="double"), site.constant_int64([*[0] * batch, size * size], "entries")
    )
    orders = list(permutations(range(size)))
    positions = numpy.array([[row * size + column for row, column in enumerate(order)] for order in orders])
    signs = numpy.array([(-1.0) ** sum(left > right for left, right in combinations(order, 2)) for order in orders])
    factors = op.Gather(entries, site.constant(positions.astype(numpy.int64), "positions"), axis=batch)
    products = op.Mul(op.ReduceProd(factors, axes=[batch + 1], keepdims=0), site.constant(signs, "signs"))
    total = op.ReduceSum(products, site.constant_int64([batch]), keepdims=0)
    site.replace(op.Cast(total, to=dtype))


STEPS = [computed_bfloat16_step("Det", 11, 22)]

BIRTHS = [Birth("Det", 11, down=determinant_is_a_sum_of_products)]
