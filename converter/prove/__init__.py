"""Proofs: that a conversion kept the meaning, site by site, and that two models compute the same."""

from __future__ import annotations

from onnx import ModelProto

from converter.dtype_policy import DtypeChanges, DtypePolicy, apply
from converter.facts import ModelFacts
from converter.history import display_domain
from converter.notes import without_notes
from converter.prove.certificate import Certificate, DtypeProof, Outcome, SiteRecord, model_sha256
from converter.prove.dtype_changes import prove_dtypes
from converter.prove.site_proofs import SiteProofs
from converter.prove.sites import Facts, sites_of
from converter.prove.structure import structural_differences
from converter.prove.whole_model import WholeModelResult, prove_models
from converter.scopes import imported_opsets
from converter.trace import ConversionTrace

__all__ = [
    "Certificate",
    "DtypeProof",
    "Facts",
    "Outcome",
    "SiteRecord",
    "WholeModelResult",
    "prove_conversion",
    "prove_dtypes",
    "prove_models",
    "verify",
    "with_dtypes_proven",
]


def prove_conversion(
    original: ModelProto, converted: ModelProto, trace: ConversionTrace, facts: Facts, *, seed: int = 0
) -> Certificate:
    """Prove that `converted` computes what `original` does; `facts` are the original's, `trace` the conversion's."""
    noted = without_notes(original, trace.moved_notes)
    proofs = SiteProofs(noted, converted, seed)
    for site in sites_of(noted, converted, trace, facts):
        proofs.add(site)
    return Certificate(
        source_sha256=model_sha256(original),
        target_sha256=model_sha256(converted),
        source_opsets=_shown(imported_opsets(original.opset_import)),
        target_opsets=_shown(imported_opsets(converted.opset_import)),
        seed=seed,
        structure=structural_differences(noted, converted, trace),
        sites=proofs.records,
        nodes=proofs.nodes,
        trace=trace,
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
    certificate.source_sha256 = model_sha256(original)
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


def verify(certificate: Certificate, original: ModelProto, converted: ModelProto, facts: Facts) -> Certificate:
    """Run the proof of a certificate again, with its seed and its trace.

    Raises ValueError where the models are not the ones that it is about.
    """
    for which, model, expected in (
        ("original", original, certificate.source_sha256),
        ("converted model", converted, certificate.target_sha256),
    ):
        found = model_sha256(model)
        if found != expected:
            raise ValueError(f"the certificate is about another {which}: its SHA-256 is {expected}, this one's {found}")
    if certificate.dtypes is None:
        return prove_conversion(original, converted, certificate.trace, facts, seed=certificate.seed)
    policy = DtypePolicy.of(certificate.dtypes.changes, certificate.dtypes.interface)
    base_dir = getattr(facts, "base_dir", "")
    retyped, changes = apply(original, policy, base_dir)
    again = prove_conversion(
        retyped, converted, certificate.trace, ModelFacts(retyped, base_dir), seed=certificate.seed
    )
    return with_dtypes_proven(again, original, retyped, converted, policy, changes, base_dir=base_dir)
