"""The tables of rules stand in the sources as they are read: one line for each step, found by `grep 'Step("Add"'`."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from types import ModuleType

import pytest

import opsetlift_rules.helpers
from opsetlift.rulebook.book import OWN_RULES, default_rule_book, rule_modules
from opsetlift.rulebook.contributed import ContributedOperator
from opsetlift.rulebook.rule import ExperimentalOperator, Fallback, Introduction, Step
from opsetlift.specification.history import all_transitions

OWN = [module for module in rule_modules() if module.__name__.startswith(f"{OWN_RULES}.")]
NUMBERS = {
    "Step": ("older", "newer"),
    "Introduction": ("since",),
    "ExperimentalOperator": (),
    "Fallback": (),
    "ContributedOperator": (),
}
Written = tuple[object, ...]


def written(source: str) -> list[Written]:
    """The entries of tables that a source spells out: kind, operator and since-versions, on the line of the kind."""
    found: list[Written] = []
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NUMBERS):
            continue
        first = node.args[: 1 + len(NUMBERS[node.func.id])]
        if all(isinstance(one, ast.Constant) and one.lineno == node.lineno for one in first):
            found.append((node.func.id, *(one.value for one in first if isinstance(one, ast.Constant))))
    return found


def declared(module: ModuleType) -> list[Written]:
    """The entries of tables that a module has once it is imported."""
    entries: list[Step | Introduction | ExperimentalOperator | Fallback | ContributedOperator] = [
        entry
        for table in ("STEPS", "INTRODUCTIONS", "EXPERIMENTAL_OPERATORS", "FALLBACKS", "CONTRIBUTED_OPERATORS")
        for entry in getattr(module, table, ())
    ]
    return [
        (kind, entry.operator, *(getattr(entry, number) for number in NUMBERS[kind]))
        for entry in entries
        for kind in [type(entry).__name__]
    ]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("module", OWN, ids=lambda module: module.__name__.rpartition(".")[2])
def test_each_entry_of_a_table_is_spelt_out_where_it_stands(module: ModuleType):
    assert sorted(written(inspect.getsource(module)), key=str) == sorted(declared(module), key=str)


def test_each_transition_of_the_rule_book_is_spelt_out():
    spelt_out = {entry for module in OWN for entry in written(inspect.getsource(module))}
    book = default_rule_book()
    ours = {module.__name__ for module in OWN}
    of_our_own = [
        transition for transition in all_transitions() if (entry := book.entry(transition)) and entry.module in ours
    ]
    transitions = {
        ("Step", transition.operator, transition.older, transition.newer)
        if transition.older
        else ("Introduction", transition.operator, transition.newer)
        for transition in of_our_own
    }
    assert transitions
    assert transitions <= spelt_out, transitions - spelt_out


@pytest.mark.parametrize(
    "source",
    [
        'STEPS = [Step(operator, 1, 6, up=up, down=down) for operator in ("Add", "Sub")]',
        'STEPS = [step("Add", 1, 6)]',
        'STEPS = [\n    Step(\n        "Add",\n        1,\n        6,\n        up=up,\n        down=down,\n    ),\n]',
    ],
)
def test_a_table_that_grep_does_not_find_is_noticed(source: str):
    assert written(source) == []


def test_helpers_have_no_tables_and_know_no_rules():
    helpers = [
        importlib.import_module(f"{opsetlift_rules.helpers.__name__}.{found.name}")
        for found in pkgutil.iter_modules(opsetlift_rules.helpers.__path__)
    ]
    assert helpers
    for helper in helpers:
        assert not declared(helper), helper
        source = inspect.getsource(helper)
        assert not written(source), helper
        assert not re.search(r"^from opsetlift_rules\.(?!helpers\b)", source, re.MULTILINE), f"{helper} imports rules"
    read = {module.__name__ for module in OWN}
    assert read.isdisjoint({opsetlift_rules.helpers.__name__, *(helper.__name__ for helper in helpers)})


def test_a_module_without_tables_is_a_helper():
    assert [module.__name__ for module in OWN if not declared(module)] == []


def test_a_module_of_one_operator_has_its_name():
    for module in OWN:
        operators = {str(entry[1]) for entry in declared(module)}
        if len(operators) == 1:
            (operator,) = operators
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", operator).lower()
            assert module.__name__ == f"{OWN_RULES}.{words}"
