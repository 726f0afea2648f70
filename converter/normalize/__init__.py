"""The graph rewriter: passes over graphsurgeon's graphs, with nothing lost and everything proven.

The package can be called: `converter.normalize(model)` is `normalizing.normalize(model)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from converter.normalize.bridge import to_graph, to_model
from converter.normalize.discovery import PassConflict, UnknownPass, chosen_passes, known_passes
from converter.normalize.fixed_shapes import ShapeFault
from converter.normalize.normalizing import Normalization, ProofMissing, normalize
from converter.normalize.patterns import Pattern
from converter.normalize.pipeline import PassFailed
from converter.normalize.proving import Proof
from converter.normalize.report import NormalizationReport, PassReport
from converter.normalize.rewriting import Context, Pass
from converter.normalize.undoing import Fault, PassNotEquivalent, UndonePass

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
