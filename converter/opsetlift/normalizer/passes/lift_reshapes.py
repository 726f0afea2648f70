"""A Reshape whose result is only computed with element by element, and then reshaped, goes.

What works on each element by itself does not mind the shape: Reshape, any of it, Reshape is any of it, Reshape. Other
operands are constants of one element. Where the last dimension stays as it is, Split along it does not mind the shape
of the others, either. All shapes are known, and no size is 0. Exact: the same elements meet the same operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    become,
    is_operator,
    is_plain,
    nodes_of,
    static_shape,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.rewriting import Context, Pass

_ELEMENTWISE = frozenset(
    (
        *("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp"),
        *("Floor", "Gelu", "HardSigmoid", "HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not"),
        *("Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt"),
        *("Tan", "Tanh", "ThresholdedRelu", "Cast", "Clip"),
        *("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mean", "Sum", "Mod", "Where"),
        *("And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"),
    )
)
_WALKED = _ELEMENTWISE | {"Split", "Reshape"}
_FIRST_BROADCASTING = 8
"""From here on every one of them broadcasts, as numpy does."""


@dataclass
class _Region:
    """What is computed between the Reshape and those that follow: nodes in order, and the shape that values get."""

    shapes: dict[int, list[int]]
    nodes: list[gs.Node] = field(default_factory=list)
    exits: list[gs.Node] = field(default_factory=list)


def lift_reshapes(graph: gs.Graph, context: Context) -> bool:
    """Compute in the shape that the first Reshape is given."""
    if context.opset() < _FIRST_BROADCASTING or not takes_vectors(context):
        return False
    is_done = False
    position: dict[int, int] = {}
    for node in nodes_of(graph, "Reshape"):
        if not _leads_on(node.outputs[0].outputs):
            continue
        before, after = static_shape(node.inputs[0], context), static_shape(node.outputs[0], context)
        if before is None or after is None or 0 in before or before == after or not before or not after:
            continue
        position = position or {id(one): index for index, one in enumerate(graph.nodes)}
        region = _region(node, before, after, position, context)
        if region is not None and region.nodes:
            _rewrite(node, region, context)
            is_done = True
    return is_done


def _leads_on(consumers: Sequence[gs.Node]) -> bool:
    """Whether what reads a value may be computed in another shape, and is not reshaped at once."""
    operators = {node.op for node in consumers}
    return _WALKED.issuperset(operators) and operators != {"Reshape"}


def _region(
    reshape: gs.Node, before: list[int], after: list[int], position: dict[int, int], context: Context
) -> _Region | None:
    """Everything that depends on the Reshape up to the next ones; None where something else does."""
    keeps_last = before[-1] == after[-1]
    region = _Region({id(reshape.outputs[0]): before})
    waiting = {id(consumer): consumer for consumer in reshape.outputs[0].outputs}
    if not _is_inner(reshape.outputs[0], context):
        return None
    while waiting:
        node = min(waiting.values(), key=lambda one: position.get(id(one), -1))
        del waiting[id(node)]
        if id(node) not in position or not node.outputs:
            return None
        if is_operator(node, "Reshape") and id(node.inputs[0]) in region.shapes:
            if id(node.inputs[1]) in region.shapes or static_shape(node.outputs[0], context) is None:
                return None
            region.exits.append(node)
            continue
        shapes = _shapes_of_outputs(node, region, keeps_last, len(after), context)
        if shapes is None:
            return None
        region.nodes.append(node)
        for output, shape in zip(node.outputs, shapes, strict=True):
            if not _is_inner(output, context):
                return None
            region.shapes[id(output)] = shape
            waiting.update({id(consumer): consumer for consumer in output.outputs})
    return region if region.exits else None


def _is_inner(tensor: gs.Tensor, context: Context) -> bool:
    """Whether nodes alone name the tensor, no output and no annotation, and at least one does."""
    if tensor.is_empty() or not tensor.outputs or context.is_output(tensor):
        return False
    return context.uses(tensor) == len(tensor.outputs)


def _shapes_of_outputs(
    node: gs.Node, region: _Region, keeps_last: bool, rank: int, context: Context
) -> list[list[int]] | None:
    shapes = [region.shapes[id(tensor)] for tensor in node.inputs if id(tensor) in region.shapes]
    if is_operator(node, "Split") and keeps_last and len(shapes) == 1 and id(node.inputs[0]) in region.shapes:
        sizes = [static_shape(output, context) for output in node.outputs]
        if node.attrs.get("axis", 0) not in (-1, rank - 1) or None in sizes:
            return None
        return [[*shapes[0][:-1], size[-1]] for size in sizes if size]
    if node.op not in _ELEMENTWISE or not is_plain(node) or any(shape != shapes[0] for shape in shapes):
        return None
    most = min(rank, len(shapes[0]))
    others = [tensor for tensor in node.inputs if not tensor.is_empty() and id(tensor) not in region.shapes]
    if not all(_is_single(tensor, most, context) for tensor in others):
        return None
    return [shapes[0]]


def _is_single(tensor: gs.Tensor, most_dimensions: int, context: Context) -> bool:
    shape = static_shape(tensor, context)
    return shape is not None and len(shape) <= most_dimensions and all(size == 1 for size in shape)


def _rewrite(reshape: gs.Node, region: _Region, context: Context) -> None:
    renewed: dict[int, gs.Tensor] = {id(reshape.outputs[0]): reshape.inputs[0]}
    targets = [static_shape(node.outputs[0], context) for node in region.exits]
    for node in region.nodes:
        if node.op == "Split":
            node.attrs["axis"] = len(region.shapes[id(node.inputs[0])]) - 1
        _reread(node, renewed)
        for index, output in enumerate(list(node.outputs)):
            # Under a new name, as the old one is known to have another shape.
            new = gs.Variable(context.fresh_name(output.name), output.dtype, region.shapes[id(output)])
            renewed[id(output)] = new
            node.outputs[index] = new
    for node, target in zip(region.exits, targets, strict=True):
        assert target is not None
        data = renewed[id(node.inputs[0])]
        if region.shapes[id(node.inputs[0])] == target and context.replace_uses(node.outputs[0], data):
            continue
        become(node, "Reshape", [data, vector(target, f"{node.outputs[0].name}_shape", context)])
    context.inherit(region.nodes[0], reshape)


def _reread(node: gs.Node, renewed: dict[int, gs.Tensor]) -> None:
    for index, tensor in enumerate(list(node.inputs)):
        if id(tensor) in renewed:
            node.inputs[index] = renewed[id(tensor)]


PASS = Pass(
    name="lift-reshapes",
    rewrite=lift_reshapes,
    summary="Remove a Reshape before elementwise operators whose result is reshaped again.",
    operators=frozenset(("Reshape",)),
)
