"""ONNX's own node tests of ReduceMin, ReduceMean and Min, taken from their opset to every other."""

import pytest

from opsetlift.specification import history
from opsetlift.support.refusal import Why
from testing.cases import Case, node_cases
from testing.corpus import judge

pytestmark = pytest.mark.slow

CASES = [case for case in node_cases() if case.operator in ("ReduceMin", "ReduceMean", "Min")]


def test_there_are_such_tests():
    assert {case.operator for case in CASES} == {"ReduceMin", "ReduceMean", "Min"}
    assert len(CASES) > 30


def may_be_refused(case: Case, target: int, detail: str) -> bool:
    """Axes computed at run time below opset 6, and the minimum of 64-bit integers below 4."""
    if case.operator == "Min":
        return "int64" in case.name and target < 4 and detail.startswith(Why.DTYPE_NOT_AVAILABLE.name)
    takes_axes = len(case.model.graph.input) > 1
    if target < 5:
        return takes_axes and detail.startswith(Why.INPUT_NOT_CONSTANT.name)
    return takes_axes and target == 5 and "Tile accepts only floats below opset 6" in detail


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_computes_the_expected_outputs_at_every_opset(case):
    for target in range(1, history.latest_opset() + 1):
        result = judge(case, target, "opsetlift", use_onnxruntime=False)
        if result.outcome == "refused":
            assert may_be_refused(case, target, result.detail), result
        else:
            assert result.outcome == "correct", result
