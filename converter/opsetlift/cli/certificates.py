"""`opsetlift prove --certificate`: a recorded proof, run again."""

from __future__ import annotations

from pathlib import Path

from opsetlift.cli.errors import DONE, NOT_EQUIVALENT, REFUSED, UsageFault
from opsetlift.cli.output import complain, show, show_json
from opsetlift.facts import ModelFacts
from opsetlift.model.files import check_regular, load_model, repaired, validate_model
from opsetlift.proof import Certificate, CertificateRefused, verify
from opsetlift.targets import find_target

_LARGEST = 1 << 30


def prove_again(recorded: Path, original: Path, converted: Path, *, as_json: bool, runtime: str | None = None) -> int:
    """Run the proof of a certificate again on its two models, and say what came of it; returns the exit status.

    `runtime` is the one that the conversion was for, where a file of the user's own describes it.

    Raises UsageFault for what is no certificate, or one of other models.
    """
    certificate = _read(recorded)
    models = [repaired(load_model(path))[0] for path in (original, converted)]
    for model in models:
        validate_model(model)
    facts = ModelFacts(models[0], str(original.absolute().parent))
    try:
        found = verify(
            certificate,
            models[0],
            models[1],
            facts,
            converted_dir=str(converted.absolute().parent),
            runtime=find_target(runtime) if runtime is not None else None,
        )
    except CertificateRefused as error:
        complain(f"refused: {recorded}: {error}")
        if as_json:
            show_json({"status": "refused", "summary": str(error)})
        return REFUSED
    except ValueError as error:
        raise UsageFault(f"{recorded}: {error}") from error
    if as_json:
        status = _status(found)
        show_json({"status": status, "cases": found.cases, "sites": len(found.sites), "summary": found.summary()})
    elif found.is_proven:
        show(found.summary())
    else:
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
    check_regular(file)
    try:
        if file.stat().st_size > _LARGEST:
            raise UsageFault(f"{file}: this is too large for a certificate")
        return Certificate.from_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageFault(f"{file}: {error.strerror}") from error
    except RecursionError as error:
        raise UsageFault(f"{file}: this is no certificate that can be read: it is nested too deeply") from error
    except ValueError as error:
        raise UsageFault(f"{file}: this is no certificate that can be read: {error}") from error
