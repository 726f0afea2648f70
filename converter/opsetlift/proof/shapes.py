"""The dimensions of inputs, and how large ones are made small."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from onnx import TypeProto

from opsetlift.specification.dtypes import type_string

Dims = tuple[int | str | None, ...]
"""Sizes, symbols, and None for a dimension of which nothing is known."""

Shape = tuple[int, ...]

_INDEX_TYPES = frozenset(["tensor(int32)", "tensor(int64)"])

SMALL = 8
"""Sizes up to this are kept when a shape is shrunk: they are kernels, groups, coordinates, and so on."""

LIGHT = 1 << 11
"""Inputs of so few elements in all are never shrunk."""

FEW = 1 << 8
"""The same as `LIGHT` where the result iterates over elements, which costs a subgraph's run for each."""

BEARABLE = 1 << 15
"""Inputs of so few elements in all are tried at the model's own shapes, besides the shrunk ones."""


MOST_DRAWN = 1 << 27
"""How many elements the values may have that are computed from inputs that are drawn, and all these together."""


def dims_of(type_proto: TypeProto) -> Dims | None:
    """The dimensions of a tensor, or of the tensors in a sequence or an optional; None where the rank is not known."""
    kind = type_proto.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return dims_of(getattr(type_proto, kind).elem_type)
    if kind != "tensor_type" or not type_proto.tensor_type.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else (dim.dim_param or None)
        for dim in type_proto.tensor_type.shape.dim
    )


def may_be_sizes(kind: TypeProto) -> bool:
    """Whether values of a type may hold sizes, axes or indices: single integers and lists of them may."""
    dims = dims_of(kind)
    return type_string(kind) in _INDEX_TYPES and (dims is None or len(dims) <= 1)


def follows_from(kind: TypeProto, known: TypeProto | None) -> bool:
    """Whether a type says nothing but what another one does."""
    if known is None or type_string(kind) != type_string(known):
        return False
    dims, others = dims_of(kind), dims_of(known)
    if dims is None or others is None:
        return dims is None
    return len(dims) == len(others) and all(dim in (None, other) for dim, other in zip(dims, others, strict=True))


def elements(shape: Sequence[int]) -> int:
    """How many elements a tensor of this shape has."""
    return math.prod(shape)


def shrunk(dims: Mapping[str, Dims | None], fixed: Collection[int]) -> dict[str, Dims | None]:
    """Large sizes made small, equal ones alike and different ones differently; `fixed` ones are kept."""
    kept = {size for sizes in dims.values() if sizes for size in sizes if isinstance(size, int) and size <= SMALL}
    kept.update(fixed)
    renamed: dict[int, int] = {}
    free = (size for size in range(5, 1 << 30) if size not in kept)

    def small(size: int | str | None) -> int | str | None:
        if not isinstance(size, int) or size in kept:
            return size
        if size not in renamed:
            renamed[size] = next(free)
        return renamed[size]

    return {name: None if sizes is None else tuple(map(small, sizes)) for name, sizes in dims.items()}


def fixed_elements(dims: Mapping[str, Dims | None]) -> int:
    """How many elements inputs have whose open sizes are taken for 1."""
    return sum(elements([size for size in sizes if isinstance(size, int)]) for sizes in dims.values() if sizes)
