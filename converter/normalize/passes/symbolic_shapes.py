"""Arithmetic on shapes is done ahead as far as the sizes are known, symbols included.

What Shape, Gather, Slice, Concat and the like pick out of a shape is constant where the picked sizes are numbers, also
where others are not. A Reshape to sizes of which some are not known needs no arithmetic, either, where each of those is
the size that its input has in the same place (0 copies it), or where there is one, and the others are positive numbers
(-1 is what is left). An Expand or a Reshape to just the shape of the input goes. Sizes under one symbol are picked out
once, of whatever shapes. Exact wherever the original runs on sizes that its symbols allow.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from converter import dtypes
from converter.normalize.editing import (
    axes_of,
    become,
    can_write_down,
    given,
    integers,
    nodes_of,
    producer,
    rank_of,
    takes_vectors,
    vector,
    write_down,
)
from converter.normalize.rewriting import Context, Pass

Size = int | str | None
"""A number, a symbol, or not known."""

_ON_SHAPES = ("Shape", "Gather", "Slice", "Concat", "Squeeze", "Unsqueeze", "Cast", "Mul", "Add", "Sub")
_RESHAPE_WITH_INPUT = 5
_DEEPEST = 32
_LONGEST = 64


def symbolic_shapes(graph: gs.Graph, context: Context) -> None:
    """Write down sizes that are known, and targets in terms of the input's shape."""
    for node in nodes_of(graph, *_ON_SHAPES):
        _fold(graph, node, context)
    _share(graph, context)
    if context.opset() < _RESHAPE_WITH_INPUT or not takes_vectors(context):
        return
    for node in nodes_of(graph, "Reshape", "Expand"):
        if integers(given(node, 1), context) is not None:
            continue
        target, shape = _sizes(node.inputs[1], context), context.shape_of(node.inputs[0])
        if target is None or shape is None:
            continue
        if _is_known(target) and tuple(target) == shape and context.replace_uses(node.outputs[0], node.inputs[0]):
            continue
        if node.op == "Reshape" and not node.attrs.get("allowzero", 0):
            _rewrite_target(node, target, shape, context)


def _is_known(sizes: list[Size]) -> bool:
    return None not in sizes


def _fold(graph: gs.Graph, node: gs.Node, context: Context) -> None:
    output = node.outputs[0]
    rank, dtype = rank_of(output, context), context.dtype_of(output)
    if rank not in (0, 1) or dtype not in ("int64", "int32") or context.constant(output) is not None:
        return
    sizes = _sizes(output, context)
    if sizes is None or not all(isinstance(size, int) for size in sizes):
        return
    value = numpy.array(sizes, dtype=dtypes.numpy_dtype(dtype))
    value = value if rank else value.reshape(())
    if can_write_down(output, value, context):
        write_down(graph, node, [value], context)


def _share(graph: gs.Graph, context: Context) -> None:
    """Let what reads sizes that have been picked out before read those: the same symbol is the same size."""
    picked: dict[tuple[tuple[Size, ...], int, str], gs.Tensor] = {}
    for node in nodes_of(graph, *_ON_SHAPES):
        output = node.outputs[0]
        rank, dtype = rank_of(output, context), context.dtype_of(output)
        if rank not in (0, 1) or dtype not in ("int64", "int32"):
            continue
        sizes = _sizes(output, context)
        if sizes is None or not _is_known(sizes):
            continue
        first = picked.setdefault((tuple(sizes), rank, dtype), output)
        if first is not output:
            context.replace_uses(output, first)


def _rewrite_target(node: gs.Node, target: list[Size], shape: tuple[Size, ...], context: Context) -> None:
    written = [
        0 if isinstance(size, str) and index < len(shape) and shape[index] == size else size
        for index, size in enumerate(target)
    ]
    unknown = [index for index, size in enumerate(written) if not isinstance(size, int)]
    if len(unknown) > 1:
        return
    if unknown:
        others = [size for size in written if isinstance(size, int)]
        if any(size <= 0 for size in others):
            return
        written[unknown[0]] = -1
    sizes = [size for size in written if isinstance(size, int)]
    become(node, "Reshape", [node.inputs[0], vector(sizes, f"{node.outputs[0].name}_shape", context)])


