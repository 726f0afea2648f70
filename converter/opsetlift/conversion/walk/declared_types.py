"""Declares types in value_info where the definitions at the target do not infer them."""

from __future__ import annotations

from onnx import GraphProto, ValueInfoProto

from opsetlift.conversion.walk.values import ScopeValues
from opsetlift.specification import history
from opsetlift.specification.history import canonical_domain


def declare_types_not_inferred(scope: ScopeValues, graph: GraphProto) -> None:
    """Declare the types of what definitions compute that infer none, as many old ones do: checkers need them."""
    not_inferred: dict[tuple[str, str], bool] = {}
    if not any(
        history.has_operators_without_inference(domain, opset)
        for domain, opset in scope.walk.targets.items()
        if opset < scope.imports.get(domain, opset)
    ):
        return
    declared: set[str] | None = None
    for node in graph.node:
        key = (node.domain, node.op_type)
        if key not in not_inferred:
            domain = canonical_domain(node.domain)
            not_inferred[key] = not history.infers_types(domain, node.op_type, scope.target(domain))
        if not not_inferred[key]:
            continue
        declared = declared or {info.name for info in (*graph.value_info, *graph.output)}
        for name in node.output:
            found = scope.facts.type_of(name) if name and name not in declared else None
            if found is not None:
                graph.value_info.append(ValueInfoProto(name=name, type=found))
                scope.walk.trace.scope(scope.path).declared_values.add(name)
