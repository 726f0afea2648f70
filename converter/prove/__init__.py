"""Proofs: that a conversion kept the meaning, site by site, and that two models compute the same."""

from converter.prove.certificate import Certificate, Destination, DtypeProof, Outcome, SiteRecord
from converter.prove.conversions import prove_conversion, with_dtypes_proven
from converter.prove.dtype_changes import prove_dtypes
from converter.prove.sites import Facts
from converter.prove.verification import CertificateRefused, verify
from converter.prove.whole_model import WholeModelResult, prove_models

__all__ = [
    "Certificate",
    "CertificateRefused",
    "Destination",
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
