"""All passes on ONNX's own tests: outputs stay, the input is not touched, and normalising twice changes nothing."""

from __future__ import annotations

import zlib
from typing import Any

import onnx
import pytest

from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.pipeline.normalize import normalize
from testing.cases import Case, node_cases
from testing.comparison import mismatch

pytestmark = pytest.mark.slow

PARTS = 16


def outputs(model: onnx.ModelProto, case: Case) -> list[Any] | None:
    """What the evaluator computes; None where it does not take the model."""
    try:
        results = Evaluator(model, strict=False).run(case.inputs())
    except EvaluationError:
        return None
    return [results[info.name] for info in case.model.graph.output]


@pytest.mark.parametrize("part", range(PARTS))
def test_normalising_keeps_outputs_and_settles_at_once(part: int) -> None:
    for case in node_cases():
        if zlib.crc32(case.name.encode()) % PARTS != part:
            continue
        before = case.model.SerializeToString(deterministic=True)
        result = normalize(case.model, prove=False).model
        written = result.SerializeToString(deterministic=True)
        assert case.model.SerializeToString(deterministic=True) == before, case.name
        if written == before:
            continue
        assert normalize(result, prove=False).model.SerializeToString(deterministic=True) == written, case.name
        expected = outputs(case.model, case)
        if expected is None or mismatch(outputs(case.model, case), expected, rtol=0, atol=0) is not None:
            continue
        found = outputs(result, case)
        assert found is not None, case.name
        assert mismatch(found, expected, rtol=0, atol=0) is None, case.name


def test_the_same_input_gives_the_same_bytes() -> None:
    cases = [case for case in node_cases() if case.name.endswith("_expanded")][::12]
    assert len(cases) > 20
    for case in cases:
        copy = onnx.ModelProto.FromString(case.model.SerializeToString())
        one, other = (normalize(model, ["all"], prove=False).model for model in (case.model, copy))
        assert one.SerializeToString() == other.SerializeToString(), case.name
