"""Additions of 0 go where nothing tells 0 from -0 behind them.

x + 0 is x, but for -0 + 0, which is 0. Who squares a value, takes its Softmax, compares it or adds a bias to it gets
the same for both zeros, and many other operators give the same but for the signs of zeros. So an addition can go where
all that reads it comes, within a few nodes, to such an end. What is computed on the way gets names of its own, as it is
something else then. Initial biases, and norms that exporters take apart, leave many additions of 0. Exact: outputs keep
the signs of their zeros, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from math import prod

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import FIRST_BROADCASTING, fits_into, nodes_of
from opsetlift.normalizer.helpers.zero_signs import Fate, fate
from opsetlift.normalizer.rewriting import Context, Pass

_FARTHEST = 16
"""So many nodes may lie between the addition and all ends, for they are proven together."""

_MOST_ELEMENTS = 1 << 16
"""So many elements may the values on the way hold, with the constants that are read there: what takes long to prove
stays."""


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
        if operand is None or followers is None or not context.replace_uses(node.outputs[0], operand):
            continue
        for follower in followers:
            _rename_outputs(follower, renamed, context)
        is_done = True
    return is_done


def _operand(node: gs.Node, context: Context) -> gs.Tensor | None:
    """What 0 is added to, where that has the shape of the sum."""
    if len(node.inputs) != 2 or context.is_output(node.outputs[0]):
        return None
    for position in (0, 1):
        operand, value = node.inputs[1 - position], context.constant(node.inputs[position])
        if value is None or not value.size or value.dtype.kind != "f" or value.any():
            continue
        if fits_into(value.shape, operand, node, context):
            return operand
    return None


def _followers(start: gs.Tensor, here: Set[int], context: Context) -> list[gs.Node] | None:
    """The nodes that pass signs of zeros in a value on; None where they show, or it is not known soon enough."""
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
        if len(found) > _FARTHEST or _elements(readers.values(), context) > _MOST_ELEMENTS:
            return None
    return list(found.values())


def _elements(nodes: Iterable[gs.Node], context: Context) -> int:
    """How many elements are computed and read as constants, as far as sizes are known."""
    held = {id(one): one.shape for node in nodes for one in node.inputs if isinstance(one, gs.Constant)}
    computed = [context.shape_of(one) or () for node in nodes for one in node.outputs]
    return sum(prod(size for size in shape if isinstance(size, int)) for shape in (*held.values(), *computed))


def _rename_outputs(node: gs.Node, renamed: set[int], context: Context) -> None:
    """Give what a node computes another name, unless that has been done: it is not what it was."""
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
