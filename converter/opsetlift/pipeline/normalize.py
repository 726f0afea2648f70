"""The main job of the normaliser: load, fix shapes, run the passes, check, prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import onnx_graphsurgeon as gs
from onnx import ModelProto

from opsetlift.facts.inference import overrides_operator
from opsetlift.model.files import load_model, repaired, validate_model
from opsetlift.normalizer.bridge import to_graph, to_model
from opsetlift.normalizer.discovery import PassLike, chosen_passes
from opsetlift.normalizer.fixed_shapes import Shapes, with_fixed_shapes
from opsetlift.normalizer.model_state import SIZE_LIMIT
from opsetlift.normalizer.pipeline import MOST_ROUNDS, PassFailed
from opsetlift.normalizer.proving import Proof
from opsetlift.normalizer.report import NormalizationReport, constant_bytes, node_count, reports_of
from opsetlift.normalizer.undoing import Options, Undoing
from opsetlift.pipeline.convert import Conversion, ModelOrPath, convert
from opsetlift.specification.history import AI_ONNX, canonical_domain
from opsetlift.support.arguments import whole_number
from opsetlift.support.errors import OpsetLiftError
from opsetlift.targets import Target, find_target


class ProofMissing(OpsetLiftError):
    """Proof was required, and there is none: the model cannot be executed. `proof` says why."""

    def __init__(self, proof: Proof) -> None:
        self.proof = proof
        super().__init__(proof.reason)


@dataclass(frozen=True)
class Normalization:
    """A normalised model, the report of what was done and, unless it was declined, the proof."""

    model: ModelProto
    report: NormalizationReport
    proof: Proof | None
    conversion: Conversion | None = None
    """The conversion before the passes, if there was one; its certificate is about its model, not this one."""

    @cached_property
    def graph(self) -> gs.Graph:
        """The model as a `gs.Graph`, everything that such a graph has no place for riding along."""
        return to_graph(self.model)


def normalize(
    model_or_path: ModelOrPath | gs.Graph,
    passes: Sequence[PassLike] | None = None,
    *,
    target: str | Target | None = None,
    fix_shapes: Shapes | None = None,
    prove: bool = True,
    require_proof: bool = False,
    check: bool = True,
    size_limit: int = SIZE_LIMIT,
    seed: int = 0,
    base_dir: str = "",
) -> Normalization:
    """Bring a model into the form in which it is to be deployed; the model (or file, or graph) stays as it is.

    `passes` are names, `Pass` objects, functions over a `gs.Graph` (and a `Context`, if they take one) or patterns, in
    the order in which they run; "default" and "all" stand for several, and "-name" leaves one out. `target` is the
    runtime that the model is for, to which it is converted first. `fix_shapes` gives sizes to symbols
    ({"batch": 1}) and shapes to inputs ({"x": (1, 3, 224, 224)}). A computed value of more than `size_limit` bytes is
    written down only where it takes no more room than what it is computed from. External data is looked for in
    `base_dir`, by default the folder of the file.

    A pass of our own whose result does not stand (it raised, the proof or onnx's checker failed) is undone, and the
    report says so (`report.undone`); the others go on. Passes of the caller are not: PassFailed and PassNotEquivalent
    are about them.

    Raises PassNotEquivalent where a pass of the caller changed what the model computes, ProofMissing where
    `require_proof` asks for a proof and there is none, PassFailed, UnknownPass, ShapeFault, ModelFileError, and what
    `convert` raises.
    """
    seed, size_limit = whole_number(seed, "the seed", least=0), whole_number(size_limit, "the limit of sizes")
    chosen = chosen_passes(passes)
    if isinstance(model_or_path, ModelProto):
        source = model_or_path
    elif isinstance(model_or_path, gs.Graph):
        source = to_model(model_or_path, in_order=True)
    else:
        source = load_model(Path(model_or_path))
        base_dir = base_dir or str(Path(model_or_path).absolute().parent)
    source, notes = repaired(source)
    notes += validate_model(source) if check else []
    conversion = fitted = None
    if target is not None:
        target = find_target(target) if isinstance(target, str) else target
        fitted = partial(convert, target=target, prove=prove, check=check, seed=seed, base_dir=base_dir)
        conversion = fitted(source)
        source = conversion.model
    if fix_shapes:
        source = with_fixed_shapes(source, fix_shapes)
    if chosen and any(training.update_binding for training in source.training_info):
        raise PassFailed("a model with training info is not normalised: what would be folded changes while it trains")
    overriding = next(
        (one for one in source.functions if overrides_operator(one) and canonical_domain(one.domain) == AI_ONNX), None
    )
    if chosen and overriding is not None:
        raise PassFailed(
            f"a model with a function {overriding.name!r} in the place of ONNX's own operator is not normalised: "
            "passes know operators by their names"
        )
    fit = None if fitted is None else lambda model: fitted(model).model
    options = Options(target, fit, size_limit, base_dir, bool(fix_shapes), check, prove or require_proof, seed)
    work = Undoing(source, chosen, options)
    model = work.run()
    notes += work.notes
    if work.proof is not None and require_proof and not work.proof.is_proven:
        raise ProofMissing(work.proof)
    if not work.has_settled:
        notes.append(f"the passes did not settle in {MOST_ROUNDS} rounds; normalising again may change more")
    return Normalization(model, _report(source, model, work, notes), work.proof, conversion)


def _report(source: ModelProto, model: ModelProto, work: Undoing, notes: Sequence[str]) -> NormalizationReport:
    return NormalizationReport(
        passes=reports_of(work.accounts, work.proof),
        nodes_before=node_count(source),
        nodes_after=node_count(model),
        bytes_before=constant_bytes(source),
        bytes_after=constant_bytes(model),
        rounds=work.rounds,
        notes=tuple(notes),
        undone=tuple(work.undone),
    )
