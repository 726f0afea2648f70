"""The history of an operator for people: the changes at each step, from the schemas, and its rules."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import onnx
from onnx.defs import OpSchema

from opsetlift.rulebook.book import Entry, RuleBook, TransitionState, default_rule_book
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.experimental import experimental_operators
from opsetlift.specification.history import (
    AI_ONNX,
    Definition,
    OperatorHistory,
    Transition,
    canonical_domain,
    display_domain,
    histories,
    latest_opset,
)
from opsetlift.support.errors import OpsetLiftError


class UnknownOperator(OpsetLiftError, ValueError):
    """The installed onnx has no operator of that name, or no such opset; the message is one sentence."""


@dataclass(frozen=True)
class RuleInForce:
    """What the rule book says of one transition."""

    transition: str
    state: str
    rule: str
    exactness: str
    because: str
    module: str


@dataclass(frozen=True)
class ExplainedStep:
    """One step or introduction: what changes, and the rule in each direction that it has."""

    older: int
    newer: int
    changes: Sequence[str]
    rules: Sequence[RuleInForce]


@dataclass(frozen=True)
class Explanation:
    """An operator's history, or the part of it between two opsets."""

    domain: str
    operator: str
    since_versions: Sequence[int]
    steps: Sequence[ExplainedStep]
    experimental_below: int = 0
    """The opset below which it was an experimental operator, without a version and a schema; 0 where it never was."""
    experimental_rule: RuleInForce | None = None
    """What a conversion does with it there."""

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return asdict(self)


def explain(operator: str, between: tuple[int, int] | None = None, *, rule_book: RuleBook | None = None) -> Explanation:
    """The history of an operator, "Min" or "ai.onnx.ml.Scaler"; `between` two opsets, only the steps on that way.

    Raises UnknownOperator.
    """
    found = _find(operator)
    book = rule_book or default_rule_book()
    if between is None:
        oldest, newest = 0, latest_opset(found.domain)
    else:
        for opset in between:
            if not 1 <= opset <= latest_opset(found.domain):
                known = f"the installed onnx has opsets 1 to {latest_opset(found.domain)}"
                raise UnknownOperator(f"{display_domain(found.domain)} has no opset {opset}; {known}")
        oldest, newest = sorted(between)
    introduction = [(0, found.introduction)] if found.since_versions and found.introduction > 1 else []
    steps = [
        ExplainedStep(older, newer, tuple(_changes(found, older, newer)), tuple(_rules(found, older, newer, book)))
        for older, newer in [*introduction, *found.steps()]
        if oldest < newer <= newest
    ]
    _, until = experimental_operators().get(found.operator, (None, 0)) if found.domain == AI_ONNX else (None, 0)
    transition = book.experimental(found.domain, found.operator, 1) if oldest < until else None
    return Explanation(
        domain=display_domain(found.domain),
        operator=found.operator,
        since_versions=found.since_versions,
        steps=tuple(steps),
        experimental_below=until,
        experimental_rule=_rule(transition, book) if transition is not None else None,
    )


def _find(operator: str) -> OperatorHistory:
    domain, _, name = operator.rpartition(".")
    known = histories()
    candidates = [(canonical_domain(domain), name)] if domain else sorted(key for key in known if key[1] == name)
    for key in candidates:
        if key in known:
            return known[key]
    if canonical_domain(domain) == AI_ONNX and name in experimental_operators():
        return OperatorHistory(AI_ONNX, name, {})
    names = {name.lower(): name for name in [*experimental_operators(), *(key[1] for key in known)]}
    close = difflib.get_close_matches(name.lower(), names, n=3)
    hint = f"; did you mean {' or '.join(names[one] for one in close)}?" if close else ""
    raise UnknownOperator(f"onnx {onnx.__version__} has no operator {operator!r}{hint}")


def _rules(found: OperatorHistory, older: int, newer: int, book: RuleBook) -> Iterator[RuleInForce]:
    for upward in (True, False) if older else (False,):
        yield _rule(Transition(found.domain, found.operator, older, newer, upward), book)


def _rule(transition: Transition, book: RuleBook) -> RuleInForce:
    state, entry, rule = book.state(transition), book.entry(transition), book.rule(transition)
    exactness = ""
    if rule is not None and state is not TransitionState.REFUSED:
        exactness = f"{rule.exactness}: {rule.because}" if rule.ulps else rule.exactness
    return RuleInForce(
        transition=str(transition),
        state=state.value,
        rule=rule.name if rule else "",
        exactness=exactness,
        because=_reason(entry) if entry else "",
        module=entry.module if entry else "",
    )


def _reason(entry: Entry) -> str:
    """Why the rule is right, or refuses; the reason for rounding is part of its exactness."""
    return "" if entry.rule.ulps and entry.because == entry.rule.because else entry.because


