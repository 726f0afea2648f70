"""`opsetlift convert` and `opsetlift normalize`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from opsetlift.batch.planning import is_batch
from opsetlift.cli.batches import run_batch
from opsetlift.cli.errors import DONE, UsageFault
from opsetlift.cli.files import STANDARD_STREAM, CommandFiles
from opsetlift.cli.normalizing import normalization_as_dict, normalization_page, passes_from, shapes_from
from opsetlift.cli.output import complain, opsets, show, show_json, table
from opsetlift.cli.progress import progress_shown
from opsetlift.cli.stopping import report_stop
from opsetlift.conversion.dtype_policy import KEEP, DtypeChanges, dtypes_from
from opsetlift.model.files import is_known_form
from opsetlift.pipeline.job import Job, Options
from opsetlift.pipeline.report import SCHEMA_VERSION, Report
from opsetlift.pipeline.results import Conversion, ProofMissing, conversion_of
from opsetlift.pipeline.stages import DRY_RUN, PROVE, WRITE, run
from opsetlift.proof import NotEquivalent
from opsetlift.reporting.refusals import Way, ways_out
from opsetlift.specification.history import AI_ONNX, display_domain
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.processes import cores
from opsetlift.support.progress import tell
from opsetlift.support.refusal import ConversionRefused
from opsetlift.support.text import printable

_SHOWN_REASONS = 8


@dataclass(frozen=True)
class Request:
    """What the command line asks of `convert` or `normalize`."""

    command: str
    source: Path
    target: Path | None
    to: list[str] | None
    ir: int | None
    runtime: str | None
    dtype: list[str] | None
    dtype_interface: str | None
    exact: bool
    fix_shapes: str | None
    normalize: bool
    passes: str | None
    dry_run: bool
    certificate: Path | None
    report: Path | None
    no_prove: bool
    require_proof: bool
    force: bool
    seed: int
    no_cache: bool
    jobs: int | None
    skip_existing: bool
    summary: Path | None
    json: bool
    quiet: bool = False
    verbose: bool = False
    output: Path | None = None
    """OUT where it is given by --output."""

    def check(self) -> None:
        """Raises UsageFault for options that contradict each other."""
        without_proof = "--no-prove" if self.no_prove else "--dry-run" if self.dry_run else ""
        if self.command == "convert" and not (self.to or self.runtime or self.ir is not None or self.dtype):
            raise UsageFault("no destination given: use --to, --for, --ir or --dtype")
        if without_proof and self.certificate is not None:
            raise UsageFault(f"--certificate needs a proof, and {without_proof} skips it")
        if without_proof and self.require_proof:
            raise UsageFault(f"--require-proof needs a proof, and {without_proof} skips it")
        if self.dtype_interface is not None and not self.dtype:
            raise UsageFault("--dtype-interface needs --dtype")
        self._check_number_of_models()

    def _check_number_of_models(self) -> None:
        of_one = {
            "--report": self.report,
            "--json": self.json,
            "--dry-run": self.dry_run,
        }
        of_many = {"--skip-existing": self.skip_existing, "--summary": self.summary}
        wrong, what = (of_one, "one model") if self.is_batch else (of_many, "several models")
        for option, given in wrong.items():
            if given:
                shown = "several" if self.is_batch else "one"
                raise UsageFault(f"{option} is for {what}, and {self.source} stands for {shown}")

    @property
    def is_batch(self) -> bool:
        """Whether IN stands for several models."""
        return self.source != STANDARD_STREAM and is_batch(self.source)

    @property
    def out(self) -> Path:
        """OUT. Raises UsageFault where it is not given, or twice."""
        given = [one for one in (self.target, self.output) if one is not None]
        if not given:
            raise UsageFault(f"{self.command} needs OUT, the file to write to")
        if len(given) > 1:
            raise UsageFault("OUT is given twice: leave out --output")
        return given[0]

    @property
    def shown_out(self) -> str:
        """OUT for people; a dry run can do without."""
        is_left_out = self.dry_run and self.target is None and self.output is None
        return "OUT" if is_left_out else str(self.out)

    @property
    def opsets(self) -> dict[str, int]:
        """The targets by domain. Raises UsageFault."""
        found: dict[str, int] = {}
        for text in self.to or ():
            domain, _, number = text.rpartition("=")
            domain = AI_ONNX if domain == "ai.onnx" else domain
            if not (number.isascii() and number.isdigit() and len(number) < 10):
                raise UsageFault(f"--to takes an opset, such as 18 or ai.onnx.ml=3, not {text!r}")
            if domain in found:
                raise UsageFault(f"--to names an opset of {domain or 'ai.onnx'} twice")
            found[domain] = int(number)
        return found

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `Options.of`. Raises UsageFault."""
        passes = passes_from(self.passes) if self.passes is not None else ("default",) if self.normalize else None
        return {
            "to": self.opsets or None,
            "ir": self.ir,
            "target": self.runtime,
            "dtypes": dtypes_from(self.dtype or ()),
            "dtype_interface": self.dtype_interface or KEEP,
            "exact": self.exact,
            "fix_shapes": shapes_from(self.fix_shapes),
            "passes": passes,
            "prove": not (self.no_prove or self.dry_run),
            "require_proof": self.require_proof,
            "seed": self.seed,
            "cache": not self.no_cache,
        }

    @property
    def options(self) -> Options:
        """The same for the pipeline. Raises UsageFault, and what `Options.of` raises."""
        return Options.of(**self.arguments, jobs=self.jobs or cores())


