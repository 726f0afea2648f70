"""Additions of 0 go where nothing behind them tells 0 from -0.

x + 0 is x, except that -0 + 0 is 0. A square, a Softmax, a comparison or the addition of a bias without -0 gives the
same for both zeros; many other operators give results that differ in the signs of zeros alone. So an addition can go
where every path from it meets an operator of the first kind within a few nodes. Values on the way get new names, as
their zeros may have other signs. Biases that are still 0, and norms that exporters take apart, leave many additions of
0. Exact: outputs keep the signs of their zeros, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from math import prod

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import FIRST_BROADCASTING, fits_into, nodes_of
from opsetlift.normalizer.helpers.zero_signs import Fate, fate
from opsetlift.normalizer.rewriting import Context, Pass

_MOST_FOLLOWERS = 16
"""At most so many nodes may pass signs on, for they are proven together."""

_MOST_ELEMENTS = 1 << 17
"""At most so many elements may be read and computed: what takes long to prove stays. Unknown sizes count as 1."""


def remove_zero_additions(graph: gs.Graph, context: Context) -> bool:
    """Remove additions from the last to the first, so that one that stays is an end for those before it."""
    if context.opset() < FIRST_BROADCASTING:
        return False
    here = {id(node) for node in graph.nodes}
    renamed: set[int] = set()
    is_done = False
    for node in [*nodes_of(graph, "Add")][::-1]:
        operand = _operand(node, context)
        followers = None if operand is None else _followers(node.outputs[0], here, context)
        if operand is None or followers is None:
            continue
        context.replace_uses(node.outputs[0], operand)
        for follower in followers:
            _rename_outputs(follower, renamed, context)
        is_done = True
    return is_done


def _operand(node: gs.Node, context: Context) -> gs.Tensor | None:
    """What 0 is added to, where that has the shape of the sum."""
    for operand, added in (node.inputs, node.inputs[::-1]):
        value = context.constant(added)
        if value is None or not value.size or value.dtype.kind != "f" or value.any():
            continue
        if fits_into(value.shape, operand, node, context):
            return operand
    return None


def _followers(start: gs.Tensor, here: Set[int], context: Context) -> list[gs.Node] | None:
    """The nodes that pass the signs of zeros in `start` on; None where signs show, or these are too many or large."""
    found: dict[int, gs.Node] = {}
    readers: dict[int, gs.Node] = {}
    pending = [start]
    while pending:
        tensor = pending.pop()
        if context.is_output(tensor) or context.uses(tensor) != len(tensor.outputs):
            return None
        for node in tensor.outputs:
            if id(node) not in here:
                return None
            readers[id(node)] = node
            match fate(node, tensor, context):
                case Fate.SHOWS:
                    return None
                case Fate.PASSES if id(node) not in found:
                    found[id(node)] = node
                    pending += [one for one in node.outputs if not one.is_empty()]
        if len(found) > _MOST_FOLLOWERS or _elements(readers.values(), context) > _MOST_ELEMENTS:
            return None
    return list(found.values())


def _elements(nodes: Iterable[gs.Node], context: Context) -> int:
    """How many elements some nodes read and compute, as far as sizes are known."""
    values = {id(one): one for node in nodes for one in (*node.inputs, *node.outputs) if not one.is_empty()}
    shapes = (context.shape_of(one) or () for one in values.values())
    return sum(prod(size for size in shape if isinstance(size, int)) for shape in shapes)


def _rename_outputs(node: gs.Node, renamed: set[int], context: Context) -> None:
    """Give the outputs of a node new names, unless they have some already: zeros in them may have other signs."""
    for output in [*node.outputs]:
        if output.is_empty() or id(output) in renamed:
            continue
        other = gs.Variable(context.fresh_name(output.name), output.dtype, output.shape)
        renamed.add(id(other))
        context.replace_uses(output, other)
        node.outputs = [other if one is output else one for one in node.outputs]


PASS = Pass(
    name="remove-zero-additions",
    rewrite=remove_zero_additions,
    summary="Remove additions of 0 where nothing behind them tells 0 from -0.",
    operators=frozenset(("Add",)),
)
