"""Drops constants that a conversion took the last use from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from onnx import GraphProto, NodeProto

from opsetlift.model.scopes import Container, referenced_names, subgraphs
from opsetlift.specification import history


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
    uses = _uses(container, replacements)
    pending = sorted(name for name in set(candidates) - inputs if not uses[name])
    producers = _producers(container, replacements) if pending else {}
    gone: set[str] = set()
    outer: set[str] = set()
    while pending:
        name = pending.pop()
        if name in initializers:
            dropped.initializers.add(name)
            continue
        if name not in producers:
            outer.add(name)
            continue
        index, node = producers[name]
        outputs = set(filter(None, node.output))
        if name in gone or any(uses[output] for output in outputs) or not _is_removable(node, imports):
            continue
        standing = replacements.get(index, [container.node[index]])
        replacements[index] = [one for one in standing if one is not node]
        dropped.nodes.add(index)
        gone |= outputs
        for read in filter(None, node.input):
            uses[read] -= 1
            if not uses[read] and read not in inputs:
                pending.append(read)
    dropped.outer = sorted(outer)
    gone |= dropped.initializers
    if gone:
        for fields in (container.initializer, container.value_info) if is_graph else (container.value_info,):
            # Sorting moves references; deleting one by one moves all that follow, each time.
            fields.sort(key=lambda one: one.name in gone)
            del fields[len(fields) - sum(one.name in gone for one in fields) :]
    return dropped


def _standing(container: Container, replacements: Mapping[int, list[NodeProto]]) -> Iterator[tuple[int, NodeProto]]:
    for index, node in enumerate(container.node):
        for one in replacements.get(index, (node,)):
            yield index, one


def _uses(container: Container, replacements: Mapping[int, list[NodeProto]]) -> Counter[str]:
    """How often nodes, their subgraphs and the outputs of the scope mention each name as a use."""
    uses: Counter[str] = Counter()
    for _, node in _standing(container, replacements):
        uses.update(node.input)
        if node.attribute:
            for _, graph in subgraphs(node):
                uses.update(referenced_names(graph))
    uses.update(one if isinstance(one, str) else one.name for one in container.output)
    return uses


def _producers(container: Container, replacements: Mapping[int, list[NodeProto]]) -> dict[str, tuple[int, NodeProto]]:
    return {output: (index, node) for index, node in _standing(container, replacements) for output in node.output}


def _is_removable(node: NodeProto, imports: Mapping[str, int]) -> bool:
    domain = history.canonical_domain(node.domain)
    found = history.history(domain, node.op_type)
    if found is None or domain not in imports:
        return False
    return not any(definition.is_random or definition.takes_subgraphs for definition in found.definitions.values())
