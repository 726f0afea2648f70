"""What commands that write a model have in common: looking before they start, and saying why they stopped."""

from __future__ import annotations

import os
from pathlib import Path

from converter.cli.errors import UsageFault, status_of
from converter.cli.output import complain, show_json
from converter.convert import NotEquivalent
from converter.model_file import check_writable
from converter.refusal import ConversionRefused


def check_destination(source: Path, target: Path, *, overwrite: bool) -> None:
    """Before any work is done: nothing is in the way, and nothing would overwrite the input. Raises UsageFault."""
    if is_same_file(source, target):
        raise UsageFault(f"{target}: OUT is the input itself, which is never written to")
    check_writable(target, overwrite=overwrite)


def is_same_file(first: Path, second: Path) -> bool:
    """Whether two paths lead to the same file, or would."""
    try:
        return os.path.samefile(first, second)
    except (OSError, ValueError):
        return os.path.abspath(first) == os.path.abspath(second)


def report_stop(stopped: ConversionRefused | NotEquivalent, as_json: bool) -> int:
    """Say why nothing was written; returns the exit status."""
    status, sentences = status_of(stopped)
    complain(*sentences)
    if as_json and isinstance(stopped, ConversionRefused):
        nearest = stopped.nearest.shown if stopped.nearest else None
        refusals = [refusal.as_dict() for refusal in stopped.refusals]
        show_json({"status": "refused", "refusals": refusals, "nearest": nearest})
    elif as_json and isinstance(stopped, NotEquivalent):
        show_json({"status": "not equivalent", **stopped.as_dict()})
    return status
