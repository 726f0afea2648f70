"""Declares types in value_info where the definitions at the target do not infer them, or infer them wrongly."""

from __future__ import annotations

from onnx import GraphProto, ValueInfoProto

from opsetlift.conversion.walk.values import ScopeValues
from opsetlift.facts import MADE_UP, ScopeFacts, names_cut_sizes
from opsetlift.model.scopes import operators_of
from opsetlift.specification import history
from opsetlift.specification.dtypes import shape_of_type
from opsetlift.specification.history import canonical_domain


def declare_types_not_inferred(scope: ScopeValues, graph: GraphProto) -> None:
    """Declare the types of what definitions compute that infer none, as many old ones do: checkers need them.

    What was not inferred before stays undeclared: where onnxruntime knows shapes, it shares memory between values, and
    its Normalizer is wrong then.
    """
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
            if not name or name in declared or not _was_inferred(name, scope):
                continue
            found = scope.facts.type_of(name)
            if found is not None:
                info = graph.value_info.add(name=name, type=found)
                _forget_made_up_sizes(info)
                scope.walk.trace.scope(scope.path).declared_values.add(name)


def declare_cut_sizes(scope: ScopeValues, graph: GraphProto) -> None:
    """Declare sizes with names of their own that runtimes would take for those that they are cut from."""
    if not any(names_cut_sizes(*key, scope.target(key[0])) for key in operators_of(graph.node)):
        return
    declared = {info.name for info in (*graph.value_info, *graph.output)}
    for node in graph.node:
        name = node.output[0] if node.output else ""
        if name in declared or not names_cut_sizes(node.domain, node.op_type, scope.target(node.domain)):
            continue
        whole, cut, found = scope.facts.shape(node.input[0]), scope.facts.shape(name), scope.facts.type_of(name)
        if whole is None or cut is None or found is None or len(whole) != len(cut):
            continue
        axes = [axis for axis, size in enumerate(whole) if isinstance(size, str) and size != cut[axis]]
        if axes:
            info = graph.value_info.add(name=name, type=found)
            _forget_made_up_sizes(info)
            for axis in axes:
                dim = info.type.tensor_type.shape.dim[axis]
                dim.dim_param = dim.dim_param or f"{name}_size_{axis}"
            scope.walk.trace.scope(scope.path).declared_values.add(name)


def _was_inferred(name: str, scope: ScopeValues) -> bool:
    """Whether the definition that computed a value in the original infers its type; True for new values."""
    position = scope.facts.index.positions.get(name)
    if position is None:
        return True
    node = scope.facts.container.node[position]
    domain = canonical_domain(node.domain)
    return history.infers_types(domain, node.op_type, scope.imports.get(domain, 1))


def _forget_made_up_sizes(info: ValueInfoProto) -> None:
    """Leave sizes open that onnx's inference gave names."""
    for dim in info.type.tensor_type.shape.dim if info.type.HasField("tensor_type") else ():
        if dim.dim_param.startswith(MADE_UP):
            dim.Clear()


def declare_shapes_of_outputs(scope: ScopeValues, graph: GraphProto) -> None:
    """Declare the shapes of a subgraph's outputs that were inferred, and are no longer: some runtimes need them.

    onnxruntime does for Scan, and infers no shape of what a Loop gives, which some rules emit.
    """
    if scope.parent is None or scope.position is None:
        return
    undeclared = [info for info in graph.output if not info.type.HasField("value") or _has_no_shape(info)]
    before = {info.name: scope.facts.type_of(info.name) for info in undeclared}
    known = {name: kind for name, kind in before.items() if kind is not None and shape_of_type(kind) is not None}
    if not known:
        return
    targets = {domain: scope.target(domain) for domain in scope.imports}
    path = f"{scope.path} as it is now"  # of what has the path of the original's, hints are known
    now = ScopeFacts(scope.walk.facts, graph, path, scope.parent.facts, targets, scope.facts.owner)
    for info in undeclared:
        if info.name not in known or now.shape(info.name) is not None:
            continue
        info.type.CopyFrom(known[info.name])
        _forget_made_up_sizes(info)
        scope.walk.trace.scope(scope.path).declared_values.add(info.name)


def _has_no_shape(info: ValueInfoProto) -> bool:
    return info.type.HasField("tensor_type") and shape_of_type(info.type) is None
