"""The rule book: every declared step and birth, checked against the schemas."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import ModuleType

from opsetlift.rulebook.rule import (
    Birth,
    Experiment,
    Rule,
    RuleLike,
    StandIn,
    Step,
    as_rule,
    becomes_its_values,
    unchanged,
)
from opsetlift.specification.experimental import experimental_operators
from opsetlift.specification.history import AI_ONNX, Cell, all_cells, canonical_domain, display_domain, history
from opsetlift.support.plugins import PluginFault, registered

OWN_RULES = "opsetlift_rules"
ENTRY_POINT_GROUP = "opsetlift.rules"
"""Modules with STEPS, BIRTHS, EXPERIMENTS and STAND_INS, or packages of such modules, are registered in this group."""


class RuleBookError(PluginFault):
    """A rule module declares something twice, or something that onnx does not have."""


class CellState(Enum):
    """What the rule book knows of a cell."""

    DECLARED = "declared"
    DERIVED = "derived as types-only"
    REFUSED = "refused by design"
    NOT_WRITTEN = "not written"


@dataclass(frozen=True)
class Entry:
    """A declared cell: its rule and the module that declares it."""

    rule: Rule
    module: str
    because: str


class RuleBook:
    """Rules by cell. Raises RuleBookError for a duplicate or a step that the operator's history does not have."""

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._entries: dict[Cell, Entry] = {}
        self._stand_ins: dict[tuple[str, str], Entry] = {}
        for module in modules:
            for step in getattr(module, "STEPS", ()):
                self._add_step(step, module.__name__)
            for birth in getattr(module, "BIRTHS", ()):
                self._add_birth(birth, module.__name__)
            for experiment in getattr(module, "EXPERIMENTS", ()):
                self._add_experiment(experiment, module.__name__)
            for stand_in in getattr(module, "STAND_INS", ()):
                self._add_stand_in(stand_in, module.__name__)

    def _add_step(self, step: Step, module: str) -> None:
        domain = canonical_domain(step.domain)
        found = history(domain, step.operator)
        if found is None or (step.older, step.newer) not in found.steps():
            raise RuleBookError(
                f"{module}: {step.operator} has no step {step.older}→{step.newer} in the installed onnx"
            )
        for upward, rule in ((True, step.up), (False, step.down)):
            self._add(Cell(domain, step.operator, step.older, step.newer, upward), rule, module, step.because)

    def _add_birth(self, birth: Birth, module: str) -> None:
        domain = canonical_domain(birth.domain)
        found = history(domain, birth.operator)
        if found is None or found.birth != birth.since or birth.since == 1:
            raise RuleBookError(f"{module}: {birth.operator} is not born at opset {birth.since} in the installed onnx")
        self._add(Cell(domain, birth.operator, 0, birth.since, False), birth.down, module, "")

    def _add_experiment(self, experiment: Experiment, module: str) -> None:
        _, until = experimental_operators().get(experiment.operator, (None, 0))
        if until != experiment.until:
            raise RuleBookError(f"{module}: {experiment.operator} was no experiment until opset {experiment.until}")
        cell = Cell(AI_ONNX, experiment.operator, 0, until, True)
        self._add(cell, experiment.lowered, module, "")

    def _add_stand_in(self, stand_in: StandIn, module: str) -> None:
        key = (canonical_domain(stand_in.domain), stand_in.operator)
        if history(*key) is None:
            raise RuleBookError(f"{module}: the installed onnx has no {stand_in.operator}")
        if key in self._stand_ins:
            raise RuleBookError(f"{module}: {stand_in.operator} has two stand-ins")
        self._stand_ins[key] = Entry(as_rule(stand_in.rule), module, "")

    def stand_in(self, domain: str, operator: str) -> Rule | None:
        """What stands for an operator that a runtime does not take as it is written; None where nothing is known."""
        entry = self._stand_ins.get((domain, operator))
        return entry.rule if entry else None

    def module_of(self, cell: Cell, rule: Rule) -> str:
        """The module that declares a rule at a cell; "opsetlift" for what nobody has to declare."""
        entry = self._stand_ins.get((cell.domain, cell.operator)) if cell.stays else self._entries.get(cell)
        return entry.module if entry is not None and entry.rule is rule else "opsetlift"

    def experiment(self, domain: str, operator: str, opset: int) -> Cell | None:
        """The cell of an operator that was an experiment at `opset`, if something is declared for it."""
        found = experimental_operators().get(operator) if domain == AI_ONNX else None
        cell = Cell(domain, operator, 0, found[1], True) if found and opset < found[1] else None
        return cell if cell in self._entries else None

    def _add(self, cell: Cell, rule: RuleLike, module: str, because: str) -> None:
        if cell in self._entries:
            raise RuleBookError(f"{cell} is declared twice, in {self._entries[cell].module} and in {module}")
        named = as_rule(rule)
        self._entries[cell] = Entry(named, module, because or named.because)

    def entry(self, cell: Cell) -> Entry | None:
        """The declaration of a cell, None where it has none."""
        return self._entries.get(cell)

    def rule(self, cell: Cell) -> Rule | None:
        """The rule in force: the declared one, `unchanged` where the step is types-only, None where none is written."""
        if entry := self._entries.get(cell):
            return entry.rule
        return unchanged if self._is_derived(cell) else None

    def largest_ulps(self, cell: Cell, rule: str, dtypes: Iterable[str] | None = None) -> int | None:
        """The largest bound that a rule may claim for a site at a cell, in units in the last place.

        Args:
            cell: A step in one direction, an introduction, an experiment, or (`stays`) a node that a runtime does not
                take as it is written.
            rule: The rule's name, as traces and certificates have it.
            dtypes: The dtypes of all values at the site, where they are known; they narrow down what rules may claim
                that compute a stage in a narrower dtype.

        Returns:
            0 for an exact rule; None where the book has no such rule at the cell.
        """
        candidates = [self.rule(cell)]
        if cell.stays:
            candidates = [self.stand_in(cell.domain, cell.operator), becomes_its_values]
        for known in candidates:
            if known is not None and known.name == rule:
                return known.largest_ulps(dtypes)
        return None

    def rules(self) -> Iterator[tuple[str, Rule]]:
        """Every declared rule, beside words for where it applies."""
        for cell, entry in self._entries.items():
            yield str(cell), entry.rule
        for (domain, operator), entry in self._stand_ins.items():
            yield f"{display_domain(domain)} {operator}, for a runtime", entry.rule

    def state(self, cell: Cell) -> CellState:
        """The state of a cell for the coverage table."""
        if entry := self._entries.get(cell):
            return CellState.REFUSED if entry.rule.refuses else CellState.DECLARED
        return CellState.DERIVED if self._is_derived(cell) else CellState.NOT_WRITTEN

    def states(self) -> Iterator[tuple[Cell, CellState]]:
        """Every cell of the version matrix with its state."""
        for cell in all_cells():
            yield cell, self.state(cell)

    @staticmethod
    def _is_derived(cell: Cell) -> bool:
        found = history(cell.domain, cell.operator)
        if found is None or (cell.older, cell.newer) not in found.steps():
            return False
        return found.is_types_only(cell.older, cell.newer)


def rule_modules() -> list[ModuleType]:
    """The registered modules, and those in registered packages, OpsetLift's own among them. Raises PluginFault.

    Packages inside a registered one are its helpers, and no operator's steps are looked for in them.
    """
    modules: list[ModuleType] = []
    for entry, module in registered(ENTRY_POINT_GROUP):
        if not isinstance(module, ModuleType):
            raise RuleBookError(f"{entry.value} is registered as a module of rules, but is none")
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
