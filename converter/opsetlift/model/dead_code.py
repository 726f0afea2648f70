"""Dead-code elimination: removes what computes values that a conversion took the last use from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onnx import GraphProto, NodeProto

from opsetlift.model.def_use import DefUse
from opsetlift.model.scopes import Container
from opsetlift.specification import history


@dataclass
class Dropped:
    """What was removed from a scope.

    Attributes:
        initializers: By name.
        positions: Those of the nodes.
        outer: Values of the scopes around, which these have to decide on.
    """

    initializers: set[str] = field(default_factory=set)
    positions: set[int] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)


def drop_unused(index: DefUse, imports: Mapping[str, int]) -> Dropped:
    """Remove what computes the values that have lost their last use.

    These are initializers that no caller can override, and deterministic nodes together with what only they used.

    Args:
        index: That of the scope, which says what has lost its last use; nodes are removed through it.
        imports: The opsets of the scope, by domain.
    """
    dropped = Dropped()
    gone: set[str] = set()
    while pending := index.take_unused():
        for name in pending:
            if index.is_dense_initializer(name):
                # An initializer that is an input, too, is the default of what callers may give.
                if name not in index.inputs:
                    index.drop_initializer(name)
                    dropped.initializers.add(name)
                continue
            node = index.producer(name)
            if node is None:
                if not index.defines(name):
                    dropped.outer.add(name)
                continue
            if any(index.use_count(output) for output in node.output if output) or not _is_removable(node, imports):
                continue
            position = index.positions[name]
            index.replace(position, [one for one in index.nodes(position) if one is not node])
            dropped.positions.add(position)
            gone.update(node.output)
    _delete(index.container, gone | dropped.initializers)
    return dropped


def _delete(container: Container, names: set[str]) -> None:
    """Delete the initializers and the declared types of these names."""
    if not names:
        return
    is_graph = isinstance(container, GraphProto)
    for fields in (container.initializer, container.value_info) if is_graph else (container.value_info,):
        # Sorting moves references; deleting one by one moves all that follow, each time.
        fields.sort(key=lambda one: one.name in names)
        del fields[len(fields) - sum(one.name in names for one in fields) :]


def _is_removable(node: NodeProto, imports: Mapping[str, int]) -> bool:
    domain = history.canonical_domain(node.domain)
    found = history.history(domain, node.op_type)
    if found is None or domain not in imports:
        return False
    return not any(definition.is_random or definition.takes_subgraphs for definition in found.definitions.values())
