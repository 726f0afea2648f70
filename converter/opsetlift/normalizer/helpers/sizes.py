"""The results of shape arithmetic, size by size, where not all sizes are numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import axes_of, given, integers, producer, rank_of
from opsetlift.normalizer.helpers.slices import slice_of
from opsetlift.normalizer.rewriting import Context

T = TypeVar("T")

Size = int | str | None
"""A number, a symbol, or not known."""

ON_SHAPES = ("Shape", "Gather", "Slice", "Concat", "Squeeze", "Unsqueeze", "Cast", "Mul", "Add", "Sub", "Where")
"""What shape arithmetic is made of."""

_DEEPEST = 32
_LONGEST = 64


class Sizes:
    """The contents of scalars and vectors that are computed from shapes, each worked out once.

    No pass changes the value of an existing tensor, so what was found of it stays true while nodes change.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._found: dict[int, tuple[gs.Tensor, list[Size] | None]] = {}

    def of(self, tensor: gs.Tensor, depth: int = 0) -> list[Size] | None:
        """The content of a scalar or vector; None where not even its length is known."""
        if id(tensor) not in self._found:
            self._found[id(tensor)] = (tensor, self._of(tensor, depth))
        return self._found[id(tensor)][1]

    def _of(self, tensor: gs.Tensor, depth: int) -> list[Size] | None:
        context = self._context
        known = integers(tensor, context)
        if known is not None:
            return list(known)
        node = producer(tensor, context, *ON_SHAPES, "Identity", "Reshape", "Equal") if depth < _DEEPEST else None
        if node is None or rank_of(tensor, context) not in (0, 1):
            return _unknown(tensor, context)
        found = self._computed(node, depth + 1)
        return found if found is not None else _unknown(tensor, context)

    def _computed(self, node: gs.Node, depth: int) -> list[Size] | None:
        context = self._context
        if node.op == "Shape":
            shape = context.shape_of(node.inputs[0])
            if shape is None:
                return None
            return list(shape[node.attrs.get("start", 0) : node.attrs.get("end", len(shape))])
        if node.op == "Concat":
            parts = [self.of(tensor, depth) for tensor in node.inputs]
            return None if None in parts else [size for part in parts if part is not None for size in part]
        if node.op == "Where":
            return _chosen([self.of(tensor, depth) for tensor in node.inputs])
        source = self.of(node.inputs[0], depth)
        if source is None:
            return None
        match node.op:
            case "Cast":
                to = context.dtype_of(node.outputs[0])
                return source if to in ("int64", "int32") and _are_small(source) else None
            case "Identity":
                return source
            case "Squeeze" | "Unsqueeze" | "Reshape" | "Gather":
                return rearranged(source, node, context)
            case "Slice":
                return _sliced(node, source, context)
        return _calculated(node, source, self.of(node.inputs[1], depth), context)


def _unknown(tensor: gs.Tensor, context: Context) -> list[Size] | None:
    shape = context.shape_of(tensor)
    if shape is None or len(shape) > 1 or not all(isinstance(size, int) for size in shape):
        return None
    length = shape[0] if shape else 1
    return [None] * length if isinstance(length, int) and length <= _LONGEST else None


def _are_small(sizes: list[Size]) -> bool:
    limit = numpy.iinfo(numpy.int32)
    return all(isinstance(size, int) and limit.min <= size <= limit.max for size in sizes)


def _sliced(node: gs.Node, source: list[Size], context: Context) -> list[Size] | None:
    found = slice_of(node, context)
    if found is None or len(found.starts) != 1 or found.steps != [1]:
        return None
    return source[found.starts[0] : found.ends[0]]


def _broadcast(*vectors: list[Size] | None) -> Iterator[tuple[Size, ...]] | None:
    """The elements of vectors side by side, those of length 1 repeated; None where lengths do not match."""
    known = [one for one in vectors if one is not None]
    lengths = {len(one) for one in known if len(one) != 1} or {1}
    if len(known) < len(vectors) or len(lengths) > 1:
        return None
    (length,) = lengths
    return zip(*((one * length)[:length] for one in known), strict=True)


