"""Models that no checker rejects and that nothing can execute: where our rules fail on them, the fault is theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onnx import ModelProto

from opsetlift.model.scopes import GRAPH_PATH
from opsetlift.proof import InputGenerator, Sides, model_inputs, try_sides
from opsetlift.support.internal_error import InternalError
from opsetlift.support.refusal import ConversionRefused, Refusal, Why

_RUNS = 20


@contextmanager
def blaming_what_never_runs(model: ModelProto, base_dir: str) -> Iterator[None]:
    """Raise ConversionRefused for an InternalError in the block, where the model rejects all inputs that are tried."""
    try:
        yield
    except InternalError as error:
        obstacle = _why_nothing_runs(model, base_dir)
        if not obstacle:
            raise
        sentence = f"the model is invalid: every input that was tried ends in an error: {obstacle}"
        raise ConversionRefused([Refusal(Why.INVALID_MODEL, sentence, "", "", GRAPH_PATH, "")]) from error


def _why_nothing_runs(model: ModelProto, base_dir: str) -> str:
    """Why a model rejects inputs, where it rejects all that are tried; else ""."""
    sides = Sides(model, model, [(info.name, info.name) for info in model.graph.output], base_dir=base_dir)
    inputs = model_inputs(model, model)
    try:
        trial = try_sides(sides, lambda: InputGenerator(inputs, [0], limit=_RUNS))
    except (InternalError, MemoryError):
        return ""
    is_told = trial.rejected and not (trial.cases or trial.counterexample or trial.blocked)
    return trial.obstacle if is_told else ""
