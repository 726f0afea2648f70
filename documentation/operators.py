"""A page for each operator: what changed when, what OpsetLift does about it in each direction, and what it refuses."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence

import onnx.printer

from documentation.examples import Example, Operator, examples
from documentation.text import code, plain, points, table
from opsetlift.evaluator.table import execution
from opsetlift.reporting.drawing import svg
from opsetlift.reporting.html import Html, tag
from opsetlift.rulebook.book import RuleBook, default_rule_book
from opsetlift.rulebook.explain import ExplainedStep, explain
from opsetlift.specification.history import (
    CONVERTED_DOMAINS,
    OperatorHistory,
    Transition,
    display_domain,
    histories,
    latest_opset,
)

_MOST_EXAMPLES = 6
"""Of each kind."""


def operator_pages() -> dict[str, str]:
    """Path -> Markdown, the index among them."""
    book, found = default_rule_book(), examples()
    known = [one for key, one in sorted(histories().items()) if key[0] in CONVERTED_DOMAINS]
    pages = {page_of(one.domain, one.operator): _page(one, book, found) for one in known}
    return {"operators/index.md": _index(known, found), **pages}


def page_of(domain: str, operator: str) -> str:
    """Where an operator's page is."""
    return f"operators/{f'{domain}.{operator}' if domain else operator}.md"


def _index(known: Sequence[OperatorHistory], found: Mapping[Operator, Sequence[Example]]) -> str:
    lines = [
        "# Operators",
        "",
        "What changed in each operator from opset to opset, what OpsetLift does about it going up and down, and what",
        "it refuses. The pages are generated from ONNX's schemas, the rules and their tests; `opsetlift explain`",
        "prints the same.",
        "",
    ]
    for domain in CONVERTED_DOMAINS:
        rows = (
            (
                f"[{one.operator}]({page_of(domain, one.operator).removeprefix('operators/')})",
                ", ".join(map(str, one.since_versions)),
                str(len(found.get((domain, one.operator), ())) or ""),
            )
            for one in known
            if one.domain == domain
        )
        lines += [
            f"## {display_domain(domain)}, up to opset {latest_opset(domain)}",
            "",
            *table(("operator", "since-versions", "examples"), rows),
        ]
    return "\n".join(lines)


def _page(found: OperatorHistory, book: RuleBook, all_examples: Mapping[Operator, Sequence[Example]]) -> str:
    explained = explain(f"{found.domain}.{found.operator}" if found.domain else found.operator, rule_book=book)
    lines = [
        f"# {found.operator}",
        "",
        f"{display_domain(found.domain)}, since-versions {', '.join(map(str, found.since_versions))}.",
        "",
    ]
    for step in reversed(explained.steps):
        lines += _step(found, step, book)
    if not explained.steps:
        lines += ["The operator has had one definition since opset 1: there is nothing to convert.", ""]
    lines += ["## How the proof executes it", ""]
    lines += points(
        f"since {version}: {plain(execution(found.domain, found.operator, definition))}"
        for version, definition in found.definitions.items()
    )
    mine = all_examples.get((found.domain, found.operator), ())
    lines += _examples(found, [one for one in mine if one.after])
    lines += _refusals([one for one in mine if not one.after])
    return "\n".join(lines)


def _step(found: OperatorHistory, step: ExplainedStep, book: RuleBook) -> Iterator[str]:
    yield f"## {step.older} to {step.newer}" if step.older else f"## Introduced in {step.newer}"
    yield ""
    changes = points(plain(change) for change in step.changes)
    yield from changes if step.older else ()
    for upward in (True, False) if step.older else (False,):
        transition = Transition(found.domain, found.operator, step.older, step.newer, upward)
        yield f"**{'Up' if upward else 'Down'}**: {_rule(transition, book)}"
        yield ""


def _rule(transition: Transition, book: RuleBook) -> str:
    entry, rule = book.entry(transition), book.rule(transition)
    if rule is None:
        return "no rule is written; refused."
    if entry is None:
        return (
            "nodes stay as they are: only the sets of types differ. "
            + ("" if transition.upward else "Types that the older version lacks take a wider type, or are refused.")
        ).strip()
    because = f" Reason: {plain(entry.because)}." if entry.because else ""
    if rule.refuses:
        return f"refused.{because}"
    summary = ""
    if rule.apply is not None and rule.apply.__name__.replace("_", " ") == rule.name:
        summary = (inspect.getdoc(rule.apply) or "").partition("\n\n")[0].replace("\n", " ")
    exactness = f"{rule.exactness}: {rule.because}" if rule.ulps and rule.because else rule.exactness
    name = f"{plain(rule.name)} ({plain(exactness)})."
    own = "" if rule.ulps and entry.because == rule.because else because
    return " ".join(filter(None, (name, plain(summary), own.strip(), f"Module {code(entry.module)}.")))


def _examples(found: OperatorHistory, mine: Sequence[Example]) -> Iterator[str]:
    if not mine:
        return
    yield "## Before and after"
    yield ""
    yield "Each is a test of the rules: the conversion gives just this, and is proven equal."
    yield ""
    for number, one in enumerate(mine[:_MOST_EXAMPLES]):
        before, after = (opsets.get(found.domain) for opsets in one.opsets)
        yield f"### {plain(one.caption)}"
        yield ""
        yield f"Opset {before} to {after} ({code(one.file)}):"
        yield ""
        for text in (one.before, one.after):
            yield from ("```text", _shown(text), "```", "")
        yield _drawn(one, number)
        yield ""
    if len(mine) > _MOST_EXAMPLES:
        yield f"{len(mine) - _MOST_EXAMPLES} more are in the tests."
        yield ""


def _shown(text: str) -> str:
    return onnx.printer.to_text(onnx.parser.parse_model(text)).strip()


def _drawn(example: Example, number: int) -> Html:
    figures = [
        tag("figure", tag("figcaption", drawing.title), tag("div", svg(drawing, f"e{number}{side}"), class_="scroll"))
        for side, drawing in enumerate(example.drawings())
    ]
    return tag("div", *figures, class_="sides")


def _refusals(mine: Sequence[Example]) -> Iterator[str]:
    told = [(one, sentences) for one in mine if (sentences := one.refusals())][:_MOST_EXAMPLES]
    if not told:
        return
    yield "## Refused"
    yield ""
    for one, sentences in told:
        to = " and ".join(f"{display_domain(domain)} {opset}" for domain, opset in (one.to or {}).items())
        yield f"### {plain(one.caption)}"
        yield ""
        yield f"To {to}:"
        yield ""
        yield from ("```text", _shown(one.before), "```", "")
        yield from points(plain(sentence) for sentence in sentences)