def _sizes(tensor: gs.Tensor, context: Context, depth: int = 0) -> list[Size] | None:
    """The content of a scalar or vector that is computed from shapes; None where not even its length is known."""
    known = integers(tensor, context)
    if known is not None:
        return list(known)
    node = producer(tensor, context, *_ON_SHAPES, "Identity", "Reshape") if depth < _DEEPEST else None
    if node is None or rank_of(tensor, context) not in (0, 1):
        return _unknown(tensor, context)
    found = _computed(node, context, depth + 1)
    return found if found is not None else _unknown(tensor, context)


def _unknown(tensor: gs.Tensor, context: Context) -> list[Size] | None:
    shape = context.shape_of(tensor)
    if shape is None or len(shape) > 1 or not all(isinstance(size, int) for size in shape):
        return None
    length = shape[0] if shape else 1
    return [None] * length if isinstance(length, int) and length <= _LONGEST else None


def _computed(node: gs.Node, context: Context, depth: int) -> list[Size] | None:
    if node.op == "Shape":
        shape = context.shape_of(node.inputs[0])
        return None if shape is None else list(shape)[node.attrs.get("start", 0) : node.attrs.get("end", len(shape))]
    if node.op == "Concat":
        parts = [_sizes(tensor, context, depth) for tensor in node.inputs]
        return None if None in parts else [size for part in parts if part is not None for size in part]
    source = _sizes(node.inputs[0], context, depth)
    if source is None:
        return None
    match node.op:
        case "Cast":
            to = context.dtype_of(node.outputs[0])
            return source if to in ("int64", "int32") and _are_small(source) else None
        case "Identity":
            return source
        case "Squeeze" | "Unsqueeze":
            return source if axes_of(node, 1, context) is not None or given(node, 1) is None else None
        case "Reshape":
            return source if integers(given(node, 1), context) is not None else None
        case "Gather":
            indices = integers(node.inputs[1], context)
            if indices is None or any(not -len(source) <= index < len(source) for index in indices):
                return None
            return [source[index] for index in indices]
        case "Slice":
            return _sliced(node, source, context)
    return _calculated(node, source, context, depth)


def _are_small(sizes: list[Size]) -> bool:
    limit = numpy.iinfo(numpy.int32)
    return all(isinstance(size, int) and limit.min <= size <= limit.max for size in sizes)


def _sliced(node: gs.Node, source: list[Size], context: Context) -> list[Size] | None:
    steps: list[int] | None = [1]
    if "starts" in node.attrs:
        starts, ends = node.attrs["starts"], node.attrs.get("ends")
    else:
        starts, ends = (integers(given(node, position), context) for position in (1, 2))
        if given(node, 4) is not None:
            steps = integers(given(node, 4), context)
    if not starts or not ends or steps != [1] or len(starts) != 1 or len(ends) != 1:
        return None
    return source[starts[0] : ends[0]]


def _calculated(node: gs.Node, left: list[Size], context: Context, depth: int) -> list[Size] | None:
    right = _sizes(node.inputs[1], context, depth)
    if (
        right is None
        or context.dtype_of(node.outputs[0]) != "int64"
        or not (len(left) == len(right) or 1 in (len(left), len(right)))
    ):
        return None
    length = max(len(left), len(right)) if 0 not in (len(left), len(right)) else 0
    pairs = zip((left * length)[:length], (right * length)[:length], strict=True)
    return [_calculate(node.op, one, other) for one, other in pairs]


def _calculate(operator: str, left: Size, right: Size) -> Size:
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    result = {"Mul": left * right, "Add": left + right, "Sub": left - right}[operator]
    return result if -(1 << 62) < result < 1 << 62 else None


PASS = Pass(
    name="symbolic-shapes",
    rewrite=symbolic_shapes,
    summary="Arithmetic on shapes is done ahead, as far as sizes are known or cancel out.",
    operators=frozenset((*_ON_SHAPES, "Reshape", "Expand")),
)
