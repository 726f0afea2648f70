"""If with a condition that is the same in every run becomes the branch that is taken.

Its nodes move into the graph, and what they compute gets names that nothing else has: branches may use the names of
other branches, graphs may not.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.attached_metadata import metadata_of_graph
from opsetlift.normalizer.graphs.traversal import tensors_in
from opsetlift.normalizer.helpers.editing import nodes_of
from opsetlift.normalizer.rewriting import Context, Pass

_IDENTITY_OF_ANYTHING = 16


def inline_constant_branches(graph: gs.Graph, context: Context) -> None:
    """Put the nodes of such a branch in the place of the If."""
    for node in nodes_of(graph, "If"):
        condition = context.constant(node.inputs[0])
        if condition is None or condition.size != 1:
            continue
        branch = node.attrs.get("then_branch" if condition.reshape(-1)[0] else "else_branch")
        if isinstance(branch, gs.Graph) and not _is_annotated(branch) and _gives_tensors(node, context):
            _inline(graph, node, branch, context)


def _gives_tensors(node: gs.Node, context: Context) -> bool:
    """Whether Identity, which hands on the results, takes what the If gives: of old, tensors alone."""
    if context.opset() >= _IDENTITY_OF_ANYTHING:
        return True
    return all(output.is_empty() or context.dtype_of(output) is not None for output in node.outputs)


def _is_annotated(branch: gs.Graph) -> bool:
    metadata = metadata_of_graph(branch)
    return metadata is not None and bool(metadata.annotations)


def _inline(graph: gs.Graph, node: gs.Node, branch: gs.Graph, context: Context) -> None:
    inside = context.inside(branch)
    for tensor in tensors_in(branch):
        if not inside.is_outer(tensor):
            tensor.name = context.fresh_name(tensor.name)
    results, values = list(node.outputs), list(branch.outputs)
    node.outputs.clear()
    node.inputs.clear()
    node.attrs = {}
    if branch.nodes:
        context.inherit(branch.nodes[-1], node)
    handed_on = [
        gs.Node("Identity", inputs=[value], outputs=[result])
        for result, value in zip(results, values, strict=True)
        if not result.is_empty()
    ]
    place = next(index for index, one in enumerate(graph.nodes) if one is node)
    graph.nodes[place : place + 1] = [*branch.nodes, *handed_on]


PASS = Pass(
    name="inline-constant-branches",
    rewrite=inline_constant_branches,
    summary="Replace an If with a constant condition by the branch that is taken.",
    operators=frozenset(("If",)),
)
