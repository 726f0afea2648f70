"""The graph rewriter: passes over graphsurgeon's graphs, with nothing lost and everything proven."""

from opsetlift.normalizer.bridge import to_graph, to_model
from opsetlift.normalizer.discovery import PassConflict, UnknownPass, chosen_passes, known_passes
from opsetlift.normalizer.fixed_shapes import ShapeFault
from opsetlift.normalizer.patterns import Pattern
from opsetlift.normalizer.pipeline import PassFailed
from opsetlift.normalizer.report import NormalizationReport, PassReport
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.normalizer.undoing import Fault, PassNotEquivalent, UndonePass
from opsetlift.proof import Proof

__all__ = [
    "Context",
    "Fault",
    "NormalizationReport",
    "Pass",
    "PassConflict",
    "PassFailed",
    "PassNotEquivalent",
    "PassReport",
    "Pattern",
    "Proof",
    "ShapeFault",
    "UndonePass",
    "UnknownPass",
    "chosen_passes",
    "known_passes",
    "to_graph",
    "to_model",
]
