"""The graph rewriter: passes over graphsurgeon's graphs, with nothing lost and everything proven."""

from opsetlift.normalizer.bridge import to_graph, to_model
from opsetlift.normalizer.discovery import (
    FOLDING,
    UNROLLING,
    PassLike,
    UnknownPass,
    as_pass,
    chosen_passes,
    known_passes,
)
from opsetlift.normalizer.fixed_shapes import ShapeFault, Shapes, with_fixed_shapes
from opsetlift.normalizer.model_state import SIZE_LIMIT
from opsetlift.normalizer.patterns import Pattern
from opsetlift.normalizer.pipeline import MOST_ROUNDS, PassFailed
from opsetlift.normalizer.proving import prove_passes
from opsetlift.normalizer.report import NormalizationReport, constant_bytes, node_count, reports_of
from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.normalizer.undoing import Options, PassNotEquivalent, Undoing

__all__ = [
    "FOLDING",
    "MOST_ROUNDS",
    "SIZE_LIMIT",
    "UNROLLING",
    "Context",
    "NormalizationReport",
    "Options",
    "Pass",
    "PassFailed",
    "PassLike",
    "PassNotEquivalent",
    "Pattern",
    "ShapeFault",
    "Shapes",
    "Undoing",
    "UnknownPass",
    "as_pass",
    "chosen_passes",
    "constant_bytes",
    "known_passes",
    "node_count",
    "prove_passes",
    "reports_of",
    "to_graph",
    "to_model",
    "with_fixed_shapes",
]
