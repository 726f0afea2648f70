"""What onnx raises for nodes and models that it cannot make sense of."""

from __future__ import annotations

from typing import Final

import onnx
from google.protobuf.message import DecodeError, EncodeError

ONNX_ERRORS: Final = (
    onnx.checker.ValidationError,
    onnx.shape_inference.InferenceError,
    onnx.defs.SchemaError,
    DecodeError,
    EncodeError,
    # What C++'s runtime_error, invalid_argument and length_error, out_of_range and overflow_error become.
    RuntimeError,
    ValueError,
    IndexError,
    OverflowError,
)
"""To be caught around nothing but the call of onnx: all else that is raised there is a defect of ours."""
