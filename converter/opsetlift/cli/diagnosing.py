"""`opsetlift diagnose`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from opsetlift.cli.errors import DONE, REFUSED, UsageFault
from opsetlift.cli.output import complain, show, show_json
from opsetlift.reporting.diagnosis import Command, Diagnosis, as_dict, diagnose
from opsetlift.support.text import printable

_LONGEST_PATH = 200


def diagnose_message(arguments: Sequence[str], *, target: str | None, as_json: bool) -> int:
    """Print the causes of a runtime's message, and the commands that help.

    Args:
        arguments: The message, or a model and the message; "-" reads the message from standard input.
        target: The version of the runtime.
        as_json: Print JSON.

    Returns:
        The exit status: REFUSED where the message is not known.

    Raises:
        UsageFault: There are other arguments.
        ModelFileError: The model cannot be read.
    """
    if not 1 <= len(arguments) <= 2:
        raise UsageFault("diagnose takes a message, or a model and a message; put the message in quotes")
    *models, message = arguments
    if message == "-":
        message = sys.stdin.read() if sys.stdin is not None else ""
    model = Path(models[0]) if models else None
    if model is None and len(message) < _LONGEST_PATH and Path(message).is_file():
        raise UsageFault(f"{message}: say what the runtime says of this model: opsetlift diagnose MODEL 'MESSAGE'")
    found = diagnose(message, model, target=target)
    if as_json:
        show_json(as_dict(found))
    elif found:
        show(*_page(found))
    if not found:
        complain("this message is not known; opsetlift reach MODEL --for RUNTIME==VERSION shows what blocks a model")
    return DONE if found else REFUSED


def _page(found: Sequence[Diagnosis]) -> Iterator[str]:
    for number, one in enumerate(found):
        if number:
            yield ""
        yield printable(f"{one.runtime}: {one.cause}")
        for command in sorted(one.commands, key=lambda command: command.works is False):
            yield f"  {printable(command.text)}"
            if remark := _remark(command):
                yield f"    {printable(remark)}"
        yield printable(f"  Seen: {one.source}")


def _remark(command: Command) -> str:
    if command.works is None:
        return command.remark
    return f"works{f'; {command.remark}' if command.remark else ''}" if command.works else f"refused: {command.remark}"
