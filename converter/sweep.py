"""Drops constants that a conversion took the last use from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from onnx import FunctionProto, GraphProto, NodeProto

from converter import history
from converter.scopes import Container, referenced_names, subgraphs


@dataclass
class Dropped:
    """What went: initializers by name, nodes by index; and the candidates that an outer scope has to decide on."""

    initializers: set[str] = field(default_factory=set)
    nodes: set[int] = field(default_factory=set)
    outer: list[str] = field(default_factory=list)


def drop_unused(
    container: Container,
    replacements: dict[int, list[NodeProto]],
    candidates: Iterable[str],
    imports: Mapping[str, int],
) -> Dropped:
    """Drop what computes the `candidates`, as far as nothing else uses it.

    These are initializers that no caller can override, and deterministic nodes together with what only they used.
    `replacements` (the nodes to stand in the place of the one at an index) is changed in place.
    """
    dropped = Dropped()
    is_graph = isinstance(container, GraphProto)
    inputs = {info.name for info in container.input} if is_graph else set(container.input)
    initializers = {tensor.name for tensor in container.initializer} if is_graph else set()
    gone: set[str] = set()
    pending = set(candidates) - inputs
    while pending:
        unused = _unused(pending, container, replacements)
        dropped.initializers |= unused & initializers
        producers = _producers(unused - initializers, container, replacements)
        dropped.outer += sorted(unused - initializers - producers.keys())
        pending = set()
        for index, node in producers.values():
            outputs = set(filter(None, node.output))
            if not gone.isdisjoint(outputs) or not _is_removable(node, imports):
                continue
            if outputs == _unused(set(outputs), container, replacements):
                standing = replacements.get(index, [container.node[index]])
                replacements[index] = [one for one in standing if one is not node]
                dropped.nodes.add(index)
                gone |= outputs
                pending |= set(filter(None, node.input)) - inputs
    gone |= dropped.initializers
    for names in (container.initializer, container.value_info) if is_graph else (container.value_info,):
        for position in reversed(range(len(names) if gone else 0)):
            if names[position].name in gone:
                del names[position]
    return dropped


def _standing(container: Container, replacements: Mapping[int, list[NodeProto]]) -> Iterator[NodeProto]:
    if not replacements:
        yield from container.node
        return
    for index, node in enumerate(container.node):
        yield from replacements.get(index, (node,))


def _unused(candidates: set[str], container: Container, replacements: Mapping[int, list[NodeProto]]) -> set[str]:
    """Those of `candidates` that no node, subgraph or output mentions as a use."""
    unused = set(candidates)
    if isinstance(container, FunctionProto):
        unused.difference_update(container.output)
    else:
        unused.difference_update(info.name for info in container.output)
    for node in _standing(container, replacements):
        unused.difference_update(node.input)
        if node.attribute:
            for _, graph in subgraphs(node):
                unused.difference_update(referenced_names(graph))
        if not unused:
            break
    return unused


def _producers(
    names: set[str], container: Container, replacements: Mapping[int, list[NodeProto]]
) -> dict[str, tuple[int, NodeProto]]:
    if not names:
        return {}
    return {
        output: (index, node)
        for index, original in enumerate(container.node)
        for node in replacements.get(index, (original,))
        for output in node.output
        if output in names
    }


def _is_removable(node: NodeProto, imports: Mapping[str, int]) -> bool:
    domain = history.canonical_domain(node.domain)
    found = history.history(domain, node.op_type)
    if found is None or domain not in imports:
        return False
    return not any(definition.is_random or definition.takes_subgraphs for definition in found.definitions.values())
