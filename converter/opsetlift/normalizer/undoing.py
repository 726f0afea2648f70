"""Runs passes until their result is accepted: a built-in pass whose result is rejected is left out.

Passes always do the same to the same model. So a pass is undone by running all of them again from the start, without
it from its wrong run on: nothing of that run is left, and the others work on the model as it was before. Passes of the
caller are never left out: where one of them is wrong, normalisation stops.
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
from opsetlift.normalizer.model_state import FIRST_IR_VERSION_WITH_CONSTANTS, ModelState
from opsetlift.normalizer.pipeline import Account, Change, PassFailed, Pipeline, RunFailed
from opsetlift.normalizer.proving import prove_passes
from opsetlift.normalizer.rewriting import Pass
from opsetlift.proof import NotEquivalent, Outcome, Proof, VerdictCache
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
    NOT_EQUIVALENT = "it changed the results of the model"
    INVALID = "its result is not a valid ONNX model"
    UNUSABLE = "its result cannot be written or executed"
    NOT_FOR_TARGET = "its result does not run on the target"
    ENDLESS = "it did not converge"


@dataclass(frozen=True)
class UndonePass:
    """A built-in pass that was left out, from its wrong run on. That is a defect of OpsetLift."""

    name: str
    """Empty where all passes were left out, as no single one was found to be wrong."""
    fault: Fault
    reason: str
    """The error, the difference, or the message of onnx's checker."""
    changes: int | None = None
    """How much it would have changed, as in `PassReport`; None where it failed."""
    nodes: int | None = None
    bytes: int | None = None

    @property
    def sentence(self) -> str:
        """For people."""
        who = f"Pass {self.name}" if self.name else "The work of all passes"
        reason = f": {self.reason.rstrip('.')}" if self.reason else ""
        would = ""
        if self.changes is not None and self.nodes is not None and self.bytes is not None:
            changes = f"{self.changes} change{'' if self.changes == 1 else 's'}"
            would = f" It would have made {changes} (nodes {self.nodes:+}, bytes {self.bytes:+})."
        result = "the model was normalised without it" if self.name else "the model is unchanged"
        return (
            f"{who} was undone, because {self.fault.value}{reason}.{would} This is a defect of OpsetLift; please report"
            f" it. {result[0].upper()}{result[1:]}."
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "fault": self.fault.name, "sentence": self.sentence}


class _Rejection(Exception):
    """Why the result of the passes is rejected.

    `error_of` gives the error to raise where a pass of the caller is wrong; it takes a description of the pass and its
    name.
    """

    def __init__(self, fault: Fault, reason: str, error_of: Callable[[str, str], Exception]) -> None:
        self.fault = fault
        self.reason = reason
        self.error_of = error_of
        super().__init__(reason)


@dataclass(frozen=True)
class Options:
    """How the passes run, and how their result is checked."""

    target: Target | None
    fit: Callable[[ModelProto], ModelProto] | None
    """Converts a model for the target, if there is one. Raises ConversionRefused, NotEquivalent and ModelFileError."""
    size_limit: int
    base_dir: str
    refines_outputs: bool
    """Whether sizes that have become known are declared of the outputs."""
    check: bool
    prove: bool
    seed: int
    cache: VerdictCache | None = None
    """The verdicts of earlier runs, where the proof may use them."""


