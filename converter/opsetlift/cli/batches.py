"""`opsetlift convert` and `normalize` of a folder or a glob."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from opsetlift.batch.planning import NoModels, inputs, planned
from opsetlift.batch.running import convert_models
from opsetlift.batch.summary import as_csv, as_json, counts
from opsetlift.batch.task import Ending, Result, Task
from opsetlift.cli.errors import DONE, INTERNAL, NOT_EQUIVALENT, REFUSED, UNUSABLE, Interrupted, UsageFault
from opsetlift.cli.files import STANDARD_STREAM, noted_files
from opsetlift.cli.output import complain, show
from opsetlift.cli.output import table as table_of
from opsetlift.cli.progress import progress_shown
from opsetlift.model.files import SUMMARY, JobFiles, ModelFileError, save_beside
from opsetlift.support.progress import tell
from opsetlift.support.text import counted, printable

_STATUS = {
    Ending.WRITTEN: DONE,
    Ending.SKIPPED: DONE,
    Ending.UNUSABLE: UNUSABLE,
    Ending.REFUSED: REFUSED,
    Ending.NOT_EQUIVALENT: NOT_EQUIVALENT,
    Ending.CRASHED: INTERNAL,
    Ending.INTERNAL_ERROR: INTERNAL,
}
"""The exit status is the largest of those of all models."""

_SUMMARIES = {".json": as_json, ".csv": as_csv}


def run_batch(
    source: Path,
    folder: Path,
    options: dict[str, Any],
    *,
    jobs: int | None,
    overwrite: bool,
    skip_existing: bool,
    summary: Path | None,
    certificates: Path | None = None,
    is_quiet: bool = False,
) -> int:
    """Convert all models, print a line for each and a table at the end; returns the exit status.

    On a terminal the last line counts what became of the models so far.
    """
    for path in (folder, certificates):
        if path == STANDARD_STREAM:
            raise UsageFault("several models need a folder to go to, and - is standard output")
    table = noted_files(overwrite=overwrite)
    found = inputs(source, folder)
    if summary is not None:
        for path in found:
            table.read(path, "a model of the batch")
        _check_summary(summary, table)
    endings: Counter[str] = Counter()
    try:
        with progress_shown(is_wanted=not is_quiet) as clear:

            def shown(result: Result) -> None:
                endings[result.ending.value] += 1
                clear()
                if not is_quiet:
                    show(*_line(result, endings.total()))
                elif _STATUS[result.ending] != DONE:
                    complain(*_line(result, endings.total()))
                so_far = ", ".join(f"{count} {ending}" for ending, count in endings.items())
                tell(f"models: {so_far}", endings.total(), len(found))

            if summary is not None:
                tasks, _ = planned(source, folder, options, overwrite=overwrite, certificates=certificates)
                _check_outputs(summary, tasks, table)
            results = convert_models(
                source,
                folder,
                jobs=jobs,
                overwrite=overwrite,
                skip_existing=skip_existing,
                certificates=certificates,
                on_result=shown,
                **options,
            )
    except NoModels as error:
        raise UsageFault(str(error)) from error
    except Interrupted as stopped:
        stopped.what_is_written = "each output is missing or complete, and --skip-existing resumes the batch"
        raise
    if not is_quiet:
        show(*_page(results))
    if summary is not None:
        _write_summary(summary, results, table)
    return max(_STATUS[result.ending] for result in results)


def _write_summary(summary: Path, results: Sequence[Result], table: JobFiles) -> None:
    """Raises ModelFileError where it cannot be written."""
    _check_summary(summary, table)
    save_beside(summary, _SUMMARIES[summary.suffix.lower()](results).encode(), table)


def _check_outputs(summary: Path, tasks: Sequence[Task], table: JobFiles) -> None:
    """Raises ModelFileError where the summary is what a task writes."""
    for task in tasks:
        for path, what in ((task.target, "output"), (task.certificate, "certificate")):
            if path is not None and not table.is_free(path):
                raise ModelFileError(
                    f"{summary}: this is the {what} of {task.source}; choose another file for the summary"
                )


def _check_summary(summary: Path, table: JobFiles) -> None:
    """Raises UsageFault or ModelFileError where a summary cannot be written to a path."""
    if summary.suffix.lower() not in _SUMMARIES:
        raise UsageFault(f"--summary takes a file that ends in .json or .csv, not {str(summary)!r}")
    table.write(summary, SUMMARY)


def _line(result: Result, number: int) -> Iterator[RenderableType]:
    more = [result.proof, *_changes(result)] if result.ending is Ending.WRITTEN else [result.reason]
    rest = ", ".join(filter(None, more))
    seconds = f" ({result.seconds:.1f} s)" if result.seconds else ""
    yield printable(f"{number}. {result.source}: {result.ending.value}{f': {rest}' if rest else ''}{seconds}")


def _changes(result: Result) -> Iterator[str]:
    """What became of the nodes."""
    before, after = result.source_nodes, result.target_nodes
    if before != after:
        yield f"{counted(before, 'node')} became {after:,}"
    if result.rewrites or before == after:
        yield f"{counted(result.rewrites, 'node')} rewritten"


def _page(results: list[Result]) -> Iterator[RenderableType]:
    rows = [(one.ending.value, one.kind, one.models, one.first.name) for one in counts(results)]
    yield table_of(("result", "reason", "#models", "first"), rows)
