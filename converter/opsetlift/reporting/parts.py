"""The parts that pages are made of: drawings side by side, proofs, costs, search, the frame around all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version

import onnx
from onnx import ModelProto

from opsetlift.model.files import all_tensors, stored_bytes
from opsetlift.model.scopes import imported_opsets, subgraphs_within
from opsetlift.proof import InputDiversity, Outcome, SiteRecord
from opsetlift.reporting.changes import Change, Step
from opsetlift.reporting.differences import operator_of
from opsetlift.reporting.drawing import Drawing, State, svg
from opsetlift.reporting.html import Content, Html, document, facts, folded, listed, table, tag
from opsetlift.specification.history import display_domain
from opsetlift.support.text import as_bytes, counted

_MOST_PLACES = 200
_MOST_ROWS = 200
_LONGEST_CASE = 400

_TONES = {
    Outcome.EQUAL: "good",
    Outcome.SAME_CODE: "good",
    Outcome.SAME_STRUCTURE: "good",
    Outcome.UNUSED: "good",
    Outcome.WEAK: "warn",
    Outcome.UNPROVEN: "warn",
    Outcome.DIFFERENT: "bad",
}

_WORDS = {
    State.KEPT: "kept as it was",
    State.REWRITTEN: "rewritten: another form of the same node",
    State.NEW: "new: only after",
    State.REMOVED: "removed or refused",
}


class Anchors:
    """Names for links into one page, each once."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def of(self, text: str) -> str:
        """A name made from a heading; the same heading always gives the same one."""
        slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "entry"
        self._taken[slug] += 1
        return slug if self._taken[slug] == 1 else f"{slug}-{self._taken[slug]}"


def page(title: str, verdict: Content, *sections: Content, operators: Iterable[str] = ()) -> str:
    """A whole page."""
    names = sorted(set(operators))
    header = tag("header", tag("h1", title), verdict)
    body = tag("main", _tools(names) if names else None, *sections, id="content")
    footer = tag("footer", tag("p", f"opsetlift {version('opsetlift')}, onnx {onnx.__version__}"))
    skip = tag("a", "Skip to the content", href="#content", class_="skip")
    return document(f"{title} · OpsetLift", skip, header, body, footer)


def _tools(operators: Sequence[str]) -> Html:
    """Search and filter; without scripts everything is shown."""
    options = [tag("option", "all operators", value=""), *(tag("option", one, value=_word(one)) for one in operators)]
    return tag(
        "div",
        tag("p", tag("label", "Search", for_="search"), tag("input", id="search", type="search", autocomplete="off")),
        tag("p", tag("label", "Operator", for_="operator"), tag("select", *options, id="operator")),
        tag("p", id="count", role="status"),
        class_="tools",
        role="search",
    )


def verdict(tone: str, word: str, *sentences: Content) -> Html:
    """The answer, first on the page; `tone` is good, warn or bad."""
    return tag("p", tag("strong", word), ". ", *sentences, class_=f"verdict {tone}")


def section(title: str, *content: Content) -> Html:
    """A part of the page with its heading; nothing where it has no content."""
    if not any(content):
        return Html()
    anchor = re.sub(r"[^a-z]+", "-", title.lower()).strip("-")
    return tag("section", tag("h2", title, id=anchor), *content, aria_labelledby=anchor)


def legend() -> Html:
    """What the colours mean."""
    items = [tag("li", tag("span", class_=state.value), f"{words}") for state, words in _WORDS.items()]
    return tag("ul", *items, class_="legend", aria_label="Colours of the drawings")


def entry(anchor: str, heading: Content, operators: Iterable[str], *content: Content) -> Html:
    """Something that can be searched for and linked to."""
    link = tag("a", "#", href=f"#{anchor}", class_="anchor", aria_label="Link to this entry")
    return tag("article", tag("h3", heading, link), *content, id=anchor, data_operators=" ".join(map(_word, operators)))


