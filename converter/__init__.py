"""OpsetLift: moves ONNX models between opset versions and proves that what it wrote computes the same."""

from converter.convert import Conversion, NotEquivalent, convert, convert_version
from converter.destination import UnreachableTarget
from converter.reach import Answer, Reach, reach
from converter.refusal import ConversionRefused, Refusal, Why

__all__ = [
    "Answer",
    "Conversion",
    "ConversionRefused",
    "NotEquivalent",
    "Reach",
    "Refusal",
    "UnreachableTarget",
    "Why",
    "convert",
    "convert_version",
    "reach",
]
