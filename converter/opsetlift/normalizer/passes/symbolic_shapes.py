"""Arithmetic on shapes is done ahead as far as the sizes are known, symbols included.

What Shape, Gather, Slice, Concat and the like pick out of a shape is constant where the picked sizes are numbers, also
where others are not. A Reshape to sizes of which some are not known needs no arithmetic, either, where each of those is
the size that its input has in the same place (0 copies it), or where there is one, and the others are positive numbers
(-1 is what is left). An Expand or a Reshape to just the shape of the input goes. Sizes under one symbol are picked out
once, of whatever shapes. Exact wherever the original runs on sizes that its symbols allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
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
from opsetlift.normalizer.helpers.sizes import ON_SHAPES, Size, Sizes
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.specification import dtypes

_RESHAPE_WITH_INPUT = 5


def symbolic_shapes(graph: gs.Graph, context: Context) -> bool:
    """Write down sizes that are known, and targets in terms of the input's shape."""
    is_done = False
    sizes = Sizes(context)
    computed = [one for node in nodes_of(graph, *ON_SHAPES) if (one := _computed(node, context)) is not None]
    for one in computed:
        is_done |= _fold(graph, one, sizes, context)
    is_done |= _share(computed, sizes, context)
    if context.opset() < _RESHAPE_WITH_INPUT or not takes_vectors(context):
        return is_done
    improved: set[int] = set()
    """The tensors of which more has become known: the sizes that follow serve the nodes behind."""
    for node in list(graph.nodes):
        if improved and any(id(tensor) in improved for tensor in node.inputs) and context.infer_again(node):
            improved.update(map(id, node.outputs))
            sizes = Sizes(context)
        if node.op in ("Reshape", "Expand") and node.domain in (None, "", "ai.onnx"):
            behind = _simplify(node, sizes, context)
            is_done |= behind is not None
            if behind is node.outputs[0]:
                context.infer_again(node)
            improved.update(map(id, (behind,) if behind is not None else ()))
    return is_done


def _simplify(node: gs.Node, sizes: Sizes, context: Context) -> gs.Tensor | None:
    """Simplify a Reshape or Expand; returns the tensor that is in the place of its output then, None if none is."""
    if integers(given(node, 1), context) is not None:
        return None
    target, shape = sizes.of(node.inputs[1]), context.shape_of(node.inputs[0])
    if target is None or shape is None:
        return None
    source: gs.Tensor = node.inputs[0]
    if _is_known(target) and tuple(target) == shape and context.replace_uses(node.outputs[0], source):
        return source
    if node.op == "Reshape" and not node.attrs.get("allowzero", 0):
        return node.outputs[0] if _rewrite_target(node, target, shape, context) else None
    return None


def _is_known(sizes: list[Size]) -> bool:
    return None not in sizes


@dataclass(frozen=True)
class _Computed:
    """A node that computes what may be sizes: a scalar (of rank 0) or a vector of integers."""

    node: gs.Node
    rank: int
    dtype: str


def _computed(node: gs.Node, context: Context) -> _Computed | None:
    rank = rank_of(node.outputs[0], context)
    if rank is None or rank > 1:
        return None
    dtype = context.dtype_of(node.outputs[0])
    return _Computed(node, rank, dtype) if dtype in ("int64", "int32") else None


def _fold(graph: gs.Graph, one: _Computed, sizes: Sizes, context: Context) -> bool:
    output = one.node.outputs[0]
    if context.constant(output) is not None:
        return False
    found = sizes.of(output)
    if found is None or not all(isinstance(size, int) for size in found):
        return False
    value = numpy.array(found, dtype=dtypes.numpy_dtype(one.dtype))
    value = value if one.rank else value.reshape(())
    if not can_write_down(output, value, context):
        return False
    write_down(graph, one.node, [value], context)
    return True


def _share(computed: list[_Computed], sizes: Sizes, context: Context) -> bool:
    """Let what reads sizes that have been picked out before read those: the same symbol is the same size."""
    is_done = False
    first_of: dict[tuple[tuple[Size, ...], int, str], gs.Node] = {}
    for one in computed:
        if not one.node.outputs:
            continue
        found = sizes.of(one.node.outputs[0])
        if found is None or not _is_known(found):
            continue
        first = first_of.setdefault((tuple(found), one.rank, one.dtype), one.node)
        if first is not one.node:
            # Not its output as it was: where the name of another had to stay, it computes that by now.
            is_done |= context.replace_uses(one.node.outputs[0], first.outputs[0])
    return is_done


def _rewrite_target(node: gs.Node, target: list[Size], shape: tuple[Size, ...], context: Context) -> bool:
    written = [
        0 if isinstance(size, str) and index < len(shape) and shape[index] == size else size
        for index, size in enumerate(target)
    ]
    unknown = [index for index, size in enumerate(written) if not isinstance(size, int)]
    if len(unknown) > 1:
        return False
    if unknown:
        others = [size for size in written if isinstance(size, int)]
        if any(size <= 0 for size in others):
            return False
        written[unknown[0]] = -1
    sizes = [size for size in written if isinstance(size, int)]
    become(node, "Reshape", [node.inputs[0], vector(sizes, f"{node.outputs[0].name}_shape", context)])
    return True


PASS = Pass(
    name="symbolic-shapes",
    rewrite=symbolic_shapes,
    summary="Compute shape arithmetic ahead, as far as sizes are known or cancel out.",
    operators=frozenset((*ON_SHAPES, "Reshape", "Expand")),
)
