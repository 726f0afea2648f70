"""Prints the second part of docs/disagreements.md: python -m tests.evaluator.disagreements_page."""

from __future__ import annotations

from tests.evaluator import (
    test_against_onnxruntime_math as math_tests,
)
from tests.evaluator import (
    test_against_onnxruntime_ml as ml_tests,
)
from tests.evaluator import (
    test_against_onnxruntime_nn as nn_tests,
)
from tests.evaluator import (
    test_against_onnxruntime_tensor as tensor_tests,
)

HEADING = "## Where the evaluator and onnxruntime 1.31.1 differ"
INTRODUCTION = """\
Written by `python -m tests.evaluator.disagreements_page` from lists in `tests/evaluator/test_against_onnxruntime_*.py`,
which check that each is real. Where one of ONNX's released tests has one of these, its outputs are the evaluator's.
*The evaluator* is right by the text of the version; elsewhere the text is open, or leaves the result undefined."""


def second_part() -> str:
    """A line for each difference, equal ones of several operators together."""
    operators: dict[tuple[str, str], list[str]] = {}
    for tests in (math_tests, tensor_tests, nn_tests, ml_tests):
        for entry in tests.DISAGREEMENTS:
            until = "" if entry.until is None else f" (up to onnxruntime {entry.until[0]}.{entry.until[1] - 1})"
            operators.setdefault((entry.because + until, entry.right), []).append(entry.operator)
    rows = [f"| {', '.join(dict.fromkeys(found))} | {why} | {right} |" for (why, right), found in operators.items()]
    return "\n".join([HEADING, "", INTRODUCTION, "", "| operators | difference | right |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    print(second_part(), end="")