def _changes(found: OperatorHistory, older: int, newer: int) -> Iterator[str]:
    if not older:
        yield f"introduced in opset {newer}"
        return
    before, after = found.definitions[older], found.definitions[newer]
    if after.schema.deprecated and not before.schema.deprecated:
        yield "deprecated"
    yield from _changed_types(before, after)
    yield from _changed_parameters("input", before.schema.inputs, after.schema.inputs)
    yield from _changed_parameters("output", before.schema.outputs, after.schema.outputs)
    yield from _changed_attributes(before.schema.attributes, after.schema.attributes)
    yield from _changed_text(before.schema, after.schema)


def _shown_types(types: frozenset[str]) -> str:
    return ", ".join(sorted(dtype_of_type(name) or name for name in types))


def _changed_types(before: Definition, after: Definition) -> Iterator[str]:
    old, new = before.types_by_variable, after.types_by_variable
    for variable in [*old, *(name for name in new if name not in old)]:
        if variable not in new:
            yield f"type {variable}: removed"
        elif variable not in old:
            yield f"type {variable}: added, {_shown_types(new[variable])}"
        else:
            if added := new[variable] - old[variable]:
                yield f"type {variable}: + {_shown_types(added)}"
            if removed := old[variable] - new[variable]:
                yield f"type {variable}: - {_shown_types(removed)}"


def _shown_parameter(parameter: OpSchema.FormalParameter) -> str:
    option = {
        OpSchema.FormalParameterOption.Single: "",
        OpSchema.FormalParameterOption.Optional: "optional ",
        OpSchema.FormalParameterOption.Variadic: f"variadic (at least {parameter.min_arity}) ",
    }[parameter.option]
    uneven = "" if parameter.is_homogeneous else ", of different types"
    return f"{option}{parameter.type_str}{uneven}"


def _changed_parameters(
    kind: str, old: Sequence[OpSchema.FormalParameter], new: Sequence[OpSchema.FormalParameter]
) -> Iterator[str]:
    old_position = {parameter.name: position for position, parameter in enumerate(old)}
    kept = {parameter.name for parameter in new} & old_position.keys()
    renamed = {
        new[position].name: position
        for position in range(min(len(old), len(new)))
        if old[position].name not in kept and new[position].name not in kept
    }
    for position, after in enumerate(new):
        origin = old_position.get(after.name, renamed.get(after.name))
        if origin is None:
            yield f"{kind} {position} {after.name!r}: added, {_shown_parameter(after)}"
            continue
        before = old[origin]
        if before.name != after.name:
            yield f"{kind} {position}: {before.name!r} renamed to {after.name!r}"
        if origin != position:
            yield f"{kind} {position} {after.name!r}: was {kind} {origin}"
        if _shown_parameter(before) != _shown_parameter(after):
            yield f"{kind} {position} {after.name!r}: {_shown_parameter(before)} → {_shown_parameter(after)}"
    for position, before in enumerate(old):
        if before.name not in kept and position not in renamed.values():
            yield f"{kind} {position} {before.name!r}: removed"


def _shown_attribute(attribute: OpSchema.Attribute) -> str:
    kind = str(attribute.type).rpartition(".")[2].lower()
    if attribute.required:
        return f"{kind}, required"
    if not attribute.default_value.name:
        return f"{kind}, optional"
    value = onnx.helper.get_attribute_value(attribute.default_value)
    return f"{kind}, default {value.decode() if isinstance(value, bytes) else value!r}"


def _changed_attributes(old: Mapping[str, OpSchema.Attribute], new: Mapping[str, OpSchema.Attribute]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        if name not in new:
            yield f"attribute {name!r}: removed"
        elif name not in old:
            yield f"attribute {name!r}: added, {_shown_attribute(new[name])}"
        elif _shown_attribute(old[name]) != _shown_attribute(new[name]):
            yield f"attribute {name!r}: {_shown_attribute(old[name])} → {_shown_attribute(new[name])}"


def _folded(text: str | None) -> str:
    return " ".join((text or "").split())


def _changed_text(old: OpSchema, new: OpSchema) -> Iterator[str]:
    changed = ["the operator's text"] if _folded(old.doc) != _folded(new.doc) else []
    parts = (
        ("input", {i.name: i.description for i in old.inputs}, {i.name: i.description for i in new.inputs}),
        ("output", {o.name: o.description for o in old.outputs}, {o.name: o.description for o in new.outputs}),
        (
            "attribute",
            {name: attribute.description for name, attribute in old.attributes.items()},
            {name: attribute.description for name, attribute in new.attributes.items()},
        ),
    )
    for kind, before, after in parts:
        changed += [
            f"{kind} {name!r}" for name in before if name in after and _folded(before[name]) != _folded(after[name])
        ]
    if changed:
        yield f"text changed: {', '.join(changed)}"
