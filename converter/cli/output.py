"""What the command line says: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table


def printable(text: object) -> str:
    """Text with line breaks and control characters escaped: names in a model may hold anything."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in str(text))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Instead of ending the program, as rich does."""
        leave_standard_output()


def show(*renderables: RenderableType) -> None:
    """Print to standard output. A reader that has gone away, as `head` does, is no error."""
    try:
        # Made anew each time: standard output may have been replaced since.
        console = _Console(markup=False, highlight=False, emoji=False, soft_wrap=True)
        for renderable in renderables:
            console.print(renderable)
        sys.stdout.flush()
    except BrokenPipeError:
        leave_standard_output()


def show_json(content: object) -> None:
    """Print one JSON document and nothing else."""
    try:
        sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=True) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        leave_standard_output()


def leave_standard_output() -> None:
    """Let what is still to be printed vanish, the interpreter's last flush included."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(*sentences: object) -> None:
    """Print lines to standard error."""
    for sentence in sentences:
        print(f"opsetlift: {printable(sentence)}", file=sys.stderr)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """A plain table; columns whose title begins with "#" hold numbers."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(column.lstrip("#"), justify="right" if column.startswith("#") else "left", overflow="fold")
    for row in rows:
        made.add_row(*map(printable, row))
    return made


def opsets(by_domain: Iterable[tuple[str, int]]) -> str:
    """For people: "ai.onnx 18, ai.onnx.ml 3"."""
    return ", ".join(f"{domain} {opset}" for domain, opset in by_domain)
