"""Strict, version-exact execution of ONNX models in numpy."""

from opsetlift.evaluator.constant_results import constant_results
from opsetlift.evaluator.declared_types import Checked
from opsetlift.evaluator.errors import (
    ComputationFailed,
    EvaluationError,
    NotExecutable,
    Rejected,
    TooLarge,
)
from opsetlift.evaluator.evaluator import Evaluator, run_node
from opsetlift.evaluator.gate import Illegal, gate_of
from opsetlift.evaluator.kernels.registry import (
    find_body_inputs,
    find_kernel,
    keeps_form,
    may_read_only_shapes,
    reads_no_elements,
    reads_only_shapes,
)
from opsetlift.evaluator.many_runs import many_runs
from opsetlift.evaluator.open_results import OTHER_VALUES, OpenResults
from opsetlift.evaluator.same_code import same_code
from opsetlift.evaluator.values import attribute_type, sparse_tensor_value, tensor_value

__all__ = [
    "OTHER_VALUES",
    "Checked",
    "ComputationFailed",
    "EvaluationError",
    "Evaluator",
    "Illegal",
    "NotExecutable",
    "OpenResults",
    "Rejected",
    "TooLarge",
    "attribute_type",
    "constant_results",
    "find_body_inputs",
    "find_kernel",
    "gate_of",
    "keeps_form",
    "many_runs",
    "may_read_only_shapes",
    "reads_no_elements",
    "reads_only_shapes",
    "run_node",
    "same_code",
    "sparse_tensor_value",
    "tensor_value",
]
