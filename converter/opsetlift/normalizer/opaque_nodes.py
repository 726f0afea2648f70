"""Two models without the nodes that cannot be executed, or that give random results: their outputs become inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onnx import FunctionProto, ModelProto, NodeProto, TypeProto, ValueInfoProto

from opsetlift.facts import ModelFacts
from opsetlift.model.scopes import FunctionKey, called_function_key, function_key, imported_opsets, subgraphs
from opsetlift.specification.dtypes import type_string
from opsetlift.specification.history import canonical_domain, definition


@dataclass(frozen=True)
class Cut:
    """Both models without some nodes; `outputs` pairs the names to compare, what those nodes read among them."""

    original: ModelProto
    result: ModelProto
    outputs: Sequence[tuple[str, str]]
    nodes: Sequence[str]
    """The nodes, for people."""


def cut_out(original: ModelProto, result: ModelProto, base_dir: str) -> Cut | None:
    """Cut the opaque nodes of the main graph out of both models; None where they are not the same in both.

    Nodes are paired by the names of their outputs, and must be equal except for the names of their inputs.
    """
    before, after = _opaque_nodes(original), _opaque_nodes(result)
    if not before or not after.keys() <= before.keys():
        return None
    pairs = [(before[key], after[key]) for key in before if key in after]
    if not all(_are_alike(one, other) for one, other in pairs):
        return None
    facts = ModelFacts(original, base_dir).graph
    given = {name: facts.type_of(name) for key in before for name in key if name}
    types = {name: found for name, found in given.items() if found is not None and type_string(found) is not None}
    if len(types) < len(given):
        return None
    outputs = [(info.name, info.name) for info in original.graph.output]
    for one, other in pairs:
        outputs += [pair for pair in zip(one.input, other.input, strict=True) if pair[0]]
    outputs = list(dict.fromkeys(outputs))
    return Cut(
        _without(original, before, types, [name for name, _ in outputs]),
        _without(result, before, types, [name for _, name in outputs]),
        outputs,
        [f"{one.op_type} {one.name!r}" if one.name else one.op_type for one, _ in pairs],
    )


def not_executable(model: ModelProto) -> frozenset[str] | None:
    """What nodes give that cannot be executed; None where some node draws random numbers, or a function holds one."""
    functions = {function_key(function) for function in model.functions}
    opsets = imported_opsets(model.opset_import)
    found = _opaque_nodes(model)
    for node in found.values():
        domain = canonical_domain(node.domain)
        known = definition(domain, node.op_type, opsets.get(domain, 0))
        if known is not None or called_function_key(node) in functions:
            return None
    return frozenset(name for names in found for name in names if name)


def _opaque_nodes(model: ModelProto) -> dict[tuple[str, ...], NodeProto]:
    functions = {function_key(function): function for function in model.functions}
    opsets = imported_opsets(model.opset_import)
    return {tuple(node.output): node for node in model.graph.node if _is_opaque(node, opsets, functions)}


def _is_opaque(node: NodeProto, opsets: Mapping[str, int], functions: Mapping[FunctionKey, FunctionProto]) -> bool:
    function = functions.get(called_function_key(node))
    if function is not None:
        inner = imported_opsets(function.opset_import)
        return any(_is_opaque(one, inner, functions) for one in function.node)
    domain = canonical_domain(node.domain)
    found = definition(domain, node.op_type, opsets.get(domain, 0))
    if found is None or (found.is_random and not found.takes_subgraphs):
        return True
    return any(_is_opaque(one, opsets, functions) for _, graph in subgraphs(node) for one in graph.node)


def _are_alike(one: NodeProto, other: NodeProto) -> bool:
    """Whether nodes are the same but for the names of their inputs and what is noted on them."""
    if any(True for _ in subgraphs(one)) or [*map(bool, one.input)] != [*map(bool, other.input)]:
        return False
    copies = []
    for node in (one, other):
        copies.append(NodeProto(op_type=node.op_type, domain=node.domain, overload=node.overload))
        copies[-1].attribute.extend(sorted(node.attribute, key=lambda attribute: attribute.name))
    return copies[0] == copies[1]


def _without(
    model: ModelProto, cut: Mapping[tuple[str, ...], NodeProto], types: Mapping[str, TypeProto], outputs: Sequence[str]
) -> ModelProto:
    left = ModelProto()
    left.CopyFrom(model)
    kept = [node for node in left.graph.node if tuple(node.output) not in cut]
    nodes = [NodeProto() for _ in kept]
    for copy, node in zip(nodes, kept, strict=True):
        copy.CopyFrom(node)
    del left.graph.node[:]
    left.graph.node.extend(nodes)
    known = {info.name: info.type for info in left.graph.output}
    del left.graph.output[:]
    for name in outputs:
        left.graph.output.append(ValueInfoProto(name=name, type=known.get(name)))
    left.graph.input.extend(ValueInfoProto(name=name, type=kind) for name, kind in types.items())
    return left
