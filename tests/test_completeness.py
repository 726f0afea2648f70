"""What a new release of onnx asks for: rules for each version transition, and a way to execute each definition."""

from __future__ import annotations

from opsetlift.evaluator.table import execution
from opsetlift.rulebook.book import TransitionState, default_rule_book
from opsetlift.specification.history import CONVERTED_DOMAINS, histories


def test_each_transition_has_a_rule_or_is_refused_by_design():
    missing = [
        str(transition) for transition, state in default_rule_book().states() if state is TransitionState.NOT_WRITTEN
    ]
    assert missing == [], f"no rule for {', '.join(missing)}; opsetlift-dev new-step drafts one (CONTRIBUTING.md)"


def test_each_definition_can_be_executed_or_is_deprecated():
    missing = [
        f"{operator}-{version}"
        for (domain, operator), history in histories().items()
        if domain in CONVERTED_DOMAINS
        for version, definition in history.definitions.items()
        if execution(domain, operator, definition) == "not executable: there is no kernel"
    ]
    assert missing == [], f"no kernel for {', '.join(missing)}; CONTRIBUTING.md says how to add one"