def _chosen(inputs: list[list[Size] | None]) -> list[Size] | None:
    """The result of a Where on its inputs."""
    rows = _broadcast(*inputs)
    if rows is None:
        return None
    return [one if condition or one == other else other if condition == 0 else None for condition, one, other in rows]


def rearranged(source: list[T], node: gs.Node, context: Context) -> list[T] | None:
    """What a Squeeze, Unsqueeze, Reshape or Gather gives of the elements of a scalar or vector; None if unknown."""
    match node.op:
        case "Squeeze" | "Unsqueeze":
            return source if axes_of(node, 1, context) is not None or given(node, 1) is None else None
        case "Reshape":
            return source if integers(given(node, 1), context) is not None else None
    indices = integers(node.inputs[1], context)
    if indices is None or any(not -len(source) <= index < len(source) for index in indices):
        return None
    return [source[index] for index in indices]


def _calculated(node: gs.Node, left: list[Size], right: list[Size] | None, context: Context) -> list[Size] | None:
    dtype = context.dtype_of(node.inputs[0] if node.op == "Equal" else node.outputs[0])
    rows = _broadcast(left, right)
    if rows is None or dtype != "int64":
        return None
    return [_is_equal(*row) if node.op == "Equal" else _calculate(node.op, *row) for row in rows]


def _is_equal(left: Size, right: Size) -> int | None:
    """1 or 0; None where it is not known. A symbol is the size of a dimension, and so never negative."""
    if left is None or right is None:
        return None
    if left == right:
        return 1
    if isinstance(left, int) and isinstance(right, int):
        return 0
    return 0 if any(isinstance(size, int) and size < 0 for size in (left, right)) else None


def _calculate(operator: str, left: Size, right: Size) -> Size:
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    result = {"Mul": left * right, "Add": left + right, "Sub": left - right}[operator]
    return result if -(1 << 62) < result < 1 << 62 else None


def is_expressible(shape: Sequence[Size]) -> bool:
    """Whether a Reshape can be told this shape: one size, at most, is not a number."""
    return sum(not isinstance(size, int) for size in shape) <= 1


def numbers_or_rest(shape: Sequence[Size]) -> list[int]:
    """The target of a Reshape: -1 stands for the size that is not a number."""
    return [size if isinstance(size, int) else -1 for size in shape]


def ignores_dimensions(reshape: gs.Node, context: Context) -> bool:
    """Whether the result of a Reshape depends on the number of elements alone."""
    target = reshape.attrs.get("shape") if "shape" in reshape.attrs else integers(given(reshape, 1), context)
    return target is not None and (0 not in target or bool(reshape.attrs.get("allowzero", 0)))


def is_view_to(node: gs.Node, shape: Sequence[Size], context: Context) -> bool:
    """Whether the result of a view has this shape, which holds as many elements as there are.

    One size may be unknown: it is what the others leave.
    """
    if 0 in shape or sum(not isinstance(size, int) for size in shape) > 1:
        return False
    found = context.shape_of(node.outputs[0])
    if found is None or len(found) != len(shape) or 0 in found:
        return False
    pairs = list(zip(found, shape, strict=True))
    return all(one == other for one, other in pairs if isinstance(one, int) or isinstance(other, int)) or (
        node.op == "Reshape" and _leaves_one(integers(given(node, 1), context), shape)
    )


def _leaves_one(target: Sequence[int] | None, shape: Sequence[Size]) -> bool:
    """Whether a constant target of a Reshape names all sizes that are known, and leaves the other one."""
    if target is None or len(target) != len(shape):
        return False
    return all(one == (size if isinstance(size, int) else -1) for one, size in zip(target, shape, strict=True))
