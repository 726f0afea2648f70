"""OpsetLift: moves ONNX models between opset versions and proves that what it wrote computes the same."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from converter.convert import Conversion, NotEquivalent, convert, convert_version
from converter.destination import UnreachableTarget
from converter.internal_error import InternalError
from converter.reach import Answer, Reach, reach
from converter.refusal import ConversionRefused, Refusal, Why

if TYPE_CHECKING:
    from converter.normalize.normalizing import normalize

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
    """`converter.normalize`, a package that can be called, is imported when it is used: graphsurgeon takes a while."""
    if name == "normalize":
        return import_module("converter.normalize")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
