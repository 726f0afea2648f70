"""Saying why a command stopped."""

from __future__ import annotations

from opsetlift.cli.errors import UNUSABLE, status_of
from opsetlift.cli.output import complain, show_json
from opsetlift.proof.not_equivalent import NotEquivalent
from opsetlift.support.refusal import ConversionRefused


def report_stop(stopped: ConversionRefused | NotEquivalent, as_json: bool) -> int:
    """Say why nothing was written; returns the exit status."""
    status, sentences = status_of(stopped)
    complain(*sentences)
    if as_json and isinstance(stopped, ConversionRefused) and status == UNUSABLE:
        refusals = [refusal.as_dict() for refusal in stopped.refusals]
        show_json({"status": "error", "message": sentences[0], "refusals": refusals})
    elif as_json and isinstance(stopped, ConversionRefused):
        nearest = stopped.nearest.shown if stopped.nearest else None
        refusals = [refusal.as_dict() for refusal in stopped.refusals]
        show_json({"status": "refused", "refusals": refusals, "nearest": nearest})
    elif as_json and isinstance(stopped, NotEquivalent):
        show_json({"status": "not equivalent", **stopped.as_dict()})
    return status