@dataclass
class Undoing:
    """One model and the passes to run over it; `run` fills in the other fields."""

    source: ModelProto
    passes: Sequence[Pass]
    options: Options
    undone: list[UndonePass] = field(default_factory=list)
    proof: Proof | None = None
    notes: Sequence[str] = ()
    """What onnx's checker rejects in the source already."""
    accounts: Sequence[Account] = ()
    rounds: int = 0
    has_converged: bool = True
    _left_out: dict[str, int] = field(default_factory=dict)

    def run(self) -> ModelProto:
        """The model after the passes, checked and proven as was asked for.

        Raises:
            PassFailed: A pass of the caller failed, or left an invalid model.
            PassNotEquivalent: A pass of the caller changed the results of the model.
            ModelFileError: onnx's checker rejects the source.
        """
        while True:
            try:
                pipeline = self._ran(self._left_out)
            except RunFailed as error:
                self._check_source()
                self._leave_out(*self._pass_behind_failure(error))
                continue
            except (PassFailed, ModelFileError, MemoryError):
                # Where the source is invalid no pass is wrong, and the message of onnx's checker is raised.
                self._check_source()
                raise
            except Exception as error:
                return self._as_it_was(self.passes, _unexpected(error))
            if not pipeline.has_converged and self._leaves_out_an_endless_pass(pipeline):
                continue
            try:
                model = self._accepted(pipeline)
            except _Rejection as rejection:
                wrong = self._first_wrong_run(pipeline, rejection)
                if wrong is None:
                    return self._as_it_was(pipeline.changes, rejection)
                self._leave_out(*wrong)
            else:
                self.accounts, self.rounds = pipeline.accounts, pipeline.rounds
                self.has_converged = pipeline.has_converged
                return model

    def _ran(self, left_out: Mapping[str, int], most_changes: int | None = None) -> Pipeline:
        """The passes as they ran; or only so many runs of passes that changed something."""
        options = self.options
        graph = to_graph(self.source, options.base_dir)
        if graph.ir_version < FIRST_IR_VERSION_WITH_CONSTANTS:
            # Whatever the model states: in the end it will be of this version.
            graph.ir_version = max(graph.ir_version, needed_by_content(self.source).ir_version)
        runtime = options.target
        if runtime is not None and not runtime.computes_constants:
            # Of constants that are nodes it reads few.
            least = runtime.ir_version_for(FIRST_IR_VERSION_WITH_CONSTANTS)
            graph.ir_version = max(graph.ir_version, least)
        state = ModelState(graph, base_dir=options.base_dir, target=options.target, size_limit=options.size_limit)
        pipeline = Pipeline(state, self.passes, most_changes, left_out)
        pipeline.run()
        return pipeline

    # Which pass is wrong

    def _leave_out(self, undone: UndonePass, after: int) -> None:
        """Leave a pass out after so many changes; entirely, where it was wrong before."""
        self._left_out[undone.name] = 0 if undone.name in self._left_out else after
        self.undone = [*(one for one in self.undone if one.name != undone.name), undone]

    def _leaves_out_an_endless_pass(self, pipeline: Pipeline) -> bool:
        """Leave out the built-in pass without which the others converge, if there is one.

        Passes of the caller may go on changing something: that is only noted.
        """
        last_round = pipeline.changes[pipeline.changes_before_last_round :]
        names = list(dict.fromkeys(one.name for one in reversed(last_round) if one.is_built_in))
        name = next(filter(self._converges_without, names), None)
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

    def _converges_without(self, name: str) -> bool:
        try:
            return self._ran({**self._left_out, name: 0}).has_converged
        except PassFailed:
            return False

    def _pass_behind_failure(self, error: RunFailed) -> tuple[UndonePass, int]:
        """The pass that failed, or one that broke the model before; and how many changes came before its wrong run.

        Raises:
            RunFailed: The pass is the caller's.
        """
        rejection = self._rejection_after(error.after)
        if rejection is not None:
            wrong = self._first_wrong_run(self._ran(self._left_out, error.after), rejection)
            if wrong is not None:
                return wrong
        if not error.failed.is_built_in:
            raise error
        return UndonePass(error.failed.name, Fault.FAILED, error.reason), error.after

    def _first_wrong_run(self, pipeline: Pipeline, rejection: _Rejection) -> tuple[UndonePass, int] | None:
        """The first run whose result is rejected, by bisection; None where the model is rejected without any of them.

        Raises:
            Exception: The error of the rejection, where the pass is the caller's.
        """
        if not pipeline.changes or self._rejection_after(0) is not None:
            return None
        right, wrong = 0, len(pipeline.changes)
        while wrong - right > 1:
            middle = (right + wrong) // 2
            found = self._rejection_after(middle)
            if found is None:
                right = middle
            else:
                wrong, rejection = middle, found
        one = pipeline.changes[right]
        if not one.is_built_in:
            raise rejection.error_of(f"pass {one.name}", one.name) from rejection
        return UndonePass(one.name, rejection.fault, rejection.reason, one.changes, one.nodes, one.bytes), right

    def _rejection_after(self, changes: int) -> _Rejection | None:
        try:
            self._accepted(self._ran(self._left_out, changes))
        except _Rejection as rejection:
            return rejection
        return None

    def _as_it_was(self, dropped: Sequence[Pass | Change], rejection: _Rejection) -> ModelProto:
        """The source itself, where no single pass is wrong; where that drops work of the caller, an error is raised."""
        self.notes = self._check_source()
        if not all(one.is_built_in for one in dropped):
            raise rejection.error_of("the passes together", "") from rejection
        self.undone.append(UndonePass("", rejection.fault, rejection.reason))
        self.accounts = [Account(one.name, one.ulps) for one in self.passes]
        if self.options.prove:
            self.proof = self._proof_of_the_source()
        return self.source

    # Whether the result is accepted

    def _accepted(self, pipeline: Pipeline) -> ModelProto:
        """The model after the passes. Raises _Rejection."""
        try:
            model = self._finished(to_model(pipeline.graph))
            if self.options.check:
                self._check(model)
            if self.options.prove:
                self._prove(model, pipeline)
            return self._fitted(model)
        except (_Rejection, ModelFileError, MemoryError):
            raise
        except Exception as error:
            raise _unexpected(error) from error

    def _finished(self, model: ModelProto) -> ModelProto:
        """The model with its original interface, and an IR version that has all that it uses."""
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
        """The notes of onnx's checker on the source. Raises ModelFileError where it rejects it."""
        options = self.options
        return check_model(self.source, options.base_dir, original=self.source) if options.check else []

    def _check(self, model: ModelProto) -> None:
        """Let onnx check the model. Raises ModelFileError where it rejects the source, too."""
        try:
            self.notes = check_model(model, self.options.base_dir, original=self.source)
        except ModelFileError as error:
            self._check_source()
            reason = str(error.__cause__ or error)
            raise _Rejection(
                Fault.INVALID, reason, lambda who, name: PassFailed(f"{who}: the model is not valid any more: {reason}")
            ) from error

    def _prove(self, model: ModelProto, pipeline: Pipeline) -> None:
        ulps = sum(account.ulps for account in pipeline.accounts if account.changes)
        proof = self._proof_of(model, ulps)
        if proof.outcome is Outcome.DIFFERENT:
            raise _Rejection(Fault.NOT_EQUIVALENT, proof.reason, lambda who, name: PassNotEquivalent(proof, who, name))
        self.proof = proof

    def _proof_of(self, model: ModelProto, ulps: int) -> Proof:
        options = self.options
        return prove_passes(
            self.source, model, ulps=ulps, seed=options.seed, base_dir=options.base_dir, cache=options.cache
        )

    def _proof_of_the_source(self) -> Proof:
        """The result of executing the source twice; the execution itself may fail."""
        try:
            proof = self._proof_of(self.source, 0)
        except Exception as error:
            reason = _unexpected(error).reason
            return Proof(Outcome.UNPROVEN, 0, 0, 0, 0, 0.0, self.options.seed, reason)
        if proof.outcome is not Outcome.DIFFERENT:
            return proof
        return replace(proof, outcome=Outcome.UNPROVEN, reason="two runs of the model differ on the same inputs")

    def _fitted(self, model: ModelProto) -> ModelProto:
        """The model as the target takes it: passes may need an IR version that the target does not take."""
        options = self.options
        if options.fit is None:
            return model
        try:
            return options.fit(model)
        except (ConversionRefused, NotEquivalent, ModelFileError) as error:
            stopped = error
            raise _Rejection(Fault.NOT_FOR_TARGET, str(error), lambda who, name: stopped) from error


def _unexpected(error: Exception) -> _Rejection:
    reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return _Rejection(Fault.UNUSABLE, reason, lambda who, name: PassFailed(f"{who}: the model is not usable: {reason}"))


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
