"""The certificate of a job: each stage's evidence, proven, between the hashes of the first and of the last model."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ModelProto

from opsetlift.conversion.dtype_policy import KEEP
from opsetlift.model.files import Contents
from opsetlift.model.scopes import imported_opsets
from opsetlift.pipeline.job import Job, Options, sizes_of
from opsetlift.proof import Certificate, Request, StageRecord, model_sha256
from opsetlift.specification.history import display_domain


def certificate_of(job: Job) -> Certificate:
    """Prove what the stages of a job did."""
    contents = Contents(job.base_dir)
    hashes: dict[int, str] = {}

    def sha256(model: ModelProto) -> str:
        if id(model) not in hashes:
            hashes[id(model)] = model_sha256(model, contents)
        return hashes[id(model)]

    stages = []
    for one in job.evidence:
        proven = one.proven(job.options.seed, job.base_dir)
        stages.append(StageRecord(one.stage, sha256(one.before), sha256(one.after), proven))
    return Certificate(
        source_sha256=sha256(job.source),
        target_sha256=sha256(job.model),
        source_opsets=_shown(imported_opsets(job.source.opset_import)),
        target_opsets=_shown(imported_opsets(job.model.opset_import)),
        seed=job.options.seed,
        request=request_of(job.options),
        stages=stages,
    )


def request_of(options: Options) -> Request:
    """What was asked for, as far as it decides the result."""
    return Request(
        to=_shown(options.opsets) if options.opsets is not None else None,
        ir=options.ir,
        runtime=options.runtime.spelling if options.runtime is not None else None,
        dtypes=dict(options.dtypes.changes) if options.dtypes is not None else None,
        dtype_interface=options.dtypes.interface if options.dtypes is not None else KEEP,
        fix_shapes={name: sizes_of(given) for name, given in options.fix_shapes.items()},
        passes=[one.name for one in options.passes] if options.passes is not None else None,
        size_limit=options.size_limit,
        check=options.check,
    )


def _shown(opsets: Mapping[str, int]) -> dict[str, int]:
    return {display_domain(domain): opset for domain, opset in opsets.items()}
