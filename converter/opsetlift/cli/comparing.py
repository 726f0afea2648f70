"""`opsetlift diff`, with the exit statuses of diff(1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType

from opsetlift.cli.errors import UNUSABLE, status_of
from opsetlift.cli.files import models_or_paths, opened
from opsetlift.cli.output import complain, show, show_json, show_versioned
from opsetlift.cli.reports import ReportTarget
from opsetlift.model.files import validated
from opsetlift.reporting.differences import (
    ModelDifference,
    Region,
    ScopeDifference,
    difference_of,
    region_heading,
    summary_of,
)
from opsetlift.reporting.neighbourhood import node_text
from opsetlift.support.text import counted, printable

SAME, DIFFERENT, TROUBLE = 0, 1, 2
"""The exit statuses of diff(1)."""

_MOST_KINDS = 30
_MOST_SENTENCES = 30
_MOST_LINES = 40


def diff_files(
    first: Path, second: Path, *, report: Path | None, overwrite: bool, as_json: bool, is_quiet: bool
) -> int:
    """Compare the structure of two model files, and print where they differ.

    Args:
        first: One model.
        second: The other one.
        report: Where a report goes, if one is asked for.
        overwrite: Whether the report may be replaced.
        as_json: Print JSON.
        is_quiet: Print nothing.

    Returns:
        The exit status: 0 the same, 1 different, 2 trouble.
    """
    try:
        target = ReportTarget(report, [first, second], overwrite=overwrite)
        models = [validated(opened(one))[0] for one in models_or_paths(first, second)]
        found = difference_of(*models, base_dir=str(first.parent), other_dir=str(second.parent))
        if target.is_asked_for:
            from opsetlift.reporting.pages import difference_page

            target.write(difference_page(found, str(first), str(second)))
    except Exception as error:
        status, sentences = status_of(error)
        if status != UNUSABLE:
            raise
        complain(*sentences)
        if as_json:
            show_versioned({"status": "error", "message": " ".join(sentences)})
        return TROUBLE
    if as_json:
        show_json(found.as_dict())
    elif not is_quiet:
        show(*difference_lines(found))
    return SAME if found.is_same else DIFFERENT


def difference_lines(found: ModelDifference) -> Iterator[RenderableType]:
    """Where two models differ, nodes that differ in the same way together; nothing where they are the same."""
    if found.is_same:
        return
    yield summary_of(found)
    sentences = [*found.sentences, *(f"{scope.path}: {one}" for scope in found.scopes for one in scope.sentences)]
    for sentence in sentences[:_MOST_SENTENCES]:
        yield printable(f"  {sentence}")
    if len(sentences) > _MOST_SENTENCES:
        yield f"  ... and {counted(len(sentences) - _MOST_SENTENCES, 'more such difference')}; --json shows all"
    kinds = found.kinds()
    for kind in kinds[:_MOST_KINDS]:
        yield from _kind_lines(kind)
    if len(kinds) > _MOST_KINDS:
        yield f"... and {counted(len(kinds) - _MOST_KINDS, 'more kind')} of difference; --json and --report show all"


def _kind_lines(kind: Sequence[tuple[ScopeDifference, Region]]) -> Iterator[str]:
    scope, region = kind[0]
    places = f" ({counted(len(kind), 'place')})" if len(kind) > 1 else ""
    yield printable(f"@@ {region_heading(scope, region)}{places}, in {scope.path}")
    lines = [f"- {node_text(scope.before.node[one])}" for one in region.removed]
    for one in region.changed:
        lines += [f"- {node_text(scope.before.node[one.before])}", f"+ {node_text(scope.after.node[one.after])}"]
    lines += [f"+ {node_text(scope.after.node[one])}" for one in region.added]
    yield from map(printable, lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"  ... and {counted(len(lines) - _MOST_LINES, 'more line')}"
