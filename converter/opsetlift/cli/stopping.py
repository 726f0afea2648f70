"""Messages and JSON for a conversion that was refused or refuted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opsetlift.cli.errors import UNUSABLE, status_of
from opsetlift.cli.output import complain, show_versioned
from opsetlift.pipeline.results import ProofMissing
from opsetlift.proof import NotEquivalent
from opsetlift.reporting.refusals import by_cause
from opsetlift.support.refusal import ConversionRefused

_MOST_CAUSES = 12
_MOST_PLACES = 4


def report_stop(
    stopped: ConversionRefused | NotEquivalent | ProofMissing,
    as_json: bool,
    ways: Sequence[tuple[str, str]] = (),
    is_verbose: bool = False,
) -> int:
    """Print why nothing was written.

    Args:
        stopped: What ended the job.
        as_json: Print JSON as well.
        ways: The commands that would work, each with what it does otherwise.
        is_verbose: Print every place.

    Returns:
        The exit status.
    """
    status, sentences = status_of(stopped)
    if isinstance(stopped, ConversionRefused) and status != UNUSABLE:
        sentences = [sentences[0], *_causes(stopped, is_verbose=is_verbose)]
        if stopped.nearest is not None:
            sentences.append(stopped.nearest.sentence)
    complain(*sentences)
    if ways:
        complain("What would work:", *(f"  {command}  ({words})" for command, words in ways))
    if as_json:
        found = _as_dict(stopped, status, sentences)
        show_versioned({**found, "commands": [command for command, _ in ways]} if ways else found)
    return status


def _causes(refused: ConversionRefused, *, is_verbose: bool) -> Iterator[str]:
    """Each cause once, with the places that have it; the names are those in the model."""
    causes = by_cause(refused.refusals)
    most = len(refused.refusals) if is_verbose else _MOST_PLACES
    for cause in causes if is_verbose else causes[:_MOST_CAUSES]:
        first, *others = cause.refusals
        yield str(first)
        if others:
            named = ", ".join(f"{one.place}" for one in others[:most])
            more = f" and {len(others) - most} more" if len(others) > most else ""
            yield f"  the same for {named}{more}"
    if not is_verbose and len(causes) > _MOST_CAUSES:
        yield f"... and {len(causes) - _MOST_CAUSES} more causes; --verbose shows them"


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
