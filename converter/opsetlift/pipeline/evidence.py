"""What stages did to a model, and how each kind of change is proven.

A piece of evidence has the models before and after a stage; `proven` gives its part of the certificate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnx import ModelProto

from opsetlift.conversion.dtype_policy import DtypeChanges, DtypePolicy
from opsetlift.conversion.ir_fitting import Fitting
from opsetlift.conversion.walked import Walked
from opsetlift.facts import ModelFacts
from opsetlift.proof import (
    ConversionProof,
    Destination,
    DtypeProof,
    FixedShapes,
    PassesProof,
    PassRecord,
    Repair,
    VerdictCache,
    prove_conversion,
    prove_dtypes,
)

if TYPE_CHECKING:
    from opsetlift.normalizer import Undoing


@dataclass
class Change:
    """What one stage made of a model."""

    before: ModelProto
    after: ModelProto


@dataclass
class Repaired(Change):
    """What the model left out was written into it."""

    stage = "repair"
    notes: Sequence[str]

    def proven(self, seed: int, base_dir: str) -> Repair:
        """The notes; onnx and every runtime read both models alike."""
        return Repair(list(self.notes))


@dataclass
class OperatorsWritten(Change):
    """Operators of other domains became those of ONNX that they stand for, as the runtime lacks them."""

    stage = "write operators"
    counts: Mapping[str, int]
    """How many nodes of each operator."""
    cache: VerdictCache | None = None

    def proven(self, seed: int, base_dir: str) -> PassesProof:
        """Executed before and after, part by part, where the evaluator has a kernel for each operator."""
        from opsetlift.normalizer import prove_passes

        proof = prove_passes(self.before, self.after, ulps=0, seed=seed, base_dir=base_dir, cache=self.cache)
        return PassesProof([PassRecord(name, 0, count) for name, count in self.counts.items()], [], 1, proof)


@dataclass
class ShapesFixed(Change):
    """Open sizes were fixed. The model computes what it did, on fewer inputs."""

    stage = "fix shapes"
    shapes: Mapping[str, Sequence[int]]

    def proven(self, seed: int, base_dir: str) -> FixedShapes:
        """The sizes: nodes and weights are the same, so there is nothing to execute."""
        return FixedShapes({name: list(sizes) for name, sizes in self.shapes.items()})


@dataclass
class Retyped(Change):
    """Dtypes were changed. This is never exact."""

    stage = "change dtypes"
    policy: DtypePolicy
    changes: DtypeChanges
    converted: ModelProto | None = None
    """The model after the conversion that follows: it is the one that is executed beside the original."""

    def proven(self, seed: int, base_dir: str) -> DtypeProof:
        """How near the results are, on inputs of the whole model."""
        return prove_dtypes(
            self.before,
            self.after,
            self.converted or self.after,
            self.policy.changes,
            interface=self.policy.interface,
            clamped=min(self.changes.clamped.values(), default=0.0),
            seed=seed,
            base_dir=base_dir,
        )


@dataclass
class Converted(Change):
    """The model was taken to other opsets, and then into the form of an IR version and a runtime."""

    stage = "convert"
    walked: Walked
    destination: Destination
    facts: ModelFacts
    """Those of the model before."""
    fitting: Fitting = field(default_factory=Fitting)
    ir_version: int = 0
    """That of the result; of a dry run, the one that it would have."""
    cache: VerdictCache | None = None
    """The verdicts of earlier runs, where the proof may use them."""
    jobs: int = 1
    """How many processes share the proof."""

    def proven(self, seed: int, base_dir: str) -> ConversionProof:
        """Site by site, and everything outside the sites byte for byte."""
        trace, facts = self.walked.trace, self.facts.renewed()
        return prove_conversion(
            self.before,
            self.after,
            trace,
            facts,
            seed=seed,
            destination=self.destination,
            cache=self.cache,
            jobs=self.jobs,
            index=facts.tables.index.graph,
        )


@dataclass
class Normalised(Change):
    """Passes were run, and proven as they ran, so that one that is wrong could be undone."""

    stage = "normalize"
    work: Undoing

    def proven(self, seed: int, base_dir: str) -> PassesProof:
        """What was proven when the passes ran."""
        assert self.work.proof is not None
        passes = [PassRecord(one.name, one.ulps, one.changes) for one in self.work.accounts]
        return PassesProof(passes, [one.name for one in self.work.undone], self.work.rounds, self.work.proof)


@dataclass
class Folded(Normalised):
    """Constants and fixed sizes were folded, for a runtime that does not do so itself."""

    stage = "fold"


@dataclass
class Unrolled(Normalised):
    """Loops became their runs, for a runtime that does not take the Loops."""

    stage = "unroll"


Evidence = Repaired | OperatorsWritten | ShapesFixed | Retyped | Converted | Normalised
