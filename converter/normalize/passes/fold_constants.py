"""What is the same in every run is computed once, by the evaluator.

That is what deterministic nodes compute from constants, and what Shape and Size read off static shapes. A result is
written down where it takes no more room than the constants that it is computed from, or less than the limit on sizes,
so files do not grow by zeros and tiles. Weights that are stored quantized stay so: DequantizeLinear is what tells a
runtime that it may compute in integers. Inputs with a default value are no constants: callers may give another.
"""

from __future__ import annotations

from collections.abc import Collection

import onnx_graphsurgeon as gs

from converter.arrays import Array
from converter.normalize.editing import can_write_down, is_held, is_operator, write_down
from converter.normalize.rewriting import Context, Pass

_LEFT_ALONE = frozenset(("Constant", "DequantizeLinear"))
_SHAPE_READERS = frozenset(("Shape", "Size"))


def fold_constants(graph: gs.Graph, context: Context) -> None:
    """Turn outputs that do not depend on the run into constants; the framework sweeps what computed them."""
    unwritten: set[int] = set()
    for node in list(graph.nodes):
        if not is_operator(node, node.op) or not node.outputs or not _may_be_constant(node, unwritten):
            continue
        values = None if node.op in _LEFT_ALONE else _values(node, context)
        if values is not None and _is_worth_it(node, values, context):
            write_down(graph, node, values, context)
        else:
            unwritten.update(map(id, node.outputs))


def _may_be_constant(node: gs.Node, unwritten: Collection[int]) -> bool:
    """Whether the node reads nothing but constants, those that are left unwritten included; it is cheap to ask."""
    return node.op in _SHAPE_READERS or all(
        isinstance(tensor, gs.Constant) or id(tensor) in unwritten or tensor.is_empty() for tensor in node.inputs
    )


def _values(node: gs.Node, context: Context) -> list[Array | None] | None:
    """What the outputs are in every run; None where one of them is not known or cannot be written down."""
    values: list[Array | None] = []
    for output in node.outputs:
        value = None if output.is_empty() else context.constant(output)
        if not output.is_empty() and (value is None or not can_write_down(output, value, context)):
            return None
        values.append(value)
    return values


def _is_worth_it(node: gs.Node, values: list[Array | None], context: Context) -> bool:
    """Whether the model does not grow: neither by nodes, where there would be several Constants, nor by bytes."""
    nodes = sum(
        value is not None and not is_held(output, context) for output, value in zip(node.outputs, values, strict=True)
    )
    if nodes > 1:
        return False
    constants = {id(tensor): tensor for tensor in node.inputs if isinstance(tensor, gs.Constant)}
    freed = sum(tensor._values.nbytes for tensor in constants.values() if context.uses(tensor) == 1)
    return all(value is None or value.nbytes <= max(context.size_limit, freed) for value in values)


PASS = Pass(
    name="fold-constants",
    rewrite=fold_constants,
    summary="What is computed from constants or from static shapes alone is computed once, up to a limit on sizes.",
)
