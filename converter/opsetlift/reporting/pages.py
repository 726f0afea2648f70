"""The pages of `--report`: for conversions and normalisations, refusals, proofs, reach, and differences."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from onnx import ModelProto

from opsetlift.model.scopes import GRAPH_PATH, Container, function_path, subgraph_path, subgraphs
from opsetlift.pipeline.evidence import Converted, Normalised
from opsetlift.pipeline.job import Job
from opsetlift.pipeline.reach import Answer, Reach
from opsetlift.pipeline.report import Report
from opsetlift.proof import (
    Certificate,
    ConversionProof,
    DtypeProof,
    NotEquivalent,
    PassesProof,
    Proof,
    StageRecord,
    WholeModelResult,
)
from opsetlift.reporting.changes import Change, changes_between, changes_of, unchanged_sites
from opsetlift.reporting.differences import ModelDifference, difference_of, summary_of
from opsetlift.reporting.drawing import Drawing, State
from opsetlift.reporting.html import Content, Html, facts, folded, listed, table, tag
from opsetlift.reporting.neighbourhood import Neighbourhood, name_of
from opsetlift.reporting.parts import (
    Anchors,
    change_entry,
    costs,
    entry,
    figure,
    input_text,
    legend,
    opsets_of,
    page,
    section,
    unchanged_table,
    verdict,
)
from opsetlift.reporting.refusals import Cause, Way, by_cause, command_of
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.refusal import ConversionRefused, Refusal
from opsetlift.support.text import counted

_MOST_PLACES = 100


def conversion_page(
    job: Job,
    command: str,
    source: str,
    target: str,
    stopped: OpsetLiftError | None = None,
    ways: Sequence[Way] = (),
    *,
    is_dry: bool = False,
) -> str:
    """The page of a conversion or a normalisation, done or stopped.

    Args:
        job: The job, as far as it came.
        command: `convert` or `normalize`.
        source: IN, as it was given.
        target: OUT.
        stopped: What ended the job.
        ways: What would work instead, where it was refused.
        is_dry: Whether nothing was to be written.
    """
    certificate = getattr(stopped, "certificate", job.certificate)
    anchors = Anchors()
    shown, sections = [], []
    for stage, content in _stages(job, certificate, anchors):
        shown += stage
        sections.append(content)
    refused = stopped if isinstance(stopped, ConversionRefused) else None
    answer = _stopped(stopped) if stopped is not None else _proven(certificate, is_dry=is_dry)
    operators = {one for change in shown for one in (*change.operators, *(place.operator for place in change.places))}
    operators |= {one.operator for one in refused.refusals if one.operator} if refused else set()
    report = Report.of(job) if refused is None else None
    return page(
        f"{source} → {target}",
        [answer, _facts(job, refused=refused is not None), _command(command, source, target, job)],
        _ways(ways, command, source, target) if refused is not None else None,
        _refusals(refused.refusals, _scopes(job.model), anchors) if refused is not None else None,
        section("What changed", _overview(shown), legend() if shown else None) if refused is None else None,
        *sections,
        section("Costs", costs(job.source, job.model)) if refused is None else None,
        section("Remarks", listed(_remarks(report))) if report is not None else None,
        _certificate(certificate),
        operators=operators,
    )


def _stopped(stopped: OpsetLiftError) -> Html:
    if isinstance(stopped, ConversionRefused):
        count = counted(len(stopped.refusals), "place")
        return verdict("bad", "refused", f"{count} cannot be converted; no model was written.")
    if isinstance(stopped, NotEquivalent):
        return verdict("bad", "not equivalent", f"No model was written. {stopped}")
    sentence = "A proof is required, but not everything is proven; no model was written."
    return verdict("bad", "refused", f"{sentence} {stopped}")


def _proven(certificate: Certificate | None, *, is_dry: bool) -> Html:
    if is_dry:
        return verdict("warn", "dry run", "The conversion works; nothing was proven or written.")
    if certificate is None:
        return verdict("warn", "not proven", "The proof was declined (--no-prove).")
    summary = certificate.summary()
    if certificate.is_proven:
        return verdict("good", "proven", summary)
    return verdict("warn", "weakly proven" if certificate.is_weakly_proven else "not fully proven", summary)


def _facts(job: Job, *, refused: bool) -> Html:
    before, after = job.source, job.model
    asked = job.options
    pairs: list[tuple[str, Content]] = [("Opsets", opsets_of(before)), ("IR version", str(before.ir_version))]
    if not refused:
        pairs = [
            ("Opsets", f"{opsets_of(before)} → {opsets_of(after)}"),
            ("IR version", f"{before.ir_version} → {after.ir_version}"),
        ]
    pairs.append(("For", asked.runtime.spelling if asked.runtime is not None else ""))
    pairs.append(("Producer", f"{before.producer_name} {before.producer_version}".strip()))
    return facts(pairs)


def _command(command: str, source: str, target: str, job: Job) -> Html:
    return tag("p", tag("code", command_of(command, source, target, job.options)))


def _stages(job: Job, certificate: Certificate | None, anchors: Anchors) -> Iterator[tuple[list[Change], Html]]:
    """The changes of each stage, and their part of the page."""
    records: list[StageRecord | None] = [*certificate.stages] if certificate is not None else [None] * len(job.evidence)
    for evidence, record in zip(job.evidence, records, strict=False):
        proof = record.evidence if record is not None else None
        if isinstance(evidence, Converted):
            found = proof if isinstance(proof, ConversionProof) else None
            changes = changes_of(evidence, found, job.options.rule_book)
            unchanged = unchanged_table(unchanged_sites(found, changes)) if found is not None else Html()
            content = Html(
                section("Conversion", *_entries(changes, anchors)) + section("Revised operators, same node", unchanged)
            )
            structure = listed(found.structure if found is not None else ())
            yield changes, Html(content + section("Differences outside of the changes", structure))
        elif isinstance(evidence, Normalised):
            difference = difference_of(evidence.before, evidence.after, base_dir=job.base_dir)
            changes = changes_between(difference)
            shown = [_passes(evidence), _passes_proof(proof), *_entries(changes, anchors)]
            yield changes, section("Passes", *shown)
        elif isinstance(proof, DtypeProof):
            yield [], section("Other dtypes", tag("p", f"{proof.summary}."))


def _entries(changes: Sequence[Change], anchors: Anchors) -> list[Html]:
    for change in changes:
        change.anchor = anchors.of(change.heading)
    return [change_entry(change) for change in changes]


def _overview(changes: Sequence[Change]) -> Html:
    if not changes:
        return tag("p", "No node was rewritten.")
    rows = [
        (
            tag("a", change.heading, href=f"#{change.anchor}"),
            len(change.places),
            f"{len(change.texts[0])} → {len(change.texts[1])}",
            change.exactness if change.steps else "",
        )
        for change in changes
    ]
    return table(
        "Each kind of change; its heading leads to the graph", ("change", "#places", "#nodes", "results"), rows
    )


def _passes(evidence: Normalised) -> Html:
    rows = [
        (one.name, one.changes, f"{one.nodes:+,}", f"{one.bytes:+,}", f"within {one.ulps} ULP" if one.ulps else "exact")
        for one in evidence.work.accounts
        if one.changes
    ]
    if not rows:
        return tag("p", "No pass changed anything.")
    return table("What each pass did", ("pass", "#changes", "#nodes", "#bytes", "results"), rows)


def _passes_proof(proof: object) -> Html:
    if not isinstance(proof, PassesProof):
        return Html()
    return Html(tag("p", proof.proof.summary()) + _run_inputs(proof.proof))


def _run_inputs(proof: Proof | WholeModelResult) -> Html:
    if not proof.inputs:
        return Html()
    nearest = f"Nearest to failing ({proof.worst_ulps:.3g} ULP): {proof.worst_case}" if proof.worst_case else None
    return folded("Inputs of the proof", listed(map(input_text, proof.inputs)), tag("p", nearest) if nearest else None)


def _refusals(refusals: Sequence[Refusal], scopes: Mapping[str, Container], anchors: Anchors) -> Html:
    shown = [_cause(one, scopes, anchors) for one in by_cause(refusals)]
    return section("What cannot be converted", legend(), *shown)


def _cause(cause: Cause, scopes: Mapping[str, Container], anchors: Anchors) -> Html:
    first = cause.first
    heading = f"{first.transition or first.operator or first.path}: {first.sentence}"
    anchor = anchors.of(f"{first.transition or first.operator} {first.why.name}")
    places = [
        [f"{one.operator} ", tag("span", one.node, class_="name"), f" in {one.path}"] if one.node else one.path
        for one in cause.refusals[:_MOST_PLACES]
    ]
    if len(cause.refusals) > _MOST_PLACES:
        places.append(f"… and {counted(len(cause.refusals) - _MOST_PLACES, 'more place')}")
    drawn = _refused_node(first, scopes)
    return entry(
        anchor,
        heading,
        dict.fromkeys(one.operator for one in cause.refusals if one.operator),
        facts([("Reason", first.why.value), ("How often", counted(len(cause.refusals), "place"))]),
        figure(drawn, f"{anchor}--drawing") if drawn is not None else None,
        folded(f"Where: {counted(len(cause.refusals), 'place')}", listed(places)),
    )


def _refused_node(refusal: Refusal, scopes: Mapping[str, Container]) -> Drawing | None:
    scope = scopes.get(refusal.path)
    if scope is None:
        return None
    operator = refusal.operator.rpartition(".")[2]
    there = [at for at, node in enumerate(scope.node) if name_of(node) == refusal.node and node.op_type == operator]
    if not there:
        return None
    states = {there[0]: State.REFUSED}
    title = f"{refusal.operator} {refusal.node} and what is around it"
    return Neighbourhood(scope).drawn(title, states, lambda one: states.get(one, State.KEPT))


def _scopes(model: ModelProto) -> dict[str, Container]:
    """The scopes of a model by path."""
    found: dict[str, Container] = {}

    def visit(path: str, scope: Container) -> None:
        found[path] = scope
        for position, node in enumerate(scope.node):
            for attribute, graph in subgraphs(node):
                visit(subgraph_path(path, position, node, attribute), graph)

    visit(GRAPH_PATH, model.graph)
    for function in model.functions:
        visit(function_path(function), function)
    return found


def _ways(ways: Sequence[Way], command: str, source: str, target: str) -> Html:
    if not ways:
        return section("What would work", tag("p", "No other opset or option that was tried works."))
    return section(
        "What would work",
        listed([f"{way.words}: ", tag("code", way.command(command, source, target))] for way in ways),
    )


def _remarks(report: Report) -> Iterator[str]:
    if report.dtypes is not None:
        yield f"{report.dtypes.sentence}."
        if report.dtypes.caution:
            yield f"{report.dtypes.caution}."
        yield from (f"Unchanged: {one}." for one in report.dtypes.kept)
    if report.fixed_shapes:
        sizes = (f"{name}={'x'.join(map(str, one))}" for name, one in report.fixed_shapes.items())
        yield f"Sizes fixed: {', '.join(sizes)}."
    if report.inlined_functions:
        yield f"Functions inlined: {', '.join(report.inlined_functions)}."
    if report.added_functions:
        yield f"Functions copied per caller: {', '.join(report.added_functions)}."
    if report.moved_metadata:
        fields = ", ".join(dict.fromkeys(note.field for note in report.moved_metadata))
        yield f"Dropped, because the IR version has no field for it: {fields}."
    yield from (f"Known limitation: {one}" for one in report.quirks)
    yield from (f"{one[0].upper()}{one[1:]}." for one in report.notes if one)


def _certificate(certificate: Certificate | None) -> Html:
    if certificate is None:
        return Html()
    argument = next((one.argument for one in certificate.conversions), ())
    shown = facts(
        [
            ("SHA-256 of the model read", tag("code", certificate.source_sha256)),
            ("SHA-256 of the result", tag("code", certificate.target_sha256)),
            ("Random seed", str(certificate.seed)),
            ("Tools", ", ".join(f"{name} {one}" for name, one in certificate.tools.items())),
        ]
    )
    return section("How this is proven", listed(argument), shown)


def reach_page(found: Reach, source: str, model: ModelProto) -> str:
    """The page of `opsetlift reach`."""
    answers = (*found.targets, *found.opsets)
    refusals = list(dict.fromkeys(one for answer in answers for one in answer.blockers))
    reachable = sum(one.is_reachable for one in answers)
    tone = "good" if reachable == len(answers) else "warn" if reachable else "bad"
    sentence = f"{reachable} of {len(answers)} opsets and runtimes are in reach."
    rows = [_answer_row(one, source) for one in found.targets]
    opsets = [_answer_row(one, source) for one in found.opsets]
    columns = ("destination", "opsets", "#IR version", "answer", "command")
    return page(
        f"Where {source} can go",
        [
            verdict(tone, "reach", sentence),
            facts([("Opsets", opsets_of(model)), ("IR version", str(model.ir_version))]),
        ],
        section("Runtimes", table("Every known runtime", columns, rows) if rows else None),
        section("Opsets", table("Every opset", columns, opsets) if opsets else None),
        _refusals(refusals, _scopes(model), Anchors()) if refusals else None,
        operators={one.operator for one in refusals if one.operator},
    )


def _answer_row(answer: Answer, source: str) -> Sequence[Content]:
    words = tag("span", answer.sentence, class_="good" if answer.is_reachable else "bad")
    is_runtime = "==" in answer.where
    domain, _, opset = answer.where.rpartition(" ")
    option = ["--for", answer.where] if is_runtime else ["--to", opset if domain == "ai.onnx" else f"{domain}={opset}"]
    command = tag("code", shlex.join(["opsetlift", "convert", source, "OUT.onnx", *option]))
    opsets = ", ".join(f"{domain} {opset}" for domain, opset in answer.opsets.items())
    return answer.where, opsets, answer.ir_version or "", words, command if answer.is_reachable else ""


def difference_page(found: ModelDifference, first: str, second: str) -> str:
    """The page of `opsetlift diff`."""
    tone, word = ("good", "same") if found.is_same else ("warn", "different")
    answer = verdict(tone, word, f"{summary_of(found)}.")
    return _compared(found, f"{first} compared with {second}", answer, None)


def comparison_page(result: WholeModelResult, found: ModelDifference, first: str, second: str) -> str:
    """The page of `opsetlift prove` on two models."""
    tone = "good" if result.is_equal else "warn" if result.agrees or not result.runs else "bad"
    within = f"within {result.worst_ulps:g} ULP" if result.worst_ulps else "bit for bit"
    ran = (
        f"{counted(result.runs, 'test input')}, {within}; {counted(result.rejected, 'input')} rejected."
        if result.runs
        else ""
    )
    first_node = f". {one[0].upper()}{one[1:]}" if (one := str(result.first_difference or "")) else ""
    answer = verdict(tone, result.outcome.value, f"{ran} {result.sentence}{first_node}".strip())
    return _compared(found, f"{first} and {second}: do they compute the same?", answer, _run_inputs(result))


def _compared(found: ModelDifference, title: str, answer: Html, proof: Html | None) -> str:
    changes = changes_between(found)
    entries = _entries(changes, Anchors())
    others = [*found.sentences, *(f"{scope.path}: {one}" for scope in found.scopes for one in scope.sentences)]
    shown = facts(
        [
            ("Opsets", f"{opsets_of(found.before)} → {opsets_of(found.after)}"),
            ("IR version", f"{found.before.ir_version} → {found.after.ir_version}"),
            ("Nodes", summary_of(found)),
        ]
    )
    return page(
        title,
        [answer, shown],
        section("Inputs of the proof", proof) if proof else None,
        section("What differs", listed(others), _overview(changes) if changes or not others else None, legend()),
        section("The nodes", *entries),
        section("Costs", costs(found.before, found.after)),
        operators={one for change in changes for one in change.operators},
    )
