"""OpsetLift: moves ONNX models between opset versions and proves that what it wrote computes the same."""

from converter.convert import Conversion, NotEquivalent, UnreachableTarget, convert, convert_version
from converter.refusal import ConversionRefused, Refusal, Why

__all__ = [
    "Conversion",
    "ConversionRefused",
    "NotEquivalent",
    "Refusal",
    "UnreachableTarget",
    "Why",
    "convert",
    "convert_version",
]
