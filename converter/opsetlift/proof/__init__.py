"""Proofs: that a conversion kept the meaning, site by site, and that two models compute the same."""

from opsetlift.proof.certificate import Certificate, Destination, DtypeProof, Outcome, SiteRecord
from opsetlift.proof.conversions import prove_conversion, with_dtypes_proven
from opsetlift.proof.dtype_changes import prove_dtypes
from opsetlift.proof.not_equivalent import NotEquivalent
from opsetlift.proof.sites import Facts
from opsetlift.proof.verification import CertificateRefused, verify
from opsetlift.proof.whole_model import WholeModelResult, prove_models

__all__ = [
    "Certificate",
    "CertificateRefused",
    "Destination",
    "DtypeProof",
    "Facts",
    "NotEquivalent",
    "Outcome",
    "SiteRecord",
    "WholeModelResult",
    "prove_conversion",
    "prove_dtypes",
    "prove_models",
    "verify",
    "with_dtypes_proven",
]
