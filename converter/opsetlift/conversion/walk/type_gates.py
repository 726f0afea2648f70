"""The types that values may not have in the destination version of a transition, or of nodes that a rule emits."""

from __future__ import annotations

from collections.abc import Mapping, Set

from onnx import NodeProto

from opsetlift.facts import ScopeFacts
from opsetlift.rulebook.routes import RoutedTransition, lost_type_sentence
from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.history import Transition, canonical_domain
from opsetlift.support.refusal import SiteRefused, Why


def lost_types(routed: RoutedTransition, node: NodeProto, facts: ScopeFacts) -> frozenset[str]:
    """The types of the node's values that the destination version of a transition lacks."""
    found: set[str] = set()
    for gate in routed.gates:
        names = node.input if gate.is_input else node.output
        stop = len(names) if gate.is_variadic else gate.position + 1
        found |= gate.lost.intersection(facts.type_string(name) for name in names[gate.position : stop] if name)
    return frozenset(found)


def check_gates(routed: RoutedTransition, node: NodeProto, facts: ScopeFacts, unread: Set[str]) -> None:
    """Raise SiteRefused where a value of the node has, or may have, a type that the destination version lacks.

    Values that nothing reads, `unread`, are free.
    """
    for gate in routed.gates:
        names = node.input if gate.is_input else node.output
        stop = len(names) if gate.is_variadic else gate.position + 1
        for name in names[gate.position : stop]:
            if not name or name in unread:
                continue
            found = facts.type_string(name)
            if found is None:
                far = routed.transition.landing_opset
                lost = ", ".join(sorted(dtype_of_type(one) or one for one in gate.lost))
                raise SiteRefused(
                    Why.DTYPE_UNKNOWN,
                    f"the dtype of {name!r} cannot be inferred, and opset {far} does not accept {lost}",
                )
            if found in gate.lost:
                raise SiteRefused(Why.DTYPE_NOT_AVAILABLE, lost_type_sentence(routed.transition, name, found))


def check_emitted(
    node: NodeProto, opset: int, transition: Transition, facts: ScopeFacts, imports: Mapping[str, int]
) -> None:
    """Raise SiteRefused where the operator, as it is at `opset`, does not take what a rule for `transition` gave it."""
    domain = canonical_domain(node.domain)
    if domain not in imports:
        raise SiteRefused(
            Why.NO_EQUIVALENT,
            f"the conversion needs {node.op_type} of {history.display_domain(domain)}, which the model does not import",
        )
    definition = history.definition(domain, node.op_type, opset)
    if definition is None:
        raise RuntimeError(f"the rule of {transition} emits {node.op_type}, which opset {opset} does not have")
    for kind, names, formals in (
        ("input", node.input, definition.schema.inputs),
        ("output", node.output, definition.schema.outputs),
    ):
        for position, name in enumerate(names):
            if not name or not formals:
                continue
            found = facts.type_string(name)
            allowed = definition.allowed_types(formals[min(position, len(formals) - 1)].type_str)
            if found is not None and found not in allowed:
                shown = dtype_of_type(found) or found
                raise SiteRefused(
                    Why.DTYPE_NOT_AVAILABLE,
                    f"{node.op_type} has no {shown} {kind} at opset {opset}",
                )
