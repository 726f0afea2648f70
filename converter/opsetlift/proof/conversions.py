"""The proof of one conversion, from its two models and the trace between them."""

from __future__ import annotations

from onnx import ModelProto

from opsetlift.conversion.dtype_policy import DtypeChanges, DtypePolicy
from opsetlift.model.files import Contents
from opsetlift.model.notes import without_notes
from opsetlift.model.scopes import imported_opsets
from opsetlift.proof.certificate import Certificate, Destination, model_sha256
from opsetlift.proof.dtype_changes import prove_dtypes
from opsetlift.proof.scopes import paired_scopes
from opsetlift.proof.site_proofs import SiteProofs
from opsetlift.proof.sites import Facts
from opsetlift.proof.structure import structural_differences
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.history import display_domain


def prove_conversion(
    original: ModelProto,
    converted: ModelProto,
    trace: ConversionTrace,
    facts: Facts,
    *,
    seed: int = 0,
    destination: Destination | None = None,
) -> Certificate:
    """Prove that `converted` computes what `original` does.

    Args:
        original: The model before.
        converted: The model after; its external data lies where the original's does.
        trace: Which nodes became which. The bounds of rules that round are taken from it.
        facts: What is known of the original's values.
        seed: Random seed for the inputs.
        destination: Where the conversion was to go, so that `verify` can derive the trace again.
    """
    noted = without_notes(original, trace.moved_notes)
    proofs = SiteProofs(noted, converted, seed)
    pairs = list(paired_scopes(noted, converted, trace))
    proofs.add_all(pairs, trace, facts)
    contents = Contents(facts.base_dir)
    return Certificate(
        source_sha256=model_sha256(original, contents),
        target_sha256=model_sha256(converted, contents),
        source_opsets=_shown(imported_opsets(original.opset_import)),
        target_opsets=_shown(imported_opsets(converted.opset_import)),
        seed=seed,
        structure=structural_differences(noted, converted, trace, pairs),
        sites=proofs.records,
        nodes=proofs.nodes,
        trace=trace,
        destination=destination,
    )


def with_dtypes_proven(
    certificate: Certificate,
    original: ModelProto,
    retyped: ModelProto,
    result: ModelProto,
    policy: DtypePolicy,
    changes: DtypeChanges,
    *,
    base_dir: str = "",
) -> Certificate:
    """The certificate of a conversion of `retyped`, which is `original` in other dtypes, as one of `original`.

    `changes` are what `policy` did.
    """
    certificate.source_sha256 = model_sha256(original, Contents(base_dir))
    certificate.dtypes = prove_dtypes(
        original,
        retyped,
        result,
        policy.changes,
        interface=policy.interface,
        clamped=min(changes.clamped.values(), default=0.0),
        seed=certificate.seed,
        base_dir=base_dir,
    )
    return certificate


def _shown(opsets: dict[str, int]) -> dict[str, int]:
    return {display_domain(domain): opset for domain, opset in opsets.items()}
