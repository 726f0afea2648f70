"""Strict, version-exact execution of ONNX models in numpy."""

from opsetlift.evaluator.errors import (
    ComputationFailed,
    EvaluationError,
    InputRejected,
    NotExecutable,
    Place,
    Rejected,
    TooLarge,
)
from opsetlift.evaluator.evaluator import Evaluator, run_node

__all__ = [
    "ComputationFailed",
    "EvaluationError",
    "Evaluator",
    "InputRejected",
    "NotExecutable",
    "Place",
    "Rejected",
    "TooLarge",
    "run_node",
]
