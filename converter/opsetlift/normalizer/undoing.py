"""Runs passes until what comes of them stands: a pass of our own that is to blame where it does not is left out.

Passes always do the same to the same model. So a pass is undone by running all of them again from the start, without
it from the run on that was wrong: nothing of that run is left, and the others work on the model as it was before.
Passes of the caller are never left out: what they get wrong stops the normalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any

from onnx import ModelProto, ValueInfoProto

from opsetlift.facts import ModelFacts
from opsetlift.model.files import ModelFileError, check_model, without_weights
from opsetlift.model.ir_version import needed_by_content
from opsetlift.normalizer.bridge import to_graph, to_model
from opsetlift.normalizer.model_state import ModelState
from opsetlift.normalizer.pipeline import Account, Change, PassFailed, Pipeline, RunFailed
from opsetlift.normalizer.proving import prove_passes
from opsetlift.normalizer.rewriting import FIRST_IR_VERSION_WITH_CONSTANTS, Pass
from opsetlift.proof import Outcome, Proof
from opsetlift.proof.not_equivalent import NotEquivalent
from opsetlift.support.refusal import ConversionRefused
from opsetlift.targets import Target


class PassNotEquivalent(NotEquivalent):
    """A pass of the caller has changed what the model computes: nothing is written.

    `pass_name` says which, `proof` on what input.
    """

    def __init__(self, proof: Proof, where: str, pass_name: str) -> None:
        self.proof = proof
        self.pass_name = pass_name
        Exception.__init__(self, f"{where}: {proof.reason}")

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"pass": self.pass_name, "proof": self.proof.as_dict()}


class Fault(Enum):
    """Why the work of a pass was undone."""

    FAILED = "it raised an error"
    NOT_EQUIVALENT = "it changed what the model computes"
    INVALID = "onnx does not accept what it made of the model"
    UNUSABLE = "what it made of the model cannot be written or executed"
    NOT_FOR_TARGET = "the target does not take what it made of the model"
    ENDLESS = "it found something to change again and again"


@dataclass(frozen=True)
class UndonePass:
    """A pass of our own that was left out, from the run on that was wrong. That is a defect of ours."""

    name: str
    """Empty where all passes were, as none could be blamed."""
    fault: Fault
    reason: str
    """What was raised, what differs, or what onnx says."""
    changes: int | None = None
    """How much it would have changed, as in `PassReport`; None where it failed before it was done."""
    nodes: int | None = None
    bytes: int | None = None

    @property
    def sentence(self) -> str:
        """For people."""
        who = f"Pass {self.name}" if self.name else "All passes together"
        reason = f": {self.reason.rstrip('.')}" if self.reason else ""
        would = ""
        if self.changes is not None and self.nodes is not None and self.bytes is not None:
            changes = f"{self.changes} change{'' if self.changes == 1 else 's'}"
            would = f" It would have made {changes} (nodes {self.nodes:+}, bytes {self.bytes:+})."
        result = "the result does without it" if self.name else "the model is as it was"
        return (
            f"{who} was undone, because {self.fault.value}{reason}.{would} This is a defect of OpsetLift, please report"
            f" it; {result}."
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "fault": self.fault.name, "sentence": self.sentence}


class _Objection(Exception):
    """Why the result of the passes cannot stand; `error_of` gives the error that it is where a pass of the
    caller is to blame, whom it takes in words and by name."""

    def __init__(self, fault: Fault, reason: str, error_of: Callable[[str, str], Exception]) -> None:
        self.fault = fault
        self.reason = reason
        self.error_of = error_of
        super().__init__(reason)


@dataclass(frozen=True)
class Options:
    """What is asked of the passes and of their result."""

    target: Target | None
    fit: Callable[[ModelProto], ModelProto] | None
    """Brings a model into the form that the target takes, if there is a target. Raises ConversionRefused, NotEquivalent
    and ModelFileError."""
    size_limit: int
    base_dir: str
    refines_outputs: bool
    """Whether sizes that have become known are declared of the outputs."""
    check: bool
    prove: bool
    seed: int


@dataclass
class Undoing:
    """One model, the passes to run over it, and what became of them: `run` fills in the rest."""

    source: ModelProto
    passes: Sequence[Pass]
    options: Options
    undone: list[UndonePass] = field(default_factory=list)
    proof: Proof | None = None
    notes: Sequence[str] = ()
    """What onnx's checker objects to in the source already."""
    accounts: Sequence[Account] = ()
    rounds: int = 0
    has_settled: bool = True
    _left_out: dict[str, int] = field(default_factory=dict)

    def run(self) -> ModelProto:
        """The model after the passes, checked and proven as was asked for.

        Raises PassFailed and PassNotEquivalent for a pass of the caller, ModelFileError where onnx accepts the source
        no more than the result.
        """
        while True:
            try:
                pipeline = self._ran(self._left_out)
            except RunFailed as error:
                self._check_source()
                self._leave_out(*self._guilty_of_failure(error))
                continue
            except (PassFailed, ModelFileError, MemoryError):
                # A pass that stumbles over a broken model is not to blame; onnx says what is wrong with it.
                self._check_source()
                raise
            except Exception as error:
                return self._as_it_was(self.passes, _unexpected(error))
            if not pipeline.has_settled and self._leaves_out_an_endless_pass(pipeline):
                continue
            try:
                model = self._judged(pipeline)
            except _Objection as objection:
                guilty = self._first_guilty(pipeline, objection)
                if guilty is None:
                    return self._as_it_was(pipeline.changes, objection)
                self._leave_out(*guilty)
            else:
                self.accounts, self.rounds = pipeline.accounts, pipeline.rounds
                self.has_settled = pipeline.has_settled
                return model

    def _ran(self, left_out: Mapping[str, int], most_changes: int | None = None) -> Pipeline:
        """The passes as they ran; or only so many runs of passes that changed something."""
        options = self.options
        graph = to_graph(self.source, options.base_dir)
        if graph.ir_version < FIRST_IR_VERSION_WITH_CONSTANTS:
            # Whatever the model states: in the end it will be of this version.
            graph.ir_version = max(graph.ir_version, needed_by_content(self.source).ir_version)
        state = ModelState(graph, base_dir=options.base_dir, target=options.target, size_limit=options.size_limit)
        pipeline = Pipeline(state, self.passes, most_changes, left_out)
        pipeline.run()
        return pipeline

    # Who is to blame

    def _leave_out(self, undone: UndonePass, after: int) -> None:
        """Let a pass run no more from a run on; where it is to blame again, not at all."""
        self._left_out[undone.name] = 0 if undone.name in self._left_out else after
        self.undone = [*(one for one in self.undone if one.name != undone.name), undone]

    def _leaves_out_an_endless_pass(self, pipeline: Pipeline) -> bool:
        """Leave out the pass of our own without which the others find nothing more to do in the end, if there is one.

        Where passes of the caller change something without end, they may: that is only noted.
        """
        last_round = pipeline.changes[pipeline.changes_before_last_round :]
        names = list(dict.fromkeys(one.name for one in reversed(last_round) if one.is_built_in))
        name = next(filter(self._settles_without, names), None)
        if name is None and all(one.is_built_in for one in last_round):
            name = names[0]
        if name is None:
            return False
        account = next(one for one in pipeline.accounts if one.name == name)
        undone = UndonePass(
            name, Fault.ENDLESS, f"{pipeline.rounds} rounds", account.changes, account.nodes, account.bytes
        )
        self._leave_out(undone, 0)
        return True

    def _settles_without(self, name: str) -> bool:
        try:
            return self._ran({**self._left_out, name: 0}).has_settled
        except PassFailed:
            return False

    def _guilty_of_failure(self, error: RunFailed) -> tuple[UndonePass, int]:
        """The pass that failed, unless another one had broken the model before; and from which run on it is wrong.

        Raises what was raised where the pass is the caller's.
        """
        objection = self._objection_after(error.after)
        if objection is not None:
            guilty = self._first_guilty(self._ran(self._left_out, error.after), objection)
            if guilty is not None:
                return guilty
        if not error.failed.is_built_in:
            raise error
        return UndonePass(error.failed.name, Fault.FAILED, error.reason), error.after

    def _first_guilty(self, pipeline: Pipeline, objection: _Objection) -> tuple[UndonePass, int] | None:
        """The run after which the model cannot stand any more, by bisection of the runs that changed something; None
        where it cannot even stand without any of them. Raises what stands for a pass of the caller."""
        if not pipeline.changes or self._objection_after(0) is not None:
            return None
        innocent, guilty = 0, len(pipeline.changes)
        while guilty - innocent > 1:
            middle = (innocent + guilty) // 2
            found = self._objection_after(middle)
            if found is None:
                innocent = middle
            else:
                guilty, objection = middle, found
        one = pipeline.changes[innocent]
        if not one.is_built_in:
            raise objection.error_of(f"pass {one.name}", one.name) from objection
        return UndonePass(one.name, objection.fault, objection.reason, one.changes, one.nodes, one.bytes), innocent

    def _objection_after(self, changes: int) -> _Objection | None:
        try:
            self._judged(self._ran(self._left_out, changes))
        except _Objection as objection:
            return objection
        return None

    def _as_it_was(self, dropped: Sequence[Pass | Change], objection: _Objection) -> ModelProto:
        """The source itself, as no pass can be blamed. Raises what was found where that drops work of the caller's."""
        self.notes = self._check_source()
        if not all(one.is_built_in for one in dropped):
            raise objection.error_of("the passes together", "") from objection
        self.undone.append(UndonePass("", objection.fault, objection.reason))
        self.accounts = [Account(one.name, one.ulps) for one in self.passes]
        if self.options.prove:
            self.proof = self._proof_of_the_source()
        return self.source

    # What the result has to stand

    def _judged(self, pipeline: Pipeline) -> ModelProto:
        """The model that the passes have left behind. Raises _Objection."""
        try:
            model = self._finished(to_model(pipeline.graph))
            if self.options.check:
                self._check(model)
            if self.options.prove:
                self._prove(model, pipeline)
            return self._fitted(model)
        except (_Objection, ModelFileError, MemoryError):
            raise
        except Exception as error:
            raise _unexpected(error) from error

    def _finished(self, model: ModelProto) -> ModelProto:
        """The model with the interface that the caller knows, and an IR version that has all that it uses."""
        before = {info.name: info for info in (*self.source.graph.input, *self.source.graph.output)}
        for info in (*model.graph.input, *model.graph.output):
            info.CopyFrom(before[info.name])
        if self.options.refines_outputs:
            facts = ModelFacts(without_weights(model, self.options.base_dir), self.options.base_dir).graph
            for info in model.graph.output:
                _refine(info, facts.shape(info.name))
        model.ir_version = max(model.ir_version, needed_by_content(model).ir_version)
        return model

    def _check_source(self) -> list[str]:
        """Raises ModelFileError where onnx does not accept the source."""
        options = self.options
        return check_model(self.source, options.base_dir, original=self.source) if options.check else []

    def _check(self, model: ModelProto) -> None:
        """Let onnx check the model. Raises ModelFileError where it does not accept the source, either."""
        try:
            self.notes = check_model(model, self.options.base_dir, original=self.source)
        except ModelFileError as error:
            self._check_source()
            reason = str(error.__cause__ or error)
            raise _Objection(
                Fault.INVALID, reason, lambda who, name: PassFailed(f"{who}: the model is not valid any more: {reason}")
            ) from error

    def _prove(self, model: ModelProto, pipeline: Pipeline) -> None:
        ulps = sum(account.ulps for account in pipeline.accounts if account.changes)
        proof = self._proof_of(model, ulps)
        if proof.outcome is Outcome.DIFFERENT:
            raise _Objection(Fault.NOT_EQUIVALENT, proof.reason, lambda who, name: PassNotEquivalent(proof, who, name))
        self.proof = proof

    def _proof_of(self, model: ModelProto, ulps: int) -> Proof:
        seed, base_dir = self.options.seed, self.options.base_dir
        return prove_passes(self.source, model, ulps=ulps, seed=seed, base_dir=base_dir)

    def _proof_of_the_source(self) -> Proof:
        """What executing it twice shows; it may be the execution that goes wrong."""
        try:
            proof = self._proof_of(self.source, 0)
        except Exception as error:
            reason = _unexpected(error).reason
            return Proof(Outcome.UNPROVEN, 0, 0, 0, 0, 0.0, self.options.seed, reason)
        if proof.outcome is not Outcome.DIFFERENT:
            return proof
        return replace(proof, outcome=Outcome.UNPROVEN, reason="two runs of the model differ on the same inputs")

    def _fitted(self, model: ModelProto) -> ModelProto:
        """The model as the target takes it: passes may have asked for an IR version that it does not take."""
        options = self.options
        if options.fit is None:
            return model
        try:
            return options.fit(model)
        except (ConversionRefused, NotEquivalent, ModelFileError) as error:
            stopped = error
            raise _Objection(Fault.NOT_FOR_TARGET, str(error), lambda who, name: stopped) from error


def _unexpected(error: Exception) -> _Objection:
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return _Objection(Fault.UNUSABLE, reason, lambda who, name: PassFailed(f"{who}: the model is not usable: {reason}"))


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
