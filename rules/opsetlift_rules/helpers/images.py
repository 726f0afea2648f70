"""Helpers for opset 1, where normalisations take images only: tensors of batch, channels, height and width."""

from __future__ import annotations

import math
from collections.abc import Callable

from opsetlift.rulebook.site import Operators, Site
from opsetlift.support.refusal import Why


def is_image(site: Site) -> bool:
    """Whether the first input has rank 4."""
    return site.rank(0, because="below opset 6 normalizations accept only inputs of rank 4") == 4


def as_image(site: Site, op: Operators, value: str) -> tuple[str, Callable[[str], str]]:
    """Reshape a tensor of another rank to rank 4, [N, C, H, W]; also returns the inverse for results."""
    shape = site.shape(0) or []
    rank = len(shape)
    if rank < 2:
        site.refuse(Why.INVALID_MODEL, f"the input has rank {rank}, so it has no channels")
    if rank < 4:
        axes = site.constant(range(rank, 4), "int64")
        return op.Unsqueeze(value, axes), lambda result: str(op.Squeeze(result, axes))
    middle = [dim for dim in shape[2:-1] if isinstance(dim, int)]
    if len(middle) < rank - 3 or not isinstance(shape[-1], int):
        site.refuse(
            Why.SHAPE_UNKNOWN, "the spatial sizes cannot be inferred, and below opset 6 they must be merged into two"
        )
    flat = op.Reshape(value, site.constant([0, 0, math.prod(middle), shape[-1]], "int64", "shape"))
    # A 0 copies a dimension; a spatial size of 0 would copy the size of another dimension.
    if 0 in shape[2:]:
        site.refuse(
            Why.NO_EQUIVALENT,
            'a spatial size is 0, which Reshape below opset 14 takes for "copy the size of the input"',
        )
    back = site.constant([0, 0, *middle, shape[-1]], "int64", "shape")
    return flat, lambda result: str(op.Reshape(result, back))
