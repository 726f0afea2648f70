"""ONNX's own tests at other opsets: each is converted, checked by onnx.checker and executed on its shipped inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy
import onnx

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.model.scopes import imported_opsets
from opsetlift.rulebook.routes import operators_taking
from opsetlift.specification.dtypes import type_string
from testing.cases import Case, cases_of_releases, folder_cases, node_cases
from testing.comparison import mismatch
from testing.onnxruntime_judge import NoKernel, disagreement

UP_TARGETS = (7, 9, 11, 13, 15, 17, 18, 21, 23, 25, 28)


DOWN_TARGETS = (1, 4, 6, 7, 9, 11, 13, 15, 17, 18, 21, 23, 25)


NO_KERNEL = "onnxruntime has no kernel for "


@dataclass(frozen=True)
class Result:
    """What became of one test at one target."""

    name: str
    source: int
    target: int
    outcome: str
    detail: str = ""
    interface_exists: bool = True
    """Whether any operator at the target takes the types of the model's inputs and outputs at all."""

    @property
    def direction(self) -> str:
        """Either up, to a newer opset, or down."""
        return "up" if self.target > self.source else "down"


@cache
def all_cases(releases: Path | None) -> tuple[Case, ...]:
    """The node tests and the suites of files, those that have an opset of ai.onnx."""
    found = cases_of_releases(releases) if releases else (*node_cases(), *folder_cases())
    return tuple(case for case in found if case.opset)


def interface_exists(model: onnx.ModelProto, target: int) -> bool:
    """Whether some operator at `target` takes each of the interface's types."""
    types = {type_string(info.type) for info in (*model.graph.input, *model.graph.output)}
    return all(one is not None and operators_taking(one, target, "") for one in types)


def ours(case: Case, target: int) -> onnx.ModelProto:
    """The model of a test at another opset, converted by OpsetLift without proof or check."""
    return convert(case.model, to=target, prove=False, check=False, base_dir=case.base_dir).model


def peer(case: Case, target: int) -> onnx.ModelProto:
    """The model of a test at another opset, converted by onnx.version_converter."""
    return onnx.version_converter.convert_version(case.model, target)


def computes_the_same(case: Case, model: onnx.ModelProto, use_onnxruntime: bool) -> str | None:
    """What is wrong with a converted model's outputs; None where nothing is."""
    for data_set in range(len(case.data_sets)):
        inputs, expected = case.inputs(data_set), case.expected(data_set)
        results = list(Evaluator(model, base_dir=case.base_dir or None).run(inputs).values())
        tolerances = {"rtol": _tolerance(case, expected), "atol": absolute_tolerance(case, expected)}
        if found := mismatch(results, expected, **tolerances):
            return found
        if use_onnxruntime and (found := disagreement(case, model, inputs, expected)):
            return f"onnxruntime: {found}"
    return None


def _tolerance(case: Case, expected: list[Any]) -> float:
    """The test's own, but for float16 two units in the last place, which 1e-3 does not always cover."""
    halves = any(getattr(value, "dtype", None) == numpy.float16 for value in expected)
    return max(case.rtol, 2.0**-9) if halves else case.rtol


def absolute_tolerance(case: Case, expected: list[Any]) -> float:
    """The test's own, but for transforms one unit in the last place of the largest element.

    Each of their elements has the rounding errors of all: where ONNX's fast algorithm leaves 1.9e-7 of 54 for what
    should be 0, another one leaves something else.
    """
    if case.operator not in ("DFT", "STFT"):
        return case.atol
    return max(case.atol, *(float(numpy.spacing(numpy.abs(value).max(initial=0))) for value in expected))


def checker_complaint(model: onnx.ModelProto) -> str:
    """What onnx.checker's full check has against a model; it also has something against one of ONNX's own tests."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return str(error).strip()[:300]
    return ""


def judge(
    case: Case,
    target: int,
    converter: str,
    use_onnxruntime: bool,
    complaint: Callable[[Case, onnx.ModelProto], str] | None = None,
) -> Result:
    """Take one test to one target; `complaint` says what else is wrong with the result, where something is."""

    def result(outcome: str, detail: str = "") -> Result:
        return Result(case.name, case.opset, target, outcome, detail, interface_exists(case.model, target))

    try:
        model = (ours if converter == "opsetlift" else peer)(case, target)
    except ConversionRefused as refused:
        first = refused.refusals[0]
        return result("refused", f"{first.why.name} {first.operator} [{first.transition}] {first.sentence}")
    except Exception as error:
        outcome = "refused" if converter == "peer" else "crashed"
        return result(outcome, f"{type(error).__name__}: {str(error)[:200]}")
    if imported_opsets(model.opset_import).get("") != target:
        return result("wrong", "the opset is another than was asked for")
    if (invalid := checker_complaint(model)) and not checker_complaint(case.model):
        return result("invalid", invalid)
    if complaint and (found := complaint(case, model)):
        return result("wrong", found)
    try:
        different = computes_the_same(case, model, use_onnxruntime)
    except NoKernel as missing:
        return result("correct", f"{NO_KERNEL}{missing}")
    except EvaluationError as error:
        return result("wrong", f"{type(error).__name__}: {error}"[:300])
    except Exception as error:
        return result("crashed", f"{type(error).__name__}: {str(error)[:200]}")
    return result("wrong", different) if different else result("correct")


def reproducible(case: Case) -> bool:
    """Whether our evaluator reproduces the test at its own opset; otherwise it cannot judge a conversion of it."""
    try:
        return computes_the_same(case, case.model, False) is None
    except Exception:
        return False


def kind_of(case: Case) -> object:
    """What tells tests apart that are worth converting both: operators, attributes, types; not values or sizes."""
    graph = case.model.graph
    nodes = [(node.op_type, [bool(name) for name in node.input], len(node.output)) for node in graph.node]
    attributes = [sorted((one.name, one.type) for one in node.attribute) for node in graph.node]
    types = [type_string(info.type) for info in (*graph.input, *graph.output)]
    return repr((case.opset, nodes, attributes, types))


def chosen_cases(releases: Path | None, only: str, *, expanded: bool, all_kinds: bool) -> list[int]:
    """The places of the tests to take in all_cases."""
    found: dict[object, int] = {}
    for index, case in enumerate(all_cases(releases)):
        if (only in case.name or only == case.operator) and (expanded or "_expanded" not in case.name):
            found.setdefault(index if all_kinds else kind_of(case), index)
    return list(found.values())
