"""The proof of one conversion, from its two models and the trace between them."""

from __future__ import annotations

from onnx import ModelProto

from converter.dtype_policy import DtypeChanges, DtypePolicy
from converter.history import display_domain
from converter.model_file import Contents
from converter.notes import without_notes
from converter.prove.certificate import Certificate, Destination, model_sha256
from converter.prove.dtype_changes import prove_dtypes
from converter.prove.site_proofs import SiteProofs
from converter.prove.sites import Facts, sites_of
from converter.prove.structure import structural_differences
from converter.scopes import imported_opsets
from converter.trace import ConversionTrace


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
    for site in sites_of(noted, converted, trace, facts):
        proofs.add(site)
    contents = Contents(facts.base_dir)
    return Certificate(
        source_sha256=model_sha256(original, contents),
        target_sha256=model_sha256(converted, contents),
        source_opsets=_shown(imported_opsets(original.opset_import)),
        target_opsets=_shown(imported_opsets(converted.opset_import)),
        seed=seed,
        structure=structural_differences(noted, converted, trace),
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
