"""The stages in their order. Each takes a model and returns a model, and the evidence of what it did.

Every model that is converted or normalised goes through `STAGES`; `convert` and `normalize` differ only in their
default options. A dry run leaves out the last two.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from onnx import ModelProto, NodeProto

from opsetlift.conversion.contributed import with_written_operators
from opsetlift.conversion.destination import opsets_to_reach
from opsetlift.conversion.dtype_policy import apply
from opsetlift.conversion.fitting import fit
from opsetlift.conversion.objections import (
    false_shapes,
    forget_false_shapes,
    objections,
    with_true_bodies,
    with_true_shapes,
)
from opsetlift.conversion.unnamed_dimensions import declare_shapes, name_dimensions
from opsetlift.conversion.untyped_outputs import with_shaped_outputs, with_typed_bodies, with_typed_outputs
from opsetlift.conversion.walked import walked_copy
from opsetlift.facts import ModelFacts, objection_to
from opsetlift.model.files import ModelFileError, ResultRejected, check_model, repaired, validated, with_raw_data
from opsetlift.model.scopes import subgraphs_within, with_single_imports
from opsetlift.pipeline.certifying import certificate_of
from opsetlift.pipeline.evidence import (
    Converted,
    Evidence,
    Folded,
    Normalised,
    OperatorsWritten,
    Repaired,
    Retyped,
    ShapesFixed,
    Unrolled,
)
from opsetlift.pipeline.given import opened
from opsetlift.pipeline.job import Job, is_files, sizes_of
from opsetlift.pipeline.nearest import opsets_for_runtime, search_for_nearest
from opsetlift.pipeline.never_runs import blaming_what_never_runs
from opsetlift.pipeline.results import ProofMissing
from opsetlift.proof import Destination, NotEquivalent
from opsetlift.rulebook.book import default_rule_book
from opsetlift.specification.dtypes import tensor_type
from opsetlift.specification.history import AI_ONNX, canonical_domain
from opsetlift.support.garbage import rarely_collected
from opsetlift.support.internal_error import internal_error
from opsetlift.support.progress import tell
from opsetlift.support.refusal import ConversionRefused, Refusal, Why
from opsetlift.support.text import counted
from opsetlift.targets import Target

_logger = logging.getLogger("opsetlift")

StageResult = tuple[ModelProto, Evidence | None]


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline."""

    name: str
    shown: str
    """What it does, for people who wait."""
    run: Callable[[ModelProto, Job], StageResult]
    """Returns the model, and the evidence where the stage changed it."""
    is_needed: Callable[[Job], bool] = lambda job: True


def run(stages: Sequence[Stage], job: Job) -> Job:
    """Take a job through stages, and give it back.

    Raises:
        ConversionRefused, NotEquivalent, ProofMissing: The result cannot be what was asked for.
        ModelFileError: The model cannot be read, is invalid, or cannot be written.
        PassFailed, PassNotEquivalent: A pass of the caller is wrong.
        InternalError: A defect of OpsetLift, or of a package whose rules it applies.
    """
    with rarely_collected():
        for stage in stages:
            if stage.is_needed(job):
                if job.dry is None:
                    tell(stage.shown)
                start = time.monotonic()
                job.model, evidence = stage.run(job.model, job)
                _logger.debug("%s: %.2f s", stage.shown, time.monotonic() - start)
                if evidence is not None:
                    job.evidence.append(evidence)
    return job


def _load(model: ModelProto, job: Job) -> StageResult:
    given = job.given
    if is_files(given):
        found, job.base_dir = given.read(), given.base_dir
    else:
        one = opened(given, job.base_dir)
        found, job.base_dir, job.give_back = one.model, one.base_dir, one.give_back
    job.source = found
    return found, None


def _repair(model: ModelProto, job: Job) -> StageResult:
    result, notes = repaired(model, job.facts_of(model).tables.index)
    if job.options.check:
        result, more = validated(result, job.facts_of(result).tables.index)
        result, typed = with_typed_outputs(job.facts_of(result))
        notes += more + typed
    if job.options.runtime is not None and not job.options.runtime.takes_undeclared_outputs:
        result, shaped = with_shaped_outputs(job.facts_of(result))
        notes += shaped
    if job.options.runtime is not None and not job.options.runtime.takes_unnamed_dimensions:
        result = with_typed_bodies(job.facts_of(result))
    if job.options.runtime is not None and not job.options.runtime.takes_false_shapes:
        # What a Loop gives is known once its body declares what it gives.
        result = with_true_bodies(job.facts_of(result))
        result, corrected = with_true_shapes(job.facts_of(result))
        notes += corrected
    if job.options.runtime is not None and job.options.runtime.dtypes_read_raw:
        result = with_raw_data(result, job.options.runtime.dtypes_read_raw)
    job.notes += notes
    result = with_single_imports(result)
    return result, Repaired(model, result, notes) if result is not model else None


