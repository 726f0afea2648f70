"""Messages and JSON for a conversion that was refused or refuted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsetlift.cli.errors import UNUSABLE, status_of
from opsetlift.cli.output import complain, show_json
from opsetlift.pipeline.results import ProofMissing
from opsetlift.proof import NotEquivalent
from opsetlift.support.refusal import ConversionRefused


def report_stop(stopped: ConversionRefused | NotEquivalent | ProofMissing, as_json: bool) -> int:
    """Print why nothing was written, and return the exit status."""
    status, sentences = status_of(stopped)
    complain(*sentences)
    if as_json:
        show_json(_as_dict(stopped, status, sentences))
    return status


def _as_dict(
    stopped: ConversionRefused | NotEquivalent | ProofMissing, status: int, sentences: Sequence[str]
) -> dict[str, Any]:
    if isinstance(stopped, NotEquivalent):
        return {"status": "not equivalent", **stopped.as_dict()}
    if isinstance(stopped, ProofMissing):
        proof = stopped.proof.as_dict() if stopped.proof is not None else None
        return {"status": "refused", "proof": proof, "certificate": stopped.certificate.as_dict()}
    refusals = [refusal.as_dict() for refusal in stopped.refusals]
    if status == UNUSABLE:
        return {"status": "error", "message": sentences[0], "refusals": refusals}
    nearest = stopped.nearest
    return {
        "status": "refused",
        "refusals": refusals,
        "nearest": nearest.shown if nearest else None,
        "nearest_ir_version": nearest.ir_version if nearest else None,
    }
