"""`opsetlift explain` and `opsetlift coverage`."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from opsetlift.cli.errors import DONE
from opsetlift.cli.output import show, show_versioned, table
from opsetlift.rulebook.book import TransitionState
from opsetlift.rulebook.coverage import Coverage
from opsetlift.rulebook.explain import Explanation, RuleInForce
from opsetlift.rulebook.explain import explain as explain_operator
from opsetlift.specification.history import display_domain


def show_explanation(operator: str, opsets: tuple[int, int] | None, *, as_json: bool) -> int:
    """Print how an operator changed, between two opsets or ever; returns the exit status."""
    explanation = explain_operator(operator, opsets)
    if as_json:
        show_versioned(explanation.as_dict())
    else:
        show(*_explanation_page(explanation))
    return DONE


def _explanation_page(explanation: Explanation) -> Iterator[RenderableType]:
    """Each step with its changes and rules."""
    versions = ", ".join(map(str, explanation.since_versions)) or "none"
    yield f"{explanation.operator} of {explanation.domain}: since-versions {versions}"
    if explanation.experimental_below:
        below = f"below opset {explanation.experimental_below}"
        yield f"  It was an experimental operator {below}: it had no version there, and onnx has no schema of it."
    if explanation.experimental_rule is not None:
        yield f"  {explanation.experimental_rule.transition}: {_described(explanation.experimental_rule)}"
    for step in explanation.steps:
        yield ""
        yield f"{step.older} -> {step.newer}" if step.older else f"{step.newer}"
        for change in step.changes or ("no change that the schemas show",):
            yield f"    {change}"
        for rule in step.rules:
            yield f"  {rule.transition}: {_described(rule)}"
    if not explanation.steps and explanation.since_versions:
        yield "  No definition changed between these opsets."


def _described(rule: RuleInForce) -> str:
    parts = [rule.state]
    if rule.rule and rule.state == TransitionState.DECLARED.value:
        parts = [f"{rule.rule}, {rule.exactness}"]
    if rule.because:
        parts.append(f"({rule.because})")
    if rule.module:
        parts.append(f"[{rule.module}]")
    return " ".join(parts)


def show_coverage(*, as_json: bool, as_markdown: bool) -> int:
    """Print which transitions have rules, as tables, JSON or the page docs/coverage.md; returns the exit status."""
    coverage = Coverage()
    if as_json:
        show_versioned(coverage.as_dict())
    elif as_markdown:
        show(coverage.markdown().rstrip("\n"))
    else:
        show(*_coverage_page(coverage))
    return DONE


def _coverage_page(coverage: Coverage) -> Iterator[RenderableType]:
    """Every step with the state of its transitions, the counts at the end."""
    rows = [(display_domain(s.domain), s.operator, s.step, s.up, s.down) for s in coverage.steps()]
    yield table(("domain", "operator", "step", "up", "down"), rows)
    states = list(TransitionState)
    yield table(
        ("domain", *(f"#{state.value}" for state in states), "#transitions"),
        [
            (display_domain(domain), *(counts[state] for state in states), counts.total())
            for domain, counts in coverage.counts.items()
        ],
    )
