"""onnxruntime as the second judge of converted models: what it computes, and what it has no kernel for."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import onnx
import onnxruntime

from opsetlift.model.scopes import imported_opsets
from testing.cases import Case
from testing.comparison import mismatch

OLDEST_OPSET = 7
"""The oldest opset of ai.onnx that onnxruntime's documentation says it supports."""


class NoKernel(Exception):
    """onnxruntime ran the original and has no kernel for a node of the converted model."""


def disagreement(case: Case, model: onnx.ModelProto, inputs: dict[str, Any], expected: list[Any]) -> str | None:
    """What differs between the shipped outputs and those of `model`; None where nothing does, or where it cannot judge.

    It cannot where it does not reproduce the original, or does not implement the opset. Raises NoKernel.
    """
    if not OLDEST_OPSET <= imported_opsets(model.opset_import).get("", 1) <= newest_opset():
        return None
    try:
        if mismatch(run_in_onnxruntime(case.model, inputs), expected, rtol=case.rtol, atol=case.atol):
            return None
    except Exception:
        return None
    try:
        found = run_in_onnxruntime(model, inputs)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error):
            raise NoKernel(" ".join(re.findall(r"implementation for (\w+\(\d+\))", str(error))) or str(error)) from None
        return str(error)[:200]
    return mismatch(found, expected, rtol=case.rtol, atol=case.atol)


@cache
def newest_opset() -> int:
    """The newest opset of ai.onnx that the installed onnxruntime loads."""
    return max(opset for opset in range(OLDEST_OPSET, onnx.defs.onnx_opset_version() + 1) if _loads(opset))


def _loads(opset: int) -> bool:
    head = f'<ir_version: 8, opset_import: ["": {opset}]>'
    try:
        _session(onnx.parser.parse_model(f"{head} identity (float[1] x) => (float[1] y) {{ y = Identity(x) }}"))
    except Exception:
        return False
    return True


def _session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run_in_onnxruntime(model: onnx.ModelProto, inputs: dict[str, Any]) -> list[Any]:
    """The outputs of a model; onnxruntime raises its own errors."""
    outputs: list[Any] = _session(model).run(None, inputs)
    return outputs
