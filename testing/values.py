"""Edge-case values for tests, and what counts as the same result."""

from __future__ import annotations

import numpy

from opsetlift.specification.dtypes import numpy_dtype

FLOATING = ("float16", "bfloat16", "float", "double")


def edge_values(dtype: str, shape: list[int], *, seed: int) -> numpy.ndarray:
    """Values of a dtype with its extremes, ties, zeros of both signs, infinities and NaN among them."""
    random = numpy.random.default_rng(seed)
    size = int(numpy.prod(shape))
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(kind)
    if dtype in FLOATING:
        special = [-0.0, 0.0, numpy.inf, 1.5, -numpy.inf, -2.25, numpy.nan, 1.5, 3.0]
    else:
        limits = numpy.iinfo(kind)
        special = [limits.max, limits.min, 0, 1, limits.max - 1, limits.min + 1, 1]
    chosen = numpy.array([special[index % len(special)] for index in random.permutation(max(size, 1))][:size], object)
    return chosen.reshape(shape).astype(kind)


def same(left: numpy.ndarray, right: numpy.ndarray) -> bool:
    """Same dtype, same shape, same bits; one NaN is like another, and -0.0 is not 0.0."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind in "biuO":
        return bool((left == right).all())
    wide_left, wide_right = left.astype(numpy.float64), right.astype(numpy.float64)
    nan = numpy.isnan(wide_left)
    equal = (wide_left == wide_right) & (numpy.signbit(wide_left) == numpy.signbit(wide_right))
    return bool((equal | nan).all() and (nan == numpy.isnan(wide_right)).all())
