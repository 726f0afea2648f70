"""OpsetLift: moves ONNX models between opset versions and proves that what it wrote computes the same."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opsetlift.conversion.destination import UnreachableTarget
from opsetlift.pipeline.convert import Conversion, NotEquivalent, convert, convert_version
from opsetlift.pipeline.reach import Answer, Reach, reach
from opsetlift.rulebook.refusal import ConversionRefused, Refusal, Why
from opsetlift.support.internal_error import InternalError

if TYPE_CHECKING:
    from opsetlift.pipeline.normalize import normalize

__all__ = [
    "Answer",
    "Conversion",
    "ConversionRefused",
    "InternalError",
    "NotEquivalent",
    "Reach",
    "Refusal",
    "UnreachableTarget",
    "Why",
    "convert",
    "convert_version",
    "normalize",
    "reach",
]


def __getattr__(name: str) -> Any:
    """`opsetlift.normalize`, a package that can be called, is imported when it is used: graphsurgeon takes a while."""
    if name == "normalize":
        return import_module("opsetlift.normalizer")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
