"""The nearest opsets or IR version at which a refused conversion works, by dry runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from onnx import ModelProto

from opsetlift.conversion.distinct import PartUndecided
from opsetlift.conversion.objections import interface_objections
from opsetlift.conversion.opset_search import nearest_opsets
from opsetlift.facts import ModelFacts
from opsetlift.model.scopes import imported_opsets
from opsetlift.pipeline.dry_run import DryRun
from opsetlift.pipeline.job import Options
from opsetlift.rulebook.book import default_rule_book
from opsetlift.specification.history import AI_ONNX, latest_opset
from opsetlift.support.internal_error import InternalError
from opsetlift.support.refusal import ConversionRefused, Nearest, Refusal
from opsetlift.targets import Target


def search_for_nearest(
    model: ModelProto, asked: Mapping[str, int], refusals: Sequence[Refusal], options: Options, facts: ModelFacts
) -> Nearest | None:
    """The nearest destination at which nothing is refused.

    Where a rule refused, these are the nearest opsets, whatever a runtime accepts; else it is the nearest IR version
    above the requested one, or the nearest opset that the runtime accepts.

    Args:
        model: The model before the conversion.
        asked: The opsets that it was to be taken to, by domain.
        refusals: Those of the conversion.
        options: What else was asked for.
        facts: Those of the model.
    """
    return _Search(model, options, facts).nearest(asked, refusals)


def opsets_for_runtime(
    model: ModelProto,
    refused: Mapping[str, int],
    refusals: Sequence[Refusal],
    options: Options,
    facts: ModelFacts,
    dry: DryRun | None,
) -> Mapping[str, int] | None:
    """The opsets nearest to the refused ones that work for the runtime; None where there are none.

    Args:
        model: The model before the conversion.
        refused: The opsets at which something is refused, by domain.
        refusals: What is refused there.
        options: What was asked for, with the runtime.
        facts: Those of the model.
        dry: What dry runs of the model share, where it is itself in one.
    """
    assert options.runtime is not None
    search = _Search(model, options, facts, dry, list(dry.smaller_parts(refusals)) if dry is not None else ())
    found = search.nearest_of_runtime(options.runtime, refused)
    return found.opsets if found is not None else None


class _Search:
    """Dry runs of a model to one destination after the other.

    Args:
        model: The model before the conversion.
        options: What was asked for.
        facts: Those of the model.
        dry: What dry runs of the model share, where there were some before.
        parts: Dry runs of smaller parts, to be asked first.
    """

    def __init__(
        self,
        model: ModelProto,
        options: Options,
        facts: ModelFacts,
        dry: DryRun | None = None,
        parts: Sequence[DryRun] = (),
    ) -> None:
        self._own = imported_opsets(model.opset_import)
        self._options = options
        self._facts = facts
        self._book = options.rule_book or default_rule_book()
        self._dry = dry or DryRun(model, facts.base_dir, facts.renewed())
        self._parts = parts

    def nearest(self, asked: Mapping[str, int], refusals: Sequence[Refusal]) -> Nearest | None:
        options, runtime = self._options, self._options.runtime
        if not options.fits_a_form or not self._works(asked, None, None):
            found = nearest_opsets(asked, self._own, refusals, lambda opsets: self._works(opsets, None, None))
            if found is None or not options.fits_a_form:
                return found
            if runtime is not None:
                accepts = all(runtime.opset_for(domain, opset) == opset for domain, opset in found.opsets.items())
                works = accepts and self._works(found.opsets, options.ir, runtime)
                return found if works else replace(found, not_for=runtime.spelling)
            asked = found.opsets
            if self._works(asked, options.ir, None):
                return found
        if options.ir is not None:
            return self._nearest_ir_version(asked, options.ir)
        return self.nearest_of_runtime(runtime, asked) if runtime is not None else None

    def _works(self, opsets: Mapping[str, int], ir: int | None, runtime: Target | None) -> bool:
        """Whether a dry run is refused nowhere."""
        if any(self._is_refused_in(part, opsets, ir, runtime) for part in self._parts):
            return False
        try:
            self._dry.search.walked(opsets, self._book, runtime, exact=self._options.exact)
            if ir is not None or runtime is not None:
                # A walk for a verdict leaves out nodes that equal others: its model tells nothing.
                walked = self._dry.walked(opsets, self._book, runtime, exact=self._options.exact)
                self._dry.ir_version(walked, ir, runtime)
        except (ConversionRefused, InternalError):
            return False
        return True

    def _is_refused_in(self, part: DryRun, opsets: Mapping[str, int], ir: int | None, runtime: Target | None) -> bool:
        """Whether nodes of a smaller part, which stand for others, are refused; False where it does not tell."""
        try:
            part.ir_version(part.walked(opsets, self._book, runtime, exact=self._options.exact), ir, runtime)
        except (ConversionRefused, InternalError):
            return True
        except PartUndecided as undecided:
            return undecided.is_refused
        return False

    def _nearest_ir_version(self, opsets: Mapping[str, int], asked: int) -> Nearest | None:
        """Between the one that was asked for and the one that the model needs at its opsets, which always works."""
        runtime = self._options.runtime
        try:
            needed = self._dry.walked(opsets, self._book, runtime, exact=self._options.exact).model.ir_version
        except (ConversionRefused, InternalError):
            return None
        for ir in range(asked + 1, needed + 1):
            if (runtime is None or ir in runtime.ir_versions) and self._works(opsets, ir, runtime):
                return Nearest(opsets, self._own, ir_version=ir)
        return None

    def nearest_of_runtime(self, runtime: Target, asked: Mapping[str, int]) -> Nearest | None:
        """The nearest opset of ai.onnx that works for the runtime."""
        taken = runtime.opsets.get(AI_ONNX)
        if taken is None or AI_ONNX not in asked or interface_objections(self._facts, runtime):
            return None
        opsets = range(max(taken.first, 1), min(taken.last or latest_opset(AI_ONNX), latest_opset(AI_ONNX)) + 1)
        for opset in sorted(opsets, key=lambda opset: abs(opset - asked[AI_ONNX])):
            destination = {**asked, AI_ONNX: opset}
            if opset != asked[AI_ONNX] and self._works(destination, self._options.ir, runtime):
                return Nearest(destination, self._own)
        return None