def _word(operator: str) -> str:
    """An operator's name without spaces, of which a list is made."""
    return "_".join(operator.split())


def change_entry(change: Change) -> Html:
    """One kind of change: in words, drawn, what the specification says, the proof, and where."""
    operators = dict.fromkeys((*change.operators, *(place.operator for place in change.places)))
    return entry(
        change.anchor,
        change.heading,
        operators,
        facts(
            [
                ("How often", counted(len(change.places), "place")),
                ("Nodes there", f"{len(change.texts[0])} → {len(change.texts[1])}"),
                ("Results", change.exactness if change.steps else ""),
                ("Proof", _proof_in_short(change.records) if change.steps or change.records else ""),
            ]
        ),
        *(_step(step, is_only=len(change.steps) == 1) for step in change.steps),
        listed(change.details),
        sides(change.before, change.after, change.anchor),
        folded("The same as text", *_texts(change)),
        proof_table(change.records),
        folded(f"Where: {counted(len(change.places), 'place')}", _places(change)),
    )


def _step(step: Step, *, is_only: bool) -> Html:
    """A rule in words; the heading names the only one."""
    words = [one[0].upper() + one[1:].rstrip(".") + "." for one in (step.summary, step.because) if one]
    changes = listed(step.specification)
    return Html(
        tag(
            "p",
            None if is_only else tag("strong", f"{step.transition}: {step.rule} ({step.exactness}). "),
            " ".join(words),
        )
        + (folded(f"What the specification changed: {step.transition}", changes) if changes else "")
    )


def sides(before: Drawing, after: Drawing, anchor: str) -> Html:
    """Both drawings; on a narrow screen one below the other."""
    return tag("div", figure(before, f"{anchor}--before"), figure(after, f"{anchor}--after"), class_="sides")


def figure(drawing: Drawing, identifier: str) -> Html:
    """One drawing with its caption."""
    more = tag("p", f"… and {counted(drawing.left_out, 'more node')}", class_="dim") if drawing.left_out else None
    nothing = tag("p", "Nothing is left of these nodes.", class_="dim") if not drawing.boxes else None
    shown = svg(drawing, identifier) if drawing.boxes else None
    scroll = tag("div", shown, class_="scroll", tabindex=0, role="region", aria_label=drawing.title)
    return tag("figure", tag("figcaption", drawing.title), scroll, nothing, more)


def _texts(change: Change) -> Iterator[Html]:
    for title, lines in (("Before", change.texts[0]), ("After", change.texts[1])):
        yield tag("h4", title)
        yield tag("pre", "\n".join(lines[:_MOST_PLACES]) or "nothing")


def _places(change: Change) -> Html:
    shown = [
        [tag("span", place.operator, " ", tag("span", place.node, class_="name")), f" in {place.path}"]
        for place in change.places[:_MOST_PLACES]
    ]
    more = [f"… and {counted(len(change.places) - _MOST_PLACES, 'more place')}"]
    return listed([*shown, *(more if len(change.places) > _MOST_PLACES else [])])


def _proof_in_short(records: Sequence[SiteRecord]) -> Content:
    if not records:
        return "not run"
    outcomes = Counter(record.outcome for record in records)
    tried = sum(record.cases for record in records)
    words = [
        tag("span", f"{outcome.value}" if len(outcomes) == 1 else f"{count} {outcome.value}", class_=_TONES[outcome])
        for outcome, count in outcomes.items()
    ]
    return [*words, f", {counted(tried, 'test input')}"]


def proof_table(records: Sequence[SiteRecord]) -> Html:
    """The proof of each distinct site: outcome, test inputs, largest difference, and the inputs."""
    if not records:
        return Html()
    rows = [
        (
            [tag("span", one.node, class_="name"), f" in {one.path}"],
            one.count,
            tag("span", one.outcome.value, class_=_TONES[one.outcome]),
            one.cases,
            one.rejected,
            _difference(one),
            _inputs(one),
        )
        for one in records[:_MOST_ROWS]
    ]
    columns = ("first node", "#nodes", "outcome", "#test inputs", "#rejected", "#largest difference", "inputs")
    return table("Proof: each distinct case, executed before and after on the same inputs", columns, rows)


