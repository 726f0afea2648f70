"""Drops constants that a conversion took the last use from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from onnx import FunctionProto, GraphProto, NodeProto

from converter import history
from converter.facts import referenced_names
from converter.trace import subgraphs


@dataclass
class Dropped:
    """What went: initializers by name, nodes by index; and the candidates that an outer scope has to decide on."""

    initializers: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    outer: list[str] = field(default_factory=list)


def drop_unused(
    container: GraphProto | FunctionProto,
    nodes: list[list[NodeProto]],
    candidates: Iterable[str],
    imports: Mapping[str, int],
) -> Dropped:
    """Drop what computes the `candidates`, as far as nothing else uses it.

    These are initializers that no caller can override, and deterministic nodes together with what only they used.
    `nodes` (those standing in each original node's place) is changed in place.
    """
    dropped = Dropped()
    is_graph = isinstance(container, GraphProto)
    inputs = {info.name for info in container.input} if is_graph else set(container.input)
    initializers = {tensor.name for tensor in container.initializer} if is_graph else set()
    producers = {
        output: (index, node) for index, standing in enumerate(nodes) for node in standing for output in node.output
    }
    pending = set(candidates)
    gone: set[str] = set()
    while pending:
        used = _used_names(container, nodes)
        following: set[str] = set()
        for name in sorted(pending - used):
            if name in inputs:
                continue
            if name in initializers:
                dropped.initializers.add(name)
            elif name in producers:
                index, node = producers[name]
                standing = any(node is one for one in nodes[index])
                if standing and used.isdisjoint(node.output) and _is_removable(node, imports):
                    nodes[index] = [one for one in nodes[index] if one is not node]
                    dropped.nodes.add(index)
                    gone.update(node.output)
                    following.update(filter(None, node.input))
            else:
                dropped.outer.append(name)
        pending = following
    if dropped.initializers and is_graph:
        for position in reversed(range(len(container.initializer))):
            if container.initializer[position].name in dropped.initializers:
                del container.initializer[position]
    gone |= dropped.initializers
    for position in reversed(range(len(container.value_info))):
        if container.value_info[position].name in gone:
            del container.value_info[position]
    return dropped


def _used_names(container: GraphProto | FunctionProto, nodes: list[list[NodeProto]]) -> set[str]:
    used: set[str] = set(container.output) if isinstance(container, FunctionProto) else set()
    if isinstance(container, GraphProto):
        used.update(info.name for info in container.output)
    for standing in nodes:
        for node in standing:
            used.update(node.input)
            if node.attribute:
                for _, graph in subgraphs(node):
                    used.update(referenced_names(graph))
    return used


def _is_removable(node: NodeProto, imports: Mapping[str, int]) -> bool:
    domain = history.canonical_domain(node.domain)
    found = history.history(domain, node.op_type)
    if found is None or domain not in imports:
        return False
    return not any(definition.is_random or definition.takes_subgraphs for definition in found.definitions.values())