def _write_operators(model: ModelProto, job: Job) -> StageResult:
    runtime, book = job.options.runtime, job.options.rule_book or default_rule_book()
    assert runtime is not None
    done = with_written_operators(job.facts_of(model), runtime, book)
    if done is None:
        return model, None
    job.notes += done.notes
    return done.model, OperatorsWritten(model, done.model, done.counts, job.options.cache)


def _fix_shapes(model: ModelProto, job: Job) -> StageResult:
    from opsetlift.normalizer import with_fixed_shapes

    shapes = job.options.fix_shapes
    fixed = with_fixed_shapes(model, shapes)
    return fixed, ShapesFixed(model, fixed, {name: sizes_of(given) for name, given in shapes.items()})


def is_folded_for(runtime: Target, job: Job) -> bool:
    """Whether constants are folded first: the runtime computes none, or none of a dtype that the model has."""
    types = {tensor_type(dtype) for dtype in runtime.constant_dtypes_not_computed}
    if not types or not runtime.computes_constants:
        return not runtime.computes_constants
    return not types.isdisjoint(job.facts_of(job.model).possible_types or ())


def _fold(model: ModelProto, job: Job) -> StageResult:
    """Fold constants and fixed sizes for a runtime that does not. A model that cannot be normalised stays as it is."""
    from opsetlift.normalizer import PassFailed
    from opsetlift.pipeline.pass_stages import folded

    if job.options.prove and _has_loops(model):
        # The proof runs the loops hundreds of times. A refusal, which needs none, comes before.
        unproven = replace(job.options, prove=False, require_proof=False)
        facts = job.facts_of(model).renewed()
        run(FROM_FOLDING_TO_FITTING, replace(job, options=unproven, facts=facts, notes=[], evidence=[]))
    try:
        work, result = folded(model, job)
    except (PassFailed, ModelFileError) as error:
        job.notes.append(f"constants were not folded: {error}")
        return model, None
    if not any(one.changes for one in work.accounts):
        return model, None
    assert job.options.runtime is not None
    before, after = (len(one.graph.node) for one in (model, result))
    counts = f"{counted(before, 'node')} became {after}" if before != after else "constants took other places"
    job.notes.append(
        f"what follows from constants and fixed sizes was computed for {job.options.runtime.called}: {counts}"
    )
    return result, Folded(model, result, work)


def is_unrolled_for(job: Job) -> bool:
    """Whether the runs of Loops and Scans are written out: the runtime refuses one of them, or what is in one."""
    if not _has_loops(job.model):
        return False
    try:
        # What is noted of the values that a walk adds is of no use to the next one.
        facts = job.facts_of(job.model).renewed()
        run((CHANGE_DTYPES, CONVERT, FIT), replace(job, facts=facts, notes=[], evidence=[]))
    except ConversionRefused as refused:
        return any(one.operator in _LOOPS or _LOOP_BODY in one.path for one in refused.refusals)
    return False


def _has_loops(model: ModelProto) -> bool:
    graphs = (graph for one in (model.graph, *model.functions) for graph in (one, *subgraphs_within(one)))
    return any(node.op_type in _LOOPS for graph in graphs for node in graph.node)


_LOOPS = ("Loop", "Scan")
_LOOP_BODY = ".body"
"""Of the path of what is in one of them."""


def _unroll(model: ModelProto, job: Job) -> StageResult:
    """Write out the runs of Loops and Scans whose number is known. Where that fails the model stays as it is."""
    from opsetlift.normalizer import UNROLLING, PassFailed
    from opsetlift.pipeline.pass_stages import unrolled

    notes = list(job.notes)
    try:
        work, result = unrolled(model, job)
    except (PassFailed, ModelFileError):
        job.notes = notes
        return model, None
    counts = [one.changes for one in work.accounts if one.name == UNROLLING]
    if not any(counts):
        return model, None
    assert job.options.runtime is not None
    job.notes.append(f"the runs of loops are written out, as {job.options.runtime.called} does not take the loops")
    return result, Unrolled(model, result, work)


def _change_dtypes(model: ModelProto, job: Job) -> StageResult:
    policy = job.options.dtypes
    assert policy is not None
    retyped, changes = apply(model, policy, job.base_dir)
    return retyped, Retyped(model, retyped, policy, changes)


