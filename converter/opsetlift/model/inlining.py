"""The nodes of a graph or of a function's body, with other names for its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

Fresh = Callable[[str], str]


@dataclass(frozen=True)
class Inlined:
    """What a subgraph computes, apart from the graph."""

    nodes: list[NodeProto]
    initializers: list[TensorProto]
    outputs: list[str]
    names: dict[str, str]
    """The new name of each value of the graph."""


def inlined(graph: GraphProto, inputs: Sequence[str], fresh: Fresh, *, keep_names: bool) -> Inlined:
    """The content of `graph` where its inputs are the values `inputs`. Raises ValueError for sparse initializers.

    Initializers get new names, and unless `keep_names` so do all other values.
    """
    if graph.sparse_initializer:
        raise ValueError("a subgraph with sparse initializers cannot be taken apart")
    names = {"": ""}
    names.update(zip((info.name for info in graph.input), inputs, strict=True))
    initializers = []
    for tensor in graph.initializer:
        copy = TensorProto()
        copy.CopyFrom(tensor)
        copy.name = names[tensor.name] = fresh(tensor.name)
        initializers.append(copy)
    nodes = []
    for node in graph.node:
        copied = NodeProto()
        copied.CopyFrom(node)
        nodes.append(copied)
    rename(nodes, names, (lambda name: name) if keep_names else fresh)
    return Inlined(nodes, initializers, [names.get(info.name, info.name) for info in graph.output], names)


def rename(nodes: Iterable[NodeProto], names: dict[str, str], fresh: Fresh) -> None:
    """Give values the names that `names` says, and what the nodes compute fresh ones, which `names` says from then on.

    Values of the scopes around keep their names.
    """
    for node in nodes:
        for position, name in enumerate(node.input):
            node.input[position] = names.get(name, name)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                _rename_graph(attribute.g, dict(names), fresh)
        for position, name in enumerate(node.output):
            if name:
                names[name] = fresh(name)
                node.output[position] = names[name]


def _rename_graph(graph: GraphProto, names: dict[str, str], fresh: Fresh) -> None:
    for info in graph.input:
        names[info.name] = fresh(info.name)
        info.name = names[info.name]
    for tensor in graph.initializer:
        names[tensor.name] = fresh(tensor.name)
        tensor.name = names[tensor.name]
    rename(graph.node, names, fresh)
    for info in (*graph.output, *graph.value_info):
        info.name = names.get(info.name, info.name)


def rename_captured(graph: GraphProto, old: str, new: str) -> None:
    """Let a subgraph (and those inside it) read `new` where it read the outer value `old`."""
    for node in graph.node:
        for position, name in enumerate(node.input):
            if name == old:
                node.input[position] = new
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                rename_captured(attribute.g, old, new)
    for output in graph.output:
        if output.name == old:
            output.name = new
