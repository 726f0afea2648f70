"""Exit statuses and sentences for whatever stops a command."""

from __future__ import annotations

import typer

from converter.convert import NotEquivalent
from converter.destination import UnreachableTarget
from converter.dtype_policy import UnusableDtypes
from converter.explain import UnknownOperator
from converter.model_file import ModelFileError
from converter.plugins import PluginFault
from converter.refusal import ConversionRefused
from converter.targets import TargetFileError, UnknownTarget

DONE = 0
UNUSABLE = 1
REFUSED = 2
NOT_EQUIVALENT = 3
INTERRUPTED = 130

_COMMAND_LINE_FAULT = typer.BadParameter.__base__
"""What typer raises for a wrong command line, whichever library it has that from."""


class UsageFault(Exception):
    """A command line that asks for something impossible; the message is one sentence."""


def status_of(error: BaseException) -> tuple[int, list[str]]:
    """The exit status and what to say."""
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return INTERRUPTED, ["interrupted; nothing was written"]
    if isinstance(error, ConversionRefused):
        count = len(error.refusals)
        head = f"refused: {count} {'place' if count == 1 else 'places'} cannot be converted; nothing was written"
        nearest = error.nearest
        return REFUSED, [head, *map(str, error.refusals), *([nearest.sentence] if nearest else [])]
    if isinstance(error, NotEquivalent):
        return NOT_EQUIVALENT, ["not equivalent; nothing was written", *str(error).splitlines()]
    if isinstance(
        error,
        (
            ModelFileError,
            PluginFault,
            UnreachableTarget,
            UnknownOperator,
            UnknownTarget,
            UnusableDtypes,
            TargetFileError,
            UsageFault,
        ),
    ):
        return UNUSABLE, [str(error)]
    if _COMMAND_LINE_FAULT is not None and isinstance(error, _COMMAND_LINE_FAULT):
        return UNUSABLE, [str(error.format_message()).replace("\n", " ")]  # type: ignore[attr-defined]
    if isinstance(error, MemoryError):
        return UNUSABLE, ["there is not enough memory for this model"]
    kind, text = type(error).__name__, " ".join(str(error).split())[:300]
    return UNUSABLE, [
        f"this is a defect of OpsetLift, please report it ({kind}: {text}); OPSETLIFT_TRACEBACK=1 shows where"
    ]
