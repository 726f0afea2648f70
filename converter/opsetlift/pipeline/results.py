"""What `convert` and `normalize` return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from onnx import ModelProto

from opsetlift.pipeline.evidence import Normalised
from opsetlift.pipeline.job import Job
from opsetlift.pipeline.report import Report
from opsetlift.proof import Certificate, Proof
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.showing import Shown
from opsetlift.support.text import counted

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from opsetlift.normalizer import NormalizationReport


class ProofMissing(OpsetLiftError):
    """A proof was required, and something is not proven; `certificate` says what."""

    def __init__(self, certificate: Certificate) -> None:
        self.certificate = certificate
        super().__init__(certificate.summary())

    @property
    def proof(self) -> Proof | None:
        """What was shown of the passes, where they ran."""
        return self.certificate.passes.proof if self.certificate.passes is not None else None


@dataclass(frozen=True, repr=False)
class _ModelResult(Shown):
    model: ModelProto
    give_back: Callable[[ModelProto], Any] | None = field(default=None, kw_only=True, compare=False)
    """Makes of a model what was given."""

    @property
    def as_given(self) -> Any:
        """The model in the kind that was given: bytes, a `gs.Graph`, an `onnx_ir.Model`, a program; else `model`."""
        return self.give_back(self.model) if self.give_back is not None else self.model

    @cached_property
    def graph(self) -> gs.Graph:
        """The model as a `gs.Graph`, with everything that such a graph has no place for attached to it."""
        from opsetlift.normalizer import to_graph

        return to_graph(self.model)


@dataclass(frozen=True, repr=False)
class Conversion(_ModelResult):
    """A model at its target, the report of what was done and, unless it was declined, the proof."""

    report: Report
    """Everything that was done, from the model that was given to `model`, but for what passes did."""
    certificate: Certificate | None
    """The proof that `model` computes what the original did, passes included; None without proof."""
    normalization: Normalization | None = None
    """What the passes did, where they were asked for."""

    def _shown_lines(self) -> Sequence[str]:
        report = self.report
        opsets = [", ".join(f"{one} {opset}" for one, opset in by_domain.items()) for by_domain in report.both_opsets]
        versions = f"{report.source_ir_version} → {report.target_ir_version}"
        rewritten = counted(sum(one.count for one in report.rewrites), "rewrite")
        return (
            f"Conversion: {opsets[0]} → {opsets[1]}, IR version {versions}",
            f"{report.source_nodes:,} → {counted(report.target_nodes, 'node')}, {rewritten}",
            _proof_line(self.certificate),
        )

    def _shown_rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        rows = [(one.transition, one.rule, one.count, one.exactness) for one in self.report.rewrites]
        return ("step", "rule", "nodes", "exactness"), rows


@dataclass(frozen=True, repr=False)
class Normalization(_ModelResult):
    """A normalised model, the report of what passes did and, unless it was declined, the proof."""

    report: NormalizationReport
    proof: Proof | None
    """What executing the model before and after the passes has shown."""
    conversion: Conversion | None = None
    """What was done beside the passes, where a destination was given. Its model and certificate are these."""
    certificate: Certificate | None = None
    """The proof of everything that was done to the model; None without proof."""

    def _shown_lines(self) -> Sequence[str]:
        changed, sizes, _ = repr(self.report).splitlines()
        return changed.replace("NormalizationReport", "Normalization"), sizes, _proof_line(self.certificate)

    def _shown_rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        return ("pass", "changes", "nodes", "bytes"), self.report.rows()


def _proof_line(certificate: Certificate | None) -> str:
    return "not proven" if certificate is None else certificate.summary().partition("\n")[0]


def conversion_of(job: Job) -> Conversion:
    """The result of `convert`, from a job that is done."""
    normalization = normalization_of(job) if job.options.passes is not None else None
    return Conversion(job.model, Report.of(job), job.certificate, normalization, give_back=job.give_back)


def normalization_of(job: Job) -> Normalization:
    """The result of `normalize`, from a job that is done."""
    from opsetlift.normalizer import NormalizationReport, constant_bytes, node_count, reports_of

    done = next(one for one in reversed(job.evidence) if isinstance(one, Normalised))
    work, before = done.work, done.before
    report = NormalizationReport(
        passes=reports_of(work.accounts, work.proof),
        nodes_before=node_count(before),
        nodes_after=node_count(done.after),
        bytes_before=constant_bytes(before),
        bytes_after=constant_bytes(done.after),
        rounds=work.rounds,
        notes=tuple(job.notes),
        undone=tuple(work.undone),
    )
    conversion = None
    if job.options.has_destination:
        conversion = Conversion(job.model, Report.of(job), job.certificate, give_back=job.give_back)
    return Normalization(job.model, report, work.proof, conversion, job.certificate, give_back=job.give_back)
