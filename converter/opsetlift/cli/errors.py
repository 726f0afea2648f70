"""Exit statuses and messages for every error that stops a command."""

from __future__ import annotations

import typer

from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.internal_error import InternalError, how_to_report, internal_error
from opsetlift.support.refusal import ConversionRefused, Why

DONE = 0
UNUSABLE = 1
REFUSED = 2
NOT_EQUIVALENT = 3
INTERNAL = 70
"""EX_SOFTWARE of BSD's sysexits.h."""
OUTPUT_LOST = 74
"""As sysexits.h has it: an error of input or output."""
INTERRUPTED = 130

_COMMAND_LINE_FAULT = typer.BadParameter.__base__
"""What typer raises for a wrong command line."""


class UsageFault(Exception):
    """A command line that asks for something impossible; the message is one sentence."""


class OutputLost(Exception):
    """Standard output cannot be written to."""


class Interrupted(BaseException):
    """A signal that ends the program."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.what_is_written = "nothing was written"
        super().__init__(number)


def status_of(error: BaseException) -> tuple[int, list[str]]:
    """The exit status and the lines of the message."""
    if (stopped := _interruption(error)) is not None:
        return 128 + stopped.number, [f"interrupted; {stopped.what_is_written}"]
    if isinstance(error, OutputLost):
        return OUTPUT_LOST, [str(error)]
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return INTERRUPTED, ["interrupted; nothing was written"]
    if isinstance(error, OpsetLiftError) and not isinstance(error, InternalError):
        return _status_of_ours(error)
    if isinstance(error, UsageFault):
        return UNUSABLE, [str(error)]
    if _COMMAND_LINE_FAULT is not None and isinstance(error, _COMMAND_LINE_FAULT):
        return UNUSABLE, [str(error.format_message()).replace("\n", " ")]  # type: ignore[attr-defined]
    if isinstance(error, MemoryError):
        return UNUSABLE, ["there is not enough memory for this model"]
    return INTERNAL, _told(error if isinstance(error, InternalError) else internal_error(error, "a command"))


def _interruption(error: BaseException | None) -> Interrupted | None:
    """The signal that an error stands for: what is raised while a class is made becomes a RuntimeError."""
    while error is not None and not isinstance(error, Interrupted):
        error = error.__cause__ or error.__context__
    return error


def _status_of_ours(error: OpsetLiftError) -> tuple[int, list[str]]:
    # Imported here, where they have been imported by what raised the error: `--help` does without.
    from opsetlift.pipeline.results import ProofMissing
    from opsetlift.proof import NotEquivalent

    if isinstance(error, ConversionRefused) and all(one.why is Why.INVALID_MODEL for one in error.refusals):
        first, *others = error.refusals
        more = f" (and {len(others)} more such nodes)" if others else ""
        return UNUSABLE, [f"{first}{more}"]
    if isinstance(error, ConversionRefused):
        count = len(error.refusals)
        head = f"refused: {count} {'place' if count == 1 else 'places'} cannot be converted; nothing was written"
        nearest = error.nearest
        return REFUSED, [head, *map(str, error.refusals), *([nearest.sentence] if nearest else [])]
    if isinstance(error, ProofMissing):
        head = "refused: a proof is required, but not everything is proven; nothing was written"
        return REFUSED, [head, *str(error).splitlines()]
    if isinstance(error, NotEquivalent):
        return NOT_EQUIVALENT, ["not equivalent; nothing was written", *str(error).splitlines()]
    return UNUSABLE, [_told_here(error)]


def _told_here(error: OpsetLiftError) -> str:
    """The message of an error, with the option that a command line has for what it asks for."""
    from opsetlift.model.files import FileExists

    return f"{error.path}: this file exists; --force replaces it" if isinstance(error, FileExists) else str(error)


_SHOWN_FAULTS = 5


def _told(error: InternalError) -> list[str]:
    """One paragraph on the internal errors, then the refusals."""
    shown = list(map(str, error.faults[:_SHOWN_FAULTS]))
    if len(error.faults) > _SHOWN_FAULTS:
        shown.append(f"and {len(error.faults) - _SHOWN_FAULTS} more such errors")
    paragraph = f"internal error, nothing was written: {'; '.join(shown)}. {how_to_report(error.faults)}"
    if not error.refusals:
        return [paragraph]
    return [paragraph, "also, these places cannot be converted:", *map(str, error.refusals)]
