"""The stage that runs passes. graphsurgeon takes a while to import, so conversions without passes do without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnx import ModelProto

from opsetlift.model.scopes import overrides_operator
from opsetlift.normalizer import (
    FOLDING,
    MOST_ROUNDS,
    SIZE_LIMIT,
    UNROLLING,
    Options,
    PassFailed,
    Undoing,
    chosen_passes,
)
from opsetlift.pipeline.job import Job
from opsetlift.specification.history import AI_ONNX, canonical_domain


def normalised(
    model: ModelProto, job: Job, fit: Callable[[ModelProto], ModelProto] | None
) -> tuple[Undoing, ModelProto]:
    """Run the passes of a job, and undo those of our own whose result is wrong.

    Args:
        model: The model before the passes.
        job: The options; notes are added to it.
        fit: Raises ConversionRefused for a result that the stages after the passes refuse.

    Returns:
        What became of the passes, and the model after them.

    Raises:
        PassFailed: The model cannot be normalised, or a pass of the caller is wrong.
    """
    options = job.options
    chosen = options.passes or ()
    if chosen:
        _refuse_what_passes_would_change(model)
    work = Undoing(
        model,
        chosen,
        Options(
            options.runtime,
            fit,
            SIZE_LIMIT if options.size_limit is None else options.size_limit,
            job.base_dir,
            bool(options.fix_shapes),
            options.check,
            options.prove,
            options.seed,
            options.cache,
        ),
    )
    result = work.run()
    job.notes += work.notes
    if not work.has_converged:
        job.notes.append(f"the passes did not converge in {MOST_ROUNDS} rounds; normalising again may change more")
    return work, result


def folded(model: ModelProto, job: Job) -> tuple[Undoing, ModelProto]:
    """Run the passes that work out what constants and fixed sizes decide.

    Args:
        model: The model before.
        job: The options; notes are added to it.

    Returns:
        What became of the passes, and the model after them.

    Raises:
        PassFailed: The model cannot be normalised.
    """
    options = replace(job.options, passes=chosen_passes(FOLDING))
    return normalised(model, replace(job, options=options), None)


def unrolled(model: ModelProto, job: Job) -> tuple[Undoing, ModelProto]:
    """Write out the runs of Loops whose number is known, and fold what that decides; otherwise as `folded`."""
    options = replace(job.options, passes=chosen_passes((*FOLDING, UNROLLING)))
    return normalised(model, replace(job, options=options), None)


def _refuse_what_passes_would_change(model: ModelProto) -> None:
    if any(training.update_binding for training in model.training_info):
        raise PassFailed(
            "a model with training info is not normalised, because training changes values that passes would fold"
        )
    for function in model.functions:
        if overrides_operator(function) and canonical_domain(function.domain) == AI_ONNX:
            raise PassFailed(
                f"a model with a function that overrides the operator {function.name!r} is not normalised, "
                "because passes identify operators by name"
            )
