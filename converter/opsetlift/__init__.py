"""OpsetLift: moves ONNX models between opset versions and proves that what it wrote computes the same."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opsetlift.batch.planning import NoModels
    from opsetlift.batch.running import convert_models
    from opsetlift.conversion.destination import UnreachableTarget
    from opsetlift.conversion.dtype_policy import UnusableDtypes
    from opsetlift.model.files import ModelFileError
    from opsetlift.normalizer import Context, Pass, PassFailed, PassNotEquivalent, Pattern, ShapeFault, UnknownPass
    from opsetlift.pipeline.convert import Conversion, convert, convert_version
    from opsetlift.pipeline.equivalence import prove_models
    from opsetlift.pipeline.normalize import Normalization, ProofMissing, normalize
    from opsetlift.pipeline.reach import Answer, Reach, reach
    from opsetlift.pipeline.verification import CertificateRefused, verify
    from opsetlift.proof import Certificate, NotEquivalent, UnusableData
    from opsetlift.rulebook.explain import UnknownOperator
    from opsetlift.support.errors import OpsetLiftError
    from opsetlift.support.internal_error import InternalError
    from opsetlift.support.plugins import PluginFault
    from opsetlift.support.refusal import ConversionRefused, Refusal, Why
    from opsetlift.targets import TargetFileError, UnknownTarget

__version__: str

_PLACES = {
    "opsetlift.batch.planning": ("NoModels",),
    "opsetlift.batch.running": ("convert_models",),
    "opsetlift.conversion.destination": ("UnreachableTarget",),
    "opsetlift.conversion.dtype_policy": ("UnusableDtypes",),
    "opsetlift.model.files": ("ModelFileError",),
    "opsetlift.normalizer": (
        "Context",
        "Pass",
        "PassFailed",
        "PassNotEquivalent",
        "Pattern",
        "ShapeFault",
        "UnknownPass",
    ),
    "opsetlift.pipeline.convert": ("Conversion", "convert", "convert_version"),
    "opsetlift.pipeline.equivalence": ("prove_models",),
    "opsetlift.pipeline.normalize": ("Normalization", "ProofMissing", "normalize"),
    "opsetlift.pipeline.reach": ("Answer", "Reach", "reach"),
    "opsetlift.pipeline.verification": ("CertificateRefused", "verify"),
    "opsetlift.proof": ("Certificate", "NotEquivalent", "UnusableData"),
    "opsetlift.rulebook.explain": ("UnknownOperator",),
    "opsetlift.support.errors": ("OpsetLiftError",),
    "opsetlift.support.internal_error": ("InternalError",),
    "opsetlift.support.plugins": ("PluginFault",),
    "opsetlift.support.refusal": ("ConversionRefused", "Refusal", "Why"),
    "opsetlift.targets": ("TargetFileError", "UnknownTarget"),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "Answer",
    "Certificate",
    "CertificateRefused",
    "Context",
    "Conversion",
    "ConversionRefused",
    "InternalError",
    "ModelFileError",
    "NoModels",
    "Normalization",
    "NotEquivalent",
    "OpsetLiftError",
    "Pass",
    "PassFailed",
    "PassNotEquivalent",
    "Pattern",
    "PluginFault",
    "ProofMissing",
    "Reach",
    "Refusal",
    "ShapeFault",
    "TargetFileError",
    "UnknownOperator",
    "UnknownPass",
    "UnknownTarget",
    "UnreachableTarget",
    "UnusableData",
    "UnusableDtypes",
    "Why",
    "__version__",
    "convert",
    "convert_models",
    "convert_version",
    "normalize",
    "prove_models",
    "reach",
    "verify",
]


def __getattr__(name: str) -> Any:
    """What is public is imported when it is used: onnx and graphsurgeon take most of a second."""
    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("opsetlift")
        return globals()[name]
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_MODULE_OF[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
