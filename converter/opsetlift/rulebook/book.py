"""The rule book: every declared step and introduction, checked against the schemas."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import ModuleType

from opsetlift.rulebook.contributed import ContributedOperator
from opsetlift.rulebook.rule import (
    ExperimentalOperator,
    Fallback,
    Introduction,
    Rule,
    RuleLike,
    Step,
    as_rule,
    becomes_its_values,
    unchanged,
)
from opsetlift.specification.experimental import experimental_operators
from opsetlift.specification.history import (
    AI_ONNX,
    CONVERTED_DOMAINS,
    Transition,
    all_transitions,
    canonical_domain,
    display_domain,
    history,
    is_behind,
)
from opsetlift.support.plugins import PluginFault, registered

OWN_RULES = "opsetlift_rules"
ENTRY_POINT_GROUP = "opsetlift.rules"
"""Modules with STEPS, INTRODUCTIONS, EXPERIMENTAL_OPERATORS, FALLBACKS and CONTRIBUTED_OPERATORS, or packages of them,
are registered here."""


class RuleBookError(PluginFault):
    """A rule module declares something twice, or something that onnx does not have."""


class TransitionState(Enum):
    """What the rule book has for a transition."""

    DECLARED = "declared"
    DERIVED = "derived as types-only"
    REFUSED = "refused by design"
    NOT_WRITTEN = "not written"


@dataclass(frozen=True)
class Entry:
    """A declared transition: its rule and the module that declares it."""

    rule: Rule
    module: str
    because: str


class RuleBook:
    """Rules by transition, without those that an older onnx lacks.

    Raises:
        RuleBookError: A transition is declared twice, or is none of the operator's history.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._entries: dict[Transition, Entry] = {}
        self._fallbacks: dict[tuple[str, str], tuple[Entry, ...]] = {}
        self._contributed: dict[tuple[str, str], ContributedOperator] = {}
        for module in modules:
            for step in getattr(module, "STEPS", ()):
                self._add_step(step, module.__name__)
            for introduction in getattr(module, "INTRODUCTIONS", ()):
                self._add_introduction(introduction, module.__name__)
            for operator in getattr(module, "EXPERIMENTAL_OPERATORS", ()):
                self._add_experimental(operator, module.__name__)
            for fallback in getattr(module, "FALLBACKS", ()):
                self._add_fallback(fallback, module.__name__)
            for contributed in getattr(module, "CONTRIBUTED_OPERATORS", ()):
                self._add_contributed(contributed, module.__name__)

    def _add_step(self, step: Step, module: str) -> None:
        domain = canonical_domain(step.domain)
        found = history(domain, step.operator)
        if found is None or (step.older, step.newer) not in found.steps():
            if is_behind(domain):
                return
            raise RuleBookError(
                f"{module}: {step.operator} has no step {step.older}→{step.newer} in the installed onnx"
            )
        for upward, rule in ((True, step.up), (False, step.down)):
            self._add(Transition(domain, step.operator, step.older, step.newer, upward), rule, module, step.because)

    def _add_introduction(self, introduction: Introduction, module: str) -> None:
        domain = canonical_domain(introduction.domain)
        found = history(domain, introduction.operator)
        if found is None or found.introduction != introduction.since or introduction.since == 1:
            if is_behind(domain):
                return
            raise RuleBookError(f"{module}: {introduction.operator} is not introduced in opset {introduction.since}")
        self._add(
            Transition(domain, introduction.operator, 0, introduction.since, False), introduction.down, module, ""
        )

    def _add_experimental(self, declared: ExperimentalOperator, module: str) -> None:
        _, until = experimental_operators().get(declared.operator, (None, 0))
        if until != declared.until:
            raise RuleBookError(f"{module}: {declared.operator} was not experimental until opset {declared.until}")
        transition = Transition(AI_ONNX, declared.operator, 0, until, True)
        self._add(transition, declared.lowered, module, "")

    def _add_fallback(self, fallback: Fallback, module: str) -> None:
        key = (canonical_domain(fallback.domain), fallback.operator)
        if history(*key) is None:
            if is_behind(key[0]):
                return
            raise RuleBookError(f"{module}: the installed onnx has no {fallback.operator}")
        if key in self._fallbacks:
            raise RuleBookError(f"{module}: {fallback.operator} has two fallbacks")
        rules = (fallback.rule,) if fallback.otherwise is None else (fallback.rule, fallback.otherwise)
        self._fallbacks[key] = tuple(Entry(as_rule(rule), module, "") for rule in rules)

    def _add_contributed(self, contributed: ContributedOperator, module: str) -> None:
        key = (canonical_domain(contributed.domain), contributed.operator)
        if key in self._contributed or key[0] in CONVERTED_DOMAINS:
            raise RuleBookError(f"{module}: what {contributed.operator} of {contributed.domain} stands for is known")
        self._contributed[key] = contributed

    def contributed(self, domain: str, operator: str) -> ContributedOperator | None:
        """What an operator of a domain beside ONNX's own stands for, if that is known."""
        return self._contributed.get((domain, operator))

    def fallbacks(self, domain: str, operator: str) -> tuple[Rule, ...]:
        """The rules for nodes of an operator that a runtime does not accept as they are, in the order to try them."""
        return tuple(entry.rule for entry in self._fallbacks.get((domain, operator), ()))

    def module_of(self, transition: Transition, rule: Rule) -> str:
        """The module that declares a rule at a transition; "opsetlift" for derived rules."""
        entries = (
            self._fallbacks.get((transition.domain, transition.operator), ())
            if transition.stays
            else filter(None, [self._entries.get(transition)])
        )
        return next((entry.module for entry in entries if entry.rule is rule), "opsetlift")

    def experimental(self, domain: str, operator: str, opset: int) -> Transition | None:
        """The transition of an operator that was experimental at `opset`, if something is declared for it."""
        found = experimental_operators().get(operator) if domain == AI_ONNX else None
        transition = Transition(domain, operator, 0, found[1], True) if found and opset < found[1] else None
        return transition if transition in self._entries else None

    def _add(self, transition: Transition, rule: RuleLike, module: str, because: str) -> None:
        if transition in self._entries:
            raise RuleBookError(
                f"{transition} is declared twice, in {self._entries[transition].module} and in {module}"
            )
        named = as_rule(rule)
        self._entries[transition] = Entry(named, module, because or named.because)

    def entry(self, transition: Transition) -> Entry | None:
        """The declaration of a transition, None where it has none."""
        return self._entries.get(transition)

    def rule(self, transition: Transition) -> Rule | None:
        """The rule in force: the declared one, `unchanged` where the step is types-only, None where none is written."""
        if entry := self._entries.get(transition):
            return entry.rule
        return unchanged if self._is_derived(transition) else None

    def largest_ulps(self, transition: Transition, rule: str, dtypes: Iterable[str] | None = None) -> int | None:
        """The largest bound that a rule may claim for a site at a transition, in units in the last place.

        Args:
            transition: A step in one direction, an introduction, an experimental operator, or (`stays`) a node that
                a runtime does not take as it is written.
            rule: The rule's name, as traces and certificates have it.
            dtypes: The dtypes of all values at the site, where they are known; they narrow down what rules may claim
                that compute a stage in a narrower dtype.

        Returns:
            0 for an exact rule; None where the book has no such rule at the transition.
        """
        candidates: Sequence[Rule | None] = [self.rule(transition)]
        if transition.stays:
            candidates = [*self.fallbacks(transition.domain, transition.operator), becomes_its_values]
        for known in candidates:
            if known is not None and known.name == rule:
                return known.largest_ulps(dtypes)
        return None

    def rules(self) -> Iterator[tuple[str, Rule]]:
        """Every declared rule, with a description of where it applies."""
        for transition, entry in self._entries.items():
            yield str(transition), entry.rule
        for (domain, operator), entries in self._fallbacks.items():
            for entry in entries:
                yield f"{display_domain(domain)} {operator}, for a runtime", entry.rule

    def state(self, transition: Transition) -> TransitionState:
        """The state of a transition for the coverage table."""
        if entry := self._entries.get(transition):
            return TransitionState.REFUSED if entry.rule.refuses else TransitionState.DECLARED
        return TransitionState.DERIVED if self._is_derived(transition) else TransitionState.NOT_WRITTEN

    def states(self) -> Iterator[tuple[Transition, TransitionState]]:
        """Every transition of the version matrix with its state."""
        for transition in all_transitions():
            yield transition, self.state(transition)

    @staticmethod
    def _is_derived(transition: Transition) -> bool:
        found = history(transition.domain, transition.operator)
        if found is None or (transition.older, transition.newer) not in found.steps():
            return False
        return found.is_types_only(transition.older, transition.newer)


def rule_modules() -> list[ModuleType]:
    """The registered modules, and those in registered packages, OpsetLift's own among them. Raises PluginFault.

    Packages inside a registered one are its helpers, and no operator's steps are looked for in them.
    """
    modules: list[ModuleType] = []
    for entry, module in registered(ENTRY_POINT_GROUP):
        if not isinstance(module, ModuleType):
            raise RuleBookError(f"{entry.value} is registered as a module of rules, but is not a module")
        modules.append(module)
        modules += (
            importlib.import_module(f"{module.__name__}.{found.name}")
            for found in pkgutil.iter_modules(getattr(module, "__path__", ()))
            if not found.ispkg and not found.name.startswith("_")
        )
    if not any(module.__name__ == OWN_RULES for module in modules):
        raise RuleBookError(f"{OWN_RULES} is not registered under {ENTRY_POINT_GROUP}: install OpsetLift with pip")
    return modules


@cache
def default_rule_book() -> RuleBook:
    """The rule book of the installed rule modules; read once."""
    return RuleBook(rule_modules())
