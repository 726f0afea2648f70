"""Output of the commands: results to standard output, everything else to standard error."""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import isfinite
from typing import Literal, TextIO

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from opsetlift.cli.errors import OutputLost
from opsetlift.support.text import printable

_WIDEST_NAME = 40


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Instead of ending the program, as rich does."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Standard output, flushed at the end. Raises OutputLost where it is closed, or takes no more."""
    if sys.stdout is None or sys.stdout.closed:
        raise OutputLost("standard output is closed")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError as error:
        raise output_lost(error) from error


def output_lost(error: OSError) -> OutputLost:
    """The error to raise. Output that is still buffered is discarded."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    return OutputLost(f"standard output cannot be written: {(error.strerror or str(error)).lower()}")


def show(*renderables: RenderableType) -> None:
    """Print to standard output. Raises OutputLost."""
    with standard_output():
        # Made anew each time: standard output may have been replaced since.
        console = _Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
        for renderable in renderables:
            console.print(renderable)


def show_json(content: object) -> None:
    """Print one JSON document and nothing else; numbers that JSON has no form for as null. Raises OutputLost."""
    text = json.dumps(_finite(content), indent=2, ensure_ascii=True, allow_nan=False)
    with standard_output() as stream:
        stream.write(text + "\n")


def show_versioned(content: Mapping[str, object]) -> None:
    """`show_json` with the version of the schema, which is in cli/schemas/. Raises OutputLost."""
    show_json({"schema_version": 1, **content})


def _finite(content: object) -> object:
    if isinstance(content, Mapping):
        return {name: _finite(value) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not isfinite(content) else content


def write_bytes(content: bytes) -> None:
    """Write to standard output what is no text. Raises OutputLost."""
    with standard_output() as stream:
        stream.buffer.write(content)


def complain(*sentences: object) -> None:
    """Print lines to standard error. Errors are ignored: there is nowhere else to report them."""
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            for sentence in sentences:
                print(f"opsetlift: {printable(sentence)}", file=sys.stderr, flush=True)


def log_stages(is_verbose: bool) -> bool:
    """Print what is logged to standard error, if that is asked for."""
    if is_verbose:
        logging.basicConfig(stream=sys.stderr, format="opsetlift: %(message)s")
        logging.getLogger("opsetlift").setLevel(logging.DEBUG)
    return is_verbose


def occupy_standard_streams() -> None:
    """Open closed standard streams on the null device, so that no other file gets their numbers."""
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A plain table; columns whose title begins with "#" hold numbers."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    shown = [list(map(printable, row)) for row in rows]
    for number, column in enumerate(columns):
        # Names are in the first column: what is beside them gives way.
        is_whole = number == 0 and max((len(row[0]) for row in shown), default=0) <= _WIDEST_NAME
        justify: Literal["left", "right"] = "right" if column.startswith("#") else "left"
        made.add_column(column.lstrip("#"), justify=justify, overflow="fold", no_wrap=is_whole)
    for row in shown:
        made.add_row(*row)
    return made


def opsets(by_domain: Iterable[tuple[str, int]]) -> str:
    """For people: "ai.onnx 18, ai.onnx.ml 3"."""
    return ", ".join(f"{domain} {opset}" for domain, opset in by_domain)
