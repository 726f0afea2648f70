"""`opsetlift prove`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from onnx import ModelProto

from opsetlift.cli.errors import DONE, NOT_EQUIVALENT, REFUSED, UsageFault
from opsetlift.cli.files import STANDARD_STREAM, models_or_paths, opened
from opsetlift.cli.output import complain, show, show_versioned
from opsetlift.cli.progress import progress_shown
from opsetlift.cli.reports import ReportTarget
from opsetlift.model.files import validated
from opsetlift.proof import (
    OnnxruntimeMissing,
    OnnxruntimeVerdict,
    Outcome,
    Tolerance,
    WholeModelResult,
    ask_onnxruntime,
    given_cases,
    prove_models,
)
from opsetlift.support.text import counted

_DISAGREEMENT = "the evaluators disagree"

_STATUS = {
    Outcome.EQUAL: DONE,
    Outcome.WEAK: REFUSED,
    Outcome.DIFFERENT: NOT_EQUIVALENT,
    Outcome.UNPROVEN: REFUSED,
}


def prove_files(
    first: Path,
    second: Path,
    *,
    inputs: Path | None,
    expected: Path | None,
    runs: int,
    seed: int,
    ulps: int,
    rtol: float,
    atol: float,
    as_json: bool,
    asks_onnxruntime: bool = False,
    is_quiet: bool = False,
    report: ReportTarget,
) -> int:
    """Execute two models on the same inputs, and print whether they compute the same.

    Args:
        first: The reference model.
        second: The model to compare with it.
        inputs: An .npz with an array for each input, or a folder of ONNX's test data; by default inputs are drawn.
        expected: What both models have to give, in the same way.
        runs: Minimum number of drawn inputs.
        seed: Random seed.
        ulps: Allowed difference, in units in the last place.
        rtol: Allowed difference, relative to each element.
        atol: Allowed difference besides that.
        as_json: Print JSON.
        asks_onnxruntime: Also run both models in onnxruntime. If it disagrees, there is no verdict.
        is_quiet: Print errors only.
        report: Where the report goes, if one is asked for.

    Returns:
        The exit status.
    """
    try:
        tolerance = Tolerance(rtol, atol)
    except ValueError as error:
        raise UsageFault(f"--{error}") from error
    if asks_onnxruntime and STANDARD_STREAM in (first, second):
        raise UsageFault("--judge ort runs files, and - is standard input; name a file")
    one, other = models_or_paths(first, second)
    models = [validated(opened(one))[0], validated(opened(other))[0]]
    bounds: dict[str, Any] = {"runs": runs, "seed": seed, "ulps": ulps}
    with progress_shown(is_wanted=not is_quiet):
        result = prove_models(one, other, inputs=inputs, expected=expected, rtol=rtol, atol=atol, **bounds)
    if report.is_asked_for:
        _write_report(report, result, models, (first, second))
    opinion = None
    if asks_onnxruntime:
        try:
            cases = given_cases(inputs, expected, models[0]) if inputs is not None else None
            opinion = ask_onnxruntime(first, second, inputs=cases, tolerance=tolerance, **bounds)
        except OnnxruntimeMissing as error:
            raise UsageFault(str(error)) from error
    disagree = opinion is not None and opinion.agrees is not None and _contradicts(result, opinion)
    if as_json:
        show_versioned(_document(result, opinion, disagree=disagree))
    elif disagree:
        assert opinion is not None
        ours = result.outcome.value if result.agrees else result.sentence
        complain(f"{_DISAGREEMENT}: OpsetLift: {ours}; onnxruntime: {opinion.sentence or 'equal'}")
    else:
        _show(result, opinion, is_given=inputs is not None, is_quiet=is_quiet)
    return REFUSED if disagree else _STATUS[result.outcome]


def _write_report(
    report: ReportTarget, result: WholeModelResult, models: Sequence[ModelProto], paths: tuple[Path, Path]
) -> None:
    from opsetlift.reporting.differences import difference_of
    from opsetlift.reporting.pages import comparison_page

    first, second = paths
    difference = difference_of(*models, base_dir=str(first.parent), other_dir=str(second.parent))
    report.write(comparison_page(result, difference, str(first), str(second)))


def _document(result: WholeModelResult, opinion: OnnxruntimeVerdict | None, *, disagree: bool) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "status": _DISAGREEMENT if disagree else result.outcome.value,
        "runs": result.runs,
        "rejected": result.rejected,
        "worst_ulps": result.worst_ulps,
        "sentence": result.sentence,
        "as_expected": result.as_expected,
        "first_difference": asdict(result.first_difference) if result.first_difference else None,
        "inputs": [asdict(one) for one in result.inputs],
        **({"onnxruntime": asdict(opinion)} if opinion is not None else {}),
    }


def _show(result: WholeModelResult, opinion: OnnxruntimeVerdict | None, *, is_given: bool, is_quiet: bool) -> None:
    """Print a verdict that nobody contradicts."""
    if result.is_equal:
        if not is_quiet:
            show(f"equal on {_described(result, is_given=is_given)}")
    elif result.agrees:
        complain(f"{result.outcome.value}: equal on {_described(result, is_given=False)}; {result.sentence}")
    else:
        first_difference = [str(result.first_difference)] if result.first_difference else []
        complain(f"{result.outcome.value}: {result.sentence}", *first_difference)
    if opinion is not None and not is_quiet:
        equal = f"equal on {opinion.runs} inputs"
        show(f"onnxruntime: {equal if opinion.agrees else opinion.sentence.removeprefix('onnxruntime ')}")


def _contradicts(result: WholeModelResult, opinion: OnnxruntimeVerdict) -> bool:
    agrees = result.agrees or result.as_expected is False
    return result.outcome is not Outcome.UNPROVEN and agrees != opinion.agrees


def _described(result: WholeModelResult, *, is_given: bool) -> str:
    tried = counted(result.runs, "test input")
    if is_given:
        tried = "the given inputs" if result.runs == 1 else counted(result.runs, "data set")
    rejected = f"; the first model rejected {result.rejected} more" if result.rejected else ""
    within = f", within {result.worst_ulps:g} ULP" if result.worst_ulps else ", bit for bit"
    return f"{tried}{within}{rejected}{', and as expected' if result.as_expected else ''}"
