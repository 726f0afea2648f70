"""Nodes of domains beside ONNX's own that a runtime lacks, in the operators that they stand for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from onnx import ModelProto, NodeProto, OperatorSetIdProto

from opsetlift.facts import ModelFacts, ScopeFacts
from opsetlift.model.names import Names
from opsetlift.model.scopes import called_function_key
from opsetlift.rulebook.book import RuleBook
from opsetlift.rulebook.contributed import Body, ContributedOperator, NotWritten
from opsetlift.specification.history import AI_ONNX, CONVERTED_DOMAINS, canonical_domain
from opsetlift.targets import Target, contributed_objection, node_objection

_FIRST_WITH_QUANTIZATION = 10
"""Older opsets have no operators for what most of these stand for."""


@dataclass
class Written:
    """A model with ONNX's operators in place of others."""

    model: ModelProto
    counts: dict[str, int]
    """How many nodes of each operator were written, by its name and domain."""
    notes: list[str]
    """A sentence about each operator."""


def with_written_operators(facts: ModelFacts, runtime: Target, book: RuleBook) -> Written | None:
    """The model with ONNX's operators in place of those that the runtime lacks; None where nothing is written.

    What cannot be written stays as it is, and is refused later.
    """
    if not places_to_write(facts, runtime, book):
        return None
    model = ModelProto()
    model.CopyFrom(facts.model)
    copied, names = ModelFacts(model, facts.base_dir), Names(facts.model)
    written: dict[tuple[str, str], list[Body]] = {}
    # From the inside out, as the nodes around a graph are copied with it.
    for scope in reversed(list(copied.all_scopes())):
        bodies = dict(_bodies(scope, runtime, book, names))
        for body in bodies.values():
            written.setdefault((canonical_domain(body.node.domain), body.node.op_type), []).append(body)
        if bodies:
            nodes = [
                one
                for position, node in enumerate(scope.container.node)
                for one in (bodies[position].nodes if position in bodies else [node])
            ]
            replaced = [NodeProto.FromString(one.SerializeToString()) for one in nodes]
            del scope.container.node[:]
            scope.container.node.extend(replaced)
    _drop_imports_that_nothing_uses(model, {domain for domain, _ in written})
    counts = {f"{operator} of {domain}": len(bodies) for (domain, operator), bodies in sorted(written.items())}
    notes = [_note(operator, domain, bodies) for (domain, operator), bodies in sorted(written.items())]
    return Written(model, counts, notes) if notes else None


def places_to_write(facts: ModelFacts, runtime: Target, book: RuleBook) -> frozenset[tuple[str, int]]:
    """The nodes that stand for others and that the runtime lacks, by the path of their scope and their position."""
    imports = [one for holder in (facts.model, *facts.model.functions) for one in holder.opset_import]
    if all(canonical_domain(one.domain) in CONVERTED_DOMAINS for one in imports):
        return frozenset()
    scopes = facts.all_scopes()
    return frozenset((scope.path, position) for scope in scopes for position, *_ in _lacking(scope, runtime, book))


def _drop_imports_that_nothing_uses(model: ModelProto, domains: Collection[str]) -> None:
    scopes = ModelFacts(model).all_scopes()
    used = {canonical_domain(node.domain) for scope in scopes for node in scope.container.node}
    for holder in (model, *model.functions):
        kept = [one for one in holder.opset_import if one.domain not in domains or one.domain in used]
        replaced = [OperatorSetIdProto.FromString(one.SerializeToString()) for one in kept]
        del holder.opset_import[:]
        holder.opset_import.extend(replaced)


def _lacking(
    scope: ScopeFacts, runtime: Target, book: RuleBook
) -> Iterator[tuple[int, NodeProto, ContributedOperator]]:
    """The nodes that the runtime does not take, and whose operator stands for others, with their places."""
    if scope.imports.get(AI_ONNX, 1) < _FIRST_WITH_QUANTIZATION:
        return
    for position, node in enumerate(scope.container.node):
        domain = canonical_domain(node.domain)
        operator = None if domain in CONVERTED_DOMAINS else book.contributed(domain, node.op_type)
        if operator is None or called_function_key(node) in scope.model.functions:
            continue
        opset = scope.imports.get(domain, 1)
        if contributed_objection(node, scope, runtime) or node_objection(node, opset, scope, runtime):
            yield position, node, operator


def _bodies(scope: ScopeFacts, runtime: Target, book: RuleBook, names: Names) -> Iterator[tuple[int, Body]]:
    for position, node, operator in _lacking(scope, runtime, book):
        if any(one.ref_attr_name for one in node.attribute):
            continue  # The calls of a function decide.
        body = Body(node, scope, scope.imports.get(AI_ONNX, 1), names.fresh)
        try:
            body.finish(operator.written(body))
        except NotWritten:
            continue
        yield position, body


def _note(operator: str, domain: str, bodies: Sequence[Body]) -> str:
    used = list(dict.fromkeys(node.op_type for node in bodies[0].nodes if node.op_type != "Constant"))
    shown = " and ".join(filter(None, [", ".join(used[:-1]), used[-1]]))
    many = f"{len(bodies)} nodes are" if len(bodies) > 1 else "one node is"
    return f"{operator} of {domain}: {many} written as {shown}, which compute the same"
