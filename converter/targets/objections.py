"""What a runtime refuses of a model that has come to its opset and IR version: operators and dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import NodeProto

from converter.dtypes import dtype_of_type
from converter.facts import ModelFacts, ScopeFacts
from converter.history import CONVERTED_DOMAINS, canonical_domain
from converter.refusal import Refusal, Why
from converter.scopes import called_function_key
from converter.targets.target import Target


def objections(facts: ModelFacts, target: Target) -> list[Refusal]:
    """Every place in a model with an operator that the runtime lacks or a dtype that it refuses."""
    if not (target.operators_lacking or target.dtypes_refused):
        return []
    refused = _possibly_refused(facts, target)
    found: list[Refusal] = []
    for scope in facts.all_scopes():
        for node in scope.container.node:
            key = called_function_key(node)
            is_standard = canonical_domain(node.domain) in CONVERTED_DOMAINS and key not in facts.functions
            if is_standard and node.op_type in target.operators_lacking:
                sentence = f"{target.title} {target.version} has no {node.op_type}"
                found.append(_refusal(sentence, node, scope))
        if refused:
            found += _refused_values(scope, target, refused)
    return found


def _possibly_refused(facts: ModelFacts, target: Target) -> frozenset[str]:
    """Those of the refused dtypes that a value of the model may have: mostly none, which is quick to tell."""
    possible = facts.possible_types
    if possible is None:
        return target.dtypes_refused
    return target.dtypes_refused & set(filter(None, map(dtype_of_type, possible)))


def _refused_values(scope: ScopeFacts, target: Target, refused: frozenset[str]) -> Iterator[Refusal]:
    """The values with which a refused dtype begins: those that nodes pass it on to are not named again."""
    entering: Iterable[str] = [
        name if isinstance(name, str) else name.name
        for name in (*scope.container.input, *getattr(scope.container, "initializer", ()))
    ]
    for name in dict.fromkeys(entering):
        if dtype := _refused_dtype(scope, name, refused):
            yield Refusal(Why.TARGET, _dtype_sentence(target, name, dtype), "", "", scope.path, "")
    for node in scope.container.node:
        taken = {_refused_dtype(scope, name, refused) for name in node.input if name}
        for name in filter(None, node.output):
            dtype = _refused_dtype(scope, name, refused)
            if dtype and dtype not in taken:
                yield _refusal(_dtype_sentence(target, name, dtype), node, scope)


def _refused_dtype(scope: ScopeFacts, name: str, refused: frozenset[str]) -> str | None:
    spelt = scope.type_string(name)
    dtype = dtype_of_type(spelt) if spelt else None
    return dtype if dtype in refused else None


def _dtype_sentence(target: Target, name: str, dtype: str) -> str:
    return f"{name!r} is {dtype}, which {target.title} {target.version} does not take"


def _refusal(sentence: str, node: NodeProto, scope: ScopeFacts) -> Refusal:
    return Refusal(Why.TARGET, sentence, node.op_type, node.name or next(iter(node.output), ""), scope.path, "")
