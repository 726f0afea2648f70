"""`opsetlift prove --certificate`: a recorded proof, run again."""

from __future__ import annotations

from pathlib import Path

from converter.cli.errors import DONE, NOT_EQUIVALENT, REFUSED, UsageFault
from converter.cli.output import complain, show, show_json
from converter.facts import ModelFacts
from converter.model_file import check_regular, load_model, settled, validate_model, with_data_of
from converter.prove import Certificate, verify

_LARGEST = 1 << 30


def prove_again(recorded: Path, original: Path, converted: Path, *, as_json: bool) -> int:
    """Run the proof of a certificate again on its two models, and say what came of it; returns the exit status.

    Raises UsageFault for what is no certificate, or one of other models.
    """
    certificate = _read(recorded)
    models = [settled(load_model(path))[0] for path in (original, converted)]
    for model in models:
        validate_model(model)
    models[1], changed = with_data_of(models[1], converted.parent, models[0], original.parent)
    if changed:
        sentence = f"the external data of tensor {changed!r} differs"
        if as_json:
            show_json({"status": "not equivalent", "cases": 0, "sites": 0, "summary": sentence})
        else:
            complain(f"not equivalent: {sentence}")
        return NOT_EQUIVALENT
    facts = ModelFacts(models[0], str(original.absolute().parent))
    try:
        found = verify(certificate, models[0], models[1], facts)
    except ValueError as error:
        raise UsageFault(f"{recorded}: {error}") from error
    if as_json:
        status = "not equivalent" if found.is_refuted else "equal" if found.is_proven else "unproven"
        show_json({"status": status, "cases": found.cases, "sites": len(found.sites), "summary": found.summary()})
    elif found.is_proven:
        show(found.summary())
    else:
        complain(found.summary())
    if found.is_refuted:
        return NOT_EQUIVALENT
    return DONE if found.is_proven else REFUSED


def _read(file: Path) -> Certificate:
    check_regular(file)
    try:
        if file.stat().st_size > _LARGEST:
            raise UsageFault(f"{file}: this is too large for a certificate")
        return Certificate.from_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageFault(f"{file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageFault(f"{file}: this is no certificate that can be read: {error}") from error
