"""`opsetlift prove`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from zipfile import BadZipFile

import numpy
from onnx import ModelProto

from opsetlift.cli.errors import DONE, NOT_EQUIVALENT, REFUSED, UsageFault
from opsetlift.cli.output import complain, show, show_json
from opsetlift.cli.progress import progress_shown
from opsetlift.cli.reports import ReportTarget
from opsetlift.model.arrays import Array
from opsetlift.model.files import check_regular, load_model, validate_model
from opsetlift.proof import (
    OnnxruntimeMissing,
    OnnxruntimeVerdict,
    Outcome,
    WholeModelResult,
    ask_onnxruntime,
    prove_models,
)
from opsetlift.specification.dtypes import dtype_of_type, numpy_dtype, type_string
from opsetlift.support.text import printable

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
    runs: int,
    seed: int,
    ulps: int,
    as_json: bool,
    asks_onnxruntime: bool = False,
    is_quiet: bool = False,
    report: ReportTarget,
) -> int:
    """Execute two models on the same inputs, and print whether they compute the same.

    Args:
        first: The reference model.
        second: The model to compare with it.
        inputs: An .npz with an array for each input; by default inputs are drawn.
        runs: Minimum number of drawn inputs.
        seed: Random seed.
        ulps: Allowed difference, in units in the last place.
        as_json: Print JSON.
        asks_onnxruntime: Also run both models in onnxruntime. If it disagrees, there is no verdict.
        is_quiet: Print errors only.
        report: Where the report goes, if one is asked for.

    Returns:
        The exit status.
    """
    models = [load_model(path) for path in (first, second)]
    for model in models:
        validate_model(model)
    given = read_inputs(inputs, models[0]) if inputs is not None else None
    with progress_shown(is_wanted=not is_quiet):
        result = prove_models(first, second, inputs=given, runs=runs, seed=seed, ulps=ulps)
    if report.is_asked_for:
        from opsetlift.reporting.differences import difference_of
        from opsetlift.reporting.pages import comparison_page

        folders = str(first.parent), str(second.parent)
        difference = difference_of(*models, base_dir=folders[0], other_dir=folders[1])
        report.write(comparison_page(result, difference, str(first), str(second)))
    opinion = None
    if asks_onnxruntime:
        try:
            opinion = ask_onnxruntime(first, second, inputs=given, runs=runs, seed=seed, ulps=ulps)
        except OnnxruntimeMissing as error:
            raise UsageFault(str(error)) from error
    disagree = opinion is not None and opinion.agrees is not None and _contradicts(result, opinion)
    if as_json:
        show_json(
            {
                "status": _DISAGREEMENT if disagree else result.outcome.value,
                "runs": result.runs,
                "rejected": result.rejected,
                "worst_ulps": result.worst_ulps,
                "sentence": result.sentence,
                "inputs": [asdict(one) for one in result.inputs],
                **({"onnxruntime": asdict(opinion)} if opinion is not None else {}),
            }
        )
    elif disagree:
        assert opinion is not None
        ours = result.outcome.value if result.agrees else result.sentence
        complain(f"{_DISAGREEMENT}: OpsetLift: {ours}; onnxruntime: {opinion.sentence or 'equal'}")
    elif result.is_equal and not is_quiet:
        show(f"equal on {_described(result, is_given=given is not None)}")
    elif result.agrees and not result.is_equal:
        complain(f"{result.outcome.value}: equal on {_described(result, is_given=False)}; {result.sentence}")
    elif not result.is_equal:
        complain(f"{result.outcome.value}: {result.sentence}")
    if opinion is not None and not disagree and not as_json and not is_quiet:
        runs_there = (
            f"equal on {opinion.runs} inputs" if opinion.agrees else opinion.sentence.removeprefix("onnxruntime ")
        )
        show(f"onnxruntime: {runs_there}")
    return REFUSED if disagree else _STATUS[result.outcome]


def _contradicts(result: WholeModelResult, opinion: OnnxruntimeVerdict) -> bool:
    return result.outcome is not Outcome.UNPROVEN and result.agrees != opinion.agrees


def _described(result: WholeModelResult, *, is_given: bool) -> str:
    tried = "the given inputs" if is_given else f"{result.runs} test input{'s' * (result.runs != 1)}"
    rejected = f"; the first model rejected {result.rejected} more" if result.rejected else ""
    within = f", within {result.worst_ulps:g} ULP" if result.worst_ulps else ", bit for bit"
    return tried + within + rejected


def read_inputs(path: Path, model: ModelProto) -> dict[str, Array]:
    """The arrays of an .npz, by the names of the model's inputs. Raises UsageFault."""
    arrays = _read_archive(path)
    initialized = {tensor.name for tensor in model.graph.initializer}
    types = {value.name: type_string(value.type) or "" for value in model.graph.input}
    if missing := types.keys() - initialized - arrays.keys():
        raise UsageFault(f"{path}: input {min(missing)!r} has no array")
    if unknown := arrays.keys() - types.keys():
        raise UsageFault(f"{path}: array {printable(min(unknown))!r} belongs to no input of the first model")
    return {name: _as_dtype(array, dtype_of_type(types[name])) for name, array in arrays.items()}


def _read_archive(path: Path) -> dict[str, Array]:
    check_regular(path)
    try:
        with numpy.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise UsageFault(f"{path}: no such file") from error
    except (OSError, ValueError, EOFError, BadZipFile, AttributeError, TypeError) as error:
        raise UsageFault(f"{path}: not a readable .npz file of arrays") from error


def _as_dtype(array: Array, dtype: str | None) -> Array:
    """Text as objects, and what numpy's format has no name for (bfloat16, float8) as the dtype of the input."""
    if array.dtype.kind == "U":
        return array.astype(object)
    if array.dtype.kind == "V" and dtype is not None and array.dtype.itemsize == numpy_dtype(dtype).itemsize:
        return array.view(numpy_dtype(dtype))
    return array
