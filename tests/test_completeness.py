"""What a new release of onnx asks for: rules for each version transition, and a way to execute each definition."""

from __future__ import annotations

from opsetlift.evaluator.table import execution
from opsetlift.rulebook.book import TransitionState, default_rule_book
from opsetlift.specification.history import CONVERTED_DOMAINS, WRITTEN_FOR, histories, latest_opset


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


def test_the_opsets_that_rules_are_written_for_are_those_of_the_newest_onnx():
    """What an onnx older than this has not is no error, so it has to grow with onnx."""
    assert {domain: latest_opset(domain) for domain in CONVERTED_DOMAINS} == WRITTEN_FOR


def test_operators_that_onnx_takes_for_random_take_a_seed_or_subgraphs():
    """AffineGrid counts as random by an If in its function body."""
    marked = {
        operator
        for (domain, operator), history in histories().items()
        if domain in CONVERTED_DOMAINS
        for definition in history.definitions.values()
        if str(definition.schema.node_determinism) == "NodeDeterminism.NonDeterministic"
        and not definition.takes_subgraphs
    }
    drawing = {
        operator
        for (domain, operator), history in histories().items()
        if domain in CONVERTED_DOMAINS and any(one.is_random for one in history.definitions.values())
    }
    assert drawing == marked - {"AffineGrid"}