def run_request(request: Request) -> int:
    """Run the stages, write the result, and print what was done; returns the exit status."""
    request.check()
    if request.is_batch:
        return run_batch(
            request.source,
            request.out,
            request.arguments,
            jobs=request.jobs,
            overwrite=request.force,
            skip_existing=request.skip_existing,
            summary=request.summary,
            certificates=request.certificate,
            is_quiet=request.quiet,
        )
    files = CommandFiles(
        request.source,
        None if request.dry_run else request.out,
        certificate=request.certificate,
        report=request.report,
        runtime=request.runtime,
        overwrite=request.force,
        as_json=request.json,
    )
    with files.accounted():
        job = Job(files, request.options)
        try:
            # graphsurgeon prints to standard output, which is for results
            with progress_shown(is_wanted=not request.quiet), redirect_stdout(sys.stderr):
                run(DRY_RUN if request.dry_run else (*DRY_RUN, PROVE), job)
        except (ConversionRefused, NotEquivalent, ProofMissing) as stopped:
            with progress_shown(is_wanted=not request.quiet):
                tell("looking for what would work")
                ways = ways_out(stopped, job) if isinstance(stopped, ConversionRefused) else []
            if request.report is not None:
                files.write_report(_report_page(request, job, stopped, ways))
            return report_stop(stopped, request.json, [_described(way, request) for way in ways], request.verbose)
        if request.report is not None:
            page = _report_page(request, job)
            (files.write_report if request.dry_run else files.set_report)(page)
        run(() if request.dry_run else (WRITE,), job)
        done = conversion_of(job)
        if not request.dry_run and not request.quiet and not is_known_form(request.out):
            extension = printable(request.out.suffix)
            complain(f"{request.out}: {extension} is not a model's extension; it is written as protobuf, like .onnx")
        with files.page_stream():
            if request.json:
                show_json(_as_dict(request, done))
            elif not request.quiet:
                show(*_page(request, done))
    return DONE


def _described(way: Way, request: Request) -> tuple[str, str]:
    """A way out: the command to copy, and what it does otherwise."""
    return way.command(request.command, str(request.source), request.shown_out), way.words