def _difference(record: SiteRecord) -> str:
    if not record.cases:
        return ""
    return f"{record.worst_ulps:.3g} of {record.ulps} ULP" if record.ulps else "same bits"


def _inputs(record: SiteRecord) -> Content:
    parts: list[Content] = [listed(map(input_text, record.inputs))]
    if record.worst_case:
        nearest = f"Nearest to failing ({record.worst_ulps:.3g} of {record.ulps} ULP): {_cut(record.worst_case)}"
        parts.append(tag("p", nearest))
    elif record.outcome is Outcome.EQUAL:
        parts.append(tag("p", "No input came near failing: all results had the same bits."))
    if record.reason:
        parts.append(tag("p", record.reason))
    parts.append(listed(record.notes))
    return folded(counted(len(record.inputs), "input") if record.inputs else "details", *parts)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_CASE else f"{text[:_LONGEST_CASE]}…"


def input_text(one: InputDiversity) -> str:
    """What an input of a proof held."""
    kinds = f"; held {', '.join(one.kinds)}" if one.kinds else ""
    missing = f"; not tried: {one.missing}" if one.missing else ""
    values = f"{counted(one.distinct, 'distinct value')} in {counted(one.cases, 'run')}"
    return f"{one.name}: {one.dtype}, {one.role}, {values}{kinds}{missing}"


def unchanged_table(records: Sequence[SiteRecord]) -> Html:
    """Nodes that stay as they are though their operator was revised."""
    grouped: dict[tuple[str, int, int, Outcome], list[SiteRecord]] = {}
    for one in records:
        grouped.setdefault((one.operator, one.source_since, one.target_since, one.outcome), []).append(one)
    rows = [
        (
            operator,
            f"{source} → {target}",
            sum(one.count for one in alike),
            len(alike),
            sum(one.cases for one in alike),
            tag("span", outcome.value, class_=_TONES[outcome]),
            next((one.reason for one in alike if one.reason), ""),
        )
        for (operator, source, target, outcome), alike in sorted(grouped.items(), key=lambda one: str(one[0]))
    ]
    columns = ("operator", "version", "#nodes", "#distinct cases", "#test inputs", "outcome", "remark")
    return table("Each is the same at both versions of its operator", columns, rows) if rows else Html()


def costs(before: ModelProto, after: ModelProto) -> Html:
    """Nodes and bytes of two models, and operators of which they have different numbers."""
    counts = [Counter(map(operator_of, _nodes(model))) for model in (before, after)]
    sizes = [sum(stored_bytes(one) or one.ByteSize() for one in all_tensors(model)) for model in (before, after)]
    rows: list[tuple[Content, ...]] = [
        ("all nodes", counts[0].total(), counts[1].total(), _signed(counts[1].total() - counts[0].total())),
        ("bytes of constants", as_bytes(sizes[0]), as_bytes(sizes[1]), _signed(sizes[1] - sizes[0])),
    ]
    rows += [
        (name, counts[0][name], counts[1][name], _signed(counts[1][name] - counts[0][name]))
        for name in sorted(counts[0].keys() | counts[1].keys())
        if counts[0][name] != counts[1][name]
    ]
    return table("Subgraphs and functions included", ("", "#before", "#after", "#difference"), rows)


def _nodes(model: ModelProto) -> Iterator[onnx.NodeProto]:
    for body in (model.graph, *model.functions):
        yield from body.node
        for graph in subgraphs_within(body):
            yield from graph.node


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"


def opsets_of(model: ModelProto) -> str:
    """The opsets of a model for people."""
    return ", ".join(
        f"{display_domain(domain)} {opset}" for domain, opset in imported_opsets(model.opset_import).items()
    )
