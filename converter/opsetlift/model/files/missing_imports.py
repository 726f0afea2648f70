"""Domains that a model uses and does not import, where it makes no difference which opset of them is taken."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto

from opsetlift.model.def_use import DefUse
from opsetlift.model.scopes import imported_opsets
from opsetlift.specification.history import canonical_domain, display_domain, history

_OPSETS_OF_ONNXRUNTIME = {"com.microsoft": 1}
"""Domains that onnx does not define; onnxruntime has had one opset of each."""


def with_missing_imports(model: ModelProto, scopes: Sequence[DefUse]) -> tuple[ModelProto, list[str]]:
    """The model, or a copy that imports what its graph uses, and a sentence for each import that was added.

    `scopes` are the main graph and its subgraphs.

    skl2onnx and many who build nodes by hand have written such models. onnxruntime takes the newest opset that it
    knows; where each operator of the domain that the model uses has one definition only, every opset since the last of
    their introductions says the same. Other models stay as they are, and are turned down.
    """
    imported = imported_opsets(model.opset_import)
    found: dict[str, int] = {}
    if imported:
        used = {canonical_domain(domain) for scope in scopes for domain, _, _ in scope.operators}
        for domain in sorted(used.difference(imported)):
            if opset := _OPSETS_OF_ONNXRUNTIME.get(domain) or _only_opset(scopes, domain):
                found[domain] = opset
    if not found:
        return model, []
    copied = ModelProto()
    copied.CopyFrom(model)
    for domain, opset in found.items():
        copied.opset_import.add(domain=domain, version=opset)
    return copied, [
        f"the model does not import {display_domain(domain)}; opset {opset} was assumed, "
        "because the operators that it uses have only one definition"
        for domain, opset in found.items()
    ]


def _only_opset(scopes: Sequence[DefUse], domain: str) -> int:
    """The first opset with all operators of `domain` in them; 0 where there are none, or several definitions."""
    introductions = []
    for spelt, operator, _ in {one for scope in scopes for one in scope.operators}:
        if canonical_domain(spelt) == domain:
            known = history(domain, operator)
            if known is None or known.steps():
                return 0
            introductions.append(known.introduction)
    return max(introductions, default=0)
