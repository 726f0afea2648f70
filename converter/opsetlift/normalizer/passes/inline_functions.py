"""Replace calls of model-local functions by their bodies.

Opinions differ on whether that is better: functions are how exporters keep the structure of a model, and some runtimes
fuse by them, so it is done on demand. A call stays where the body is written for other opsets than the graph that calls
it, where it hands on an attribute of the function around it, and where it leaves out an input that comes out again.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.model.scopes import imported_opsets
from opsetlift.normalizer.graphs.attached_metadata import metadata_of_graph
from opsetlift.normalizer.graphs.traversal import nodes_in, subgraphs_of
from opsetlift.normalizer.helpers.copying import Copier
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.specification import history


def inline_functions(graph: gs.Graph, context: Context) -> None:
    """Put copies of the functions' bodies in the places of the calls; calls in those are inlined in the next round."""
    nodes: list[gs.Node] = []
    for node in graph.nodes:
        function = context.function_of(node)
        if function is None or not _can_be_inlined(function, node, context):
            nodes.append(node)
            continue
        nodes += _body(function, node, context)
    if len(nodes) != len(graph.nodes) or any(one is not other for one, other in zip(nodes, graph.nodes, strict=True)):
        graph.nodes = nodes


def _can_be_inlined(function: gs.Function, call: gs.Node, context: Context) -> bool:
    if any(isinstance(value, (gs.Node.AttributeRef, gs.Graph)) for value in call.attrs.values()):
        return False
    opsets = imported_opsets(function.import_domains)
    domains = {history.canonical_domain(node.domain or "") for node in nodes_in(function)}
    if any(opsets.get(domain, 0) != context.opset(domain) for domain in domains):
        return False
    absent = {id(tensor) for tensor, given in _arguments(function, call) if given.is_empty()}
    if any(id(tensor) in absent for tensor in function.outputs):
        return False
    inner = (subgraph for node in nodes_in(function) for _, subgraph in subgraphs_of(node))
    return not any((metadata := metadata_of_graph(one)) is not None and metadata.annotations for one in inner)


def _arguments(function: gs.Function, call: gs.Node) -> list[tuple[gs.Tensor, gs.Tensor]]:
    """The formal inputs and what the call gives for them."""
    given = list(call.inputs) + [gs.Variable.empty() for _ in function.inputs[len(call.inputs) :]]
    return list(zip(function.inputs, given, strict=False))


def _body(function: gs.Function, call: gs.Node, context: Context) -> list[gs.Node]:
    tensors = {id(formal): given for formal, given in _arguments(function, call)}
    results = list(call.outputs)
    handed_on: list[tuple[gs.Tensor, gs.Tensor]] = []
    for formal, result in zip(function.outputs, results, strict=False):
        if result.is_empty():
            continue
        if id(formal) in tensors:
            handed_on.append((formal, result))
        else:
            tensors[id(formal)] = result
    attributes = {name: call.attrs.get(name, default) for name, default in function.attrs.items()}
    call.outputs.clear()
    call.inputs.clear()
    copier = Copier(context, tensors, attributes)
    nodes = copier.nodes(function.nodes)
    nodes += [gs.Node("Identity", inputs=[copier.tensor(formal)], outputs=[result]) for formal, result in handed_on]
    if nodes:
        context.inherit(nodes[-1], call)
    return nodes


PASS = Pass(
    name="inline-functions",
    rewrite=inline_functions,
    summary="Replace calls of model-local functions by their bodies.",
    is_default=False,
)
