"""`opsetlift convert`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from opsetlift.cli.errors import DONE, UsageFault
from opsetlift.cli.job import Job
from opsetlift.cli.normalizing import normalization_as_dict, normalization_page
from opsetlift.cli.output import opsets, printable, show, show_json, table
from opsetlift.cli.stopping import report_stop
from opsetlift.conversion.dtype_policy import DtypeChanges, dtypes_from
from opsetlift.pipeline.convert import Conversion, convert
from opsetlift.pipeline.report import Report
from opsetlift.proof.not_equivalent import NotEquivalent
from opsetlift.specification.history import AI_ONNX, display_domain
from opsetlift.support.refusal import ConversionRefused

_SHOWN_REASONS = 8


@dataclass(frozen=True)
class ConversionRequest:
    """What the command line asks for."""

    source: Path
    target: Path
    to: tuple[str, ...]
    ir: int | None
    runtime: str | None
    dtypes: tuple[str, ...]
    dtype_interface: str
    certificate: Path | None
    exact: bool
    normalize: bool
    prove: bool
    overwrite: bool
    seed: int

    @property
    def opsets(self) -> dict[str, int]:
        """The targets by domain. Raises UsageFault."""
        found: dict[str, int] = {}
        for text in self.to:
            domain, _, number = text.rpartition("=")
            domain = AI_ONNX if domain == "ai.onnx" else domain
            if not (number.isascii() and number.isdigit() and len(number) < 10):
                raise UsageFault(f"--to takes an opset, such as 18 or ai.onnx.ml=3, not {text!r}")
            if domain in found:
                raise UsageFault(f"--to names an opset of {domain or 'ai.onnx'} twice")
            found[domain] = int(number)
        return found


def carry_out(request: ConversionRequest, *, is_dry: bool, as_json: bool) -> int:
    """Convert, prove, write, and say what was done; returns the exit status."""
    targets = request.opsets
    if request.normalize and request.certificate is not None:
        raise UsageFault(
            "--certificate is about a conversion, and does not cover the passes of --normalize: "
            "convert with --certificate first, then run opsetlift normalize on the result"
        )
    job = Job(
        request.source,
        None if is_dry else request.target,
        certificate=request.certificate,
        runtime=request.runtime,
        overwrite=request.overwrite,
        as_json=as_json,
    )
    try:
        conversion = convert(
            job.model,
            to=targets or None,
            ir=request.ir,
            target=request.runtime,
            dtypes=dtypes_from(request.dtypes),
            dtype_interface=request.dtype_interface,
            exact=request.exact,
            normalize=request.normalize,
            prove=request.prove,
            seed=request.seed,
            base_dir=job.base_dir,
        )
    except (ConversionRefused, NotEquivalent) as stopped:
        return report_stop(stopped, as_json)
    certificate = conversion.certificate.to_json() if conversion.certificate is not None else None
    with job.written(conversion.model, certificate):
        if as_json:
            show_json(_as_dict("would be converted" if is_dry else "converted", conversion))
        else:
            show(*_page(request, conversion, is_dry))
    return DONE


def _as_dict(status: str, conversion: Conversion) -> dict[str, Any]:
    certificate = json.loads(conversion.certificate.to_json()) if conversion.certificate else None
    found = {"status": status, "report": conversion.report.as_dict(), "certificate": certificate}
    if conversion.normalization is not None:
        found["normalization"] = normalization_as_dict(conversion.normalization)
        before_passes = conversion.normalization.conversion
        if before_passes is not None and before_passes.certificate is not None:
            found["proof_before_passes"] = before_passes.certificate.summary()
    return found


def _page(request: ConversionRequest, conversion: Conversion, is_dry: bool) -> Iterator[RenderableType]:
    report, normalization = conversion.report, conversion.normalization
    before_passes = normalization.conversion if normalization is not None else None
    certificate = (before_passes or conversion).certificate
    yield printable(f"{request.source} -> {request.target}{' (dry run, nothing written)' if is_dry else ''}")
    yield from _summary(report)
    if report.rewrites:
        rows = [(rewrite.transition, rewrite.rule, rewrite.count, rewrite.exactness) for rewrite in report.rewrites]
        yield table(("step", "rule", "#nodes", "exactness"), rows)
    else:
        yield "No node had to be rewritten."
    if report.dtypes is not None:
        yield from map(printable, _dtype_lines(report.dtypes))
    if report.target:
        yield printable(f"For {report.target}.")
    for quirk in report.quirks:
        yield printable(f"Known limitation: {quirk}")
    for note in (*report.notes, *_unused_targets(request, report)):
        yield printable(f"Note: {note}.")
    if report.inlined_functions:
        yield printable(f"Functions inlined: {', '.join(report.inlined_functions)}.")
    if report.moved_metadata:
        fields = ", ".join(dict.fromkeys(note.field for note in report.moved_metadata))
        count = len(report.moved_metadata)
        yield f"Left out, as the IR version has no place for it: {fields} ({count} in all; --json shows them)."
    if report.added_functions:
        yield printable(f"Functions copied for their callers: {', '.join(report.added_functions)}.")
    if certificate is not None:
        yield certificate.summary()
    elif not is_dry:
        yield "Not proven: --no-prove."
    if normalization is not None:
        yield "Then normalised:"
        yield from normalization_page(normalization)


def _dtype_lines(changes: DtypeChanges) -> Iterator[str]:
    yield f"{changes.sentence}."
    if changes.caution:
        yield f"  {changes.caution}."
    for name, magnitude in list(changes.clamped.items())[:_SHOWN_REASONS]:
        yield f"  Clamped: {name!r} held {magnitude:.4g} or more, which became the largest number of its new dtype."
    for sentence in changes.kept[:_SHOWN_REASONS]:
        yield f"  Left as it was: {sentence}."
    if len(changes.kept) > _SHOWN_REASONS:
        yield f"  ... and for {len(changes.kept) - _SHOWN_REASONS} more reasons, which --json shows."


def _unused_targets(request: ConversionRequest, report: Report) -> Iterator[str]:
    for domain in map(display_domain, request.opsets):
        if domain not in report.target_opsets:
            yield f"the model does not import {domain}, so there was nothing to take to another opset of it"


def _summary(report: Report) -> Iterator[str]:
    before, after = opsets(report.source_opsets.items()), opsets(report.target_opsets.items())
    yield printable(f"{before} -> {after}")
    yield (
        f"IR version {report.source_ir_version} -> {report.target_ir_version}, "
        f"nodes {report.source_nodes} -> {report.target_nodes}"
    )
