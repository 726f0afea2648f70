"""Proofs: that a conversion kept the meaning, site by site, and that two models compute the same."""

from opsetlift.proof.certificate import (
    Certificate,
    ConversionProof,
    Destination,
    DtypeProof,
    FixedShapes,
    Outcome,
    PassesProof,
    PassRecord,
    Proof,
    Repair,
    Request,
    SiteRecord,
    StageRecord,
    model_sha256,
    tool_versions,
)
from opsetlift.proof.conversions import prove_conversion
from opsetlift.proof.dtype_changes import prove_dtypes
from opsetlift.proof.not_equivalent import NotEquivalent
from opsetlift.proof.sites import Facts
from opsetlift.proof.whole_model import WholeModelResult, prove_models

__all__ = [
    "Certificate",
    "ConversionProof",
    "Destination",
    "DtypeProof",
    "Facts",
    "FixedShapes",
    "NotEquivalent",
    "Outcome",
    "PassRecord",
    "PassesProof",
    "Proof",
    "Repair",
    "Request",
    "SiteRecord",
    "StageRecord",
    "WholeModelResult",
    "model_sha256",
    "prove_conversion",
    "prove_dtypes",
    "prove_models",
    "tool_versions",
]
