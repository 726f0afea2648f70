"""ONNX's own node tests of ReduceMin, ReduceMean and Min, taken from their opset to every other."""

import pytest

from benchmarks.corpus import judge
from converter import history
from converter.refusal import Why
from tests.evaluator.cases import node_cases

CASES = [case for case in node_cases() if case.operator in ("ReduceMin", "ReduceMean", "Min")]


def test_there_are_such_tests():
    assert {case.operator for case in CASES} == {"ReduceMin", "ReduceMean", "Min"}
    assert len(CASES) > 30


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_computes_the_expected_outputs_at_every_opset(case):
    for target in range(1, history.latest_opset() + 1):
        result = judge(case, target, "opsetlift", use_onnxruntime=False)
        if result.outcome == "refused":
            assert result.detail.startswith(Why.DTYPE_NOT_AVAILABLE.name), result
            assert "64" in case.name, result
            assert target < 4, result
        else:
            assert result.outcome == "correct", result