def _convert(model: ModelProto, job: Job) -> StageResult:
    options = job.options
    is_complete = options.ir is not None or options.dtypes is not None
    opsets = opsets_to_reach(options.opsets, model, options.runtime, is_complete=is_complete)
    try:
        return _converted(model, opsets, job)
    except ConversionRefused as refused:
        others = _other_opsets(model, opsets, refused, job)
        if others is None:
            raise
        return _converted_anew(model, others, job)


def _converted_anew(model: ModelProto, opsets: Mapping[str, int], job: Job) -> tuple[ModelProto, Converted]:
    """Convert after a refusal, without what the refused walk noted of the values that it added."""
    job.facts = job.facts_of(model).renewed()
    return _converted(model, opsets, job)


def _other_opsets(
    model: ModelProto, opsets: Mapping[str, int], refused: ConversionRefused, job: Job
) -> Mapping[str, int] | None:
    """Other opsets that the runtime accepts, where it alone refuses these and the user asked for none; else None."""
    runtime, asked = job.options.runtime, job.options.opsets or {}
    is_free = runtime is not None and AI_ONNX in opsets and not any(not canonical_domain(one) for one in asked)
    if job.dry is not None and not job.dry.searches:
        return None
    if not is_free or any(one.why is not Why.TARGET for one in refused.refusals):
        return None
    return opsets_for_runtime(model, opsets, refused.refusals, job.options, job.facts_of(model), job.dry)


def _converted(model: ModelProto, opsets: Mapping[str, int], job: Job) -> tuple[ModelProto, Converted]:
    options = job.options
    book = options.rule_book or default_rule_book()
    with _naming_the_nearest(model, opsets, job), blaming_what_never_runs(model, job.base_dir):
        if job.dry is not None:
            walked = job.dry.walked(opsets, book, options.runtime, exact=options.exact)
        else:
            walked = walked_copy(
                model,
                opsets,
                book,
                exact=options.exact,
                base_dir=job.base_dir,
                facts=job.facts_of(model),
                runtime=options.runtime,
            )
    job.notes += [f"{path}: left out, as nothing calls it and it could not be converted" for path in walked.left_out]
    if job.evidence and isinstance(job.evidence[-1], Retyped):
        job.evidence[-1].converted = walked.model
    destination = Destination.of(opsets, options.ir, options.runtime)
    facts = job.facts_of(model)
    return walked.model, Converted(
        model, walked.model, walked, destination, facts, cache=options.cache, jobs=options.jobs
    )


def _fit(model: ModelProto, job: Job) -> StageResult:
    """Fit the model to the IR version and the runtime, in place: a site spans the conversion and this stage."""
    converted = job.conversion
    try:
        return _fitted(model, job)
    except ConversionRefused as refused:
        others = _other_opsets(converted.before, converted.destination.opsets_by_domain, refused, job)
        if others is None:
            raise
    job.evidence.remove(converted)
    model, evidence = _converted_anew(converted.before, others, job)
    job.evidence.append(evidence)
    return _fitted(model, job)


def _fitted(model: ModelProto, job: Job) -> StageResult:
    options, converted = job.options, job.conversion
    with _naming_the_nearest(converted.before, converted.destination.opsets_by_domain, job):
        if job.dry is not None:
            converted.ir_version = job.dry.ir_version(converted.walked, options.ir, options.runtime)
            return model, None
        converted.fitting = fit(converted.before, converted.walked, options.ir, options.runtime)
        converted.ir_version = model.ir_version
        runtime = options.runtime
        if runtime is not None and (refusals := objections(ModelFacts(model, job.base_dir), runtime)):
            raise ConversionRefused(refusals)
    return model, None


@contextmanager
def _naming_the_nearest(model: ModelProto, opsets: Mapping[str, int], job: Job) -> Iterator[None]:
    """Let a refusal name the nearest destination that works, when it is asked for."""
    try:
        yield
    except ConversionRefused as refused:
        facts = job.facts_of(model)
        refused.find_nearest = partial(search_for_nearest, model, opsets, refused.refusals, job.options, facts)
        raise


def _check(model: ModelProto, job: Job) -> StageResult:
    """Run onnx.checker, then refuse or forget false declared shapes, for a runtime that rejects such models."""
    runtime, declared_falsely = job.options.runtime, []
    if job.options.check:
        original = _model_before_conversion(job)
        try:
            declared_falsely = check_model(model, job.base_dir, original=original)
        except ResultRejected as error:
            if refusals := _invalid_nodes(job.facts_of(original)):
                raise ConversionRefused(refusals) from error
            with blaming_what_never_runs(original, job.base_dir):
                raise internal_error(error, "the conversion") from error
    job.notes += declared_falsely
    if runtime is not None and not runtime.takes_false_shapes:
        facts = ModelFacts(model, job.base_dir)
        if declared_falsely and (refusals := false_shapes(facts)):
            raise ConversionRefused(refusals)
        forget_false_shapes(facts)
    if runtime is not None and not runtime.takes_unnamed_dimensions:
        name_dimensions(model)
    if runtime is not None and not runtime.takes_undeclared_shapes:
        converted = job.conversion
        declare_shapes(job.facts_of(converted.before), ModelFacts(model, job.base_dir), converted.walked.trace)
    return model, None


