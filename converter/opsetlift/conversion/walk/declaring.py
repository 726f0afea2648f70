"""Types said in value_info, where the definitions at the target infer none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import GraphProto, ValueInfoProto

from opsetlift.specification import history
from opsetlift.specification.history import canonical_domain

if TYPE_CHECKING:
    from opsetlift.conversion.walk.values import ScopeValues


def declare_silent_values(scope: ScopeValues, graph: GraphProto) -> None:
    """Say the types of what old definitions compute: many of them infer none, and checkers need to know."""
    silent: dict[tuple[str, str], bool] = {}
    if not any(
        history.has_silent_operators(domain, opset)
        for domain, opset in scope.walk.targets.items()
        if opset < scope.imports.get(domain, opset)
    ):
        return
    declared: set[str] | None = None
    for node in graph.node:
        key = (node.domain, node.op_type)
        if key not in silent:
            domain = canonical_domain(node.domain)
            silent[key] = history.is_silent(domain, node.op_type, scope.target(domain))
        if not silent[key]:
            continue
        declared = declared or {info.name for info in (*graph.value_info, *graph.output)}
        for name in node.output:
            found = scope.facts.type_of(name) if name and name not in declared else None
            if found is not None:
                graph.value_info.append(ValueInfoProto(name=name, type=found))
                scope.walk.trace.scope(scope.path).declared_values.add(name)
