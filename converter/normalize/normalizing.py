"""The main job of the normaliser: load, fix shapes, run the passes, check, prove."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import onnx_graphsurgeon as gs
from onnx import ModelProto, ValueInfoProto

from converter.arguments import whole_number
from converter.convert import Conversion, ModelOrPath, NotEquivalent, convert
from converter.facts import ModelFacts
from converter.facts.inference import overrides_operator
from converter.history import AI_ONNX, canonical_domain
from converter.ir_version import needed_by_content
from converter.model_file import ModelFileError, check_model, load_model, settled, validate_model, without_weights
from converter.normalize.bridge import to_graph, to_model
from converter.normalize.discovery import PassLike, chosen_passes
from converter.normalize.fixed_shapes import Shapes, with_fixed_shapes
from converter.normalize.model_state import SIZE_LIMIT, ModelState
from converter.normalize.pipeline import MOST_ROUNDS, PassFailed, Pipeline
from converter.normalize.proving import Proof, prove_passes
from converter.normalize.report import NormalizationReport, constant_bytes, node_count, reports_of
from converter.normalize.rewriting import FIRST_IR_VERSION_WITH_CONSTANTS, Pass
from converter.prove import Outcome
from converter.targets import Target, find_target


class PassNotEquivalent(NotEquivalent):
    """A pass has changed what the model computes; `pass_name` says which, `proof` on what input. Nothing is written."""

    def __init__(self, proof: Proof, pass_name: str) -> None:
        self.proof = proof
        self.pass_name = pass_name
        where = f"pass {pass_name}" if pass_name else "the passes together"
        Exception.__init__(self, f"{where}: {proof.reason}")

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"pass": self.pass_name, "proof": self.proof.as_dict()}


class ProofMissing(Exception):
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

    Raises PassNotEquivalent where a pass changed what the model computes, ProofMissing where `require_proof` asks for a
    proof and there is none, PassFailed, UnknownPass, ShapeFault, ModelFileError, and what `convert` raises.
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
    source, notes = settled(source)
    notes += validate_model(source) if check else []
    conversion = None
    if target is not None:
        target = find_target(target) if isinstance(target, str) else target
        conversion = convert(source, target=target, prove=prove, check=check, seed=seed, base_dir=base_dir)
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
    work = _Work(source, chosen, target, size_limit, base_dir, refines_outputs=bool(fix_shapes))
    try:
        model, pipeline = work.carried_out()
    except Exception:
        if check:
            # A pass that stumbles over a broken model is not to blame; onnx says what is wrong with it.
            check_model(source, base_dir, original=source)
        raise
    if check:
        notes += work.check(model, pipeline)
    proof = work.proof_of(model, pipeline, seed) if prove or require_proof else None
    if proof is not None and require_proof and not proof.is_proven:
        raise ProofMissing(proof)
    if target is not None:
        # The passes may have asked for an IR version that the target does not take.
        model = convert(model, target=target, prove=prove, check=check, seed=seed, base_dir=base_dir).model
    if not pipeline.has_settled:
        notes.append(f"the passes did not settle in {MOST_ROUNDS} rounds; normalising again may change more")
    return Normalization(model, _report(source, model, pipeline, proof, notes), proof, conversion)


@dataclass(frozen=True)
class _Work:
    """One model and the passes to run over it, which always does the same."""

    source: ModelProto
    passes: Sequence[Pass]
    target: Target | None
    size_limit: int
    base_dir: str
    refines_outputs: bool

    def carried_out(self, most_changes: int | None = None) -> tuple[ModelProto, Pipeline]:
        """The model after the passes, or after so many runs of passes that changed something."""
        graph = to_graph(self.source, self.base_dir)
        if graph.ir_version < FIRST_IR_VERSION_WITH_CONSTANTS:
            # Whatever the model states: in the end it will be of this version.
            graph.ir_version = max(graph.ir_version, needed_by_content(self.source).ir_version)
        state = ModelState(graph, base_dir=self.base_dir, target=self.target, size_limit=self.size_limit)
        pipeline = Pipeline(state, self.passes, most_changes)
        pipeline.run()
        return self._finished(to_model(graph)), pipeline

    def _finished(self, model: ModelProto) -> ModelProto:
        """The model with the interface that the caller knows, and an IR version that has all that it uses."""
        before = {info.name: info for info in (*self.source.graph.input, *self.source.graph.output)}
        for info in (*model.graph.input, *model.graph.output):
            info.CopyFrom(before[info.name])
        if self.refines_outputs:
            facts = ModelFacts(without_weights(model, self.base_dir), self.base_dir).graph
            for info in model.graph.output:
                _refine(info, facts.shape(info.name))
        model.ir_version = max(model.ir_version, needed_by_content(model).ir_version)
        return model

    def check(self, model: ModelProto, pipeline: Pipeline) -> list[str]:
        """Let onnx check the model; gives what it lets through. Raises PassFailed, naming the pass, where onnx accepts
        the original and not the result, and ModelFileError where it accepts neither."""
        try:
            return check_model(model, self.base_dir, original=self.source)
        except ModelFileError as error:
            check_model(self.source, self.base_dir, original=self.source)
            name = self._first_guilty(pipeline, lambda found: not self._is_accepted(found))
            objection = error.__cause__ or error
            raise PassFailed(f"pass {name}: the model is not valid any more: {objection}") from error

    def _is_accepted(self, model: ModelProto) -> bool:
        try:
            check_model(model, self.base_dir, original=self.source)
        except ModelFileError:
            return False
        return True

    def proof_of(self, model: ModelProto, pipeline: Pipeline, seed: int) -> Proof:
        """The proof that the passes kept the meaning. Raises PassNotEquivalent, naming the pass that did not."""
        ulps = sum(account.ulps for account in pipeline.accounts if account.changes)
        prove = partial(prove_passes, self.source, ulps=ulps, seed=seed, base_dir=self.base_dir)
        proof = prove(model)
        if proof.outcome is not Outcome.DIFFERENT:
            return proof
        proofs = [proof]

        def differs(found: ModelProto) -> bool:
            other = prove(found)
            if other.outcome is Outcome.DIFFERENT:
                proofs.append(other)
            return other.outcome is Outcome.DIFFERENT

        name = self._first_guilty(pipeline, differs)
        raise PassNotEquivalent(proofs[-1], name)

    def _first_guilty(self, pipeline: Pipeline, is_guilty: Callable[[ModelProto], bool]) -> str:
        """The pass that made a model guilty which is so in the end, by bisection of the runs that changed something."""
        innocent, guilty = 0, len(pipeline.changed_by)
        while guilty - innocent > 1:
            middle = (innocent + guilty) // 2
            if is_guilty(self.carried_out(middle)[0]):
                guilty = middle
            else:
                innocent = middle
        return pipeline.changed_by[guilty - 1] if pipeline.changed_by else ""


def _refine(info: ValueInfoProto, shape: Sequence[int | str | None] | None) -> None:
    """Fill sizes that have become known into the declared shape of an output."""
    if shape is None or not info.type.HasField("tensor_type"):
        return
    declared = info.type.tensor_type.shape
    if not info.type.tensor_type.HasField("shape"):
        declared.SetInParent()
        for _ in shape:
            declared.dim.add()
    for dim, size in zip(declared.dim, shape, strict=False):
        if isinstance(size, int) and not dim.HasField("dim_value"):
            dim.dim_value = size


def _report(
    source: ModelProto, model: ModelProto, pipeline: Pipeline, proof: Proof | None, notes: Sequence[str]
) -> NormalizationReport:
    return NormalizationReport(
        passes=reports_of(pipeline.accounts, proof),
        nodes_before=node_count(source),
        nodes_after=node_count(model),
        bytes_before=constant_bytes(source),
        bytes_after=constant_bytes(model),
        rounds=pipeline.rounds,
        notes=tuple(notes),
    )
