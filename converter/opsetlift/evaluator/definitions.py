"""Which definition of an operator is in force where the evaluator meets a node of it."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from opsetlift.evaluator.errors import NotExecutable, Place, Rejected
from opsetlift.evaluator.gate import Illegal
from opsetlift.specification.contributed import contributed_definition
from opsetlift.specification.experimental import experimental_definition
from opsetlift.specification.history import (
    Definition,
    OperatorHistory,
    canonical_domain,
    display_domain,
    history,
    latest_opset,
)


def opset_imports(imports: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Return the opset of each domain.

    Raises:
        Rejected: A domain is imported at two opsets.
    """
    opsets: dict[str, int] = {}
    for entry in imports:
        domain = canonical_domain(entry.domain)
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise Rejected(f"domain {display_domain(domain)} is imported at two opsets", Place())
    return opsets


def definition_in_force(domain: str, operator: str, opset: int, place: Place, *, strict: bool) -> Definition:
    """Return the definition of an operator at an opset.

    Raises:
        Illegal: The opset has no such operator.
        NotExecutable: The installed onnx does not know the domain, or not up to that opset.
    """
    experimental = experimental_definition(domain, operator, opset)
    if experimental is not None:
        if strict:
            raise Illegal("the operator was an experimental operator, which no opset has")
        return experimental
    contributed = contributed_definition(domain, operator)
    if contributed is not None:
        return contributed
    versions = _operator_history(domain, operator, opset, place)
    found = versions.at(opset)
    if found is None:
        raise Illegal(f"opset {opset} has no such operator; it came with {versions.introduction}")
    return found


def _operator_history(domain: str, operator: str, opset: int, place: Place) -> OperatorHistory:
    try:
        latest = latest_opset(domain)
    except (KeyError, ValueError):
        latest = 0
    if not latest:
        raise NotExecutable("the evaluator cannot execute operators of this domain", place)
    if opset > latest:
        raise NotExecutable(
            f"the installed onnx knows {display_domain(domain)} up to opset {latest}, not {opset}", place
        )
    versions = history(domain, operator)
    if versions is None:
        raise Illegal(f"{display_domain(domain)} has no such operator")
    return versions
