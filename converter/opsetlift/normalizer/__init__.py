"""The graph rewriter: passes over graphsurgeon's graphs, with nothing lost and everything proven.

The package can be called: `opsetlift.normalize(model)` is `normalizing.normalize(model)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from opsetlift.normalizer.bridge import to_graph, to_model
from opsetlift.normalizer.discovery import PassConflict, UnknownPass, chosen_passes, known_passes
from opsetlift.normalizer.fixed_shapes import ShapeFault
from opsetlift.normalizer.patterns import Pattern
from opsetlift.normalizer.pipeline import PassFailed
from opsetlift.normalizer.proving import Proof
from opsetlift.normalizer.report import NormalizationReport, PassReport
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.normalizer.undoing import Fault, PassNotEquivalent, UndonePass
from opsetlift.pipeline.normalize import Normalization, ProofMissing, normalize

__all__ = [
    "Context",
    "Fault",
    "Normalization",
    "NormalizationReport",
    "Pass",
    "PassConflict",
    "PassFailed",
    "PassNotEquivalent",
    "PassReport",
    "Pattern",
    "Proof",
    "ProofMissing",
    "ShapeFault",
    "UndonePass",
    "UnknownPass",
    "chosen_passes",
    "known_passes",
    "normalize",
    "to_graph",
    "to_model",
]


class _CallableModule(ModuleType):
    """The package and its main function have the same name in `converter`, and both can be used by it."""

    def __call__(self, *arguments: Any, **options: Any) -> Normalization:
        return normalize(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
