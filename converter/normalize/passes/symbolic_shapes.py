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
    become,
    can_write_down,
    given,
    integers,
    nodes_of,
    rank_of,
    takes_vectors,
    vector,
    write_down,
)
from converter.normalize.rewriting import Context, Pass
from converter.normalize.sizes import ON_SHAPES, Size, Sizes

_RESHAPE_WITH_INPUT = 5


def symbolic_shapes(graph: gs.Graph, context: Context) -> None:
    """Write down sizes that are known, and targets in terms of the input's shape."""
    sizes = Sizes(context)
    for node in nodes_of(graph, *ON_SHAPES):
        _fold(graph, node, sizes, context)
    _share(graph, sizes, context)
    if context.opset() < _RESHAPE_WITH_INPUT or not takes_vectors(context):
        return
    for node in nodes_of(graph, "Reshape", "Expand"):
        if integers(given(node, 1), context) is not None:
            continue
        target, shape = sizes.of(node.inputs[1]), context.shape_of(node.inputs[0])
        if target is None or shape is None:
            continue
        if _is_known(target) and tuple(target) == shape and context.replace_uses(node.outputs[0], node.inputs[0]):
            continue
        if node.op == "Reshape" and not node.attrs.get("allowzero", 0):
            _rewrite_target(node, target, shape, context)


def _is_known(sizes: list[Size]) -> bool:
    return None not in sizes


def _fold(graph: gs.Graph, node: gs.Node, sizes: Sizes, context: Context) -> None:
    output = node.outputs[0]
    rank, dtype = rank_of(output, context), context.dtype_of(output)
    if rank not in (0, 1) or dtype not in ("int64", "int32") or context.constant(output) is not None:
        return
    found = sizes.of(output)
    if found is None or not all(isinstance(size, int) for size in found):
        return
    value = numpy.array(found, dtype=dtypes.numpy_dtype(dtype))
    value = value if rank else value.reshape(())
    if can_write_down(output, value, context):
        write_down(graph, node, [value], context)


def _share(graph: gs.Graph, sizes: Sizes, context: Context) -> None:
    """Let what reads sizes that have been picked out before read those: the same symbol is the same size."""
    picked: dict[tuple[tuple[Size, ...], int, str], gs.Tensor] = {}
    for node in nodes_of(graph, *ON_SHAPES):
        output = node.outputs[0]
        rank, dtype = rank_of(output, context), context.dtype_of(output)
        if rank not in (0, 1) or dtype not in ("int64", "int32"):
            continue
        found = sizes.of(output)
        if found is None or not _is_known(found):
            continue
        first = picked.setdefault((tuple(found), rank, dtype), output)
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


PASS = Pass(
    name="symbolic-shapes",
    rewrite=symbolic_shapes,
    summary="Arithmetic on shapes is done ahead, as far as sizes are known or cancel out.",
    operators=frozenset((*ON_SHAPES, "Reshape", "Expand")),
)
