"""`opsetlift prove --certificate`."""

from __future__ import annotations

from pathlib import Path

from opsetlift.cli.errors import DONE, NOT_EQUIVALENT, REFUSED, UsageFault
from opsetlift.cli.output import complain, show, show_versioned
from opsetlift.cli.reports import ReportTarget
from opsetlift.model.files import read_file
from opsetlift.pipeline.verification import CertificateRefused, verified
from opsetlift.proof import Certificate
from opsetlift.targets import find_target

_LARGEST = 1 << 30


def prove_again(
    recorded: Path,
    original: Path,
    converted: Path,
    *,
    as_json: bool,
    is_quiet: bool = False,
    runtime: str | None = None,
    report: ReportTarget,
) -> int:
    """Verify a certificate of two models, and print the verdict.

    Args:
        recorded: The certificate.
        original: The model that was read.
        converted: The model that was written.
        as_json: Print JSON.
        is_quiet: Print errors only.
        runtime: The runtime of the conversion, if a target file of the user describes it.
        report: Where the report goes, if one is asked for.

    Returns:
        The exit status.

    Raises:
        UsageFault: This is no certificate, or one of other models.
    """
    certificate = _read(recorded)
    try:
        job = verified(certificate, original, converted, runtime=find_target(runtime) if runtime else None)
    except CertificateRefused as error:
        complain(f"refused: {recorded}: {error}")
        if as_json:
            show_versioned({"status": "refused", "summary": str(error)})
        return REFUSED
    except ValueError as error:
        raise UsageFault(f"{recorded}: {error}") from error
    found = job.certificate
    assert found is not None
    if report.is_asked_for:
        from opsetlift.reporting.pages import conversion_page

        report.write(conversion_page(job, "convert", str(original), str(converted)))
    if as_json:
        status = _status(found)
        show_versioned({"status": status, "cases": found.cases, "sites": len(found.sites), "summary": found.summary()})
    elif found.is_proven and not is_quiet:
        show(found.summary())
    elif not found.is_proven:
        complain(found.summary())
    if found.is_refuted:
        return NOT_EQUIVALENT
    return DONE if found.is_proven else REFUSED


def _status(found: Certificate) -> str:
    if found.is_refuted:
        return "not equivalent"
    if found.is_proven:
        return "equal"
    return "weakly proven" if found.is_weakly_proven else "unproven"


def _read(file: Path) -> Certificate:
    content = read_file(file, _LARGEST)
    try:
        return Certificate.from_json(content.decode("utf-8"))
    except RecursionError as error:
        raise UsageFault(f"{file}: not a readable certificate: it is nested too deeply") from error
    except ValueError as error:
        raise UsageFault(f"{file}: not a readable certificate: {error}") from error
