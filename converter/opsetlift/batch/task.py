"""One model of a batch: what is to be done, and what became of it. Both are sent between processes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from onnx import ModelProto

from opsetlift.conversion.destination import UnreachableTarget
from opsetlift.model.files import (
    CERTIFICATE,
    MODEL,
    FileExists,
    JobFiles,
    ModelFileError,
    load_model,
    reason,
    save_model,
)
from opsetlift.pipeline.job import Job, Options
from opsetlift.pipeline.report import Report
from opsetlift.pipeline.results import ProofMissing
from opsetlift.pipeline.stages import STAGES, run
from opsetlift.proof import Certificate, NotEquivalent
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.internal_error import InternalError
from opsetlift.support.refusal import ConversionRefused, Why


class Ending(Enum):
    """What became of a model."""

    WRITTEN = "written"
    SKIPPED = "skipped"
    """Its output was there already."""
    UNUSABLE = "unusable"
    """It cannot be read, or its output cannot be written."""
    REFUSED = "refused"
    NOT_EQUIVALENT = "not equivalent"
    CRASHED = "crashed"
    """The process that worked on it ended."""
    INTERNAL_ERROR = "internal error"


@dataclass(frozen=True)
class Task:
    """A model to convert.

    Attributes:
        source: The model's file.
        target: Where the result goes; folders that are missing are made.
        options: Arguments of `Options.of`.
        overwrite: Whether files at `target` and `certificate` may be replaced.
        certificate: Where the certificate goes, if anywhere.
        skips_existing: Whether an output that another run has written meanwhile is left as it is.
    """

    source: Path
    target: Path
    options: Mapping[str, Any]
    overwrite: bool = False
    certificate: Path | None = None
    skips_existing: bool = False


@dataclass(frozen=True)
class Result:
    """What became of one model.

    Attributes:
        source: The model's file.
        target: Where the result is, or would be.
        ending: What became of it.
        reason: Why it was not written, in one sentence; "" where it was.
        kind: What reasons of one kind have in common, to count them.
        proof: "proven", "weakly proven", "unproven", or "" where there was no proof.
        rewrites: How many nodes rules changed.
        source_nodes: How many nodes the model had; 0 where it was not written.
        target_nodes: How many the result has.
        seconds: How long it took.
    """

    source: Path
    target: Path
    ending: Ending
    reason: str = ""
    kind: str = ""
    proof: str = ""
    rewrites: int = 0
    source_nodes: int = 0
    target_nodes: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """For JSON and CSV."""
        shown = {"source": str(self.source), "target": str(self.target), "ending": self.ending.value}
        return {**vars(self), **shown, "seconds": round(self.seconds, 3)}


@dataclass
class _Files:
    """The files of one task, as the pipeline reads and writes them."""

    task: Task
    base_dir: str = ""
    table: JobFiles = field(default_factory=JobFiles)

    def read(self) -> ModelProto:
        self.table.overwrite = self.task.overwrite
        source = self.task.source
        self.table.read(source, "the input itself")
        model = load_model(source, leave_weights=True)
        self.base_dir = str(source.absolute().parent)
        self.table.read_data(model, source.absolute().parent)
        return model

    def write(self, model: ModelProto, certificate: Certificate | None) -> None:
        target, beside = self.task.target, {}
        if self.task.certificate is not None and certificate is not None:
            beside[self.task.certificate] = certificate.to_json().encode()
        for path in (target, *beside):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise ModelFileError(f"{path}: cannot be written: {reason(error)}") from error
        self.table.write(target, MODEL)
        for path in beside:
            self.table.write(path, CERTIFICATE)
        save_model(
            model,
            target,
            source_dir=self.base_dir,
            source=self.task.source,
            beside=beside,
            files=self.table,
        )


def perform(task: Task) -> Result:
    """Convert one model, from file to file. Whatever goes wrong is in the result."""
    start = time.perf_counter()
    # graphsurgeon prints. Where threads share the standard output of a caller it is not ours to close.
    is_alone = threading.current_thread() is threading.main_thread()
    with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stdout(nowhere) if is_alone else nullcontext():
        result = _performed(task)
    return replace(result, seconds=time.perf_counter() - start)


def _performed(task: Task) -> Result:
    def ended(ending: Ending, error: BaseException | str, kind: str = "") -> Result:
        reason = " ".join(str(error).split()) or type(error).__name__
        return Result(task.source, task.target, ending, reason, kind or reason)

    try:
        job = run(STAGES, Job(_Files(task), Options.of(**task.options)))
    except ConversionRefused as refused:
        first = refused.refusals[0]
        ending = Ending.UNUSABLE if all(one.why is Why.INVALID_MODEL for one in refused.refusals) else Ending.REFUSED
        more = f" (and {len(refused.refusals) - 1} more)" if len(refused.refusals) > 1 else ""
        return ended(ending, f"{first}{more}", first.why.value)
    except ProofMissing as missing:
        return ended(Ending.REFUSED, missing, "not proven")
    except NotEquivalent as different:
        return ended(Ending.NOT_EQUIVALENT, different, "not equivalent")
    except InternalError as fault:
        return ended(Ending.INTERNAL_ERROR, fault)
    except UnreachableTarget as unreachable:
        return ended(Ending.REFUSED, unreachable)
    except FileExists as error:
        if task.skips_existing and error.path == task.target:
            return Result(task.source, task.target, Ending.SKIPPED)
        found = "this file exists, and it was asked for neither to replace it nor to leave it out"
        return ended(Ending.UNUSABLE, f"{error.path}: {found}", "this file exists")
    except OpsetLiftError as error:
        kind = str(error).removeprefix(f"{task.source}: ").removeprefix(f"{task.target}: ")
        return ended(Ending.UNUSABLE, error, kind.split(":")[0])
    except MemoryError:
        return ended(Ending.UNUSABLE, "there is not enough memory for this model")
    except Exception as error:
        return ended(Ending.INTERNAL_ERROR, f"{type(error).__name__}: {error}")
    proof = ""
    if job.certificate is not None:
        is_weak = job.certificate.is_weakly_proven
        proof = "proven" if job.certificate.is_proven else "weakly proven" if is_weak else "unproven"
    report = Report.of(job)
    return Result(
        task.source,
        task.target,
        Ending.WRITTEN,
        proof=proof,
        rewrites=sum(one.count for one in report.rewrites),
        source_nodes=report.source_nodes,
        target_nodes=report.target_nodes,
    )
