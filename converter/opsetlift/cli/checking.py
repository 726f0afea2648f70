"""`opsetlift check`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from opsetlift.batch.planning import SUFFIX, models_of
from opsetlift.cli.errors import DONE, REFUSED, UNUSABLE, UsageFault
from opsetlift.cli.files import STANDARD_STREAM, noted_files
from opsetlift.cli.output import complain, show, show_json
from opsetlift.cli.progress import progress_shown
from opsetlift.model.files import save_beside
from opsetlift.reporting.checking import Result, as_dict, as_junit, as_sarif, check
from opsetlift.support.progress import tell
from opsetlift.support.text import counted, printable
from opsetlift.targets import find_target


def check_files(
    patterns: Sequence[str],
    runtimes: Sequence[str],
    *,
    max_opset: int | None,
    junit: Path | None,
    sarif: Path | None,
    overwrite: bool,
    is_quiet: bool,
    as_json: bool,
) -> int:
    """Check whether models run where they have to.

    Args:
        patterns: Files, folders, whose .onnx files at any depth are meant, or patterns; "**" stands for any folders.
        runtimes: The runtimes that have to take each model as it is.
        max_opset: The newest opset of ai.onnx that a model may import.
        junit: Where a JUnit file goes, if anywhere.
        sarif: Where a SARIF file goes, if anywhere.
        overwrite: Whether these may be replaced.
        is_quiet: Print only what does not pass.
        as_json: Print JSON.

    Returns:
        The exit status: REFUSED where a model does not pass, UNUSABLE where a file is no valid model.

    Raises:
        UsageFault: No file is found, or nothing is asked for.
        ModelFileError: A result cannot be written.
    """
    if not runtimes and max_opset is None:
        raise UsageFault("check needs --for or --max-opset: what the models have to run in")
    targets = [find_target(one) for one in runtimes]
    paths = list(_paths(patterns))
    files = noted_files(overwrite=overwrite)
    for path in paths:
        files.read(path, f"the model {path}")
    reports = [(junit, "the JUnit file"), (sarif, "the SARIF file")]
    for report, role in reports:
        if report == STANDARD_STREAM:
            raise UsageFault(f"{role} needs a name: - is standard output, where the verdicts go")
        if report is not None:
            files.write(report, role)
    results: list[Result] = []
    with progress_shown(is_wanted=not is_quiet):
        for number, path in enumerate(paths):
            tell("checking models", number, len(paths))
            results += check(path, targets, max_opset)
    if junit is not None:
        save_beside(junit, as_junit(results), files)
    if sarif is not None:
        save_beside(sarif, (json.dumps(as_sarif(results), indent=2) + "\n").encode(), files)
    failed = [one for one in results if not one.passes]
    if as_json:
        show_json(as_dict(results))
    else:
        if not is_quiet:
            show(*(printable(f"ok: {one.path}: {one.requirement}") for one in results if one.passes))
        complain(*(line for one in failed for line in _lines(one)))
        if failed:
            complain(f"{len(failed)} of {counted(len(results), 'check')} failed")
    if any(one.is_unreadable for one in failed):
        return UNUSABLE
    return REFUSED if failed else DONE


def _paths(patterns: Sequence[str]) -> Iterator[Path]:
    """The files, each once, in order. Raises UsageFault where a pattern stands for none."""
    seen: set[Path] = set()
    for pattern in patterns:
        files = models_of(pattern)
        if not files:
            is_folder = Path(pattern).is_dir()
            what = f"this is a folder without {SUFFIX} files" if is_folder else "there is no such file"
            raise UsageFault(f"{pattern}: {what}")
        for one in files:
            if one not in seen:
                seen.add(one)
                yield one


def _lines(result: Result) -> Iterator[str]:
    yield f"{result.path}: {result.requirement}"
    yield from (f"  {problem.message}" for problem in result.problems)
    if result.remedy:
        yield f"  {result.remedy}"