def _report_page(request: Request, job: Job, stopped: OpsetLiftError | None = None, ways: Sequence[Way] = ()) -> str:
    from opsetlift.reporting.pages import conversion_page

    source, target = str(request.source), request.shown_out
    return conversion_page(job, request.command, source, target, stopped, ways, is_dry=request.dry_run)


def _as_dict(request: Request, done: Conversion) -> dict[str, Any]:
    status = "converted" if request.command == "convert" else "normalized"
    return {
        "schema_version": SCHEMA_VERSION,
        "status": f"would be {status}" if request.dry_run else status,
        "report": done.report.as_dict(),
        "normalization": normalization_as_dict(done.normalization) if done.normalization is not None else None,
        "certificate": done.certificate.as_dict() if done.certificate is not None else None,
    }


def _page(request: Request, done: Conversion) -> Iterator[RenderableType]:
    report = done.report
    yield printable(
        f"{request.source} -> {request.shown_out}{' (dry run, nothing written)' if request.dry_run else ''}"
    )
    if request.command == "convert" or report.is_conversion:
        yield from _conversion_lines(report)
    if done.normalization is not None:
        if request.command == "convert" or report.is_conversion:
            yield "Then normalised:"
        yield from normalization_page(done.normalization)
    if report.fixed_shapes:
        shapes = (f"{name}={'x'.join(map(str, sizes))}" for name, sizes in report.fixed_shapes.items())
        yield printable(f"Sizes fixed: {', '.join(shapes)}.")
    if report.target:
        yield printable(f"For {report.target}.")
    for quirk in report.quirks:
        yield printable(f"Known limitation: {quirk}")
    for note in (*report.notes, *_unused_targets(request, report)):
        yield printable(f"Note: {note}.")
    if done.certificate is not None:
        yield from map(printable, done.certificate.summary().splitlines())
    elif not request.dry_run:
        yield "Not proven: --no-prove."


def _conversion_lines(report: Report) -> Iterator[RenderableType]:
    before, after = opsets(report.source_opsets.items()), opsets(report.target_opsets.items())
    yield printable(f"{before} -> {after}")
    yield (
        f"IR version {report.source_ir_version} -> {report.target_ir_version}, "
        f"nodes {report.source_nodes} -> {report.target_nodes}"
    )
    if report.rewrites:
        rows = [(rewrite.transition, rewrite.rule, rewrite.count, rewrite.exactness) for rewrite in report.rewrites]
        yield table(("step", "rule", "#nodes", "exactness"), rows)
    else:
        yield "No node had to be rewritten."
    if report.dtypes is not None:
        yield from map(printable, _dtype_lines(report.dtypes))
    if report.inlined_functions:
        yield printable(f"Functions inlined: {', '.join(report.inlined_functions)}.")
    if report.moved_metadata:
        fields = ", ".join(dict.fromkeys(note.field for note in report.moved_metadata))
        count = len(report.moved_metadata)
        yield f"Dropped, because the IR version has no field for it: {fields} ({count} in all; --json shows them)."
    if report.added_functions:
        yield printable(f"Functions copied per caller: {', '.join(report.added_functions)}.")


def _dtype_lines(changes: DtypeChanges) -> Iterator[str]:
    yield f"{changes.sentence}."
    if changes.caution:
        yield f"  {changes.caution}."
    for name, magnitude in list(changes.clamped.items())[:_SHOWN_REASONS]:
        yield f"  Clamped: {name!r} held {magnitude:.4g} or more, which became the largest number of its new dtype."
    for sentence in changes.kept[:_SHOWN_REASONS]:
        yield f"  Unchanged: {sentence}."
    if len(changes.kept) > _SHOWN_REASONS:
        yield f"  ... and for {len(changes.kept) - _SHOWN_REASONS} more reasons, which --json shows."


def _unused_targets(request: Request, report: Report) -> Iterator[str]:
    for domain in map(display_domain, request.opsets):
        if domain not in report.target_opsets:
            yield f"the model does not import {domain}, so its opset was not changed"
