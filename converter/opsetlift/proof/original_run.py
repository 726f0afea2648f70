"""A run of the whole original model, for what its nodes read in it.

The last resort for a site of whose inputs too little is known to guess any that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy
from numpy.typing import NDArray
from onnx import ModelProto

from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.proof.inputs import Case, Enough, InputGenerator
from opsetlift.proof.shapes import MOST_DRAWN
from opsetlift.proof.side_by_side import model_inputs
from opsetlift.proof.trial import ITERATIONS


class OriginalRun:
    """The model on the first drawn inputs that it takes."""

    def __init__(self, model: ModelProto, base_dir: str, seed: int) -> None:
        self._model = model
        self._base_dir = base_dir
        self._seed = seed

    def tensors(self, names: Sequence[str]) -> Mapping[str, NDArray[Any]]:
        """The values of these names; nothing where the model does not run, or where one of them is no tensor."""
        if self._inputs is None or self._evaluator is None:
            return {}
        found = self._evaluator.run(self._inputs, names)
        return found if all(isinstance(value, numpy.ndarray) for value in found.values()) else {}

    @cached_property
    def _evaluator(self) -> Evaluator | None:
        try:
            return Evaluator(
                self._model,
                strict=False,
                base_dir=self._base_dir or None,
                iteration_limit=ITERATIONS,
                element_limit=MOST_DRAWN,
            )
        except EvaluationError:
            return None

    @cached_property
    def _inputs(self) -> Mapping[str, Any] | None:
        taken: list[Mapping[str, Any]] = []

        def attempt(case: Case) -> None:
            assert self._evaluator is not None
            try:
                self._evaluator.run(case.values)
            except EvaluationError:
                return
            taken.append(case.values)
            raise Enough

        if self._evaluator is not None:
            InputGenerator(model_inputs(self._model), [self._seed]).run(attempt)
        return taken[0] if taken else None