def _invalid_nodes(facts: ModelFacts) -> list[Refusal]:
    """Nodes that cannot run, although onnx.checker accepts them: it does not compare the sizes in an Einsum, say."""
    return [
        Refusal(Why.INVALID_MODEL, f"the node is invalid at its opset: {objection}", *_names_of(node), scope.path, "")
        for scope in facts.all_scopes()
        for node in scope.container.node
        if (objection := objection_to(node, scope))
    ]


def _names_of(node: NodeProto) -> tuple[str, str]:
    return node.op_type, node.name or next(filter(None, node.output), "")


def _normalise(model: ModelProto, job: Job) -> StageResult:
    from opsetlift.pipeline.pass_stages import normalised

    def fits(result: ModelProto) -> ModelProto:
        """The same model, where the stages that follow take it. Raises ConversionRefused and ModelFileError."""
        run(TO_THE_DESTINATION, replace(job, model=result, notes=[], evidence=[]))
        return result

    work, result = normalised(model, job, fits if job.options.fits_a_form else None)
    return result, Normalised(model, result, work)


def _prove(model: ModelProto, job: Job) -> StageResult:
    job.certificate = certificate_of(job)
    if job.certificate.is_refuted:
        raise NotEquivalent(job.certificate)
    if job.options.require_proof and not job.certificate.is_proven:
        raise ProofMissing(job.certificate)
    return model, None


def _write(model: ModelProto, job: Job) -> StageResult:
    assert is_files(job.given)
    job.given.write(model, job.certificate)
    return model, None


def _has_destination(job: Job) -> bool:
    return job.options.has_destination


def _may_no_longer_fit(job: Job) -> bool:
    """Whether passes ran, whose result may need another IR version than was asked for, or what a runtime lacks."""
    return job.options.passes is not None and job.options.fits_a_form


def _model_before_conversion(job: Job) -> ModelProto:
    """The model with which to compare what was converted just now, in its own dtypes."""
    before = job.evidence[-2:-1]
    return before[0].before if before and isinstance(before[0], Retyped) else job.conversion.before


LOAD = Stage("load", "reading the model", _load)
REPAIR = Stage("repair", "checking the input", _repair)
WRITE_OPERATORS = Stage(
    "write operators",
    "writing what the runtime lacks",
    _write_operators,
    lambda job: job.options.runtime is not None,
)
FIX_SHAPES = Stage("fix shapes", "fixing shapes", _fix_shapes, lambda job: bool(job.options.fix_shapes))
FOLD = Stage(
    "fold",
    "folding constants",
    _fold,
    lambda job: job.options.runtime is not None and is_folded_for(job.options.runtime, job),
)
UNROLL = Stage(
    "unroll", "unrolling loops", _unroll, lambda job: job.options.runtime is not None and is_unrolled_for(job)
)
CHANGE_DTYPES = Stage("change dtypes", "changing dtypes", _change_dtypes, lambda job: job.options.dtypes is not None)
CONVERT = Stage("convert", "converting", _convert, _has_destination)
FIT = Stage("fit", "fitting the IR version and the runtime", _fit, _has_destination)
CHECK = Stage("check", "checking the result", _check, _has_destination)
NORMALISE = Stage("normalize", "running passes", _normalise, lambda job: job.options.passes is not None)
PROVE = Stage("prove", "proving", _prove, lambda job: job.options.prove)
WRITE = Stage("write", "writing", _write, lambda job: is_files(job.given))

TO_THE_DESTINATION = (CONVERT, FIT, CHECK)
BACK_TO_THE_DESTINATION = tuple(replace(stage, is_needed=_may_no_longer_fit) for stage in TO_THE_DESTINATION)
FROM_FOLDING_TO_FITTING = (FOLD, UNROLL, CHANGE_DTYPES, CONVERT, FIT)
BEFORE_THE_CONVERSION = (LOAD, REPAIR, WRITE_OPERATORS, FIX_SHAPES, FOLD, UNROLL, CHANGE_DTYPES)
DRY_RUN = (*BEFORE_THE_CONVERSION, *TO_THE_DESTINATION, NORMALISE, *BACK_TO_THE_DESTINATION)
STAGES = (*DRY_RUN, PROVE, WRITE)
