"""`opsetlift reach`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from onnx import ModelProto
from rich.console import RenderableType

from opsetlift.batch.planning import SUFFIX, models_of
from opsetlift.cli.errors import DONE, REFUSED, UNUSABLE, UsageFault
from opsetlift.cli.files import model_or_path, opened
from opsetlift.cli.output import complain, opsets, show, show_versioned, table
from opsetlift.cli.progress import progress_shown
from opsetlift.cli.reports import ReportTarget
from opsetlift.model.files import ModelFileError
from opsetlift.pipeline.reach import Answer, Reach
from opsetlift.pipeline.reach import reach as reach_of
from opsetlift.support.processes import cores
from opsetlift.support.progress import tell, watched_by
from opsetlift.support.refusal import Refusal
from opsetlift.support.text import printable
from opsetlift.targets import find_target


def _write_report(found: Reach, model: ModelProto | Path, name: str, report: ReportTarget) -> None:
    """Write the report, where one is asked for. Raises ModelFileError."""
    if report.is_asked_for:
        from opsetlift.reporting import pages

        report.write(pages.reach_page(found, name, opened(model)))


def show_reach(
    model: Path,
    runtimes: Sequence[str] | None,
    *,
    exact: bool,
    report: ReportTarget,
    jobs: int | None,
    as_json: bool,
    is_quiet: bool,
) -> int:
    """Print where a model can be converted to, and write the report; returns the exit status.

    It is REFUSED where one of the runtimes that were asked for cannot be reached.
    """
    source = model_or_path(model)
    with progress_shown(is_wanted=not is_quiet):
        reach = reach_of(source, targets=runtimes or None, opsets=not runtimes, exact=exact, jobs=jobs or cores())
    _write_report(reach, source, str(model), report)
    if as_json:
        show_versioned(reach.as_dict())
    elif not is_quiet:
        show(*_reach_page(reach, is_detailed=bool(runtimes)))
    return REFUSED if runtimes and not all(one.is_reachable for one in reach.targets) else DONE


def show_reach_of_models(
    pattern: Path, runtimes: Sequence[str] | None, *, exact: bool, jobs: int | None, as_json: bool, is_quiet: bool
) -> int:
    """Print a line for each model of a folder or a glob; returns the exit status.

    It is UNUSABLE where a file is no valid model, else REFUSED where one of the runtimes that were asked for cannot be
    reached.
    """
    paths = models_of(str(pattern))
    if not paths:
        raise UsageFault(f"{pattern}: there is no model ({SUFFIX}) here")
    targets = [find_target(one) for one in runtimes] if runtimes else None
    found: list[tuple[Path, Reach]] = []
    faults: list[tuple[Path, str]] = []
    with progress_shown(is_wanted=not is_quiet):
        for number, path in enumerate(paths):
            tell("models", number, len(paths))
            try:
                with watched_by(lambda *_: None):  # one model of many is no progress of its own
                    found.append((path, reach_of(path, targets=targets, exact=exact, jobs=jobs or cores())))
            except ModelFileError as error:
                faults.append((path, str(error)))
    if as_json:
        shown = [{"path": str(path), "error": "", **reach.as_dict()} for path, reach in found]
        unusable = [{"path": str(path), "error": fault, "opsets": [], "targets": []} for path, fault in faults]
        show_versioned({"models": sorted([*shown, *unusable], key=lambda one: one["path"])})
    elif found and not is_quiet:
        names = [one.where for one in found[0][1].targets] if runtimes else []
        rows = [(path, _opsets_reached(reach), *_runtimes_reached(reach, bool(runtimes))) for path, reach in found]
        show(table(("model", "ai.onnx", *(names or ["runtimes"])), rows))
    complain(*(fault for _, fault in faults))
    if faults:
        return UNUSABLE
    are_reached = all(one.is_reachable for _, reach in found for one in reach.targets)
    return DONE if are_reached or not runtimes else REFUSED


def _opsets_reached(reach: Reach) -> str:
    """For people: "7 to 24", with gaps: "7, 9 to 24"."""
    answers = [one for one in reach.opsets if _split(one.where)[0] == "ai.onnx"]
    groups = (list(group) for is_reached, group in groupby(answers, lambda one: one.is_reachable) if is_reached)
    return ", ".join(_joined(group).removeprefix("ai.onnx ") for group in groups) or "none"


def _runtimes_reached(reach: Reach, is_detailed: bool) -> list[str]:
    if is_detailed:
        return [one.sentence for one in reach.targets]
    return [f"{sum(one.is_reachable for one in reach.targets)} of {len(reach.targets)}"]


def _reach_page(reach: Reach, *, is_detailed: bool) -> Iterator[RenderableType]:
    """Tables of opsets and runtimes, neighbours with the same answer in one line, and then the refusals.

    Args:
        reach: The answers.
        is_detailed: Print every refusal, not one for each kind.
    """
    if not is_detailed:
        rows = [(_joined(group), group[0].sentence) for group in _grouped(reach.opsets, _answer)]
        yield table(("opset", "reachable"), rows)
    yield table(
        ("target", "opsets", "#IR", "reachable"),
        [
            (_joined(group), opsets(group[0].opsets.items()), group[0].ir_version or "", group[0].sentence)
            for group in _grouped(reach.targets, lambda answer: (*_answer(answer), answer.opsets, answer.ir_version))
        ],
    )
    blockers = [refusal for answer in (*reach.targets, *reach.opsets) for refusal in answer.blockers]
    if is_detailed:
        blockers = [refusal for answer in reach.targets for refusal in answer.blockers]
    yield from _blockers(blockers, is_detailed=is_detailed)


def _answer(answer: Answer) -> tuple[str, tuple[str, ...]]:
    return answer.sentence, tuple(map(str, answer.blockers))


def _grouped(answers: Sequence[Answer], key: Callable[[Answer], object]) -> Iterator[list[Answer]]:
    """Neighbours of the same runtime or domain with the same answer."""
    for _, group in groupby(answers, lambda answer: (_split(answer.where)[0], key(answer))):
        yield list(group)


def _split(where: str) -> tuple[str, str]:
    """The name and the number of an answer such as "onnxruntime==1.4" or "ai.onnx 13"."""
    name, separator, number = where.partition("==")
    if not separator:
        name, _, number = where.rpartition(" ")
    return name, number


def _joined(group: Sequence[Answer]) -> str:
    first, last = group[0].where, _split(group[-1].where)[1]
    return first if len(group) == 1 else f"{first} to {last}"


def _blockers(refusals: Sequence[Refusal], *, is_detailed: bool) -> Iterator[RenderableType]:
    """Each place once, however many opsets and targets it blocks."""
    places = list(dict.fromkeys(refusals))
    if not places:
        return
    yield "Blocked by:"
    if is_detailed:
        yield from (printable(f"  {refusal}") for refusal in places)
        return
    kinds: dict[tuple[str, str, str], list[Refusal]] = {}
    for refusal in places:
        kinds.setdefault((refusal.operator, refusal.transition, refusal.why.name), []).append(refusal)
    for alike in kinds.values():
        others = f" (and {len(alike) - 1} more like it)" if len(alike) > 1 else ""
        yield printable(f"  {alike[0]}{others}")
