"""The route of an operator from one opset to another: the transitions that may change a node, in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from onnx.defs import OpSchema

from opsetlift.rulebook.book import RuleBook
from opsetlift.rulebook.rule import Rule
from opsetlift.specification.history import (
    CONVERTED_DOMAINS,
    Definition,
    Direction,
    OperatorHistory,
    Transition,
    histories,
    history,
)
from opsetlift.support.refusal import Why
from opsetlift.targets import Target


@dataclass(frozen=True)
class Gate:
    """A formal parameter that loses types in the destination version."""

    is_input: bool
    position: int
    is_variadic: bool
    lost: frozenset[str]


@dataclass(frozen=True)
class RoutedTransition:
    """One transition of a route, its rule (None where none is written) and the types that it loses."""

    transition: Transition
    rule: Rule | None
    gates: tuple[Gate, ...]

    @property
    def is_unchanged(self) -> bool:
        """Whether a node whose types stay is the same after it."""
        return self.rule is not None and self.rule.apply is None

    def is_idle(self, possible_types: frozenset[str]) -> bool:
        """Whether it does nothing to a node whose values can only have these types."""
        if self.rule is None or not (self.rule.apply is None or self.rule.for_lost_types):
            return False
        return all(gate.lost.isdisjoint(possible_types) for gate in self.gates)


@dataclass(frozen=True)
class Route:
    """The transitions of a node. A node without a route stays as it is."""

    transitions: tuple[RoutedTransition, ...] = ()
    descend: bool = False
    """Whether the node may have subgraphs, which are converted in any case."""
    needs_runtime_check: bool = False
    """Whether the runtime that the model is for may not accept the node as it is."""
    why: Why | None = None
    """Set where such a node cannot be converted at all; `sentence` says why."""
    sentence: str = ""

    @cached_property
    def before_bodies(self) -> tuple[RoutedTransition, ...]:
        """The transitions whose rules are given some nodes before the subgraphs of these are converted."""
        return tuple(one for one in self.transitions if one.rule is not None and one.rule.before_bodies)

    def without_idle_transitions(self, possible_types: frozenset[str]) -> Route | None:
        """The route of a node whose values can only have these types, without transitions that only guard others.

        None where nothing remains to be done.
        """
        kept = tuple(routed for routed in self.transitions if not routed.is_idle(possible_types))
        return replace(self, transitions=kept) if kept or self.descend or self.needs_runtime_check else None


@lru_cache(maxsize=1 << 14)
def gates(before: Definition, after: Definition) -> tuple[Gate, ...]:
    """The parameters whose sets of types shrink from `before` to `after`, matched by position."""
    found = []
    for is_input in (True, False):
        earlier = before.schema.inputs if is_input else before.schema.outputs
        later = after.schema.inputs if is_input else after.schema.outputs
        for position, (formal, other) in enumerate(zip(earlier, later, strict=False)):
            lost = before.allowed_types(formal.type_str) - after.allowed_types(other.type_str)
            if lost:
                variadic = formal.option == OpSchema.FormalParameterOption.Variadic
                found.append(Gate(is_input, position, variadic, lost))
    return tuple(found)


class Routes:
    """Routes between opsets, cached by operator and pair of opsets; `runtime` is the one that the model is for."""

    def __init__(self, rule_book: RuleBook, runtime: Target | None = None) -> None:
        self._rule_book = rule_book
        # Of others only documents are known, and TensorRT's plugins go by their names alone.
        self._measured = runtime if runtime is not None and (runtime.is_measured or runtime.like) else None
        self._needing_check = runtime.operators_to_check if runtime else frozenset()
        self._known: dict[tuple[str, str, int, int], Route | None] = {}

    @property
    def operators(self) -> frozenset[tuple[str, str]]:
        """The operators, by domain and name, whose routes were asked for."""
        return frozenset((domain, operator) for domain, operator, _, _ in self._known)

    def find(self, domain: str, operator: str, source: int, target: int) -> Route | None:
        """The route of an operator from opset `source` to `target`; None where nothing is to be done."""
        key = (domain, operator, source, target)
        if key not in self._known:
            self._known[key] = self._build(*key)
        return self._known[key]

    def _build(self, domain: str, operator: str, source: int, target: int) -> Route | None:
        found = history(domain, operator)
        if found is None or not found.since_version(source):
            if transition := self._rule_book.experimental(domain, operator, source):
                return Route((RoutedTransition(transition, self._rule_book.rule(transition), ()),), descend=True)
            needs_runtime_check = (domain, operator) in self._needing_check
            if domain in CONVERTED_DOMAINS and found is None and self._measured is not None:
                sentence = f"no release of ONNX has an operator {operator}, and nor has {self._measured.called}"
                return Route(descend=True, why=Why.TARGET, sentence=sentence)
            if domain not in CONVERTED_DOMAINS or (source == target and not needs_runtime_check):
                return Route(descend=True)
            since = f"; it was introduced in {found.introduction}" if found else ""
            sentence = f"opset {source} has no operator {operator}{since}, so its meaning is unknown"
            return Route(descend=True, why=Why.UNKNOWN_OPERATOR, sentence=sentence)
        descend = any(definition.takes_subgraphs for definition in found.definitions.values())
        transitions = self._transitions(found, source, target)
        needs_runtime_check = (domain, operator) in self._needing_check
        return (
            Route(transitions, descend, needs_runtime_check) if transitions or descend or needs_runtime_check else None
        )

    def _transitions(self, found: OperatorHistory, source: int, target: int) -> tuple[RoutedTransition, ...]:
        routed = []
        definitions = found.definitions
        for transition in found.transitions_between(source, target):
            rule = self._rule_book.rule(transition)
            lost = (
                ()
                if transition.is_introduction
                else gates(definitions[transition.source_version], definitions[transition.destination_version])
            )
            if rule is None or rule.apply is not None or lost:
                routed.append(RoutedTransition(transition, rule, lost))
        return tuple(routed)


@lru_cache(maxsize=1 << 14)
def operators_taking(type_string: str, opset: int, domain: str) -> bool:
    """Whether any operator of `domain` at `opset` takes a value of this type."""
    for (operator_domain, _), operator_history in histories().items():
        definition = operator_history.at(opset) if operator_domain == domain else None
        if definition is not None and any(
            type_string in definition.allowed_types(formal.type_str) for formal in definition.schema.inputs
        ):
            return True
    return False


def lost_type_sentence(transition: Transition, value: str, type_string: str) -> str:
    """The sentence that refuses a site whose value has a type that the destination version of a transition lacks."""
    shown = type_string.removeprefix("tensor(").removesuffix(")") if type_string.startswith("tensor(") else type_string
    opset = transition.landing_opset
    if not operators_taking(type_string, opset, transition.domain):
        return f"no operator of opset {opset} accepts {shown} ({value!r})"
    if transition.direction is Direction.DOWN:
        accepts = f"{transition.operator} accepts {shown} only from opset {transition.newer}"
    else:
        accepts = f"{transition.operator} no longer accepts {shown} from opset {transition.newer}"
    return f"{accepts}, and no wider type represents it exactly ({value!r})"
